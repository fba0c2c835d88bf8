//! A client's report on its receivers in rooms, read strictly: docs/SUBJECTS.md defines the lines.
//!
//! As in a report on a block, an unknown line or an unreadable number makes all of it worthless.

use crate::client_report::{GarbageError, ResultLimits, garbage, number, parts, words};
use spec::stamp::Header;
use units::Nanos;

/// Everything that the receivers of a client have received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The receivers, in the order of the report.
    pub receivers: Vec<Receiver>,
    /// The number of errors of each kind, and the client's words for it, escaped for a terminal.
    pub errors: Vec<(u64, String)>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// The number of its room.
    pub room: u32,
    /// Its end.
    pub end: ReceiverEnd,
    /// The resolution of its clock.
    pub resolution: Nanos,
    /// The transport that its library has used, in the library's own words, escaped for a terminal.
    pub transport: String,
    /// Comparisons of its clock with ours.
    pub exchanges: Vec<ClockExchange>,
    /// The headers of all messages that it has received, in order, with the instants by its own clock.
    pub messages: Vec<(Header, Nanos)>,
}

/// The ways in which a receiver may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverEnd {
    /// Its connection was closed before the end mark arrived.
    Cut,
    /// The end mark arrived: what did not arrive before it never will.
    Ended,
    /// The wait for the end mark timed out.
    Waiting,
}

/// One comparison of two clocks, both in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    /// The instant at which a receiver asked, by its clock.
    pub asked: Nanos,
    /// The answer: the instant by our clock.
    pub ours: Nanos,
    /// The instant at which it received the answer, by its clock.
    pub heard: Nanos,
}

/// Reads the lines that follow one command.
#[derive(Debug)]
pub(crate) struct Reader {
    limits: ResultLimits,
    awaits_report: bool,
    received: Received,
    numbers: u64,
}

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It asks for the time.
    Asks,
    /// The command is done.
    Done(Received),
    More,
    /// It does not support this, for this reason.
    Unsupported(String),
}

impl Reader {
    /// Reads what follows `receive`.
    pub(crate) fn awaiting_receivers(limits: ResultLimits) -> Self {
        Self { limits, awaits_report: false, received: Received::default(), numbers: 0 }
    }

    /// Reads what follows `stop`.
    pub(crate) fn awaiting_report(limits: ResultLimits) -> Self {
        Self { awaits_report: true, ..Self::awaiting_receivers(limits) }
    }

    /// The line that ends the answer, in words.
    pub(crate) const fn awaited(&self) -> &'static str {
        if self.awaits_report { "`done`" } else { "`receiving`" }
    }

    /// Takes the next line.
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<Step, GarbageError> {
        let (word, rest) = words(line);
        match (self.awaits_report, word) {
            (_, b"clock") if rest.is_empty() => {
                self.count(1)?;
                Ok(Step::Asks)
            }
            (false, b"unsupported") => Ok(Step::Unsupported(crate::tail::escaped(rest))),
            (false, b"receiving") | (true, b"done") if rest.is_empty() => {
                Ok(Step::Done(std::mem::take(&mut self.received)))
            }
            (true, b"receiver") => self.receiver(line, rest).map(|()| Step::More),
            (true, b"exchange_ns") => self.exchanges(line, rest).map(|()| Step::More),
            (true, b"message") => self.messages(line, rest).map(|()| Step::More),
            (true, b"error") => {
                let errors = &mut self.received.errors;
                self.limits.take_error(line, rest, errors).map(|()| Step::More)
            }
            _ => Err(garbage(line, format!("expected {}", self.awaited()))),
        }
    }

    fn receiver(&mut self, line: &[u8], rest: &[u8]) -> Result<(), GarbageError> {
        self.count(1)?;
        let (room, rest) = words(rest);
        let (end, rest) = words(rest);
        let (resolution, transport) = words(rest);
        let room = number(line, room)?;
        let room = u32::try_from(room).map_err(|_| garbage(line, "there is no such room"))?;
        let end = match end {
            b"cut" => ReceiverEnd::Cut,
            b"ended" => ReceiverEnd::Ended,
            b"waiting" => ReceiverEnd::Waiting,
            _ => return Err(garbage(line, "the end of a receiver is cut, ended or waiting")),
        };
        self.received.receivers.push(Receiver {
            room,
            end,
            resolution: Nanos(number(line, resolution)?),
            transport: crate::tail::escaped(transport),
            exchanges: Vec::new(),
            messages: Vec::new(),
        });
        Ok(())
    }

    fn exchanges(&mut self, line: &[u8], rest: &[u8]) -> Result<(), GarbageError> {
        let instants: Vec<&[u8]> = parts(rest).collect();
        self.count(instants.len() as u64)?;
        let receiver = self.latest(line)?;
        let (whole, []) = instants.as_chunks::<3>() else {
            return Err(garbage(line, "an exchange has three instants"));
        };
        for [asked, ours, heard] in whole {
            let instant = |digits: &[u8]| number(line, digits).map(Nanos);
            receiver.exchanges.push(ClockExchange {
                asked: instant(asked)?,
                ours: instant(ours)?,
                heard: instant(heard)?,
            });
        }
        Ok(())
    }

    fn messages(&mut self, line: &[u8], rest: &[u8]) -> Result<(), GarbageError> {
        let all: Vec<&[u8]> = parts(rest).collect();
        self.count(all.len() as u64)?;
        let receiver = self.latest(line)?;
        let (whole, []) = all.as_chunks::<2>() else {
            return Err(garbage(line, "a message has a header and an instant"));
        };
        for [header, received] in whole {
            let found = Header::read(header, true).filter(|_| header.len() == Header::len(true));
            let header =
                found.ok_or_else(|| garbage(line, "a header has 32 hexadecimal digits"))?;
            receiver.messages.push((header, Nanos(number(line, received)?)));
        }
        Ok(())
    }

    /// The receiver that a line is about.
    fn latest(&mut self, line: &[u8]) -> Result<&mut Receiver, GarbageError> {
        let latest = self.received.receivers.last_mut();
        latest.ok_or_else(|| garbage(line, "no `receiver` line precedes it"))
    }

    fn count(&mut self, more: u64) -> Result<(), GarbageError> {
        self.limits.count(more, "receivers, instants and headers", &mut self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of publisher 1, number 2, due at 3.
    const HEADER: &str = "01000000020000000300000000000000";

    fn read(text: &str) -> Result<Received, GarbageError> {
        read_within(text, ResultLimits::default())
    }

    fn read_within(text: &str, limits: ResultLimits) -> Result<Received, GarbageError> {
        let mut reader = Reader::awaiting_report(limits);
        for line in text.lines() {
            match reader.take(line.as_bytes())? {
                Step::Done(received) => return Ok(received),
                Step::Asks | Step::More => {}
                Step::Unsupported(words) => panic!("{words}"),
            }
        }
        panic!("it has no end: {text}")
    }

    #[test]
    fn all_that_receivers_may_say_is_read() {
        let text = format!(
            "clock\nreceiver 0 ended 5000 xhr-streaming\nexchange_ns 10 11 12 20 21 22\nmessage {HEADER} 9\n\
             message {HEADER} 10 {HEADER} 11\nreceiver 3 cut 100000 polling\x1b\nerror 2 closed: 1006\ndone\n"
        );
        let Received { receivers, errors } = read(&text).unwrap();
        let header = Header { connection: 1, sequence: 2, due: Nanos(3) };
        let instants = [9, 10, 11].map(|at| (header, Nanos(at)));
        assert_eq!(receivers[0].messages, instants);
        let exchange = |asked, ours, heard| ClockExchange {
            asked: Nanos(asked),
            ours: Nanos(ours),
            heard: Nanos(heard),
        };
        assert_eq!(receivers[0].exchanges, [exchange(10, 11, 12), exchange(20, 21, 22)]);
        let about = |it: &Receiver| (it.room, it.end, it.resolution.0, it.transport.clone());
        assert_eq!(about(&receivers[0]), (0, ReceiverEnd::Ended, 5000, "xhr-streaming".to_owned()));
        assert_eq!(
            about(&receivers[1]),
            (3, ReceiverEnd::Cut, 100_000, "polling\\u{1b}".to_owned())
        );
        assert_eq!(errors, [(2, "closed: 1006".to_owned())]);
    }

    #[test]
    fn receivers_are_awaited_and_may_ask_for_the_time() {
        let mut reader = Reader::awaiting_receivers(ResultLimits::default());
        assert_eq!(reader.take(b"clock"), Ok(Step::Asks));
        assert!(reader.take(b"done").unwrap_err().to_string().contains("expected `receiving`"));
        assert_eq!(reader.take(b"receiving"), Ok(Step::Done(Received::default())));
        let no = reader.take(b"unsupported rooms\x07");
        assert_eq!(no, Ok(Step::Unsupported("rooms\\u{7}".to_owned())));
    }

    #[test]
    fn what_cannot_be_names_the_line() {
        let head = "receiver 0 ended 5000 websocket\n";
        #[rustfmt::skip]
        let table = [
            ("receiving".to_owned(),                     "expected `done`"),
            ("clock 1".to_owned(),                       "expected `done`"),
            ("unsupported".to_owned(),                   "expected `done`"),
            ("message".to_owned(),                       "no `receiver` line precedes it"),
            ("exchange_ns 1 2 3".to_owned(),             "no `receiver` line precedes it"),
            ("receiver 0 gone 5 ws".to_owned(),          "the end of a receiver is cut, ended or waiting"),
            ("receiver 4294967296 cut 5 ws".to_owned(),  "there is no such room"),
            ("receiver -1 cut 5 ws".to_owned(),          "is not an unsigned 64-bit integer"),
            ("receiver 1 cut ws".to_owned(),             "is not an unsigned 64-bit integer"),
            (format!("{head}exchange_ns 1 2"),           "an exchange has three instants"),
            (format!("{head}exchange_ns 1 2 x"),         "is not an unsigned 64-bit integer"),
            (format!("{head}message {HEADER}"),          "a message has a header and an instant"),
            (format!("{head}message {HEADER}0 1"),       "a header has 32 hexadecimal digits"),
            (format!("{head}message {} 1", &HEADER[1..]), "a header has 32 hexadecimal digits"),
            (format!("{head}message {HEADER} 1.5"),      "is not an unsigned 64-bit integer"),
            ("error many x".to_owned(),                  "is not an unsigned 64-bit integer"),
        ];
        for (said, expected) in table {
            let error = read(&said).unwrap_err().to_string();
            assert!(error.contains(expected), "{said}: {error}");
        }
    }

    #[test]
    fn every_limit_is_reached() {
        let limits = ResultLimits { numbers_max: 4, errors_max: 1, ..ResultLimits::default() };
        for (said, of) in [
            ("clock\nclock\nclock\nclock\nclock".to_owned(), "receivers, instants and headers"),
            (
                format!("receiver 0 cut 5 ws\nmessage {HEADER} 1 {HEADER} 1"),
                "receivers, instants and headers",
            ),
            ("error 1 a\nerror 1 b".to_owned(), "kinds of errors"),
        ] {
            let error = read_within(&said, limits).unwrap_err().to_string();
            assert!(error.starts_with("more than ") && error.ends_with(of), "{said}: {error}");
        }
    }
}
