//! Memory, threads and switches of a process; `engine` reads its CPU time.

use units::Bytes;

/// Facts that are cheap enough to read ten times per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// Resident memory; pages shared with other processes count in full.
    pub rss: Bytes,
    /// The number of threads.
    pub threads: u64,
    /// The switches of its threads since they started.
    pub switches: Switches,
}

/// The number of times that threads stopped running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Times that a thread stopped to wait for something.
    pub voluntary: u64,
    /// Times that a thread was preempted for another one.
    pub involuntary: u64,
}

impl Switches {
    /// The difference since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

impl std::ops::AddAssign for Switches {
    fn add_assign(&mut self, other: Self) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

/// Facts that take longer to read the larger the process is: to be read between steps, not ten times per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Proportional memory: a page that n processes share counts one nth. `None` where the kernel does not report it:
    /// it is older than 4.14, or the process belongs to another user.
    pub pss: Option<Bytes>,
    /// The number of open files. `None` if the process belongs to another user.
    pub open_files: Option<u64>,
}
