//! Bots of a game: who they are, and what each of their messages is.

use crate::config::Conflict;
use load::Content;
use spec::{Carries, Protocol, Scheme};
use std::path::{Path, PathBuf};
use units::{Nanos, Share};
use wire::game::Bots;
use wire::styx::Definition;
use wire::styx::load_test::LoadRequest;

/// The options of bots, and of packets that somebody else has defined.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Games (game://, game-ws://, game-comet://, and inside TLS)")]
pub(super) struct Game {
    /// How many of the bots subscribe to the lobby too, e.g. 10%
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    lobby: Option<Share>,
    /// The player id of the first bot; each next one has the next [default: 1]
    ///
    /// Bots that take the place of lost ones go on counting, and so does each next count of --bots. Whoever is
    /// logged in with the same id elsewhere is logged out.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..=FIRST_PLAYER_MAX), hide_short_help = true)]
    first_player: Option<i32>,
    /// How long the game is to keep each event before it answers, in whole milliseconds [default: 0]
    #[arg(long, value_name = "TIME", value_parser = milliseconds, hide_short_help = true)]
    event_delay: Option<i32>,
    /// Pack --payload, which is JSON, by the definition of packets in FILE (XML)
    ///
    /// For styx:// and styx-tls://, where it is sent packed, and ws:// and wss://, where it is sent as JSON in the
    /// order of the definition.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    codec: Option<PathBuf>,
    /// Keep the times of the last 1000 replies, whose mean a published experiment shows
    #[arg(long, hide = true)]
    pub(super) last_replies: bool,
}

#[rustfmt::skip]
pub(super) const CONFLICTS: &[Conflict] = &[
    Conflict { between: ["codec", "size"],         cure: "a packet has its own size; leave --size out" },
    Conflict { between: ["codec", "payload-kind"], cure: "a packet is what --payload says; leave --payload-kind out" },
    Conflict { between: ["codec", "expect"],       cure: "a packet comes back as it was sent; leave --expect out" },
    Conflict { between: ["codec", "oracle"],       cure: "nothing can be written over a packet; leave one out" },
];

impl Game {
    /// Who the bots are.
    ///
    /// # Errors
    ///
    /// An option that means nothing to `scheme`.
    pub(super) fn bots(&self, scheme: Scheme) -> Result<Bots, String> {
        let given = [
            ("--lobby", self.lobby.is_some()),
            ("--first-player", self.first_player.is_some()),
            ("--event-delay", self.event_delay.is_some()),
        ];
        for (option, is_given) in given {
            if is_given && scheme.facts().carries != Carries::Events {
                return Err(format!(
                    "{option} means nothing to {scheme}://, only to bots of a game, as in game://127.0.0.1:4123; leave \
                     it out"
                ));
            }
        }
        let usual = Bots::default();
        Ok(Bots {
            first_player: self.first_player.unwrap_or(usual.first_player),
            lobby: self.lobby.unwrap_or(usual.lobby),
            ..usual
        })
    }

    /// What each message of a bot is, before its player, table and number are filled in; and what that is called.
    pub(super) fn event(&self) -> (Content, String) {
        let delay = self.event_delay.unwrap_or(0);
        let event = LoadRequest { pid: 0, tableid: 0, seq: 0, delay, resend: false };
        let kept = if delay > 0 { format!(", kept for {delay} ms") } else { String::new() };
        (Content::exactly(&event.pack(), false), format!("an event of the load-test game{kept}"))
    }

    /// The packet that `json` is by the definition, if one is given.
    ///
    /// # Errors
    ///
    /// No packet can be made of it for `scheme`, and what would help.
    pub(super) fn packet(
        &self,
        scheme: Scheme,
        json: Option<&[u8]>,
    ) -> Result<Option<Content>, String> {
        let Some(file) = &self.codec else { return Ok(None) };
        let as_text = scheme.protocol == Protocol::WebSocket;
        if !as_text && scheme.protocol != Protocol::Styx {
            return Err(format!(
                "--codec means nothing to {scheme}://, only to styx://, styx-tls://, ws:// and wss://; leave it out"
            ));
        }
        let json = json.ok_or_else(|| {
            "--codec packs a --payload; add one, as in --payload '{\"id\":1,\"classId\":7}'"
                .to_owned()
        })?;
        let definition = definition(file)?;
        let problem = |error: String| {
            format!("--payload: {error}; it is packed by --codec {}", file.display())
        };
        let packed = definition.pack_json(json).map_err(|error| problem(error.to_string()))?;
        if !as_text {
            return Ok(Some(Content::exactly(&packed, false)));
        }
        let text = definition.unpack_json(&packed).map_err(|error| problem(error.to_string()))?;
        Ok(Some(Content::exactly(text.as_bytes(), true)))
    }
}

fn definition(file: &Path) -> Result<Definition, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("--codec: cannot read {}: {error}", file.display()))?;
    Definition::from_xml(&text).map_err(|error| format!("--codec {}: {error}", file.display()))
}

/// A time that the game can keep an event for: its field has whole milliseconds and 31 bits.
fn milliseconds(text: &str) -> Result<i32, String> {
    let time: Nanos = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    let whole = time.0 / NANOS_PER_MS;
    if whole * NANOS_PER_MS != time.0 {
        return Err(format!("{time} is no whole number of milliseconds"));
    }
    i32::try_from(whole).map_err(|_| format!("{time} is too long; at most {} ms", i32::MAX))
}

const NANOS_PER_MS: u64 = 1_000_000;

/// Leaves a billion ids for all that come after.
const FIRST_PLAYER_MAX: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::run::tests::plan;
    use load::{Arrival, Expect};

    #[test]
    fn each_message_of_a_bot_is_an_event_of_its_game() {
        let measurement =
            plan("game://h --bots 30 --lobby 10% --first-player 7 --event-delay 60ms")
                .unwrap()
                .measurements
                .remove(0);
        let event = LoadRequest::unpack(measurement.workload.content.payload()).unwrap();
        assert_eq!((event.delay, event.resend), (60, false));
        assert_eq!(measurement.workload.expect, Expect::InSequence);
        assert_eq!(measurement.content_source, "an event of the load-test game, kept for 60 ms");
        let bots = measurement.speech.bots;
        assert_eq!((bots.first_player, bots.lobby), (7, "10%".parse().unwrap()));
    }

    #[test]
    fn bots_are_open_unless_they_are_to_wait() {
        let arrival = |line: &str| plan(line).unwrap().measurements[0].workload.arrival.clone();
        assert!(matches!(arrival("game-ws://h --bots 30"), Arrival::Open { .. }));
        let think = Nanos::from_secs(2);
        let closed = arrival("game-comet://h --bots 30 --every 2s --closed");
        assert_eq!(closed, Arrival::Think { think });
    }

    #[test]
    fn what_a_game_decides_is_not_asked_for() {
        #[rustfmt::skip]
        let table = [
            ("game://h --size 5B",                "--size means nothing to game://"),
            ("game-ws://h --payload x",           "--payload means nothing to game-ws://"),
            ("game://h --payload-kind json",      "--payload-kind means nothing to game://"),
            ("game-comet://h --expect x",         "--expect means nothing to game-comet://"),
            ("game-ws://h --text",                "--text means nothing to game-ws://"),
            ("game://h --codec x.xml",            "--codec means nothing to game://"),
            ("game://h --deflate",                "--deflate means nothing to game://"),
            ("game-comet://h --deflate",          "--deflate means nothing to game-comet://"),
            ("game://h --header a:b",             "--header means nothing to game://"),
            ("game://h --bots 5 --oracle",        "--oracle means nothing to game://"),
            ("ws://h --lobby 10%",                "--lobby means nothing to ws://"),
            ("styx://h:1 --first-player 5",       "--first-player means nothing to styx://"),
            ("tcp://h:1 --event-delay 5ms",       "--event-delay means nothing to tcp://"),
            ("tcp://h:1 --codec x --payload {}",  "--codec means nothing to tcp://"),
            ("styx://h:1 --codec x",              "--codec packs a --payload; add one"),
            ("styx://h:1 --codec /no/x --payload {}", "--codec: cannot read /no/x"),
            ("styx://h:1 --size 0",               "use a --size from 1 B on"),
            ("game://h --closed",                 "--closed means nothing without --bots"),
        ];
        for (line, expected) in table {
            let error = plan(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        assert!(plan("game-ws://h --deflate").is_ok());
    }

    #[test]
    fn events_are_kept_for_whole_milliseconds() {
        assert_eq!(milliseconds("60ms"), Ok(60));
        assert_eq!(milliseconds("0s"), Ok(0));
        assert!(milliseconds("1500us").unwrap_err().contains("no whole number"));
        assert!(milliseconds("1000h").unwrap_err().contains("too long"));
    }

    #[test]
    fn a_packet_is_packed_by_its_definition_or_told_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("firebase.xml");
        std::fs::write(&file, Definition::firebase().to_xml()).unwrap();
        let codec = Some(file);
        let game =
            Game { lobby: None, first_player: None, event_delay: None, codec, last_replies: false };
        let json = Some(&br#"{"classId":7,"id":5}"#[..]);
        let packed = game.packet(Protocol::Styx.plain(), json).unwrap().unwrap();
        assert_eq!((packed.payload(), packed.is_text()), (&[7, 0, 0, 0, 5][..], false));
        let text = game.packet(Protocol::WebSocket.secured().unwrap(), json).unwrap().unwrap();
        assert_eq!((text.payload(), text.is_text()), (&br#"{"id":5,"classId":7}"#[..], true));
        let error =
            game.packet(Protocol::Styx.plain(), Some(br#"{"classId":7,"id":"x"}"#)).unwrap_err();
        assert!(error.starts_with("--payload: ") && error.contains("id"), "{error}");
    }
}
