//! The record itself: its JSON as it was written, compressed, and the id that follows from its content.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};

/// The id of the record with this JSON: the first 16 hexadecimal digits of its SHA-256. The same record has the same id
/// in every store.
pub fn id(json: &str) -> String {
    let digest = Sha256::digest(json.as_bytes());
    digest.iter().take(ID_BYTES).fold(String::new(), |mut id, byte| {
        write!(id, "{byte:02x}").expect("a text takes all that is written to it");
        id
    })
}

/// `json`, compressed.
pub(crate) fn packed(json: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(json.as_bytes()).and_then(|()| encoder.finish());
    written.expect("memory takes all that is written to it")
}

/// The JSON that was compressed.
///
/// # Errors
///
/// It was not written by [`packed`].
pub(crate) fn unpacked(bytes: &[u8]) -> io::Result<String> {
    let mut json = String::new();
    ZlibDecoder::new(bytes).take(JSON_MAX).read_to_string(&mut json)?;
    Ok(json)
}

/// The number of bytes of a digest that make an id: two of a million records have the same id by chance in one of 10^7
/// such stores.
const ID_BYTES: usize = 8;
/// The largest record, in bytes; no run writes a larger one.
const JSON_MAX: u64 = 1 << 30;
