//! `--otlp`: a run that reports to a collector.

use crate::harness::{Ended, Sandbox, Server, record_of};
use crate::third_party::{installed, run_client};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogramDataPoint, metric::Data, number_data_point,
};
use prost::Message as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use units::Nanos;

#[test]
fn a_collector_hears_of_a_run_while_it_goes_on_and_of_all_of_it_at_the_end() {
    let sandbox = Sandbox::new();
    let collector = Collector::start("200 OK", Vec::new());
    let (ended, server) =
        measured(&sandbox, &format!("--rate 200/s -d 2s --otlp http://{}", collector.address));
    ended.check_measured(&[]);
    assert!(!ended.stderr.contains("--otlp"), "{ended:?}");
    let heard: Vec<Heard> = collector.requests().iter().map(|body| Heard::of(body)).collect();
    drop(server);
    assert!(heard.len() >= 2, "one while it went on, and one at the end: {}", heard.len());
    for two in heard.windows(2) {
        let [before, after] = two else { unreachable!() };
        assert!(before.start == after.start && before.end < after.end, "{two:?}");
        assert!(before.messages.iter().all(|(outcome, count)| after.messages[outcome] >= *count));
    }
    let last = heard.last().unwrap();
    let record = record_of(&ended.stdout);
    let block = &record.blocks[0];
    let counts = &block.counts;
    let of = |outcome: &str| last.messages[outcome];
    let told = ["sent", "ok", "error", "refused", "timed_out", "unsent"].map(of);
    let known =
        [counts.sent, counts.ok, counts.error, counts.refused, counts.timed_out, counts.unsent];
    assert_eq!((told, last.dropped), (known, 0), "{last:?}");
    assert!(counts.ok > 0, "{last:?}");
    let times = &last.times["wirebench_time_seconds"];
    let p50_s = Nanos(block.times().unwrap().p50_ns.unwrap()).as_secs_f64();
    // Failed messages are included, with the time-out.
    let ended = counts.ok + counts.error + counts.timed_out;
    check_times(times, ended.try_into().unwrap(), p50_s);
    assert_eq!(last.times["wirebench_send_lag_seconds"].count, counts.sent);
    assert_eq!((last.due, last.service.as_str()), (Some(200.0), "wirebench"));
}

/// Checks that a histogram has `count` times, each in one bucket, with the median in the bucket that reaches half.
fn check_times(times: &ExponentialHistogramDataPoint, count: u32, p50_s: f64) {
    let buckets = times.positive.as_ref().unwrap();
    let sum = times.zero_count + buckets.bucket_counts.iter().sum::<u64>();
    assert_eq!((times.count, sum), (count.into(), count.into()), "{times:?}");
    let (min, max) = (times.min.unwrap(), times.max.unwrap());
    assert!(min > 0.0 && min <= p50_s && p50_s <= max, "{times:?}");
    let mean = times.sum.unwrap() / f64::from(count);
    assert!(min <= mean && mean <= max, "{times:?}");
    let mut reached = times.zero_count;
    let of_half = buckets.bucket_counts.iter().position(|count| {
        reached += count;
        reached * 2 >= sum
    });
    let index = buckets.offset + i32::try_from(of_half.unwrap()).unwrap();
    let edge = |index: i32| (f64::from(index) / 2_f64.powi(times.scale)).exp2();
    let (low, high) = (edge(index) * 0.999, edge(index + 1) * 1.001);
    assert!(low < p50_s && p50_s <= high, "{p50_s} is not from {low} to {high}");
}

#[test]
fn the_library_of_python_reads_what_is_sent() {
    let Some(folder) = installed("otlp") else { return };
    let sandbox = Sandbox::new();
    let collector = Collector::start("200 OK", Vec::new());
    let (ended, _server) =
        measured(&sandbox, &format!("-n 300 --otlp http://{}", collector.address));
    ended.check_measured(&[]);
    let file = sandbox.path().join("request");
    std::fs::write(&file, collector.requests().last().unwrap()).unwrap();
    let read = run_client(&folder, &[file.to_str().unwrap()]);
    let read: Value = serde_json::from_str(&read).unwrap();
    let metrics = read["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let messages = named("wirebench_messages_total")["sum"]["dataPoints"].as_array().unwrap();
    let is_ok = |point: &&Value| point["attributes"][1]["value"]["stringValue"] == "ok";
    assert_eq!(messages.iter().find(is_ok).unwrap()["asInt"], "300", "{read}");
    let times = &named("wirebench_time_seconds")["exponentialHistogram"]["dataPoints"][0];
    let counts = times["positive"]["bucketCounts"].as_array().unwrap().iter();
    let sum: u64 = counts.map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((&times["count"], sum), (&Value::from("300"), 300), "{read}");
    assert_eq!(times["scale"], 3, "{read}");
}

#[test]
fn a_collector_that_does_not_take_them_is_told_once_and_costs_no_message() {
    let sandbox = Sandbox::new();
    let rejected = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: 7,
            error_message: "too many".to_owned(),
        }),
    };
    let says_no = Collector::start("503 Service Unavailable", Vec::new());
    let takes_some = Collector::start("200 OK", rejected.encode_to_vec());
    // It accepts connections, and answers none.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    for (address, reason) in [
        (says_no.address, "status 503"),
        (takes_some.address, "7 data points rejected: too many"),
        (silent.local_addr().unwrap(), "the reply did not come within"),
        (nobody, "is a server listening there?"),
    ] {
        let (ended, _server) = measured(&sandbox, &format!("-n 300 --otlp http://{address}"));
        ended.check_measured(&[&format!("--otlp: http://{address}/v1/metrics: "), reason]);
        assert_eq!(ended.stderr.matches("--otlp").count(), 1, "{ended:?}");
        assert_eq!(record_of(&ended.stdout).blocks[0].counts.ok, 300, "{ended:?}");
    }
}

#[test]
fn a_url_of_no_collector_is_told_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run tcp://127.0.0.1:9 --otlp 127.0.0.1:4318");
    ended.check(2, &["--otlp: 127.0.0.1:4318: ", "as in http://127.0.0.1:4318"]);
    ended.check_no_result();
}

/// A run with these options, and the server that it measured.
fn measured(sandbox: &Sandbox, options: &str) -> (Ended, Server) {
    let server = Server::start(sandbox, "ws");
    let line = format!("run {} -c 2 --warm-up 50ms -o - {options}", server.url);
    (sandbox.run(&line), server)
}

/// A collector that answers all requests alike, and keeps their bodies.
struct Collector {
    address: SocketAddr,
    requests: Receiver<Vec<u8>>,
}

impl Collector {
    fn start(status: &'static str, answer: Vec<u8>) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let (keeps, requests) = channel();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = socket.accept() {
                let Ok(body) = body_of(&stream) else { continue };
                let len = answer.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n\r\n");
                let all = [head.as_bytes(), &answer].concat();
                if keeps.send(body).is_err() || (&stream).write_all(&all).is_err() {
                    break;
                }
            }
        });
        Self { address, requests }
    }

    /// The bodies so far.
    fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.try_iter().collect()
    }
}

/// The body of an OTLP request.
fn body_of(stream: impl io::Read) -> io::Result<Vec<u8>> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/x-protobuf\r\n"), "{head}");
    let len = head.split("Content-Length: ").nth(1).unwrap().lines().next().unwrap();
    let mut body = vec![0; len.parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// The content of a request.
#[derive(Debug, Default)]
struct Heard {
    service: String,
    start: u64,
    end: u64,
    /// By outcome.
    messages: BTreeMap<String, u64>,
    dropped: u64,
    due: Option<f64>,
    /// By metric.
    times: BTreeMap<String, ExponentialHistogramDataPoint>,
}

impl Heard {
    fn of(body: &[u8]) -> Self {
        let mut request = ExportMetricsServiceRequest::decode(body).unwrap();
        let mut resource = request.resource_metrics.remove(0);
        let service = label(&resource.resource.unwrap().attributes, "service.name").unwrap();
        let mut heard = Self { service, ..Self::default() };
        let cumulative = i32::from(AggregationTemporality::Cumulative);
        for metric in resource.scope_metrics.remove(0).metrics {
            match metric.data.unwrap() {
                Data::Sum(sum) => {
                    assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative);
                    for point in sum.data_points {
                        (heard.start, heard.end) =
                            (point.start_time_unix_nano, point.time_unix_nano);
                        let Some(number_data_point::Value::AsInt(count)) = point.value else {
                            panic!("{point:?}")
                        };
                        let count = u64::try_from(count).unwrap();
                        if let Some(outcome) = label(&point.attributes, "outcome") {
                            heard.messages.insert(outcome, count);
                        }
                        if metric.name == "wirebench_intervals_dropped_total" {
                            heard.dropped = count;
                        }
                    }
                }
                Data::Gauge(gauge) if metric.name == "wirebench_due_per_second" => {
                    let value = gauge.data_points.first().and_then(|point| point.value);
                    let Some(number_data_point::Value::AsDouble(due)) = value else {
                        panic!("{gauge:?}")
                    };
                    heard.due = Some(due);
                }
                Data::ExponentialHistogram(mut histogram) => {
                    assert_eq!(histogram.aggregation_temporality, cumulative);
                    if !histogram.data_points.is_empty() {
                        heard.times.insert(metric.name, histogram.data_points.remove(0));
                    }
                }
                Data::Gauge(_) => {}
                other @ (Data::Histogram(_) | Data::Summary(_)) => panic!("{other:?}"),
            }
        }
        heard
    }
}

fn label(labels: &[KeyValue], name: &str) -> Option<String> {
    let label = labels.iter().find(|label| label.key == name)?;
    let value = label.value.clone()?.value?;
    let any_value::Value::StringValue(text) = value else { panic!("{value:?}") };
    Some(text)
}
