//! The reasons for which a fact about the machine could not be read.

/// The reasons for which a sample could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The process has ended.
    #[error("process {pid} has ended")]
    Ended {
        /// Its id.
        pid: u32,
    },
    /// The kernel's answer is not what it should be.
    #[error("{path} has no {missing}")]
    Malformed {
        /// The file.
        path: String,
        /// The value that was looked for in it.
        missing: &'static str,
    },
    /// The kernel does not let us read it.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// The reason for which a thread could not be kept on some CPUs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The number is beyond what the system call can say.
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
