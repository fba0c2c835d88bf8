//! A bot that plays binary allocates nothing for an event, nor for its answer.

use super::{binary, frame, opening, response, transport};
use crate::websocket::allocation::memory_of;
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::Ping;
use wire::{Event, Input, Kind, Message, Protocol};

#[test]
fn binary_events_and_answers_take_no_memory() {
    let mut bot = binary();
    let mut tx = Vec::with_capacity(1 << 10);
    bot.open(&mut tx);
    for packet in opening() {
        let mut bytes = frame(packet);
        assert!(bot.receive(&mut Input::new(&mut bytes), &mut tx).unwrap().is_some());
    }
    let event = LoadRequest::default().pack();
    let arriving = |seq: i32| -> Vec<u8> {
        [response(8, seq), response(7, seq), response(9, seq)]
            .into_iter()
            .flat_map(|response| frame(transport(response)))
            .chain(frame(Ping { id: seq }))
            .collect()
    };
    for seq in 1..=100 {
        let mut bytes = arriving(seq);
        tx.clear();
        let (events, peak, held) = memory_of(|| {
            let message = Message { kind: Kind::Binary, payload: &event };
            bot.send(message, &mut tx).unwrap();
            let (mut input, mut events) = (Input::new(&mut bytes), [0; 3]);
            while let Some(event) = bot.receive(&mut input, &mut tx).unwrap() {
                events[0] += usize::from(matches!(event, Event::Message(_)));
                events[1] += usize::from(matches!(event, Event::Pushed(_)));
                events[2] += usize::from(matches!(event, Event::Ping(_)));
            }
            events
        });
        assert_eq!(events, [1, 2, 1]);
        if seq > 1 {
            assert_eq!((peak, held), (0, 0), "bytes for event {seq}");
        }
    }
}

#[test]
fn a_bot_is_small_and_frees_what_was_large() {
    let (mut bot, _, _) = memory_of(binary);
    let mut tx = Vec::new();
    bot.open(&mut tx);
    let large =
        wire::styx::packets::TableChat { message: "x".repeat(30_000).into(), ..Default::default() };
    let mut bytes = frame(large);
    let ((), peak, held) = memory_of(|| {
        let mut input = Input::new(&mut bytes);
        assert!(bot.receive(&mut input, &mut tx).unwrap().is_some());
        assert!(bot.receive(&mut input, &mut tx).unwrap().is_none());
    });
    assert!(peak >= 30_000 && held <= 512, "{peak} bytes at most, {held} at the end");
}
