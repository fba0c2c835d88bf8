//! The bots of a load test, numbered.

use super::options::{Options, Packing, Seat};
use units::Share;

/// The bots of a load test: each connection is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bots {
    /// The player id of bot number 0; each further bot has the next id.
    pub first_player: i32,
    /// The share of the bots that subscribe to the lobby; they are spread evenly over the numbers.
    pub lobby: Share,
    /// The operator that all of them log in with.
    pub operator: i32,
    /// The seat that each of them asks for.
    pub seat: Seat,
}

impl Default for Bots {
    /// Bots from player 1 on, none in the lobby, at any seat.
    fn default() -> Self {
        Self { first_player: 1, lobby: Share::NONE, operator: 0, seat: Seat::Any }
    }
}

impl Bots {
    /// Bot number `number`; `None` is an additional bot, with the last player id and outside the lobby.
    pub fn bot(&self, number: Option<u64>, packing: Packing) -> Options {
        Options {
            player: number.map_or(i32::MAX, |number| self.player(number)),
            packing,
            operator: self.operator,
            lobby: number.is_some_and(|number| self.is_in_lobby(number)),
            seat: self.seat,
        }
    }

    /// The player id of bot `number`. Bots beyond the largest id all share that.
    fn player(&self, number: u64) -> i32 {
        self.first_player.saturating_add(i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// True if bot `number` subscribes to the lobby.
    fn is_in_lobby(&self, number: u64) -> bool {
        let share = u128::from(self.lobby.millionths());
        let before = |number: u64| u128::from(number) * share / MILLION;
        before(number + 1) > before(number)
    }
}

/// The number of [`Share::millionths`] in a whole.
const MILLION: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_in_the_lobby_are_as_many_as_asked_for_and_spread_evenly() {
        #[rustfmt::skip]
        let table = [
            // share,    of the first 10, of the first 1000
            (0,          0,               0),
            (1,          0,               0),
            (100_000,    1,               100),
            (333_333,    3,               333),
            (1_000_000,  10,              1000),
        ];
        for (millionths, of_ten, of_thousand) in table {
            let lobby = Share::per_million(millionths).unwrap();
            let bots = Bots { lobby, ..Bots::default() };
            let among = |count: u64| (0..count).filter(|number| bots.is_in_lobby(*number)).count();
            assert_eq!((among(10), among(1000)), (of_ten, of_thousand), "{millionths}");
        }
    }

    #[test]
    fn players_follow_one_another_and_never_become_negative() {
        let bots = Bots { first_player: 1001, ..Bots::default() };
        assert_eq!(bots.player(0), 1001);
        assert_eq!(bots.player(5), 1006);
        assert_eq!(bots.player(u64::MAX), i32::MAX);
    }

    #[test]
    fn a_bot_beside_them_is_none_of_them() {
        let bots = Bots { lobby: Share::ALL, ..Bots::default() };
        let beside = bots.bot(None, Packing::Binary);
        assert_eq!((beside.player, beside.lobby), (i32::MAX, false));
        assert!(bots.bot(Some(0), Packing::Binary).lobby);
    }
}
