//! A look at a server that does not answer as expected, to find out what it is. Carries out [`wire::discovery`].

use crate::RunError;
use crate::by_hand::{Attempt, ByHand, News};
use engine::Address;
use engine::clock::Clock;
use spec::Endpoint;
use units::{Instant, Nanos};
use wire::discovery::{self, Finding, RECEIVED_MAX, Seen, Step};
use wire::{Event, Kind, Message, Opening, Stack};

/// The check for a signal that asks to stop.
type Check<'a> = &'a dyn Fn() -> Result<(), RunError>;

/// Finds out what listens at `address`, where `url` was asked for, with as few connections as possible, one per second.
/// `bytes` makes connections without framing, over TLS where the URL uses TLS.
///
/// # Errors
///
/// A signal arrived, or the system provides no engine.
pub(crate) fn look(
    url: &Endpoint,
    address: &Address,
    bytes: &Stack,
    clock: Clock,
    check: Check<'_>,
) -> Result<Attempt<Finding>, RunError> {
    let mut seen = Vec::new();
    loop {
        let began = clock.now();
        match discovery::next(url, &seen) {
            Step::Found(finding) => return Ok(Attempt::Done(finding)),
            Step::Try(attempt) => {
                let tried = tried(attempt, url, address, bytes, clock, check)?;
                if let (Some(reason), true) = (tried.not_there, seen.is_empty()) {
                    return Ok(Attempt::NotThere(reason));
                }
                seen.push(tried.seen);
            }
        }
        let mut now = clock.now();
        while now < began + BETWEEN {
            check()?;
            engine::clock::sleep((began + BETWEEN).since(now).min(POLL));
            now = clock.now();
        }
    }
}

/// Sends an id to a server that answers with JSON, over a connection of its own protocol; `None` if the id does not
/// come back.
///
/// # Errors
///
/// As [`look`].
pub(crate) fn ask_for_id(
    url: &Endpoint,
    address: &Address,
    own: &Stack,
    clock: Clock,
    check: Check<'_>,
) -> Result<Option<Finding>, RunError> {
    let tried = tried(discovery::Attempt::Ask, url, address, own, clock, check)?;
    Ok(discovery::id_of_answer(&tried.seen.received))
}

/// An attempt that was carried out.
struct Tried {
    seen: Seen,
    /// The reason why the connection could not be made, if it could not.
    not_there: Option<String>,
}

/// Makes one connection, waits for its first byte, and listens for the attempt's time after that.
fn tried(
    attempt: discovery::Attempt,
    url: &Endpoint,
    address: &Address,
    stack: &Stack,
    clock: Clock,
    check: Check<'_>,
) -> Result<Tried, RunError> {
    let mut by_hand = ByHand::connect(address, stack.connection(SEED, 0), clock)?;
    let mut until: Instant = by_hand.now() + OPENING_MAX;
    let (mut received, mut ended, mut is_sent) = (Vec::new(), false, false);
    let (mut is_there, mut not_there) = (false, None);
    let mut first_at = None;
    while !ended && received.len() < RECEIVED_MAX && by_hand.now() < until {
        let mut opened = false;
        let was_silent = received.is_empty();
        let has_happened = by_hand.take(&mut |news| match news {
            News::Connected(opening) => {
                is_there = true;
                opened = opening == Opening::Done;
            }
            News::Event(Event::Message(message)) => received.extend_from_slice(message.payload),
            News::Event(Event::Secured(secured)) => opened = secured.opening == Opening::Done,
            News::Event(Event::Open) => opened = true,
            News::Event(_) => {}
            News::Cut(reason) => {
                ended = true;
                not_there = (!is_there).then_some(reason);
            }
            News::Broken(_) | News::Ended(_) => ended = true,
        });
        if opened && !is_sent {
            is_sent = true;
            let request = attempt.request(url);
            if !request.is_empty() {
                let is_text = attempt == discovery::Attempt::Ask;
                let kind = if is_text { Kind::Text } else { Kind::Binary };
                let message = Message { kind, payload: &request };
                ended |= by_hand.send(message).is_err();
            }
            until = by_hand.now() + attempt.patience();
        }
        if was_silent && !received.is_empty() {
            until = by_hand.now() + attempt.time();
            first_at = Some(by_hand.now());
        }
        if !has_happened {
            check()?;
            by_hand.wait(until.min(by_hand.now() + POLL));
        }
    }
    received.truncate(RECEIVED_MAX);
    let listened = first_at.map_or(Nanos::ZERO, |first| by_hand.now().since(first));
    Ok(Tried { seen: Seen { attempt, received, listened, ended }, not_there })
}

/// The time from one connection to the next.
const BETWEEN: Nanos = Nanos::from_secs(1);

/// The time that a connection and its TLS may take.
const OPENING_MAX: Nanos = Nanos::from_secs(2);

/// The time between two checks for signals.
const POLL: Nanos = Nanos::from_millis(50);

/// The seed of a connection that uses no randomness.
const SEED: u64 = 1;
