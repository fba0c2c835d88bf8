//! The questions to a client that receives in rooms: everything that we publish reaches each of its receivers, once.

use super::Check;
use super::known_servers::{Answers, Known};
use super::rooms::{in_rooms, publish};
use crate::reach::Context;
use crate::tabs::Tabs;
use engine::clock::Clock;
use lab::{Client, ClientSettings, Held, Launch, Method, PrivateFolder, Subject};
use load::RoomShare;
use record::{Block, DeliveryEnds, TabDeliveries};
use spec::{Endpoint, Protocol, Scheme, conversation};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets a client receive from a relay of ours, alongside receivers of ours, over each of the schemes that it speaks.
pub(super) fn verify_receivers(
    subject: &Subject,
    installed: &Path,
    launch: &Launch,
    interrupt: &AtomicUsize,
) -> Vec<Check> {
    let receiving = Receiving::start(subject, installed, launch);
    let mut receiving = match receiving {
        Ok(receiving) => receiving,
        Err(reason) => return vec![Check::new("start", Err(reason))],
    };
    let mut checks = vec![Check::new("start", Ok(()))];
    for name in &subject.manifest.speaks {
        let held = Scheme::named(name).and_then(|scheme| {
            let is_it = |held: &&Held| held.asked == conversation::of_our_relay(scheme.protocol);
            Some((scheme, subject.conversations.iter().find(is_it)?))
        });
        let Some((scheme, held)) = held else {
            checks.push(Check::new(name, Err("its manifest names no conversation for it".into())));
            continue;
        };
        let context = Context { clock: Clock::start(), interrupt };
        let received = receiving.over(scheme, held, context);
        let is_over = received.is_err();
        checks.push(checked(name, received));
        if is_over || interrupt.load(Ordering::Relaxed) != 0 {
            break;
        }
    }
    checks
}

/// The check of one scheme.
fn checked(name: &str, received: Result<TabDeliveries, String>) -> Check {
    let tabs = match received {
        Ok(tabs) => tabs,
        Err(reason) => return Check::new(format!("{name}: receivers"), Err(reason)),
    };
    let TabDeliveries { counts, transport, duplicate, reordered, foreign, .. } = &tabs;
    let DeliveryEnds { owed, delivered, .. } = *counts;
    let what = format!("{name}: {delivered} of {owed} delivered by {transport}");
    let is_whole = owed > 0 && delivered == owed && duplicate + reordered + foreign == 0;
    let fault = || {
        format!(
            "not every receiver got every message exactly once: {counts}, {duplicate} came twice, {reordered} out \
             of order, {foreign} from elsewhere"
        )
    };
    Check::new(what, if is_whole { Ok(()) } else { Err(fault()) })
}

/// A client, and a relay that it receives from.
struct Receiving {
    relay: Known,
    client: Client,
}

impl Receiving {
    fn start(subject: &Subject, installed: &Path, launch: &Launch) -> Result<Self, String> {
        let relay = Known::start(Protocol::WebSocket.plain(), 0, Answers::Relay, None)?;
        let files = PrivateFolder::new(&launch.scratch, "verify")?;
        let nothing = files.write("nothing", &[])?;
        let settings = ClientSettings {
            url: relay.url.whole(),
            authority: None,
            connections: 1,
            payload: nothing.clone(),
            expect: nothing,
            is_text: true,
            method: Method::Post,
            life: None,
        };
        let client = Client::start(subject, installed, &settings, launch);
        Ok(Self { relay, client: client.map_err(|error| error.to_string())? })
    }

    /// Publishes over a scheme, with receivers of ours alongside, and returns the deliveries to the client's receivers.
    fn over(
        &mut self,
        scheme: Scheme,
        held: &Held,
        context: Context<'_>,
    ) -> Result<TabDeliveries, String> {
        let url = Endpoint::new(scheme, self.relay.url.address.clone());
        let measurement = in_rooms(&url, None, held, RECEIVERS)?;
        let rooms = measurement.workload.rooms.map(RoomShare::all).ok_or("there are no rooms")?;
        let tabs = Tabs::open(&mut self.client, &url, &measurement, rooms, context)?;
        let outcome = publish(&measurement, &url, None, context)?;
        let block = tabs.close(&outcome, Block::of(&outcome))?;
        if let Some(error) = block.errors.first() {
            return Err(format!("{} x {}: {}", error.count, error.class, error.example));
        }
        block.tabs.ok_or_else(|| "it reports nothing".to_owned())
    }
}

/// The number of receivers in each room.
const RECEIVERS: u64 = 1;
