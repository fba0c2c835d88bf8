//! Permissions that the server refuses, and what each costs.

/// A refusal, by its cost to the member that receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It cannot do its task.
    Final,
    /// Something that it publishes gets lost; the cost, in words.
    Loss(&'static str),
    /// An operation on the log, or a question, ends with it.
    OfOperation,
}

impl Refusal {
    /// The refusal that a server error reports, if any.
    pub(super) fn of(error: &str) -> Option<Self> {
        let (_, rest) = error.split_once("Permissions Violation for ")?;
        let (what, rest) = rest.split_once(" to \"")?;
        let subject = rest.split('"').next()?;
        let begins = |prefix: &str| subject.starts_with(prefix);
        Some(match what {
            // Entries are found without a hint, a little later.
            "Subscription" if begins("wb.log.") => Self::OfOperation,
            "Subscription" => Self::Final,
            _ if begins("wb.hb.") || begins("wb.lead.") => Self::Final,
            _ if begins("wb.live.") => Self::Loss("its seconds are not shown"),
            _ if begins("_INBOX_") => Self::Loss(
                "its answers are lost, unless this was one that came late; allow_responses lets it answer",
            ),
            _ => Self::OfOperation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_final_or_a_loss_or_the_end_of_an_operation() {
        let of = |words: &str| Refusal::of(&format!("nats: Permissions Violation for {words}"));
        for words in [
            "Publish to \"wb.hb.a0\"",
            "Publish to \"wb.lead.r\"",
            "Subscription to \"wb.cmd.a0.0123456789abcdef\"",
            "Subscription to \"wb.hb.*\"",
            "Subscription to \"_INBOX_a0.x.*\" using queue \"q\"",
        ] {
            assert_eq!(of(words), Some(Refusal::Final), "{words}");
        }
        for words in ["Publish to \"wb.live.a0\"", "Publish to \"_INBOX_c.x.1\""] {
            assert!(matches!(of(words), Some(Refusal::Loss(_))), "{words}");
        }
        for words in [
            "Publish to \"wb.log.r.plan\"",
            "Publish to \"wb.cmd.a0.0123456789abcdef\"",
            "Publish to \"$JS.API.DIRECT.GET.WB\"",
            "Subscription to \"wb.log.r.>\"",
        ] {
            assert_eq!(of(words), Some(Refusal::OfOperation), "{words}");
        }
        for error in ["nats: authorization violation", "nats: slow consumer", ""] {
            assert_eq!(Refusal::of(error), None, "{error}");
        }
    }
}
