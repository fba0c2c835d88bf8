//! What a process holds and did, its CPU time left out: that is read by `engine`.

use units::Bytes;

/// What is cheap enough to look at ten times a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// Resident memory; pages shared with other processes count in full.
    pub rss: Bytes,
    /// How many threads there are.
    pub threads: u64,
    /// How often its threads gave up or lost their CPU, since they started.
    pub switches: Switches,
}

/// How often threads stopped running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because somebody else was to run.
    pub involuntary: u64,
}

impl Switches {
    /// What was added after `earlier`.
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

/// What takes longer to find out the more of it there is: to be looked at between steps, not ten times a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Proportional memory: a page that n processes share counts one nth. `None` where the kernel does not say: it is
    /// older than 4.14, or the process is another user's.
    pub pss: Option<Bytes>,
    /// How many files are open. `None` if the process is another user's.
    pub open_files: Option<u64>,
}
