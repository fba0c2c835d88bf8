//! Measures the memory and CPU time that our WebSocket adds to the codec that compresses its messages.
//!
//! ```text
//! cargo run --release -p wire --example deflate_memory
//! ```
//!
//! One message of 1 KiB of JSON with context takeover, compressed and inflated: by flate2 alone, and sent and received
//! by two machines with the same level and window. Both run in turns of a thousand messages, over the same distinct
//! messages, which are together more than a window; each prints a line of JSON with the medians over all turns, in
//! nanoseconds of CPU for a message, and the ratio: the median of that of each turn.

#![expect(clippy::print_stdout, reason = "a program, not a library")]
#![expect(clippy::cast_precision_loss, reason = "nanoseconds of a turn, as a figure for people")]

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use units::Random;
use wire::websocket::deflate::{Agreed, Direction};
use wire::websocket::{Limits, WebSocket};
use wire::{Event, Input, Kind, Message, Protocol, Side};

fn main() {
    let messages = messages();
    for level in [1, 6] {
        let mut codec = Codec::new(level);
        let mut machines = Machines::new(level);
        let mut turns = Vec::new();
        for turn in 0..WARM_UP + TURNS {
            // Whoever is first in a turn is second in the next.
            let [alone, through] = if turn % 2 == 0 {
                let alone = time(&messages, |message| codec.pass(message));
                [alone, time(&messages, |message| machines.pass(message))]
            } else {
                let through = time(&messages, |message| machines.pass(message));
                [time(&messages, |message| codec.pass(message)), through]
            };
            if turn >= WARM_UP {
                turns.push([alone, through, through / alone]);
            }
        }
        let [alone, through, ratio] = [0, 1, 2].map(|column| median(&turns, column));
        println!(
            "{{\"level\": {level}, \"message_bytes\": {MESSAGE_LEN}, \"compressed_bytes\": {:.1}, \
             \"turns\": {TURNS}, \"flate2_ns\": {alone:.0}, \"websocket_ns\": {through:.0}, \
             \"ratio\": {ratio:.4}}}",
            codec.compressed_len as f64 / codec.passed as f64
        );
    }
}

/// flate2 alone, with buffers of its own that are used again.
struct Codec {
    compress: Compress,
    decompress: Decompress,
    compressed: Vec<u8>,
    compressed_len: usize,
    inflated: Vec<u8>,
    passed: usize,
}

impl Codec {
    fn new(level: u32) -> Self {
        Self {
            compress: Compress::new_with_window_bits(Compression::new(level), false, WINDOW_BITS),
            decompress: Decompress::new_with_window_bits(false, WINDOW_BITS),
            compressed: Vec::with_capacity(2 * MESSAGE_LEN),
            compressed_len: 0,
            inflated: Vec::with_capacity(2 * MESSAGE_LEN),
            passed: 0,
        }
    }

    fn pass(&mut self, message: &[u8]) {
        self.compressed.clear();
        self.compress
            .compress_vec(message, &mut self.compressed, FlushCompress::Sync)
            .expect("the stream has no end");
        self.inflated.clear();
        self.decompress
            .decompress_vec(&self.compressed, &mut self.inflated, FlushDecompress::None)
            .expect("it was just compressed");
        assert_eq!(black_box(&self.inflated).len(), message.len());
        self.compressed_len += self.compressed.len() - 4;
        self.passed += 1;
    }
}

/// Two of our machines, and the bytes between them.
struct Machines {
    client: WebSocket,
    server: WebSocket,
    tx: Vec<u8>,
    answers: Vec<u8>,
}

impl Machines {
    fn new(level: u32) -> Self {
        let direction = Direction { takes_over: true, window_bits: WINDOW_BITS };
        let agreed = Agreed { level, received: direction, sent: direction };
        let end = |role| WebSocket::established_with(agreed, role, Limits::default(), 1);
        Self {
            client: end(Side::Client),
            server: end(Side::Server),
            tx: Vec::with_capacity(4 * MESSAGE_LEN),
            answers: Vec::new(),
        }
    }

    fn pass(&mut self, message: &[u8]) {
        self.tx.clear();
        self.client
            .send(Message { kind: Kind::Text, payload: message }, &mut self.tx)
            .expect("the connection is open");
        let mut input = Input::new(&mut self.tx);
        let event = self.server.receive(&mut input, &mut self.answers).expect("we keep the rules");
        match black_box(event) {
            Some(Event::Message(received)) => assert_eq!(received.payload.len(), message.len()),
            other => panic!("{other:?}"),
        }
    }
}

/// Passes all messages; the nanoseconds of CPU for one.
fn time(messages: &[Vec<u8>], mut pass: impl FnMut(&[u8])) -> f64 {
    let begin = cpu_ns();
    for message in messages {
        pass(message);
    }
    (cpu_ns() - begin) as f64 / messages.len() as f64
}

/// CPU time that this thread has used.
fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn median(turns: &[[f64; 3]], column: usize) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(|turn| turn[column]).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// JSON as a game might send it: records with names that return and numbers that do not.
fn messages() -> Vec<Vec<u8>> {
    let mut random = Random::new(7);
    (0..MESSAGES).map(|index| message(index, &mut random)).collect()
}

fn message(index: usize, random: &mut Random) -> Vec<u8> {
    let names = ["knight", "archer", "wizard", "healer", "scout", "smith", "rogue", "baker"];
    let mut text = format!("{{\"tick\":{index},\"players\":[");
    loop {
        let (id, name) = (random.below(100_000), names[random.below(names.len())]);
        let [x, y, z] = [(); 3].map(|()| random.below(4_000_000));
        let player = format!(
            "{{\"id\":{id},\"name\":\"{name}-{}\",\"x\":{}.{:03},\"y\":{}.{:03},\"z\":{}.{:03},\"health\":{}}},",
            random.below(1000),
            x / 1000,
            x % 1000,
            y / 1000,
            y % 1000,
            z / 1000,
            z % 1000,
            random.below(101)
        );
        if text.len() + player.len() + 2 > MESSAGE_LEN {
            text.pop();
            text.push_str("]}");
            text.push_str(&" ".repeat(MESSAGE_LEN - text.len()));
            return text.into_bytes();
        }
        text.push_str(&player);
    }
}

const MESSAGE_LEN: usize = 1024;
/// Together 30 windows.
const MESSAGES: usize = 1000;
const WINDOW_BITS: u8 = 15;
const WARM_UP: usize = 4;
const TURNS: usize = 100;
