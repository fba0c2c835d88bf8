//! Describes the server's answer to the first message, before anything is timed, so that the page shows what is being
//! measured.

use crate::plan::Measurement;
use load::Expect;
use record::Outcome;
use spec::Carries;
use units::Bytes;

/// Describes the answer in `outcome`, which is that of a single message; from now on every message has to get the same
/// kind of answer.
pub(crate) fn in_words(measurement: &Measurement, outcome: &Outcome) -> String {
    let workload = &measurement.workload;
    if let Some(requests) = &workload.requests {
        let conversation = requests.conversation();
        let all = match conversation.requests.len() {
            0 => "a connection opened".to_owned(),
            1 => "its request was answered".to_owned(),
            count => format!("its {count} kinds of requests were answered"),
        };
        return format!("the conversation {}: {all}", conversation.name);
    }
    let size = Bytes(outcome.layers.received.payload_bytes);
    let carries = measurement.peer.scheme().facts().carries;
    match workload.expect {
        Expect::Echo | Expect::Oracle => format!("an echo: the first {size} came back as sent"),
        Expect::Anything if carries == Carries::Requests => format!(
            "HTTP: {} is answered with {}, {size}",
            measurement.speech.options.method,
            statuses(measurement)
        ),
        Expect::InSequence => "a game server: it answers the bots".to_owned(),
        Expect::Anything | Expect::Contains(_) | Expect::Exactly(_) | Expect::Sha256(_) => {
            format!("the reply that was named: {size}")
        }
    }
}

/// The statuses of responses that count as replies.
fn statuses(measurement: &Measurement) -> String {
    let named: Vec<String> =
        measurement.speech.options.statuses.iter().map(ToString::to_string).collect();
    if named.is_empty() { "2xx".to_owned() } else { named.join(" or ") }
}
