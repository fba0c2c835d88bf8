//! The few text formats that the kernel writes.

use units::Bytes;

/// The value of the first line `name: value`; `name` is given without the colon; white space may precede the colon.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then(|| value.trim())
    })
}

/// A field in kilobytes (`VmRSS:  1696 kB`).
pub(super) fn kilobytes(text: &str, name: &str) -> Option<Bytes> {
    let kilobytes: u64 = field(text, name)?.strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(Bytes(kilobytes.checked_mul(1024)?))
}

/// Numbers and ranges of them (`0-3,8`), ascending; the empty text is the empty list.
///
/// `None` if it is anything else, or contains a number too high for a CPU or port.
pub(super) fn number_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > NUMBER_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

const NUMBER_MAX: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_are_read() {
        #[rustfmt::skip]
        let table = [
            ("",             Some(vec![])),
            ("0",            Some(vec![0])),
            ("0-3",          Some(vec![0, 1, 2, 3])),
            ("0,2-3,9\n",    Some(vec![0, 2, 3, 9])),
            ("3,1-3,1",      Some(vec![1, 2, 3])),
            ("3-1",          None),
            ("0-",           None),
            ("none",         None),
            ("0-4000000000", None), // rejected before anything is allocated
        ];
        for (text, numbers) in table {
            assert_eq!(number_list(text), numbers, "{text:?}");
        }
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "Name:\ta: b\nVmRSSX: 1 kB\nVmRSS:\t    1696 kB\nmodel name\t: Xeon: gold\nBad: 7 MB\nBig: 18446744073709551615 kB";
        assert_eq!(field(text, "Name"), Some("a: b"));
        assert_eq!(field(text, "model name"), Some("Xeon: gold"));
        assert_eq!(field(text, "model"), None);
        assert_eq!(kilobytes(text, "VmRSS"), Some(Bytes(1_736_704)));
        assert_eq!(
            (kilobytes(text, "Bad"), kilobytes(text, "Big"), kilobytes(text, "None")),
            (None, None, None)
        );
    }
}
