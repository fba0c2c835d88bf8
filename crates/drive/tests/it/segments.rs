//! TCP segments: what the kernel counts on some connections represents all of them.

use crate::allocation::serve;
use crate::world::{Notes, Play, Played, Speech};
use drive::{Control, Target, Worker};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, run};
use load::Timeouts;
use record::Segments;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use units::Nanos;

#[test]
fn segments_of_connections_that_stay_are_those_of_the_window() {
    for connections in [1, 4, 300] {
        let each = 50;
        let messages = u64::from(connections) * each;
        let played =
            on_loopback(Play::new(Speech::Framed).connections(connections).messages(messages));
        let Segments { sent, received, connections_sampled, connections: all } =
            played.outcome.segments.unwrap();
        let sampled = if connections == 300 { 150 } else { u64::from(connections) };
        assert_eq!((connections_sampled, all), (sampled, u64::from(connections)));
        // One for each message, plus an acknowledgement that travels alone; how even the connections are is chance.
        assert!((messages * 9 / 10..=3 * messages).contains(&sent), "{sent} of {messages}");
        assert!((messages * 9 / 10..=3 * messages).contains(&received), "{received} of {messages}");
    }
}

#[test]
fn segments_of_short_lived_clients_have_their_connect() {
    let played = on_loopback(Play::new(Speech::Framed).connections(2).clients(100, 3));
    let Segments { sent, received, connections_sampled, connections } =
        played.outcome.segments.unwrap();
    assert_eq!((connections_sampled, connections), (4, 100), "the 1st, 33rd, 65th and 97th");
    // SYN, its answer's acknowledgement and three messages; what follows our close is not counted.
    assert!((400..=1000).contains(&sent), "{sent}");
    assert!((400..=1000).contains(&received), "{received}");
}

#[test]
fn where_nobody_counts_segments_there_are_none() {
    let played = Play::new(Speech::Framed).against(&mut crate::peers::Watched::new(Speech::Framed));
    assert_eq!(played.outcome.segments, None);
}

/// Runs on the real engine.
fn on_loopback(mut play: Play) -> Played {
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = channel();
    let serving = thread::spawn({
        let stop = Arc::clone(&stop);
        move || serve(Speech::Framed, None, stop, &tell)
    });
    let long = Nanos::from_secs(60); // However busy the machine is.
    play.workload.timeouts = Timeouts::all(long);
    let address: Address = told.recv().unwrap();
    let target = Target {
        address,
        sources: Vec::new(),
        stack: play.stack(),
        publishers: None,
        lives_on: false,
    };
    let control = Arc::new(Control::new(1));
    let mut worker = Worker::new(play.workload, target, control, Notes::default());
    run(&mut Epoll::new(Clock::start()).unwrap(), &mut worker);
    stop.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    let (outcome, notes) = worker.finish();
    Played::new(outcome, notes, false)
}
