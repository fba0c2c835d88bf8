//! Bugs behind switches: one copy of the code holds all plants, each asleep until its name is asked for.
//!
//! So the copy is compiled once, and a plant costs one run of a crate's tests. Pure: text in, text out.

use super::plants::Plant;
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;
use std::ops::Range;

/// Code that a bug replaces.
pub(super) struct Change {
    /// A text that occurs in the file exactly once, with `«` and `»` around the code to be replaced: one expression, or
    /// statements up to a `;`.
    pub(super) place: &'static str,
    /// The code of the bug, of the same kind.
    pub(super) bug: &'static str,
}

/// The environment variable with the name of the plant to wake.
pub(super) const VARIABLE: &str = "WIREBENCH_PLANT";

/// The function that the switches call; it is appended to the `lib.rs` of a crate with plants. It makes no allocations,
/// because tests count them.
pub(super) fn asking() -> String {
    format!("{ASKING}\nconst PLANTED: &[u8] = b\"{VARIABLE}=\";\n")
}

const ASKING: &str = r#"
/// True if the planted bug of that name is awake.
pub(crate) fn planted(name: &str) -> bool {
    static AWAKE: std::sync::OnceLock<([u8; 80], usize)> = std::sync::OnceLock::new();
    let (awake, len) = AWAKE.get_or_init(|| {
        use std::io::Read as _;
        let (mut environment, mut end) = ([0; 1 << 17], 0);
        let mut file = std::fs::File::open("/proc/self/environ").expect("Linux has it");
        loop {
            match file.read(&mut environment[end..]).expect("it is ours") {
                0 => break,
                more => end += more,
            }
        }
        let mut awake = ([0; 80], 0);
        let mut variables = environment[..end].split(|byte| *byte == 0);
        if let Some(value) = variables.find_map(|variable| variable.strip_prefix(PLANTED)) {
            awake.0[..value.len()].copy_from_slice(value);
            awake.1 = value.len();
        }
        awake
    });
    awake[..*len] == *name.as_bytes()
}
"#;

/// Returns `text`, a file, with all its `plants` built in.
///
/// # Errors
///
/// A plant is stale: its place is missing, or occurs more than once. Or two plants overlap without replacing the same
/// code.
pub(super) fn build_in(text: &str, plants: &[&Plant]) -> Result<String> {
    // By their start; those that replace the same code are together.
    let mut places: BTreeMap<usize, (Range<usize>, Vec<Bug<'_>>)> = BTreeMap::new();
    for plant in plants {
        for change in plant.changes {
            let range = find(text, plant, change)?;
            let (known, bugs) =
                places.entry(range.start).or_insert_with(|| (range.clone(), Vec::new()));
            ensure!(*known == range, "plant `{}` overlaps another", plant.name);
            bugs.push((plant.name, change.bug));
        }
    }
    let mut built = String::new();
    let mut copied = 0;
    for (range, bugs) in places.into_values() {
        ensure!(copied <= range.start, "plant `{}` overlaps another", bugs[0].0);
        built += &text[copied..range.start];
        built += &switched(&text[range.clone()], &bugs);
        copied = range.end;
    }
    Ok(built + &text[copied..])
}

/// The name of a plant and its code.
type Bug<'a> = (&'a str, &'a str);

/// The part of `text` that `change` replaces.
fn find(text: &str, plant: &Plant, change: &Change) -> Result<Range<usize>> {
    let marked = change.place.split_once('«').and_then(|(before, rest)| {
        let (replaced, after) = rest.split_once('»')?;
        Some((before, replaced, after))
    });
    let Some((before, replaced, after)) = marked else {
        bail!("plant `{}` marks nothing with « and »: {}", plant.name, change.place)
    };
    let whole = [before, replaced, after].concat();
    let mut found = text.match_indices(&whole);
    match (found.next(), found.count()) {
        (Some((at, _)), 0) => {
            let start = at + before.len();
            Ok(start..start + replaced.len())
        }
        (first, others) => bail!(
            "plant `{}` is stale: {} has {} of\n{whole}\nwrite it for the code as it is now",
            plant.name,
            plant.file,
            usize::from(first.is_some()) + others,
        ),
    }
}

/// The code with its bugs beside it: statements as a statement, an expression as one in parentheses.
fn switched(original: &str, bugs: &[Bug<'_>]) -> String {
    let mut code = String::new();
    for (name, bug) in bugs {
        code += &format!("if crate::planted({name:?}) {{ {bug} }} else ");
    }
    code += &format!("{{ {original} }}");
    if original.ends_with(';') { code } else { format!("({code})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn plant(name: &'static str, changes: &'static [Change]) -> Plant {
        Plant {
            name,
            lie: "",
            had_by: "",
            file: "crates/x/src/lib.rs",
            caught_by: "x",
            test: "",
            changes,
        }
    }

    const STRICT: Plant = plant("strict", &[Change { place: "if «a < b» {", bug: "a <= b" }]);

    #[test]
    fn an_expression_stays_one_and_a_statement_too() {
        let mute = plant("mute", &[Change { place: "«say(a);» }", bug: "" }]);
        assert_eq!(
            build_in("if a < b { say(a); }", &[&mute, &STRICT]).unwrap(),
            "if (if crate::planted(\"strict\") { a <= b } else { a < b }) { \
             if crate::planted(\"mute\") {  } else { say(a); } }"
        );
    }

    #[test]
    fn bugs_at_one_place_exclude_each_other() {
        let never = plant("never", &[Change { place: "«a < b»", bug: "false" }]);
        assert_eq!(
            build_in("if a < b {", &[&STRICT, &never]).unwrap(),
            "if (if crate::planted(\"strict\") { a <= b } else if crate::planted(\"never\") \
             { false } else { a < b }) {"
        );
        for place in ["«a <»", "a «< b»"] {
            let overlapping = Change { place, bug: "" };
            let plants = [&STRICT, &plant("other", Box::leak(Box::new([overlapping])))];
            let error = build_in("if a < b {", &plants).unwrap_err();
            assert!(error.to_string().ends_with("overlaps another"), "{error}");
        }
    }

    #[test]
    fn a_plant_whose_place_is_gone_or_not_alone_is_stale() {
        for (text, count) in [("if a > b {", 0), ("if a < b { if a < b {", 2)] {
            let error = build_in(text, &[&STRICT]).unwrap_err().to_string();
            let start =
                format!("plant `strict` is stale: crates/x/src/lib.rs has {count} of\nif a < b {{");
            assert!(error.starts_with(&start), "{error}");
        }
        let unmarked = plant("unmarked", &[Change { place: "a < b", bug: "" }]);
        assert!(build_in("a < b", &[&unmarked]).is_err());
    }
}
