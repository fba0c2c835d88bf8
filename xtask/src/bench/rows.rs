//! The list of what is compared with what, and the targets.

use super::Row;
use super::block::Contestant;
use super::driver::{Driver, Workload};
use super::interleave::{Comparison, Contest, Figure};
use super::report::Target;
use super::server::Kind;
use super::tools::Tools;
use Figure::{GeneratorCpu, PerSecond, ServerCpu};
use Target::{AtLeast, AtMost, Shown};

/// 50 connections, one message in flight on each.
const CLOSED: Workload = Workload::Closed { connections: 50, in_flight: 50 };
/// Clients that come, exchange five messages and go.
const CHURN: Workload = Workload::Churn { clients: 20_000, concurrency: 10, round_trips: 5 };
/// Many connections, of which a tenth is busy at any time.
const CROWD: Workload = Workload::Closed { connections: 10_000, in_flight: 1_000 };

/// The contestants and comparisons of a row that is a contest.
pub(super) fn contest(row: Row, tools: &Tools) -> Contest {
    match row {
        Row::Same => same(),
        Row::Tcp => beside_floor(Kind::TcpEpoll, AtLeast(0.97), AtMost(1.05)),
        Row::Ws => beside_floor(Kind::WebSocketEpoll, AtLeast(0.97), AtMost(1.05)),
        Row::WsPeers => ws_peers(tools),
        Row::Http => http(),
        Row::Churn => churn(tools),
        Row::Scale => scale(),
        Row::Uring => uring(),
        Row::Memory | Row::Lag | Row::Recording | Row::Start | Row::Size => {
            Contest { contestants: Vec::new(), comparisons: Vec::new() }
        }
    }
}

fn same() -> Contest {
    let floor = |name| closed(name, Driver::FloorEpoll, Kind::TcpEpoll);
    Contest {
        contestants: vec![floor("floor_epoll"), floor("itself")],
        comparisons: vec![beside(0, 1, [(PerSecond, Shown), (GeneratorCpu, Shown)])],
    }
}

fn beside_floor(server: Kind, throughput: Target, cpu: Target) -> Contest {
    Contest {
        contestants: vec![
            closed("wirebench", Driver::Wirebench, server),
            closed("floor_epoll", Driver::FloorEpoll, server),
        ],
        comparisons: vec![beside(0, 1, [(PerSecond, throughput), (GeneratorCpu, cpu)])],
    }
}

fn ws_peers(tools: &Tools) -> Contest {
    let server = Kind::WebSocketEpoll;
    let mut peers = vec![
        closed("tokio-websockets", Driver::TokioWebsockets, server),
        closed("tokio-tungstenite", Driver::TokioTungstenite, server),
    ];
    peers.extend(tools.k6.as_ref().map(|_| closed("k6", Driver::K6, server)));
    let mut contest = beside_floor(server, Shown, Shown);
    for peer in peers {
        let index = contest.contestants.len();
        contest.contestants.push(peer);
        contest.comparisons.push(beside(index, 1, [(PerSecond, Shown), (GeneratorCpu, Shown)]));
        contest.comparisons.push(beside(
            0,
            index,
            [(PerSecond, AtLeast(1.0)), (GeneratorCpu, AtMost(1.0))],
        ));
    }
    contest
}

fn http() -> Contest {
    Contest {
        contestants: vec![
            closed("wirebench", Driver::Wirebench, Kind::Nginx),
            closed("wrk", Driver::Wrk, Kind::Nginx),
            closed("floor_epoll", Driver::FloorEpoll, Kind::Nginx),
        ],
        comparisons: vec![
            beside(0, 1, [(PerSecond, AtLeast(1.0)), (GeneratorCpu, AtMost(1.0))]),
            beside(0, 2, [(PerSecond, Shown), (GeneratorCpu, Shown)]),
        ],
    }
}

fn churn(tools: &Tools) -> Contest {
    let churn =
        |name, driver| Contestant { name, driver, server: Kind::WebSocketEpoll, workload: CHURN };
    let mut contest = Contest {
        contestants: vec![
            churn("wirebench", Driver::Wirebench),
            churn("floor_epoll", Driver::FloorEpoll),
            churn("floor_epoll -X", Driver::FloorEpollClosing),
            churn("wirebench at once", Driver::WirebenchLeaving),
        ],
        // The floor closes behind its own Close; with -X it awaits the answer, as we do unless told otherwise.
        comparisons: vec![
            beside(0, 1, [(GeneratorCpu, AtMost(1.3)), (PerSecond, Shown)]),
            beside(0, 2, [(GeneratorCpu, AtMost(1.3)), (PerSecond, Shown)]),
            beside(3, 1, [(GeneratorCpu, AtMost(1.3)), (PerSecond, Shown)]),
        ],
    };
    if tools.k6.is_some() {
        contest.contestants.push(churn("k6", Driver::K6));
        contest.comparisons.push(beside(4, 1, [(GeneratorCpu, Shown), (PerSecond, Shown)]));
    }
    contest
}

fn scale() -> Contest {
    let with = |name, workload| Contestant {
        name,
        driver: Driver::Wirebench,
        server: Kind::WebSocketEpoll,
        workload,
    };
    Contest {
        contestants: vec![with("10 000 connections", CROWD), with("50 connections", CLOSED)],
        comparisons: vec![beside(0, 1, [(GeneratorCpu, AtMost(1.3)), (PerSecond, Shown)])],
    }
}

fn uring() -> Contest {
    Contest {
        contestants: vec![
            closed("io_uring", Driver::FloorUring, Kind::TcpUring),
            closed("epoll", Driver::FloorEpoll, Kind::TcpEpoll),
        ],
        comparisons: vec![beside(
            0,
            1,
            [(PerSecond, Shown), (GeneratorCpu, Shown), (ServerCpu, Shown)],
        )],
    }
}

fn closed(name: &'static str, driver: Driver, server: Kind) -> Contestant {
    Contestant { name, driver, server, workload: CLOSED }
}

fn beside<const N: usize>(
    ours: usize,
    beside: usize,
    figures: [(Figure, Target); N],
) -> Comparison {
    Comparison { ours, beside, figures: figures.to_vec() }
}
