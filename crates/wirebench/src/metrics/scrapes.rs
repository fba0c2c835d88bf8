//! `--metrics ADDRESS`: answers Prometheus, one request at a time.

use crate::exit::Failure;
use crate::metrics::numbers::Numbers;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// An endpoint at which a run can be scraped.
#[derive(Debug)]
pub(super) struct Scrapes {
    socket: TcpListener,
    address: SocketAddr,
}

impl Scrapes {
    /// Listens on `address`.
    ///
    /// # Errors
    ///
    /// The address is taken, or is not one of this machine.
    pub(super) fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |error: io::Error| {
            Failure::usage(format!(
                "--metrics: cannot listen at {address}: {error}; name another one, as in 127.0.0.1:0"
            ))
        };
        let socket = TcpListener::bind(address).map_err(cannot)?;
        let address = socket.local_addr().map_err(cannot)?;
        Ok(Self { socket, address })
    }

    /// The URL to scrape.
    pub(super) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Answers until the run is over and one more connection arrives: that of [`Self::wake`].
    pub(super) fn answer_all(&self, numbers: &Numbers) {
        while !numbers.is_over() {
            let Ok((stream, _)) = self.socket.accept() else { break };
            let patience = Some(PATIENCE);
            let is_set = stream.set_read_timeout(patience);
            let is_set = is_set.and_then(|()| stream.set_write_timeout(patience));
            // A client that goes away, or says nothing, gets no answer.
            is_set.and_then(|()| answer(stream, numbers)).ok();
        }
    }

    /// Wakes the thread that accepts.
    pub(super) fn wake(&self) {
        #[expect(clippy::disallowed_types, reason = "nothing else wakes it")]
        std::net::TcpStream::connect(self.address).ok();
    }
}

fn answer(mut stream: impl Read + Write, numbers: &Numbers) -> io::Result<()> {
    let mut head = Vec::new();
    let mut some = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_MAX {
        match stream.read(&mut some)? {
            0 => break,
            len => head.extend_from_slice(&some[..len]),
        }
    }
    let is_asked = [&b"GET /metrics "[..], b"GET / "].iter().any(|ask| head.starts_with(ask));
    let (status, (kind, body)) = match is_asked {
        true => ("200 OK", page(&head, numbers)),
        false => ("404 Not Found", (TEXT, b"there is nothing but GET /metrics\n".to_vec())),
    };
    let len = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&body)
}

/// The metrics in the format that the request prefers, and its media type.
#[cfg_attr(not(feature = "otlp"), expect(unused_variables, reason = "there is one format"))]
fn page(head: &[u8], numbers: &Numbers) -> (&'static str, Vec<u8>) {
    #[cfg(feature = "otlp")]
    if wants_protobuf(&String::from_utf8_lossy(head)) {
        return (report::PROMETHEUS_PROTOBUF, numbers.written(report::prometheus_protobuf));
    }
    (TEXT, numbers.written(report::prometheus).into_bytes())
}

/// True if the request prefers protobuf messages, which have native histograms, to text.
#[cfg(feature = "otlp")]
fn wants_protobuf(head: &str) -> bool {
    let head = head.to_ascii_lowercase().replace([' ', '"'], "");
    let accept = head.lines().find_map(|line| line.strip_prefix("accept:")).unwrap_or_default();
    let weight = |is_it: &dyn Fn(&str) -> bool| {
        let weight = |one: &str| {
            let weight = one.split(';').find_map(|part| part.strip_prefix("q="));
            weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0))
        };
        accept.split(',').filter(|one| is_it(one)).map(weight).fold(0.0, f32::max)
    };
    let protobuf = weight(&|one| {
        one.starts_with("application/vnd.google.protobuf;")
            && one.contains(";proto=io.prometheus.client.metricfamily")
            && one.contains(";encoding=delimited")
    });
    let text = weight(&|one| ["text/plain", "text/*", "*/*"].iter().any(|it| one.starts_with(it)));
    protobuf > 0.0 && protobuf >= text
}

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The longest time that a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest head of a request.
const HEAD_MAX: usize = 8 << 10;

#[cfg(test)]
#[cfg(feature = "otlp")]
mod tests {
    use super::*;

    #[test]
    fn messages_are_for_those_who_prefer_them() {
        let proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        for (accept, expected) in [
            (
                format!(
                    "{proto},application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5,*/*;q=0.1"
                ),
                true,
            ),
            (proto.replace(';', "; "), true),
            (proto.replace("encoding=delimited", "encoding=text"), false),
            (format!("text/plain, {proto};q=0.7"), false),
            (format!("{proto};q=0"), false),
            ("*/*".to_owned(), false),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nHost: h\r\naccept: {accept}\r\n\r\n");
            assert_eq!(wants_protobuf(&head), expected, "{accept}");
        }
        assert!(!wants_protobuf("GET /metrics HTTP/1.1\r\n\r\n"));
    }
}
