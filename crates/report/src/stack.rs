//! Bytes of an event by layer, a bar for each line of a sweep: what of a difference is payload and what is wire.

use crate::escape::{cut, escape};
use crate::number;
use crate::published::{EventBytes, event_bytes};
use crate::svg::{self, Place, xml};
use record::RunRecord;

/// A bar for each line whose bytes are known by layer; `None` if there is none.
pub(crate) fn draw(record: &RunRecord, place: Place) -> Option<String> {
    let bars = event_bytes(record, record.sweep.as_ref()?);
    let max = bars.iter().map(|(_, bytes)| total(bytes)).fold(0.0, f64::max);
    (max > 0.0).then(|| drawn(&bars, max, place))
}

fn total(bytes: &EventBytes) -> f64 {
    bytes.with_tcp_ip.unwrap_or(bytes.stream)
}

/// How long each layer is; what compression took away has no length.
fn parts(bytes: &EventBytes) -> [f64; LAYERS.len()] {
    let EventBytes { payload, encoded, stream, .. } = *bytes;
    [payload.min(encoded), encoded - payload, stream - encoded, total(bytes) - stream]
        .map(|part| part.max(0.0))
}

fn drawn(bars: &[(String, EventBytes)], max: f64, place: Place) -> String {
    let top = if place == Place::Alone { 84.0 } else { 58.0 };
    let height = bars.iter().fold(top + 8.0, |height, _| height + ROW);
    let namespace =
        if place == Place::Alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
    let mut lines = vec![
        format!(
            "<svg{namespace} class=\"chart\" role=\"img\" viewBox=\"0 0 480 {height}\" aria-labelledby=\"layers-title layers-text\">"
        ),
        "<title id=\"layers-title\">Bytes of an event by layer</title>".to_owned(),
        format!("<desc id=\"layers-text\">{}</desc>", xml(&described(bars))),
    ];
    if place == Place::Alone {
        lines.push(format!("<style>{}</style>", svg::STYLE));
        lines.push(format!("<rect class=\"paper\" width=\"480\" height=\"{height}\"/>"));
        lines.push(
            "<text class=\"heading\" x=\"12\" y=\"20\">Bytes of an event by layer</text>"
                .to_owned(),
        );
    }
    let places = [(12.0, 42.0), (232.0, 42.0), (12.0, 20.0), (232.0, 20.0)];
    for (index, (name, (x, above))) in LAYERS.iter().zip(places).enumerate() {
        let y = top - above;
        let (box_y, text_x) = (y - 10.0, x + 16.0);
        lines.push(format!(
            "<rect class=\"l{index}\" x=\"{x:.1}\" y=\"{box_y:.1}\" width=\"11\" height=\"11\"/>\
             <text class=\"label\" x=\"{text_x:.1}\" y=\"{y:.1}\">{name}</text>"
        ));
    }
    let mut y = top;
    for (name, bytes) in bars {
        lines.push(bar(&escape(name), bytes, (RIGHT - LEFT) / max, y));
        y += ROW;
    }
    lines.push("</svg>\n".to_owned());
    lines.join("\n")
}

fn bar(name: &str, bytes: &EventBytes, scale: f64, y: f64) -> String {
    let text = y + 16.0;
    let mut drawn = format!(
        "<text class=\"tick\" x=\"12\" y=\"{text:.1}\">{}</text>",
        xml(&cut(name, NAME_MAX))
    );
    let mut x = LEFT;
    for (index, part) in parts(bytes).into_iter().enumerate() {
        let width = part * scale;
        drawn += &format!(
            "<rect class=\"l{index}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"22\"/>"
        );
        x += width;
    }
    let (after, total) = (x + 6.0, xml(&number::bytes(total(bytes).round())));
    format!("{drawn}<text class=\"tick\" x=\"{after:.1}\" y=\"{text:.1}\">{total}</text>")
}

/// The same in words.
fn described(bars: &[(String, EventBytes)]) -> String {
    let bar = |(name, bytes): &(String, EventBytes)| {
        let parts = parts(bytes).into_iter().zip(LAYERS);
        let told: Vec<String> =
            parts.map(|(part, layer)| format!("{layer} {}", number::few_bytes(part))).collect();
        format!("{}: {}.", escape(name), told.join(", "))
    };
    bars.iter().map(bar).collect::<Vec<_>>().join(" ")
}

const LAYERS: [&str; 4] = ["payload", "encoding", "framing and TLS", "TCP/IP, estimated"];
const NAME_MAX: usize = 14;
const ROW: f64 = 32.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 408.0;
