//! Limits that are a number: of connections, of concurrent connects, of messages per second.

use super::finding::{Facts, Finding, Name, Place, Question, State, Unit, missing};
use crate::capacity::{LOOPBACK_SOURCES_MAX, OpenFiles, Ports, RESERVED_FILES};
use units::{Bytes, Count};

impl Question {
    fn connections(self) -> Option<u64> {
        self.wish?.connections
    }

    fn messages_per_s(self) -> Option<u64> {
        self.wish?.messages_per_s()
    }
}

impl Facts {
    /// The sockets of this machine that a connection takes.
    fn ends(question: Question) -> u64 {
        match question.server {
            Place::Here => 2,
            Place::Elsewhere => 1,
        }
    }

    /// The initial size of one socket's buffers, receive and send together, if both are known.
    fn buffers(&self) -> Option<Bytes> {
        let limits = &self.environment.limits;
        let (receive, send) = (limits.receive_buffer?, limits.send_buffer?);
        Some(Bytes(receive.default_bytes.checked_add(send.default_bytes)?))
    }
}

pub(super) fn open_files(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "open_files", name: "open files" };
    let OpenFiles { soft, hard } = facts.limits.open_files;
    let effect = "each connection is an open file; beyond that, run refuses to start".to_owned();
    if soft == OpenFiles::UNLIMITED {
        let evidence = "there is no limit".to_owned();
        return Finding { evidence, effect, ..Finding::new(NAME, State::Fine) };
    }
    let at = facts.limits.open_files.connections();
    let asked = question.connections();
    let needed = asked.map_or(OPEN_FILES_USUAL, |asked| asked.saturating_add(RESERVED_FILES));
    let shown = |limit| match limit {
        OpenFiles::UNLIMITED => "unlimited".to_owned(),
        limit => limit.to_string(),
    };
    let whose = match question.server {
        Place::Here => " of the generator, and again of the server",
        Place::Elsewhere => "",
    };
    let cure = match needed {
        needed if needed <= soft => None,
        needed if needed <= hard => Some(format!("ulimit -n {needed}")),
        needed => Some(format!("as root: ulimit -Hn {needed}; ulimit -n {needed}")),
    };
    Finding {
        evidence: format!(
            "soft limit {}, hard limit {}{whose}; {RESERVED_FILES} of them are used for other things",
            shown(soft),
            shown(hard)
        ),
        effect,
        cure,
        ..Finding::binds(NAME, at, Unit::Connections, asked)
    }
}

pub(super) fn ports(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "ports", name: "ports" };
    let ports = facts.limits.ports;
    let Ports { first, last, reserved } = ports;
    let each = ports.count();
    let (addresses, from) = match question.server {
        Place::Here => (
            LOOPBACK_SOURCES_MAX,
            format!("run takes as many of {LOOPBACK_SOURCES_MAX} loopback addresses as it needs"),
        ),
        Place::Elsewhere => (1, "unless --source-ip names more addresses".to_owned()),
    };
    let at = each.saturating_mul(addresses);
    let asked = question.connections();
    let is_narrow = each < Ports::USUAL.count() || question.server == Place::Elsewhere;
    let cure = match (asked.map(|asked| ports.addresses_for(asked)), question.server) {
        (Some(u64::MAX), _) => Some(widened()),
        (Some(needed), Place::Elsewhere) if needed > 1 => {
            Some(format!("run with {needed} addresses of this machine: --source-ip A-B"))
        }
        _ if first > WIDE_FIRST && asked.map_or(is_narrow, |asked| asked > at) => Some(widened()),
        _ => None,
    };
    let set_aside = if reserved > 0 { format!(", {reserved} set aside") } else { String::new() };
    Finding {
        evidence: format!("{first} to {last}{set_aside}: {each} for each address and target"),
        effect: format!("connections from one address to one target have a port each; {from}"),
        cure,
        ..Finding::binds(NAME, at, Unit::Connections, asked)
    }
}

pub(super) fn backlog(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "backlog", name: "backlog" };
    if question.server == Place::Elsewhere {
        return Finding {
            effect: "connects beyond it are retried only after 1 s or more".to_owned(),
            cure: Some("on the server's machine: sysctl net.core.somaxconn".to_owned()),
            ..Finding::unknown(NAME, "it is the other machine's")
        };
    }
    let Some(at) = facts.environment.limits.somaxconn else {
        return Finding::unknown(NAME, missing(&facts.environment, "limits.somaxconn"));
    };
    let at_once = facts.connects_at_once;
    let asked = question.connections().map(|connections| connections.min(at_once));
    Finding {
        evidence: format!(
            "net.core.somaxconn {at}; a thread of the generator has at most {at_once} connects under way"
        ),
        effect:
            "connects beyond it are retried only after 1 s or more, whatever the server asks for"
                .to_owned(),
        cure: (at < at_once).then(|| "sysctl -w net.core.somaxconn=65535".to_owned()),
        ..Finding::binds(NAME, at, Unit::Connects, asked)
    }
}

pub(super) fn memory(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "memory", name: "memory" };
    let environment = &facts.environment;
    let allowed = environment.container.as_ref().and_then(|container| container.memory_max_bytes);
    let Some(available) = environment.memory_available_bytes else {
        return Finding::unknown(NAME, missing(environment, "memory_available_bytes"));
    };
    let available = allowed.map_or(available, |allowed| available.min(allowed));
    let socket = match &facts.kernel_memory.socket {
        Ok(socket) => *socket,
        Err(reason) => return Finding::unknown(NAME, reason),
    };
    let ends = Facts::ends(question);
    let each = IDLE_CONNECTION.0 + ends * socket.0;
    let full = facts.buffers().map(|buffers| {
        let at = available / (each + ends * buffers.0).max(1);
        format!(" with every buffer full (tcp_rmem, tcp_wmem) {at} fit")
    });
    let sockets = if ends == 1 { "a socket" } else { "two sockets" };
    let at = available / each.max(1);
    let too_many = question.connections().is_some_and(|connections| connections > at);
    Finding {
        evidence: format!(
            "{} available; an idle connection takes {IDLE_CONNECTION} of the generator (measured over WebSocket: \
             cargo xtask bench memory) and {sockets} of {socket} (/proc/net/protocols)",
            Bytes(available)
        ),
        effect: format!(
            "the most that could fit: the kernel's other tables and the server's own memory are not known and come \
             on top;{}",
            full.unwrap_or_default()
        ),
        cure: too_many.then(|| "more memory, or connections from several machines".to_owned()),
        ..Finding::binds(NAME, at, Unit::Connections, question.connections())
    }
}

pub(super) fn socket_buffers(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "socket_buffers", name: "socket buffers" };
    let memory = &facts.kernel_memory;
    let (max, now) = match (&memory.buffers_max, &memory.buffers_now) {
        (Ok(max), Ok(now)) => (*max, *now),
        (Err(reason), _) | (_, Err(reason)) => return Finding::unknown(NAME, reason),
    };
    let Some(buffers) = facts.buffers() else {
        return Finding::unknown(NAME, missing(&facts.environment, "limits.receive_buffer"));
    };
    let full = Facts::ends(question).saturating_mul(buffers.0).max(1);
    let at = max.0.saturating_sub(now.0) / full;
    let all_fit = question.connections().is_none_or(|connections| connections <= at);
    let state = if all_fit { State::Fine } else { State::Changes };
    let pages = max.0.saturating_mul(2) / memory.page.0.max(1);
    Finding {
        evidence: format!(
            "TCP may hold {max} in buffers (net.ipv4.tcp_mem) and holds {now}; a socket has {buffers} at first"
        ),
        effect: format!(
            "from {at} connections with every buffer full on, the kernel shrinks buffers and drops segments; \
             small messages stay far below"
        ),
        cure: (!all_fit).then(|| {
            format!("sysctl -w net.ipv4.tcp_mem=\"{} {} {pages}\"", pages / 2, pages / 4 * 3)
        }),
        ..Finding::new(NAME, state)
    }
}

pub(super) fn messages(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "messages", name: "messages" };
    let asked = question.messages_per_s();
    let Some(at) = facts.messages_per_s_max else {
        return Finding {
            effect: "beyond what the generator carries, its own delays would be measured"
                .to_owned(),
            cure: Some("wirebench selftest".to_owned()),
            ..Finding::unknown(NAME, "no self-test has run since this machine was started")
        };
    };
    let too_many = asked.is_some_and(|asked| asked > at);
    Finding {
        evidence: format!(
            "the self-test of this boot moved {} small messages/s on one thread, against an echo on another",
            Count(at)
        ),
        effect: "beyond that the generator is the bottleneck; a real server takes its share of the machine before"
            .to_owned(),
        cure: too_many.then(|| "run with more --threads, or from several machines".to_owned()),
        ..Finding::binds(NAME, at, Unit::MessagesPerSecond, asked)
    }
}

fn widened() -> String {
    "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"".to_owned()
}

/// The generator's resident memory per idle WebSocket connection, as the slope between 1000 and 10 000 connections:
/// `cargo xtask bench memory`.
const IDLE_CONNECTION: Bytes = Bytes(330);

/// The usual limit on a machine that carries load.
const OPEN_FILES_USUAL: u64 = 65_536;

/// Ports below this are for servers.
const WIDE_FIRST: u16 = 1024;
