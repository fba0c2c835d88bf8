//! The reasons why a fact about the machine could not be read.

/// The reasons why a sample could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The process has ended.
    #[error("process {pid} has ended")]
    Ended {
        /// Its id.
        pid: u32,
    },
    /// The kernel's text lacks the expected value.
    #[error("{path} has no {missing}")]
    Malformed {
        /// The file.
        path: String,
        /// The value that was looked for.
        missing: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// The reason why a thread could not be pinned to some CPUs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The number is higher than the system call can express.
    #[error("CPU {cpu} is beyond {max}, the last that a thread can be kept on")]
    Beyond {
        /// The number asked for.
        cpu: usize,
        /// The highest number.
        max: usize,
    },
    /// The kernel refused: none of the CPUs exists or is allowed.
    #[error("cannot keep the thread on CPUs {cpus:?}: {source}")]
    Refused {
        /// The CPUs asked for.
        cpus: Vec<usize>,
        /// The system's reason.
        source: std::io::Error,
    },
}
