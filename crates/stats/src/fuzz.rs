//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::Histogram;

/// A corpus in `fuzz/corpus`, and what is checked of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[("histogram", histogram)];

/// A histogram in base64: what is read is the same after it was written, and the others have a reason.
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
