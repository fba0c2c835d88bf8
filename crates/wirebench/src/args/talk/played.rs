//! Describes a conversation that was played: the role of each message, and the findings.

use run::play::{Asked, Played};
use spec::Conversation;
use spec::conversation::{Reply, Request};
use wire::conversation::{Sense, place_text};
use wire::{Excerpt, Verdict};

/// Returns the role of a message, to be written before the message.
pub(super) fn part(conversation: &Conversation, sense: Sense, is_heard: bool) -> String {
    let request = |exchange: u16| &conversation.requests[usize::from(exchange)].name;
    let count = conversation.open.len();
    match (sense, is_heard) {
        (Sense::Answer(index), true) => format!("wants `{}`", conversation.answers[index].name),
        (Sense::Answer(index), false) => format!("answer `{}`", conversation.answers[index].name),
        (Sense::Beat, _) => "heartbeat".to_owned(),
        (Sense::Before(index), _) => {
            format!("exchange {} of {} before the connection", index + 1, conversation.before.len())
        }
        (Sense::Farewell, _) => "farewell".to_owned(),
        (Sense::Late, _) => "after the farewell".to_owned(),
        (Sense::Part(exchange), _) => format!("event of `{}`", request(exchange)),
        (Sense::Push(rule), _) => format!("push `{}`", conversation.pushes[usize::from(rule)].name),
        (Sense::Redirect(exchange), _) => format!("redirect of `{}`", request(exchange)),
        (Sense::Refused(exchange), _) => format!("refusal of `{}`", request(exchange)),
        (Sense::Reply(exchange), _) => format!("reply to `{}`", request(exchange)),
        (Sense::Request(exchange), _) => format!("request `{}`", request(exchange)),
        (Sense::Step(index), _) => format!("step {} of {count}", index + 1),
        (Sense::StepRefused(index), _) => format!("refusal of step {} of {count}", index + 1),
        (Sense::Unexpected, _) => "unexpected".to_owned(),
        (Sense::Wrong(exchange), _) => format!("wrong reply to `{}`", request(exchange)),
    }
}

/// The findings: a line for each kind of request and of push.
pub(super) fn summary(conversation: &Conversation, played: &Played) -> String {
    let of_kind = |(index, (request, asked)): (usize, (&Request, &Asked))| {
        let learnt = played.learnt.iter().find(|(exchange, _)| usize::from(*exchange) == index);
        format!("request `{}`: {}\n", request.name, outcome(request, *asked, learnt))
    };
    let requests = conversation.requests.iter().zip(&played.requests).enumerate().map(of_kind);
    let pushes = conversation.pushes.iter().zip(&played.pushes);
    let pushes = pushes.map(|(push, count)| format!("push `{}`: {count} received\n", push.name));
    let unexpected = (played.unexpected > 0).then(|| {
        format!(
            "unexpected: {} received; a [push.NAME] or an [answer.NAME] names them\n",
            played.unexpected
        )
    });
    requests.chain(pushes).chain(unexpected).collect()
}

/// Describes how a request ended, and how its reply was recognised.
fn outcome(request: &Request, asked: Asked, learnt: Option<&(u16, Vec<u8>)>) -> String {
    let Some(took) = asked.took else { return "sent; it has no reply".to_owned() };
    let end = match (asked.verdict, asked.parts) {
        (Verdict::Refused, _) => format!("refused after {took}"),
        (Verdict::Wrong(reason), _) => format!("answered after {took}, but wrong: {reason}"),
        (Verdict::Good, 0) => format!("answered after {took}"),
        (Verdict::Good, parts) => format!("ended after {took} (events before: {parts})"),
    };
    let matcher = match &request.reply {
        Reply::Match(matcher) => Some(matcher),
        Reply::Stream { each, .. } => Some(each),
        Reply::Order | Reply::Nothing => None,
    };
    let id = matcher.and_then(|matcher| matcher.id.as_ref());
    let found = match id {
        Some(place) => format!("its id is {}", place_text(place)),
        None => "by order, without an id".to_owned(),
    };
    let known = learnt.map_or_else(String::new, |(_, before)| {
        format!(
            "; the next is recognised by the {} bytes before it, {}",
            before.len(),
            Excerpt::new(before)
        )
    });
    format!("{end}; {found}{known}")
}
