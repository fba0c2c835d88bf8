//! The answer of a server to the first message, before anything is timed, in words: what was chosen to be measured
//! stands on the page.

use crate::plan::Measurement;
use load::Expect;
use record::Outcome;
use spec::Carries;
use units::Bytes;

/// The answer that `outcome`, of one message, is: every message is due the same kind of answer from now on.
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

/// The statuses of responses that are replies.
fn statuses(measurement: &Measurement) -> String {
    let named: Vec<String> =
        measurement.speech.options.statuses.iter().map(ToString::to_string).collect();
    if named.is_empty() { "2xx".to_owned() } else { named.join(" or ") }
}
