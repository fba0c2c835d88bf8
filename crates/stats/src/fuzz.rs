//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::Histogram;

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[("histogram", histogram)];

/// A histogram in base64: one that can be read is the same when it is written and read again, and any other has an
/// error.
fn histogram(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(histogram) = Histogram::from_base64(text) else { return };
    assert_eq!(Histogram::from_base64(&histogram.to_base64()).as_ref(), Ok(&histogram));
    let mut twice = histogram.clone();
    twice.add(&histogram);
    assert_eq!(twice.count(), 2 * histogram.count());
    assert!(histogram.max() <= Some(Histogram::MAX));
    assert_eq!(histogram.mean_ns().is_none(), histogram.count() == 0);
    assert!(!histogram.to_hgrm().is_empty());
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
