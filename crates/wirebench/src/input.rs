//! Reads files that the user names: up to a limit, and without waiting forever.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, stdin};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use units::Bytes;

/// The content of a file, or of stdin for `-`; at most `max` bytes.
///
/// # Errors
///
/// It cannot be read, has more bytes, or is a pipe that nobody writes to.
pub(crate) fn read(path: &Path, max: Bytes) -> io::Result<Vec<u8>> {
    if path == Path::new("-") {
        return up_to(stdin().lock(), max);
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() {
        let mut watched = [PollFd::new(&file, PollFlags::IN)];
        if poll(&mut watched, Some(&PATIENCE))? == 0 {
            let seconds = PATIENCE.tv_sec;
            return Err(invalid(format!("it is a pipe, and nobody wrote to it for {seconds} s")));
        }
        rustix::io::ioctl_fionbio(&file, false)?;
    }
    // A device may have no end.
    let max = if kind.is_char_device() { max.min(DEVICE_MAX) } else { max };
    up_to(file, max)
}

/// Returns `bytes` as text, which should be `what`.
///
/// # Errors
///
/// It is not UTF-8; the error has the place.
pub(crate) fn text(bytes: Vec<u8>, what: &str) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.len() - line_start + 1;
        invalid(format!("not {what}: not UTF-8 at line {line} column {column}"))
    })
}

fn up_to(reader: impl Read, max: Bytes) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(max.0 + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max.0 {
        return Err(invalid(format!("it has more than {max}")));
    }
    Ok(bytes)
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// The longest wait for somebody who writes into a pipe.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// The most to read from a device such as `/dev/zero`.
const DEVICE_MAX: Bytes = Bytes(1 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_up_to_a_limit() {
        let read = |max| up_to("four".as_bytes(), Bytes(max)).map_err(|error| error.to_string());
        assert_eq!(read(4), Ok(b"four".to_vec()));
        assert_eq!(read(3), Err("it has more than 3 B".to_owned()));
        let endless = read_error(Path::new("/dev/zero"));
        assert_eq!(endless, "it has more than 1 MiB");
    }

    fn read_error(path: &Path) -> String {
        read(path, Bytes(1 << 30)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_text_says_where() {
        for (bytes, place) in [
            (&b"\xff"[..], "line 1 column 1"),
            (b"{\n  \"a\": \"\xff\"", "line 2 column 9"),
            (b"\n\n\xc3", "line 3 column 1"),
        ] {
            let error = text(bytes.to_vec(), "a record").unwrap_err().to_string();
            assert_eq!(error, format!("not a record: not UTF-8 at {place}"));
        }
    }
}
