//! Names of agents, runs, processes and blocks, and the subjects made of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of an agent, a run or a controller: 1 to 32 letters, digits, `_` and `-`, so that it is one token of a
/// subject and cannot reach into another's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(std::sync::Arc<str>);

/// The reason why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is not a number and an attempt.
    #[error("`{0}` is not a block; a block is its number and its attempt, like `7-0`")]
    Block(String),
    /// It has other characters, is empty, or is too long.
    #[error("`{0}` is not a name: give 1 to {LEN_MAX} letters, digits, `_` or `-`")]
    Name(String),
    /// It is not a subject of the log.
    #[error("`{0}` is not a subject of the log")]
    Subject(String),
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let is_name = (1..=LEN_MAX).contains(&text.len()) && text.bytes().all(fits);
        if is_name { Ok(Self(text.into())) } else { Err(NameError::Name(short(text))) }
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// One process among all that ever had its name: 64 random bits, drawn when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instance(pub u64);

/// A block of a run: its number, from 0, and its attempt, from 0. Shown as `7-0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlockId {
    /// Its number.
    pub number: u32,
    /// The number of repeats before this one.
    pub attempt: u8,
}

impl fmt::Display for BlockId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.number, self.attempt)
    }
}

impl FromStr for BlockId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let parse = || {
            let (number, attempt) = text.split_once('-')?;
            Some(Self { number: number.parse().ok()?, attempt: attempt.parse().ok()? })
        };
        // One spelling for each, so that no block has two subjects.
        let block = parse().filter(|block: &Self| block.to_string() == text);
        block.ok_or_else(|| NameError::Block(short(text)))
    }
}

impl TryFrom<String> for BlockId {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<BlockId> for String {
    fn from(block: BlockId) -> Self {
        block.to_string()
    }
}

/// A subject of the log. Each can be written once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The plan of a run.
    Plan(Name),
    /// A step of a run, numbered from 0 without gaps.
    Step(Name, u32),
    /// The slot of an agent in a block of a run.
    Slot(Name, BlockId, Name),
}

impl Subject {
    /// The prefix of all subjects; `wb.log.>` is the filter of the stream.
    pub const PREFIX: &str = "wb.log";

    /// The run that it belongs to.
    pub const fn run(&self) -> &Name {
        match self {
            Self::Plan(run) | Self::Step(run, _) | Self::Slot(run, _, _) => run,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = Self::PREFIX;
        match self {
            Self::Plan(run) => write!(formatter, "{prefix}.{run}.plan"),
            Self::Step(run, number) => write!(formatter, "{prefix}.{run}.step.{number}"),
            Self::Slot(run, block, agent) => {
                write!(formatter, "{prefix}.{run}.slot.{block}.{agent}")
            }
        }
    }
}

impl FromStr for Subject {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let other = || NameError::Subject(short(text));
        let tokens: Vec<&str> = text.split('.').collect();
        match tokens[..] {
            ["wb", "log", run, "plan"] => Ok(Self::Plan(run.parse()?)),
            ["wb", "log", run, "step", number] => {
                let step: u32 = number.parse().map_err(|_| other())?;
                if step.to_string() != number {
                    return Err(other());
                }
                Ok(Self::Step(run.parse()?, step))
            }
            ["wb", "log", run, "slot", block, agent] => {
                Ok(Self::Slot(run.parse()?, block.parse()?, agent.parse()?))
            }
            _ => Err(other()),
        }
    }
}

/// The beginning of a text, for errors, with special characters escaped.
fn short(text: &str) -> String {
    text.chars().take(LEN_MAX + 1).flat_map(char::escape_default).collect()
}

/// The most characters of a name.
const LEN_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token_of_a_subject() {
        for name in ["a1", "A-_9", &"x".repeat(32)] {
            assert_eq!(name.parse::<Name>().unwrap().as_str(), name);
        }
        for name in ["", "a.b", "a*", ">", "a b", "ä", &"x".repeat(33)] {
            assert!(name.parse::<Name>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn every_subject_reads_back_and_has_one_spelling() {
        let run: Name = "r1".parse().unwrap();
        let block = BlockId { number: 7, attempt: 2 };
        let agent: Name = "plan".parse().unwrap();
        let texts = ["wb.log.r1.plan", "wb.log.r1.step.12", "wb.log.r1.slot.7-2.plan"];
        let subjects = [
            Subject::Plan(run.clone()),
            Subject::Step(run.clone(), 12),
            Subject::Slot(run, block, agent),
        ];
        for (subject, text) in subjects.iter().zip(texts) {
            assert_eq!(subject.to_string(), text);
            assert_eq!(&text.parse::<Subject>().unwrap(), subject);
        }
        let others =
            ["wb.log.r1.step.012", "wb.log.r1.step.+1", "wb.log.r1.slot.07-0.a1", "wb.hb.a1"];
        for text in others {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }
}
