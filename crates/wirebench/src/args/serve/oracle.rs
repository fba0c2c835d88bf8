//! What `wirebench serve oracle` can be told to do.

use crate::args::values;
use serve::{Behaviour, Delay, Share, Stall};
use std::num::NonZeroU64;
use units::{Bytes, Rate};

/// All of it, each part left out unless it is asked for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The oracle server")]
pub(super) struct Oracle {
    /// How long each message is kept [default: none]
    ///
    /// `fixed:1ms`; `exponential:1ms`, which is the mean; or `bimodal:1ms,50ms@10%`: one message of ten is kept for
    /// 50 ms, the others for 1 ms. From the decoded message to its reply. Replies keep the order of their connection.
    #[arg(long, value_name = "DELAY", hide_short_help = true)]
    delay: Option<Delay>,
    /// Stand still for a while, as a stopped process does; repeatable
    ///
    /// `2s@5s` is for 2 s, from 5 s after the first message of all, which is the one that a run asks with before it
    /// begins. Nothing is read and nothing answered meanwhile.
    #[arg(long, value_name = "LENGTH@TIME", hide_short_help = true)]
    stall: Vec<Stall>,
    /// Send so many replies at most, on all connections together
    ///
    /// Reply k of a busy period leaves no earlier than k / RATE after its first.
    #[arg(long, value_name = "RATE", value_parser = cap, hide_short_help = true)]
    cap: Option<Rate>,
    /// Never answer some messages
    ///
    /// Over http, nothing is answered any more on a connection on which one was dropped.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    drop: Option<Share>,
    /// Answer some messages twice; not over http
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    duplicate: Option<Share>,
    /// Let the next reply overtake some; not over http
    ///
    /// A reply that nothing overtakes within 2 s leaves then, and is not counted.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    reorder: Option<Share>,
    /// Flip a bit of some replies, near their end
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    corrupt: Option<Share>,
    /// End each connection after so many replies
    #[arg(long, value_name = "COUNT", value_parser = values::large_count, hide_short_help = true)]
    close_after: Option<NonZeroU64>,
    /// How long a message is, for tcp and unix, which do not say [default: 64B]
    ///
    /// As long as the messages of the run: what happens, happens to whole messages.
    #[arg(long, value_name = "SIZE", value_parser = values::size, hide_short_help = true)]
    pub(super) size: Option<Bytes>,
    /// What random delays and faults follow from [default: 31]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
}

impl Oracle {
    /// What is asked for.
    pub(super) fn behaviour(&self) -> Behaviour {
        Behaviour {
            delay: self.delay.unwrap_or_default(),
            stalls: self.stall.clone(),
            cap: self.cap,
            drop: self.drop.unwrap_or_default(),
            duplicate: self.duplicate.unwrap_or_default(),
            reorder: self.reorder.unwrap_or_default(),
            corrupt: self.corrupt.unwrap_or_default(),
            close_after: self.close_after,
            seed: self.seed.unwrap_or(Behaviour::SEED),
        }
    }

    /// The first option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--delay", self.delay.is_some()),
            ("--stall", !self.stall.is_empty()),
            ("--cap", self.cap.is_some()),
            ("--drop", self.drop.is_some()),
            ("--duplicate", self.duplicate.is_some()),
            ("--reorder", self.reorder.is_some()),
            ("--corrupt", self.corrupt.is_some()),
            ("--close-after", self.close_after.is_some()),
            ("--size", self.size.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        all.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

fn cap(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error: units::ParseError| {
        let is_zero = text.split('/').next().is_some_and(|count| count.trim().parse() == Ok(0.0));
        let cure = if is_zero { "; to answer nothing at all, use --drop 100%" } else { "" };
        format!("{error}{cure}")
    })
}
