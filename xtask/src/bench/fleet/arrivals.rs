//! A server that echoes, and notes when each message arrived and from which agent: the starts of all agents by one
//! clock.

#![expect(clippy::disallowed_types, reason = "a server of its own, which notes more than ours do")]

use super::harness::{FIRST, HUB};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The instants, since the start of the server, at which something arrived from each agent, with the number of bytes.
type Noted = Arc<Mutex<BTreeMap<usize, Vec<(Duration, usize)>>>>;

/// The server; it ends with the process.
pub(super) struct Arrivals {
    noted: Noted,
    pub(super) url: String,
}

impl Arrivals {
    pub(super) fn listen() -> Result<Self> {
        let listener = TcpListener::bind((HUB, 0))?;
        let url = format!("tcp://{}", listener.local_addr()?);
        let (noted, began) = (Noted::default(), Instant::now());
        let notes = Arc::clone(&noted);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let notes = Arc::clone(&notes);
                thread::spawn(move || echo(stream, began, &notes));
            }
        });
        Ok(Self { noted, url })
    }

    /// Forgets what has arrived so far.
    pub(super) fn forget(&self) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns, for each of `agents`, the seconds by which it began late, up to an offset common to all, by the least
    /// delayed of its first `messages`. Agent `k` sends one message in each `every`, the first `k * every / agents`
    /// after the start.
    ///
    /// # Errors
    ///
    /// An agent has sent fewer messages.
    pub(super) fn late(&self, every: Duration, agents: usize, messages: usize) -> Result<Vec<f64>> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        (0..agents)
            .map(|agent| {
                let arrivals = noted.get(&agent).map_or(&[][..], Vec::as_slice);
                let late = late(arrivals, every, messages);
                let late = late.with_context(|| format!("a{agent} has sent too few messages"))?;
                let own = every * u32::try_from(agent)? / u32::try_from(agents)?;
                Ok(late - own.as_secs_f64())
            })
            .collect()
    }
}

/// The least delay of the first `messages` of a block: the time from when one was due, if the first was due at zero,
/// until it arrived.
fn late(arrivals: &[(Duration, usize)], every: Duration, messages: usize) -> Option<f64> {
    // An agent tries the server before the block.
    let is_gap = |pair: &[(Duration, usize)]| pair[1].0.saturating_sub(pair[0].0) > GAP;
    let first = arrivals.windows(2).rposition(is_gap).map_or(0, |gap| gap + 1);
    let mut bytes = 0;
    let late = arrivals[first..].iter().map_while(|(at, len)| {
        bytes += len;
        // Several delayed messages arrive together: the last of them was delayed least.
        let index = (bytes / SIZE).checked_sub(1).filter(|index| *index < messages)?;
        Some(at.as_secs_f64() - every.as_secs_f64() * f64::from(u32::try_from(index).ok()?))
    });
    let least = late.reduce(f64::min);
    least.filter(|_| bytes / SIZE >= messages)
}

fn echo(mut stream: TcpStream, began: Instant, noted: &Noted) {
    let Ok(IpAddr::V4(from)) = stream.peer_addr().map(|address| address.ip()) else { return };
    let agent = usize::from(from.octets()[3]).checked_sub(FIRST);
    let mut bytes = [0; 4096];
    while let Ok(len @ 1..) = stream.read(&mut bytes) {
        let at = began.elapsed();
        if let Some(agent) = agent {
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.entry(agent).or_default().push((at, len));
        }
        if stream.write_all(&bytes[..len]).is_err() {
            return;
        }
    }
}

/// The bytes of a message.
pub(super) const SIZE: usize = 64;
/// The least time without a message before a block; gaps within a block are shorter.
const GAP: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_as_late_as_the_message_that_was_held_up_least() {
        // The message that tries the server, then a block whose eighth message is not delayed; the third and the fourth
        // arrive together.
        let held_up = |index: u64| if index == 7 { 0 } else { 50 * (index + 1) };
        let block = (0..30).filter(|index| *index != 2).map(|index| {
            let at = Duration::from_micros(900_300 + 10_000 * index + held_up(index));
            (at, if index == 3 { 2 * SIZE } else { SIZE })
        });
        let arrivals: Vec<_> =
            [(Duration::from_millis(3), SIZE)].into_iter().chain(block).collect();
        let late = |messages| {
            let late = late(&arrivals, Duration::from_millis(10), messages)?;
            Some(format!("{:.0} us", late * 1e6))
        };
        assert_eq!(late(20).as_deref(), Some("900300 us"));
        assert_eq!(late(1).as_deref(), Some("900350 us"));
        assert_eq!(late(31), None);
    }
}
