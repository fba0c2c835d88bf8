//! Random bytes from the system, for names and keys that nobody else may have.

use anyhow::Context as _;
use std::fs::File;
use std::io::Read as _;

/// `N` random bytes.
///
/// # Errors
///
/// The system's source cannot be read.
pub(crate) fn bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    let read = File::open(SOURCE).and_then(|mut source| source.read_exact(&mut bytes));
    read.with_context(|| format!("cannot read {SOURCE}, which keys and names are made of"))?;
    Ok(bytes)
}

const SOURCE: &str = "/dev/urandom";
