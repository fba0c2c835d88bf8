//! Everything that was sent is received, by the arithmetic of the tables.

use super::bots::{Player, Way, drive, play, seat};
use super::stage::Stage;
use engine::sim::{Conditions, Split};
use serve::game::Options;
use units::Nanos;

#[test]
fn every_event_reaches_everybody_at_its_table_once_whichever_way_they_came() {
    let rough = Conditions {
        split: Split::Random { chunk_len_max: 40 },
        jitter: Nanos::from_micros(700),
        ..Conditions::default()
    };
    for (fronts, conditions) in
        [(0, Conditions::default()), (0, rough.clone()), (2, Conditions::default()), (2, rough)]
    {
        // With fronts, connections take turns: the two of a Comet client never reach the same one.
        let mut stage = Stage::with_fronts(Options::default(), conditions, fronts);
        // Tables of 1 to 5 players, who came in all ways.
        let sizes = [1, 2, 3, 4, 5_u64];
        let ways = [Way::Binary, Way::WebSocket, Way::Comet];
        let mut players = Vec::new();
        let mut mates = Vec::new();
        for (table, size) in (1..).zip(sizes) {
            for _ in 0..size {
                let number = i32::try_from(players.len()).unwrap();
                let way = ways[players.len() % ways.len()];
                players.push(Player::new(&mut stage, way, number + 1, table));
                mates.push(size - 1);
            }
        }
        seat(&mut stage, &mut players);
        play(&mut stage, &mut players, ROUNDS);
        let expected: u64 = mates.iter().map(|mates| ROUNDS * mates).sum();
        drive(&mut stage, &mut players, |players| {
            players.iter().map(|player| player.deliveries).sum::<u64>() >= expected
        });
        for (player, mates) in players.iter().zip(&mates) {
            assert_eq!((player.replies, player.deliveries), (ROUNDS, ROUNDS * mates));
            assert_eq!(player.ended, None);
        }
        let totals = stage.totals();
        assert_eq!(totals.world.events, 15 * ROUNDS);
        assert_eq!(
            totals.world.deliveries,
            sizes.map(|size| size * size).iter().sum::<u64>() * ROUNDS
        );
        assert_eq!((totals.world.sequence_errors, totals.world.bad_packets), (0, 0));
        assert_eq!(
            (totals.sessions.binary, totals.sessions.websocket, totals.sessions.comet),
            (5, 5, 5)
        );
        assert_eq!(totals.connections, 20);
        assert_eq!((totals.broken, totals.slow, totals.silent, totals.lost_clients), (0, 0, 0, 0));
    }
}

/// Rounds that everybody plays.
const ROUNDS: u64 = 20;
