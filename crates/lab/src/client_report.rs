//! A client's report on a block, read strictly: docs/SUBJECTS.md defines the lines.
//!
//! An unknown line, an unreadable number, a value given twice or not at all: each makes the whole block worthless, and
//! the error names the line.

use crate::lines::quoted;
use record::google_benchmark::{self, RunType};
use stats::Histogram;
use units::Nanos;

/// An instant that a client reports as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its window has ended.
    Measured,
    /// Its window begins.
    Measuring,
}

/// A client's report on a block. Times are by its own clock; a kind that it does not report is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The length of its window.
    pub wall: Nanos,
    /// CPU time of its process in the window, user and system.
    pub cpu: Option<Nanos>,
    /// Round trips of the window.
    pub ok: u64,
    /// The number of errors of each kind, and the client's words for it, escaped for a terminal.
    pub errors: Vec<(u64, String)>,
    /// Time from just before a message is sent until its reply has arrived and been compared; `ok` of them.
    pub round_trips: Histogram,
    /// Response times at a rate, from when a message was due; `ok` of them.
    pub responses: Option<Histogram>,
    /// Short-lived: from before the connect until the last reply.
    pub lives: Histogram,
    /// Resolving the server's name.
    pub resolve: Histogram,
    /// The TCP connect.
    pub connect: Histogram,
    /// The TLS handshake.
    pub tls: Histogram,
    /// The opening handshake of the protocol.
    pub handshake: Histogram,
    /// All of these together, if the client cannot measure them separately.
    pub open: Histogram,
    /// Time until the close was answered.
    pub close: Histogram,
    /// The output of google-benchmark.
    pub google_benchmark: Option<record::GoogleBenchmark>,
}

/// The limits of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultLimits {
    /// The longest line, in bytes.
    pub line_len_max: usize,
    /// The most times, of all kinds together.
    pub numbers_max: u64,
    /// The most kinds of errors.
    pub errors_max: usize,
    /// The JSON of google-benchmark, in bytes.
    pub json_len_max: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self {
            line_len_max: 1 << 20,
            numbers_max: 50_000_000,
            errors_max: 1000,
            json_len_max: 1 << 20,
        }
    }
}

impl ResultLimits {
    /// Adds `more` to `numbers`, and fails above the limit; `of` says what is counted.
    pub(crate) fn count(
        &self,
        more: u64,
        of: &'static str,
        numbers: &mut u64,
    ) -> Result<(), GarbageError> {
        let max = self.numbers_max;
        *numbers = numbers.saturating_add(more);
        if *numbers > max { Err(GarbageError::OverLimit { of, max }) } else { Ok(()) }
    }

    /// Takes one kind of error from `rest` of `line`: the number of errors, and the words for them.
    pub(crate) fn take_error(
        &self,
        line: &[u8],
        rest: &[u8],
        errors: &mut Vec<(u64, String)>,
    ) -> Result<(), GarbageError> {
        let (count, what) = words(rest);
        if errors.len() >= self.errors_max {
            let max = self.errors_max as u64;
            return Err(GarbageError::OverLimit { of: "kinds of errors", max });
        }
        errors.push((number(line, count)?, crate::tail::escaped(what)));
        Ok(())
    }
}

/// The faults of a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GarbageError {
    /// The number of round trips that it reports differs from the number of its times.
    #[error("it says `ok {ok}` and has {times} {of}")]
    Count {
        /// The number that it reports.
        ok: u64,
        /// The number of times in the report.
        times: u64,
        /// The kind of these times.
        of: &'static str,
    },
    /// The output of google-benchmark cannot be read.
    #[error("what google-benchmark printed: {0}")]
    GoogleBenchmark(String),
    /// A line is not expected there.
    #[error("invalid line {line}: {what}")]
    Line {
        /// The line, escaped and cut off.
        line: String,
        /// Its fault.
        what: String,
    },
    /// A line is missing.
    #[error("it says `done` without `{0}`")]
    Missing(&'static str),
    /// It exceeds a limit.
    #[error("more than {max} {of}")]
    OverLimit {
        /// The things that exceed the limit.
        of: &'static str,
        /// The most that is accepted.
        max: u64,
    },
}

/// Reads the lines of one block.
#[derive(Debug)]
pub(crate) struct Reader {
    limits: ResultLimits,
    state: State,
    report: Report,
    wall: Option<Nanos>,
    ok: Option<u64>,
    numbers: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    AwaitMeasuring,
    AwaitMeasured,
    Results,
    Json(Vec<u8>),
}

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Done(Box<Report>),
    Moment(Moment),
    More,
    /// The client does not support this, for this reason.
    Unsupported(String),
}

impl Reader {
    pub(crate) fn new(limits: ResultLimits) -> Self {
        Self {
            limits,
            state: State::AwaitMeasuring,
            report: Report::default(),
            wall: None,
            ok: None,
            numbers: 0,
        }
    }

    /// The line that is expected next, in words.
    pub(crate) fn awaited(&self) -> &'static str {
        match self.state {
            State::AwaitMeasuring => "`measuring`",
            State::AwaitMeasured => "`measured`",
            State::Results => "`done`",
            State::Json(_) => "the end of google-benchmark's JSON",
        }
    }

    /// Takes the next line.
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<Step, GarbageError> {
        if let State::Json(json) = &mut self.state {
            return Self::take_json(json, line, self.limits.json_len_max)
                .and_then(|text| self.end_json(text));
        }
        let (word, rest) = words(line);
        match (&self.state, word) {
            (State::AwaitMeasuring, b"unsupported") => {
                Ok(Step::Unsupported(crate::tail::escaped(rest)))
            }
            (State::AwaitMeasuring, b"measuring") if rest.is_empty() => {
                self.state = State::AwaitMeasured;
                Ok(Step::Moment(Moment::Measuring))
            }
            (State::AwaitMeasured, b"measured") if rest.is_empty() => {
                self.state = State::Results;
                Ok(Step::Moment(Moment::Measured))
            }
            (State::Results, b"done") if rest.is_empty() => {
                self.done().map(|report| Step::Done(Box::new(report)))
            }
            (State::Results, b"google-benchmark") if rest.is_empty() => {
                if self.report.google_benchmark.is_some() {
                    return Err(garbage(line, "it occurs twice"));
                }
                self.state = State::Json(Vec::new());
                Ok(Step::More)
            }
            (State::Results, _) => self.take_result(line, word, rest).map(|()| Step::More),
            (State::AwaitMeasuring | State::AwaitMeasured | State::Json(_), _) => {
                Err(garbage(line, format!("expected {}", self.awaited())))
            }
        }
    }

    fn take_result(&mut self, line: &[u8], word: &[u8], rest: &[u8]) -> Result<(), GarbageError> {
        match word {
            b"wall_ns" => once(&mut self.wall, Nanos(number(line, rest)?), line),
            b"cpu_ns" => once(&mut self.report.cpu, Nanos(number(line, rest)?), line),
            b"ok" => once(&mut self.ok, number(line, rest)?, line),
            b"error" => self.limits.take_error(line, rest, &mut self.report.errors),
            b"histogram_v2" => {
                let text =
                    std::str::from_utf8(rest).map_err(|_| garbage(line, "it is not text"))?;
                let more = Histogram::from_base64(text).map_err(|error| garbage(line, error))?;
                self.count(more.count())?;
                self.report.round_trips.add(&more);
                Ok(())
            }
            _ => self.take_times(line, word, rest),
        }
    }

    fn take_times(&mut self, line: &[u8], word: &[u8], rest: &[u8]) -> Result<(), GarbageError> {
        let report = &mut self.report;
        let times = match word {
            b"round_trip_ns" => &mut report.round_trips,
            b"response_ns" => report.responses.get_or_insert_default(),
            b"life_ns" => &mut report.lives,
            b"resolve_ns" => &mut report.resolve,
            b"connect_ns" => &mut report.connect,
            b"tls_ns" => &mut report.tls,
            b"handshake_ns" => &mut report.handshake,
            b"open_ns" => &mut report.open,
            b"close_ns" => &mut report.close,
            _ => return Err(garbage(line, format!("expected one of {KNOWN}"))),
        };
        let mut count = 0;
        for time in parts(rest) {
            times.record(Nanos(number(line, time)?));
            count += 1;
        }
        self.count(count)
    }

    fn count(&mut self, more: u64) -> Result<(), GarbageError> {
        self.limits.count(more, "times", &mut self.numbers)
    }

    /// Returns the complete JSON once its last line has arrived: google-benchmark closes it in the first column.
    fn take_json(
        json: &mut Vec<u8>,
        line: &[u8],
        len_max: usize,
    ) -> Result<Option<String>, GarbageError> {
        json.extend(line);
        json.push(b'\n');
        if json.len() > len_max {
            let max = len_max as u64;
            return Err(GarbageError::OverLimit { of: "bytes of google-benchmark's JSON", max });
        }
        if line.trim_ascii_end() != b"}" {
            return Ok(None);
        }
        String::from_utf8(std::mem::take(json))
            .map(Some)
            .map_err(|_| GarbageError::GoogleBenchmark("it is not UTF-8".to_owned()))
    }

    fn end_json(&mut self, json: Option<String>) -> Result<Step, GarbageError> {
        if let Some(json) = json {
            self.report.google_benchmark = Some(the_only_result(&json)?);
            self.state = State::Results;
        }
        Ok(Step::More)
    }

    fn done(&mut self) -> Result<Report, GarbageError> {
        let mut report = std::mem::take(&mut self.report);
        report.wall = self.wall.ok_or(GarbageError::Missing("wall_ns"))?;
        report.ok = self.ok.ok_or(GarbageError::Missing("ok"))?;
        let of =
            [("round trips", Some(&report.round_trips)), ("responses", report.responses.as_ref())];
        for (of, times) in of {
            if let Some(times) = times.filter(|times| times.count() != report.ok) {
                return Err(GarbageError::Count { ok: report.ok, times: times.count(), of });
            }
        }
        Ok(report)
    }
}

/// Reads the single repetition of the single benchmark that a client runs for a block.
fn the_only_result(json: &str) -> Result<record::GoogleBenchmark, GarbageError> {
    let refused = GarbageError::GoogleBenchmark;
    let file = google_benchmark::read(json).map_err(|error| refused(error.to_string()))?;
    let mut measured = file.benchmarks.iter().filter(|entry| entry.run_type == RunType::Iteration);
    let (Some(entry), None) = (measured.next(), measured.next()) else {
        return Err(refused("expected exactly one measured benchmark".to_owned()));
    };
    if entry.error_occurred {
        let message = entry.error_message.as_deref().unwrap_or("it failed");
        return Err(refused(crate::tail::escaped(message.as_bytes())));
    }
    Ok(entry.result())
}

/// The first word of a line, and the rest.
pub(crate) fn words(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.iter().position(|byte| *byte == b' ') {
        Some(place) => (&line[..place], &line[place + 1..]),
        None => (line, &[]),
    }
}

/// The space-separated parts of a line.
pub(crate) fn parts(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    rest.split(|byte| *byte == b' ').filter(|part| !part.is_empty())
}

pub(crate) fn number(line: &[u8], digits: &[u8]) -> Result<u64, GarbageError> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number);
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        garbage(line, format!("{} is not an unsigned 64-bit integer", quoted(digits)))
    })
}

fn once<T>(place: &mut Option<T>, value: T, line: &[u8]) -> Result<(), GarbageError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(garbage(line, "it occurs twice")),
    }
}

pub(crate) fn garbage(line: &[u8], what: impl ToString) -> GarbageError {
    GarbageError::Line { line: quoted(line), what: what.to_string() }
}

const KNOWN: &str = "wall_ns, cpu_ns, ok, error, round_trip_ns, histogram_v2, response_ns, life_ns, \
    resolve_ns, connect_ns, tls_ns, handshake_ns, open_ns, close_ns, google-benchmark, done";

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "measuring\nmeasured\nok 3\nwall_ns 1000\ncpu_ns 400\nround_trip_ns 10 20\nround_trip_ns 30\n\
        error 2 connection \x1breset\nlife_ns 70\nconnect_ns 5 6\nhandshake_ns 7\nopen_ns 8\nclose_ns 9\ntls_ns 1\n\
        resolve_ns 2\nresponse_ns 11 21 31\ngoogle-benchmark\n{\n  \"context\": {\n  },\n  \"benchmarks\": [\n\
        {\"name\": \"a\", \"iterations\": 3, \"real_time\": 2, \"cpu_time\": 1, \"time_unit\": \"us\"}\n  ]\n}\ndone\n";

    fn read(text: &str) -> Result<(Vec<Moment>, Option<Report>), GarbageError> {
        read_within(text, ResultLimits::default())
    }

    fn read_within(
        text: &str,
        limits: ResultLimits,
    ) -> Result<(Vec<Moment>, Option<Report>), GarbageError> {
        let (mut reader, mut moments) = (Reader::new(limits), Vec::new());
        for line in text.lines() {
            match reader.take(line.as_bytes())? {
                Step::Done(report) => return Ok((moments, Some(*report))),
                Step::Moment(moment) => moments.push(moment),
                Step::More => {}
                Step::Unsupported(words) => panic!("{words}"),
            }
        }
        Ok((moments, None))
    }

    #[test]
    fn all_that_a_client_may_say_is_read() {
        let (moments, report) = read(GOOD).unwrap();
        let report = report.unwrap();
        assert_eq!(moments, [Moment::Measuring, Moment::Measured]);
        assert_eq!((report.wall, report.cpu, report.ok), (Nanos(1000), Some(Nanos(400)), 3));
        assert_eq!(report.errors, [(2, "connection \\u{1b}reset".to_owned())]);
        assert_eq!(report.round_trips.max(), Some(Nanos(30)));
        let count = |times: &Histogram| times.count();
        assert_eq!(report.responses.as_ref().map(count), Some(3));
        let phases = [
            &report.lives,
            &report.connect,
            &report.handshake,
            &report.open,
            &report.close,
            &report.tls,
            &report.resolve,
        ];
        assert_eq!(phases.map(count), [1, 2, 1, 1, 1, 1, 1]);
        assert_eq!(report.google_benchmark.unwrap().real_time_ns, 2000.0);
    }

    #[test]
    fn a_histogram_stands_for_times() {
        let mut times = Histogram::new();
        (1..=3).for_each(|time| times.record(Nanos(time * 10)));
        let text = format!(
            "measuring\nmeasured\nok 3\nwall_ns 9\nhistogram_v2 {}\ndone",
            times.to_base64()
        );
        let (_, report) = read(&text).unwrap();
        assert_eq!(report.unwrap().round_trips, times);
    }

    #[test]
    fn cut_off_after_any_line_it_is_no_result() {
        let lines: Vec<&str> = GOOD.lines().collect();
        for len in 0..lines.len() {
            assert_eq!(read(&lines[..len].join("\n")).unwrap().1, None, "{len}");
        }
    }

    #[test]
    fn with_any_byte_wrong_it_does_not_panic() {
        for place in 0..GOOD.len() {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes[place] = b'9';
            let mut reader = Reader::new(ResultLimits::default());
            let mut lines = bytes.split(|byte| *byte == b'\n');
            while let Some(Ok(Step::More | Step::Moment(_))) =
                lines.next().map(|line| reader.take(line))
            {}
        }
    }

    #[test]
    fn what_cannot_be_names_the_line() {
        let head = "measuring\nmeasured\n";
        let number = "is not an unsigned 64-bit integer";
        #[rustfmt::skip]
        let table = [
            ("hello",                        r#"invalid line "hello": expected `measuring`"#.to_owned()),
            ("measured",                     r#"invalid line "measured": expected `measuring`"#.to_owned()),
            ("measuring\nmeasuring",         r#"invalid line "measuring": expected `measured`"#.to_owned()),
            ("measuring\nunsupported a",     r#"invalid line "unsupported a": expected `measured`"#.to_owned()),
            ("measuring now",                r#"invalid line "measuring now": expected `measuring`"#.to_owned()),
            ("measuring\nmeasured\n\x1b[2J", format!(r#"invalid line "\x1b[2J": expected one of {KNOWN}"#)),
            ("measuring\nmeasured\n",        String::new()),
            ("ok",                           format!(r#"invalid line "ok": "" {number}"#)),
            ("ok -1",                        format!(r#"invalid line "ok -1": "-1" {number}"#)),
            ("ok +1",                        format!(r#"invalid line "ok +1": "+1" {number}"#)),
            ("wall_ns 1.5",                  format!(r#"invalid line "wall_ns 1.5": "1.5" {number}"#)),
            ("round_trip_ns 1 NaN",          format!(r#"invalid line "round_trip_ns 1 NaN": "NaN" {number}"#)),
            ("ok 99999999999999999999", format!(r#"invalid line "ok 99999999999999999999": "99999999999999999999" {number}"#)),
            ("ok 1\nok 1",                   r#"invalid line "ok 1": it occurs twice"#.to_owned()),
            ("histogram_v2 !",               r#"invalid line "histogram_v2 !": histogram is not base64: Invalid symbol 33, offset 0."#.to_owned()),
            ("done",                         "it says `done` without `wall_ns`".to_owned()),
            ("wall_ns 1\ndone",              "it says `done` without `ok`".to_owned()),
            ("wall_ns 1\nok 2\nround_trip_ns 1\ndone", "it says `ok 2` and has 1 round trips".to_owned()),
            ("wall_ns 1\nok 1\nround_trip_ns 1\nresponse_ns 1 2\ndone", "it says `ok 1` and has 2 responses".to_owned()),
            ("google-benchmark\n{\n}",       "what google-benchmark printed: line 2, column 1: missing field `benchmarks`".to_owned()),
        ];
        for (said, expected) in table.iter().filter(|(_, expected)| !expected.is_empty()) {
            let (first, _) = said.split_once([' ', '\n']).unwrap_or((said, ""));
            let is_early = ["hello", "measured", "measuring"].contains(&first);
            let text = if is_early { (*said).to_owned() } else { format!("{head}{said}") };
            assert_eq!(&read(&text).unwrap_err().to_string(), expected, "{said:?}");
        }
    }

    #[test]
    fn what_it_does_not_do_is_said_before_it_measures() {
        let mut reader = Reader::new(ResultLimits::default());
        assert_eq!(
            reader.take(b"unsupported binary\x07 messages").unwrap(),
            Step::Unsupported("binary\\u{7} messages".to_owned())
        );
    }

    #[test]
    fn every_limit_is_reached() {
        let limits =
            ResultLimits { line_len_max: 0, numbers_max: 3, errors_max: 1, json_len_max: 4 };
        let mut times = Histogram::new();
        times.record(Nanos(1));
        let v2 = times.to_base64();
        let head = "measuring\nmeasured\n";
        let table = [
            ("round_trip_ns 1 2\nopen_ns 1 2".to_owned(), "more than 3 times"),
            (format!("round_trip_ns 1 2 3\nhistogram_v2 {v2}"), "more than 3 times"),
            ("error 1 a\nerror 1 b".to_owned(), "more than 1 kinds of errors"),
            ("google-benchmark\n{\n  ".to_owned(), "more than 4 bytes of google-benchmark's JSON"),
        ];
        for (said, expected) in table {
            let error = read_within(&format!("{head}{said}"), limits).unwrap_err();
            assert_eq!(error.to_string(), expected, "{said}");
        }
    }
}
