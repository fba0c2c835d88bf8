//! The raw times of parts: files with every single time in the histograms of a part, to check the histograms.

use crate::protocol::{BlockId, Name};
use run::{RawTimes, TimeOf};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The folder of an agent's raw times.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    agent: Name,
}

impl Folder {
    /// Opens the folder `path`, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub(crate) fn open(path: &Path, agent: Name) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self { path: path.to_owned(), agent })
    }

    /// Writes the times of a part: on each line the name of the histogram and a time in nanoseconds. Returns words for
    /// the user, which say where they are.
    pub(crate) fn keep(&self, run: &Name, block: BlockId, times: &RawTimes) -> String {
        let path = self.path.join(format!("{run}-{block}-{}.times", self.agent));
        let (count, shown) = (times.kept.len(), path.display());
        match write(&path, times) {
            Ok(()) if times.left_out == 0 => {
                format!("{count} raw times of block {block} are in {shown}")
            }
            Ok(()) => format!(
                "{count} raw times of block {block} are in {shown}; {} more did not fit",
                times.left_out
            ),
            Err(error) => {
                format!("the raw times of block {block} cannot be kept: {shown}: {error}")
            }
        }
    }
}

fn write(path: &Path, times: &RawTimes) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for raw in &times.kept {
        let name = match raw.of {
            TimeOf::Response => "response",
            TimeOf::Service => "service",
            TimeOf::Lag => "lag",
        };
        writeln!(file, "{name} {}", raw.time.0)?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::RawTime;
    use units::Nanos;

    #[test]
    fn each_time_has_a_line_and_the_words_say_where_and_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw");
        let raw_times = Folder::open(&path, "a1".parse().unwrap()).unwrap();
        let kept = [(TimeOf::Lag, 7), (TimeOf::Service, 40), (TimeOf::Response, 47)];
        let kept = kept.map(|(of, time)| RawTime { of, time: Nanos(time) }).to_vec();
        let (run, block) = ("r1".parse().unwrap(), BlockId { number: 2, attempt: 1 });
        let words = raw_times.keep(&run, block, &RawTimes { kept: kept.clone(), left_out: 0 });
        let file = path.join("r1-2-1-a1.times");
        assert_eq!(words, format!("3 raw times of block 2-1 are in {}", file.display()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "lag 7\nservice 40\nresponse 47\n");
        let words = raw_times.keep(&run, block, &RawTimes { kept, left_out: 5 });
        assert!(words.ends_with("; 5 more did not fit"), "{words}");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let words = raw_times.keep(&run, block, &RawTimes::default());
        assert!(words.contains("cannot be kept") && words.contains("r1-2-1-a1.times"), "{words}");
    }
}
