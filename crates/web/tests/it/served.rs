//! A server with a history in memory, and with a script instead of the program that measures.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]
#![expect(clippy::disallowed_types, reason = "the other end of the socket")]

use record::Entry;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Filter, Store, StoreError};
use tempfile::TempDir;
use web::{History, Settings, Ui};

/// A server, which ends when it is dropped.
struct Served {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    folder: TempDir,
}

/// An answer: its status, its head and its body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

const TOKEN: &str = "0123456789abcdef";

impl Served {
    /// Starts a server whose program is this shell script.
    fn start(script: &str) -> Self {
        Self::start_with(script, Box::new(|| Ok(Some(Box::new(Many)))))
    }

    /// The same with another history.
    fn start_with(script: &str, history: History) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: TOKEN.to_owned(),
            program,
            folder: folder.path().join("asked"),
            history,
        };
        let page = Ui::listen(settings).unwrap();
        let address = page.url().split('/').nth(2).unwrap().parse().unwrap();
        assert_eq!(page.url(), format!("http://{address}/{TOKEN}/"));
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let serve =
            move || page.serve(|runs| ends.load(Ordering::Relaxed) && runs.stop_all()).unwrap();
        let thread = Some(std::thread::spawn(serve));
        Self { address, is_over, thread, folder }
    }

    /// Sends a request with the lines of `headers`.
    fn open(&self, line: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(
            stream,
            "{line} HTTP/1.1\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    }

    fn ask(&self, line: &str, headers: &str, body: &str) -> Answer {
        let mut text = String::new();
        self.open(line, headers, body).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        Answer { status, head: head.to_lowercase(), body }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET /{TOKEN}/{path}"), &self.host(), "")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        let origin = format!("{}Origin: http://{}\r\n", self.host(), self.address);
        self.ask(&format!("POST /{TOKEN}/{path}"), &origin, body)
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// The text of a chunked body (RFC 9112, section 7.1).
fn unchunked(body: &str) -> String {
    let (mut rest, mut text) = (body, String::new());
    while let Some((len, after)) = rest.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap();
        text += &after[..len];
        rest = &after[(len + 2).min(after.len())..];
    }
    text
}

/// Ten thousand records, and nothing else.
struct Many;

const MANY: usize = 10_000;

impl Store for Many {
    fn name(&self) -> &'static str {
        "many"
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        if filter.name.is_some() {
            return Ok(Vec::new());
        }
        let json = include_str!("../../../record/tests/it/old/run-closed.json");
        let record = record::RunRecord::from_json(json).unwrap();
        let entry = Entry::of(&record, String::new(), None);
        let numbered = |number: usize| Entry {
            id: format!("{number:016x}"),
            experiment: format!("experiment {number}"),
            ..entry.clone()
        };
        let is_wanted = |entry: &Entry| {
            let part = filter.experiment.as_deref().unwrap_or_default();
            entry.experiment.contains(part) && filter.verdict.is_none_or(|it| it == entry.verdict)
        };
        let most = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok((0..MANY).map(numbered).filter(is_wanted).take(most).collect())
    }

    fn json(&mut self, _: &str) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn add(&mut self, _: &Entry, _: &str) -> Result<bool, StoreError> {
        unreachable!("the page only reads")
    }

    fn tag(&mut self, _: &str, _: &str, _: bool) -> Result<bool, StoreError> {
        unreachable!("the page only reads")
    }

    fn set_baseline(&mut self, _: &str, _: Option<&str>) -> Result<bool, StoreError> {
        unreachable!("the page only reads")
    }

    fn remove(&mut self, _: &[String]) -> Result<(), StoreError> {
        unreachable!("the page only reads")
    }

    fn verify(&mut self) -> Result<Vec<String>, StoreError> {
        unreachable!("the page only reads")
    }
}

/// The body of a request that starts a run of a file.
const FILE: &str = r#"{"file": {"name": "it", "text": "rounds = 1"}}"#;

#[test]
fn a_request_without_the_token_or_of_another_page_is_refused_with_a_sentence() {
    let served = Served::start("exit 0");
    let (own, address) = (served.host(), served.address);
    let foreign = |origin: &str| format!("{own}Origin: {origin}\r\n");
    let post = format!("POST /{TOKEN}/api/runs");
    let get = format!("GET /{TOKEN}/api/runs");
    #[rustfmt::skip]
    let table = [
        ("GET /".to_owned(),                  own.clone(),                                "token"),
        ("GET /api/runs".to_owned(),          own.clone(),                                "token"),
        (format!("GET /{TOKEN}0/api/runs"),   own.clone(),                                "token"),
        (format!("GET //{TOKEN}/api/runs"),   own.clone(),                                "token"),
        (get.clone(),                         "Host: evil.example\r\n".to_owned(),        "address"),
        (get.clone(),                         format!("Host: evil.example:{}\r\n", address.port()), "address"),
        (get.clone(),                         foreign("http://evil.example"),             "origin"),
        (post.clone(),                        foreign("http://evil.example"),             "origin"),
        (post.clone(),                        foreign("null"),                            "origin"),
        (post,                                own.clone(),                                "Origin"),
        (get,                                 format!("{own}Sec-Fetch-Site: cross-site\r\n"), "site"),
    ];
    for (line, headers, word) in table {
        let answer = served.ask(&line, &headers, FILE);
        assert_eq!(answer.status, 403, "{line} {headers}");
        assert!(answer.body.contains(word), "{line} {headers}: {}", answer.body);
    }
    // None of them has started a run.
    assert_eq!(served.get("api/runs").body, "[]");
    assert_eq!(served.get("nothing").status, 404);
}

#[test]
fn the_page_may_run_its_own_script_and_a_report_may_ask_for_nothing() {
    let served = Served::start("exit 0");
    for path in ["", "ui.js", "ui.css", "api/form"] {
        let answer = served.get(path);
        assert_eq!(answer.status, 200, "{path}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(header), "{header} of {path}: {}", answer.head);
        }
    }
    let form = served.get("api/form").body;
    assert!(form.contains("in-flight-max") && form.contains("\"require\""), "{form}");
    let none = served.get("records/abc");
    assert_eq!(none.status, 404);
    assert!(none.body.contains("the history has no record and no baseline `abc`"), "{}", none.body);
}

#[test]
fn a_history_that_cannot_be_read_is_not_a_missing_record() {
    let served = Served::start_with("exit 0", Box::new(|| Err("the history is locked".to_owned())));
    for path in ["api/history", "api/trends", "records/abc", "records/abc/to/def"] {
        let answer = served.get(path);
        assert_eq!((answer.status, &*answer.body), (503, "the history is locked"), "{path}");
    }
}

#[test]
fn ten_thousand_records_are_listed_as_far_as_they_are_asked_for() {
    let served = Served::start("exit 0");
    let listed = |query: &str| {
        let answer = served.get(&format!("api/history{query}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Vec<serde_json::Value>>(&answer.body).unwrap().len()
    };
    assert_eq!(listed(""), MANY);
    assert_eq!(listed("?limit=201"), 201);
    assert_eq!(listed("?experiment=experiment+99&limit=1000"), 111);
    assert_eq!(listed("?experiment=&verdict="), MANY);
    let answer = served.get("api/history?verdict=good");
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("there are trusted, degraded and invalid"), "{}", answer.body);
    assert_eq!(served.get("api/history?speed=1").status, 400);
}

/// The numbers of the lines in a stream of events.
fn ids(events: &str) -> Vec<u64> {
    events.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

#[test]
fn viewers_get_every_line_whatever_another_one_reads() {
    // More than all buffers on the way can hold together.
    let pad = "x".repeat(4000);
    let script = format!(
        "i=0; while [ $i -lt 5000 ]; do echo '{{\"event\":\"block\",\"pad\":\"{pad}\"}}'; i=$((i+1)); done\n\
         echo '{{\"event\":\"record\",\"file\":null}}'; echo no line of ours; echo words >&2; exit 13"
    );
    let served = Served::start(&script);
    assert_eq!(served.post("api/runs", FILE).body, r#"{"number":0}"#);
    // This viewer never reads, and the next one does not wait for it.
    let path = format!("GET /{TOKEN}/api/runs/0/feed");
    let _stopped = served.open(&path, &served.host(), "");
    let all = served.get("api/runs/0/feed");
    assert!(all.head.contains("content-type: text/event-stream"), "{}", all.head);
    // The lines of the script, and the one that reports the end of its process.
    assert_eq!(ids(&all.body), (0..5002).collect::<Vec<u64>>());
    let last = all.body.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    assert_eq!(last, r#"data: {"code":13,"event":"over","words":"words\n"}"#);
    // A viewer that reconnects and says which lines it has gets the others.
    let back = served.ask(&path, &format!("{}Last-Event-ID: 4990\r\n", served.host()), "");
    assert_eq!(ids(&back.body), (4991..5002).collect::<Vec<u64>>());
    // A viewer that connects after the end gets all lines too.
    assert_eq!(ids(&served.get("api/runs/0/feed").body).len(), 5002);
    assert!(served.get("api/runs").body.contains(r#""is_over":true"#));
    let over = served.post("api/runs/0/stop", "");
    assert_eq!((over.status, &over.body[..]), (409, "the run is over"));
    assert_eq!(served.get("api/runs/1/feed").status, 404);
}

#[test]
fn commands_reach_the_process_and_a_second_run_waits_for_the_end_of_the_first() {
    let echo = "while read line; do echo \"{\\\"event\\\":\\\"told\\\",\\\"line\\\":$line}\"\n\
        case $line in *stop*) exit 0;; esac; done";
    let served = Served::start(echo);
    let bad = served.post("api/runs", r#"{"target": {"url": "a", "options": {"rate": "2000"}}}"#);
    assert_eq!((bad.status, &bad.body[..]), (422, "`2000` is not a rate; did you mean `2000/s`?"));
    assert_eq!(served.post("api/runs", FILE).status, 200);
    let busy = served.post("api/runs", FILE);
    assert_eq!(busy.status, 409);
    assert!(busy.body.starts_with("`it` is being measured"), "{}", busy.body);
    assert_eq!(served.post("api/runs/0/rate", r#"{"rate": "fast"}"#).status, 422);
    assert_eq!(served.post("api/runs/0/rate", r#"{"rate": "2k/s"}"#).status, 204);
    assert_eq!(served.post("api/runs/0/stop", "{}").status, 204);
    let told = served.get("api/runs/0/feed").body;
    let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(
        lines,
        [
            r#"{"event":"told","line":{"rate":"2000/s"}}"#,
            r#"{"event":"told","line":{"stop": true}}"#,
            r#"{"code":0,"event":"over","words":""}"#,
        ]
    );
    assert_eq!(served.post("api/runs", FILE).body, r#"{"number":1}"#);
}

#[test]
fn a_viewer_has_each_line_before_the_next_one_is_told() {
    // The script prints a line for each command, and the next command follows only when the viewer has that line: a
    // server that held a line back until more arrived would never go on.
    let script = "i=0; while read line; do case $line in *stop*) exit 0;; esac\n\
        i=$((i+1)); echo \"{\\\"event\\\":\\\"interval\\\",\\\"at_s\\\":$i}\"; done";
    let served = Served::start(script);
    assert_eq!(served.post("api/runs", FILE).status, 200);
    let feed = served.open(&format!("GET /{TOKEN}/api/runs/0/feed"), &served.host(), "");
    feed.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut lines = BufReader::new(feed).lines().map(Result::unwrap);
    for number in 1..=20 {
        assert_eq!(served.post("api/runs/0/rate", r#"{"rate": "1/s"}"#).status, 204);
        let told = format!(r#"data: {{"event":"interval","at_s":{number}}}"#);
        assert!(lines.any(|line| line == told), "the feed ended before {told}");
    }
    assert_eq!(served.post("api/runs/0/stop", "{}").status, 204);
}

#[test]
fn of_runs_that_are_asked_for_at_once_one_is_started() {
    let served = Served::start("read line");
    let barrier = Barrier::new(8);
    let ask = || {
        barrier.wait();
        served.post("api/runs", FILE).status
    };
    let mut answers: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 409, 409, 409, 409, 409, 409, 409]);
    let listed: Vec<serde_json::Value> =
        serde_json::from_str(&served.get("api/runs").body).unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[test]
fn a_process_may_write_more_to_stderr_than_is_kept() {
    // The script ends with the exit code of `tr`, which fails if nobody reads its pipe.
    let served = Served::start("head -c 300000 /dev/zero | tr '\\0' x >&2");
    assert_eq!(served.post("api/runs", FILE).status, 200);
    let told = served.get("api/runs/0/feed").body;
    let last = told.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let over: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(over["code"], 0);
    assert_eq!(over["words"], "x".repeat(64 << 10));
}

#[test]
fn the_file_of_a_run_is_for_us_alone_and_goes_with_it() {
    let script =
        "for last; do :; done; stat -c '{\"event\":\"mode\",\"is\":%a}' \"$last\"; read line";
    let served = Served::start(script);
    let asked = served.folder.path().join("asked");
    assert_eq!(served.post("api/runs", FILE).status, 200);
    let file = asked.join("it.toml");
    assert_eq!(fs::read_to_string(&file).unwrap(), "rounds = 1");
    assert_eq!(served.post("api/runs/0/stop", "").status, 204);
    let told = served.get("api/runs/0/feed").body;
    assert!(told.contains(r#"{"event":"mode","is":600}"#), "{told}");
    assert!(told.contains(r#"{"code":0,"event":"over""#), "{told}");
    assert_eq!(fs::read_dir(asked).unwrap().count(), 0);
}
