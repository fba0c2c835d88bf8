//! The lead of a run: one of several controllers decides, and the others watch it.

use super::Controller;
use super::contract::{Action, Options};
use super::stage::Stage;
use crate::Word;
use crate::protocol::Lead;
use crate::protocol::limits::{LEAD_EVERY, LEAD_SILENT};
use units::Instant;

impl Controller {
    /// Takes an announcement of another controller. Watches one that leads, unless it gives way to this one.
    pub(super) fn lead(&mut self, lead: Lead, now: Instant) {
        if lead.run != self.options.run || lead.instance == self.options.instance {
            return;
        }
        self.stops |= lead.stops;
        if !lead.leads {
            return;
        }
        self.rival_heard = now;
        // If two lead, the one with the larger instance keeps the lead. One that does not lead yet waits.
        if self.is_leading && lead.instance > self.options.instance
            || self.rival.is_none() && !self.is_leading
        {
            self.is_leading = false;
            self.say(Word::Watches {
                controller: lead.controller.clone(),
                host: lead.host.clone(),
            });
        }
        self.rival = Some(lead);
    }

    /// Takes the lead of a new run, or of one whose leader is silent, and announces it while it leads.
    pub(super) fn take_the_lead(&mut self, now: Instant) {
        if !self.is_connected || matches!(self.stage, Stage::Opening | Stage::Over { .. }) {
            return;
        }
        if !self.is_leading {
            let is_new = self.options.plan.is_some() && self.rival.is_none();
            let alone = self.rival_heard + LEAD_SILENT;
            if !is_new && !self.due(alone, now) {
                if self.stops && self.due(self.lead_at, now) {
                    self.say_who_leads(now);
                }
                return;
            }
            self.is_leading = true;
            self.lead_at = now;
            let before = self.rival.take().map(|rival| rival.controller);
            self.say(Word::Leads { before });
        }
        if self.due(self.lead_at, now) {
            self.say_who_leads(now);
        }
    }

    fn say_who_leads(&mut self, now: Instant) {
        self.lead_at = now + LEAD_EVERY;
        self.wake = self.wake.min(self.lead_at);
        let Options { controller, instance, host, run, .. } = &self.options;
        self.actions.push(Action::Lead(Lead {
            run: run.clone(),
            controller: controller.clone(),
            instance: *instance,
            host: host.clone(),
            leads: self.is_leading,
            stops: self.stops,
        }));
    }
}
