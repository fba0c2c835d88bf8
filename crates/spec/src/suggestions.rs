//! Suggestions for a name that does not exist: the names that were probably meant.

/// The one of `known` that was probably meant by `name`.
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    close
        .filter(|(distance, known)| *distance <= TYPOS_MAX.min(known.len() / 2))
        .min()
        .map(|near| near.1)
}

/// `; did you mean …?`, if that is likely.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    near(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// `; did you mean …?`, if that is likely, or else `; expected` and all of them.
pub fn expected<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match near(name, known.clone()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; expected {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// The most letters that may be missing, extra, wrong or swapped in a name that is still near.
const TYPOS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_few_typos_is_near_and_a_short_one_has_fewer() {
        #[rustfmt::skip]
        let table = [
            ("expct",    Some("expect")),
            ("exeptc",   Some("expect")),
            ("xp",       None),
            ("is",       Some("is")),
            ("si",       Some("is")),
            ("",         None),
            ("whatever", None),
        ];
        for (name, expected) in table {
            assert_eq!(near(name, ["expect", "is", "send"].into_iter()), expected, "{name}");
        }
    }
}
