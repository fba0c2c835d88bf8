//! `wirebench serve relay`: its options, and its report at the end.

use super::Serve;
use crate::args::values::seed_of_clock;
use engine::clock;
use serve::relay::{FeedTotals, Totals};
use serve::{Handshakes, Patience, Relay};
use spec::{Protocol, Scheme};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Nanos;
use wire::Stack;

/// Options of an oracle that mean the same to a relay.
const SHARED: &[&str] = &["--delay", "--drop", "--duplicate", "--reorder", "--seed"];

impl Serve {
    /// The transport of a relay.
    pub(super) fn relay_scheme(&self) -> Result<Scheme, String> {
        if let Some(option) = self.oracle.given_besides(SHARED) {
            return Err(format!("{option} does not apply to serve relay; leave it out"));
        }
        let usual = Protocol::WebSocket.plain();
        match self.transport.unwrap_or(usual) {
            scheme if scheme.protocol == Protocol::WebSocket => Ok(scheme),
            other => Err(format!("serve relay speaks ws or wss, not {other}; use one of them")),
        }
    }

    /// A relay with the options that were given.
    pub(super) fn relay(&self, stack: Stack, stop: Arc<AtomicBool>) -> Relay {
        let queue_max = self.game.queue_max.unwrap_or(Relay::QUEUE_MAX);
        let patience = Patience {
            idle_max: self.idle_timeout.unwrap_or(Nanos::MAX), // Receivers need not send anything.
            ..self.patience()
        };
        let relay = Relay::new(stack, stop)
            .with_queue_max(usize::try_from(queue_max.0).unwrap_or(usize::MAX))
            .with_memory_max(self.memory_max())
            .with_names_from(u64::from(std::process::id()) << 32 | seed_of_clock())
            .with_recovery(self.recovery.unwrap_or(Nanos::ZERO))
            .patient(patience);
        if self.oracle.given().is_none() {
            return relay;
        }
        clock::sharpen_timers().ok(); // Blunt timers make deliveries later than asked for.
        relay.with_behaviour(self.oracle.behaviour())
    }

    /// The relay's counts, as one line of text or JSON.
    pub(super) fn relay_report(&self, scheme: Scheme, totals: Totals) -> String {
        let Totals { connections, broken, timed_out, published, delivered, .. } = totals;
        let Totals { dropped, duplicated, reordered, refused, slow, .. } = totals;
        let Totals { bytes_received, bytes_sent, recovered, .. } = totals;
        let Handshakes { full, resumed, failed } = totals.handshakes;
        let of_brokers = self.brokers.given().map(|_| totals.feeds);
        if self.json {
            let mut json = serde_json::json!({
                "connections": connections,
                "broken_connections": broken,
                "timed_out_connections": timed_out,
                "slow_receivers_dropped": slow,
                "published": published,
                "deliveries": delivered,
                "refused": refused,
                "received_bytes": bytes_received,
                "sent_bytes": bytes_sent,
                "faults": { "dropped": dropped, "duplicated": duplicated, "reordered": reordered },
            });
            if let Some(FeedTotals { published, opened, failed }) = of_brokers {
                json["brokers"] = serde_json::json!({
                    "published": published, "connections": opened, "failed_connections": failed,
                });
            }
            if self.recovery.is_some() {
                json["recovered"] = recovered.into();
            }
            if scheme.tls {
                json["tls_handshakes"] =
                    serde_json::json!({ "full": full, "resumed": resumed, "failed": failed });
            }
            return format!("{json}\n");
        }
        let handshakes = match scheme.tls {
            true => format!(", TLS handshakes: {full} full, {resumed} resumed, {failed} failed"),
            false => String::new(),
        };
        let faults = match dropped + duplicated + reordered {
            0 => String::new(),
            _ => format!(
                ", {dropped} deliveries dropped, {duplicated} duplicated and {reordered} reordered on purpose"
            ),
        };
        let recovered = match self.recovery {
            Some(_) => format!(", {recovered} to clients that came back for them"),
            None => String::new(),
        };
        let brokers = match of_brokers {
            None => String::new(),
            Some(FeedTotals { published, opened, failed }) => format!(
                ", {published} of them by brokers ({opened} connections to these, {failed} failed or lost)"
            ),
        };
        format!(
            "served {connections} connections ({broken} broke the protocol, {timed_out} timed out, {slow} did not read \
             and were dropped), {published} messages published{brokers}, {delivered} deliveries{recovered}, {refused} refused, \
             {bytes_received} bytes in, {bytes_sent} bytes out{handshakes}{faults}\n"
        )
    }
}
