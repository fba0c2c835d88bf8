//! Fault campaigns: whole runs in virtual time. A seed chooses the workload, the network, the peer, and what goes
//! wrong: resets, stalls of either end (which the generator sees as a jump of its clock), peers that accept and say
//! nothing, wrong answers, full queues. After each run the counts add up, nothing that was not answered counts as
//! right, memory is bounded, and the same seed gives the same run.
//!
//! Start reading at [`run`]. [`Played`] has the invariants of every run.

use crate::allocation::peak_of;
use crate::game::{self, Table, Way};
use crate::peers::{Answering, Heard, Scripted, Then, Watched, oracle};
use crate::world::{Play, Played, Speech, World, ms};
use engine::sim::{Conditions, Cuts, Outcome as Ended, Sim, Split};
use engine::{Address, ConnectionId, Node};
use serve::{Behaviour, Delay, Stall, Totals};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use units::{Instant, Nanos, Random, Rate, Share};

#[test]
fn whatever_goes_wrong_the_counts_add_up() {
    (0..SEEDS).for_each(check);
}

#[test]
#[ignore = "takes about an hour: cargo test -p drive --test it -- --ignored the_long_campaign"]
fn the_long_campaign() {
    let next = AtomicU64::new(SEEDS);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        seed if seed < MANY_SEEDS => check(seed),
                        _ => return,
                    }
                }
            });
        }
    });
}

/// Checks one run, and that it can be repeated.
fn check(seed: u64) {
    let _named = Named(seed);
    let (first, peak) = peak_of(|| run(seed));
    assert!(peak <= MEMORY_MAX, "{peak} bytes of memory");
    assert_eq!(run(seed), first);
}

/// Names the seed of a run that fails.
struct Named(u64);

impl Drop for Named {
    #[expect(clippy::print_stderr, reason = "tells which seed to look at")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

/// The run of a seed.
fn run(seed: u64) -> Played {
    let mut chance = Chance(Random::new(seed));
    if chance.one_in(5) {
        return play_the_game(seed, &mut chance);
    }
    let speech = chance.of(&Speech::ALL);
    let len = chance.of(&[16, 50, 1000, 40_000]);
    let play = workload(Play::new(speech).payload(len), &mut chance);
    let play = Play { seed, conditions: conditions(&mut chance), ..play };
    // Without framing, whatever arrives at once is a message to the server.
    let is_raw = speech == Speech::Raw;
    match chance.below(4) {
        0 => {
            let mut server = Watched::new(speech);
            let played = finish(&play, &mut server, &mut chance);
            let Totals { messages, bytes_sent, .. } = server.totals();
            has_evidence(played, if is_raw { bytes_sent / len as u64 } else { messages })
        }
        1 => {
            let mut server = oracle(speech, behaviour(speech, &mut chance), len);
            let played = finish(&play, &mut server, &mut chance);
            let Totals { messages, faults, .. } = server.totals();
            // Messages without a header are alike: a copy passes for the reply to the next one.
            has_evidence(played, messages + faults.duplicated - faults.corrupted)
        }
        2 => {
            let (mut wrongs, mut given) = (Random::new(seed), 0);
            let mut server = Answering::new(speech, |_, right| {
                let answer = wrong(right, &mut wrongs);
                given +=
                    if is_raw { answer.bytes.len().div_ceil(len) as u64 } else { answer.count };
                (answer.bytes, answer.then)
            });
            server.is_mute = chance.one_in(2);
            let played = finish(&play, &mut server, &mut chance);
            drop(server);
            has_evidence(played, given)
        }
        _ => {
            let mut silence = Scripted(|_: &mut Sim, _: ConnectionId, _: Heard<'_>| {});
            has_evidence(finish(&play, &mut silence, &mut chance), 0)
        }
    }
}

/// The same for bots at a game server; their connections may be cut.
fn play_the_game(seed: u64, chance: &mut Chance) -> Played {
    let way = chance.of(&Way::ALL);
    let bots = game::game(way).connections(chance.up_to(12)).duration(ms(chance.up_to(5000)));
    let play = match chance.one_in(2) {
        true => game::bots(bots, chance.up_to(1000)),
        false => game::thinking(bots, chance.up_to(1000)),
    };
    let play = Play { seed, conditions: conditions(chance), ..play };
    let mut server = Table::new(way, 5);
    let played = finish(&play, &mut server, chance);
    has_evidence(played, server.events())
}

/// Runs to the end, with stalls of either end and a server that may be slow.
fn finish(play: &Play, peer: &mut dyn Node<Sim>, chance: &mut Chance) -> Played {
    let mut world = World::new(play);
    for _ in 0..chance.below(3) {
        let (from, length) = (Instant(ms(chance.up_to(3000)).0), ms(chance.up_to(4000)));
        let frozen = if chance.one_in(2) { &mut world.client } else { &mut world.server };
        frozen.freeze(from, from + length);
    }
    if chance.one_in(10) {
        world.server.freeze(Instant(ms(chance.up_to(2000)).0), TIME_MAX); // It never comes back.
    }
    if chance.one_in(4) {
        world.server.slow_down(Nanos::from_micros(chance.up_to(2000)));
    }
    assert_eq!(world.run(peer, TIME_MAX), Ended::Done, "it hangs: {play:#?}");
    world.finish()
}

/// Checks that no more messages count as right than were answered.
fn has_evidence(played: Played, answered: u64) -> Played {
    let ok = played.outcome.measured.ok + played.outcome.warm_up.ok;
    assert!(ok <= answered, "{ok} right replies of {answered}");
    played
}

fn workload(play: Play, chance: &mut Chance) -> Play {
    let mut play = play.connections(chance.up_to(8));
    play.workload.seed = chance.up_to(1 << 30);
    if chance.one_in(4) {
        play = play.warm_up(ms(chance.up_to(300)));
    }
    let rate = format!("{}/s", chance.up_to::<u32>(1000));
    play = match chance.below(4) {
        0 => play.in_flight(chance.up_to(8), None).messages(chance.up_to(60)),
        1 => play.in_flight(chance.up_to(4), Some(chance.up_to(8))).duration(ms(chance.up_to(80))),
        2 => play.clients(chance.up_to(20), chance.up_to(5)),
        _ => {
            let open = play.rate(&rate).outstanding_max(chance.up_to(40));
            let open = if chance.one_in(2) { open.poisson() } else { open };
            let open = if chance.one_in(2) { open.own() } else { open };
            open.duration(ms(chance.up_to(400)))
        }
    };
    if chance.one_in(20) {
        play.target = Address::Tcp(([10, 0, 0, 9], 80).into()); // Nobody is there.
    }
    let timeouts = &mut play.workload.timeouts;
    timeouts.connect = ms(chance.up_to(500));
    timeouts.handshake = ms(chance.up_to(500));
    timeouts.close = ms(chance.up_to(500));
    let reply = ms(chance.up_to(1000));
    play.reply_timeout(reply).drain(ms(chance.up_to(1000)))
}

fn conditions(chance: &mut Chance) -> Conditions {
    let cuts = Cuts::Random { probability: 0.5, within: ms(chance.up_to(500)) };
    let split = Split::Random { chunk_len_max: chance.up_to(20_000) };
    Conditions {
        delay: Nanos::from_micros(chance.up_to(20_000)),
        jitter: Nanos::from_micros(chance.of(&[0, 0, 100, 20_000])),
        split: chance.of(&[Split::Never, Split::AsSent, split]),
        cuts: if chance.one_in(3) { cuts } else { Cuts::Never },
        buffer_len_max: chance.of(&[2000, 10_000, 256 << 10]),
        backlog: chance.of(&[1, 4, 4096]),
    }
}

fn behaviour(speech: Speech, chance: &mut Chance) -> Behaviour {
    let share = |chance: &mut Chance| match chance.one_in(3) {
        true => Share::per_million(chance.up_to(300_000)).unwrap(),
        false => Share::NONE,
    };
    let in_order = |share: Share| if speech == Speech::Http { Share::NONE } else { share };
    let stall = Stall { length: ms(chance.up_to(1000)), after: ms(chance.up_to(300)) };
    let mean = ms(chance.up_to(50));
    let delays = [Delay::None, Delay::Fixed(mean), Delay::Exponential { mean }];
    Behaviour {
        delay: chance.of(&delays),
        stalls: if chance.one_in(3) { vec![stall] } else { Vec::new() },
        cap: chance
            .one_in(4)
            .then(|| format!("{}/s", chance.up_to::<u32>(500)).parse::<Rate>().unwrap()),
        work: Nanos::ZERO,
        drop: share(chance),
        duplicate: in_order(share(chance)),
        reorder: in_order(share(chance)),
        corrupt: share(chance),
        close_after: if chance.one_in(4) { NonZeroU64::new(chance.up_to(10)) } else { None },
        seed: chance.up_to(1 << 30),
        ..Behaviour::default()
    }
}

/// The bytes that a peer sends instead of the right answer.
struct Answer {
    bytes: Vec<u8>,
    /// The number of answers in `bytes`, complete or not.
    count: u64,
    then: Then,
}

/// The right answer, or one that is cut, garbled, doubled, or left out.
fn wrong(mut bytes: Vec<u8>, random: &mut Random) -> Answer {
    let at = random.below(bytes.len());
    let mut count = 1;
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => {
            bytes.extend_from_within(..);
            count = 2;
        }
        3 => {
            bytes.clear();
            count = 0;
        }
        _ => {}
    }
    let then = if random.below(16) == 0 { Then::End } else { Then::GoOn };
    Answer { bytes, count, then }
}

/// The choices of a seed.
struct Chance(Random);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// From 1 on.
    fn up_to<T: TryFrom<usize>>(&mut self, max: usize) -> T {
        T::try_from(1 + self.below(max)).ok().expect("it is small")
    }
}

/// Seeds of every run of the tests.
const SEEDS: u64 = 500;

/// Seeds of the long campaign.
const MANY_SEEDS: u64 = 200_000;

/// Memory of both ends and the network between them. The longest schedule has 400 messages of 40 KB, which still wait
/// to be sent after they are given up: 16 MB in buffers that double, and the replies to them.
const MEMORY_MAX: usize = 64 << 20;

/// Longer than any run with these limits.
const TIME_MAX: Instant = Instant(600_000_000_000);
