//! A complete experiment: workloads, how often each is measured, and what they are compared with.

use crate::conversation::Conversation;
use crate::secrets::{Secrets, path_with_secrets, secrets_of_path};
use crate::{Axis, Published, Requirement, Until, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use units::{Nanos, Random, Share};

/// Everything that one run is to measure, with every default resolved: enough to repeat it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The version of this format; additions do not raise it.
    pub version: u32,
    /// The question that it is to answer.
    #[serde(default)]
    pub question: String,
    /// The workloads. Other parts, and the record, point here by index, from 0. Of a sweep: its lines, each at the
    /// first load.
    pub workloads: Vec<Workload>,
    /// Blocks of each workload, at most where there are goals. In every round each workload runs one block.
    pub rounds: u32,
    /// The goals that end it earlier; `null`: all rounds are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The limits that numbers of every row are held against, but of those that others are compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Requirement>,
    /// The most by which a number of the second of two sides may be worse; `null`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression_max: Option<Share>,
    /// True if a limit fails where the noise is larger than the margin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The order of the blocks of a round.
    pub order: Order,
    /// The workload (its index) that all others are compared with, unless they name another.
    #[serde(default)]
    pub baseline: Option<usize>,
    /// Workloads that are another one with a layer more.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// The load that rises; `null`: each workload has its load.
    #[serde(default)]
    pub axis: Option<Axis>,
    /// The origin of all random choices of the experiment: the order of blocks, intervals.
    pub seed: u64,
    /// True if addresses that are neither loopback nor private may be loaded.
    #[serde(default)]
    pub public_allowed: bool,
    /// Time in which a subject that compiles while it runs is brought to its speed, at most, before its first block.
    pub jit_warm_up_max: Nanos,
    /// Parts of the page besides its table.
    #[serde(default)]
    pub show: Vec<View>,
    /// Figures that others published.
    #[serde(default)]
    pub published: Option<Published>,
    /// Rows that were asked for and are not among the workloads.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Fields that an older record did not hold; with any of these the experiment cannot be repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl Experiment {
    /// The version of the format that is written.
    pub const VERSION: u32 = 1;

    /// The maximum number of rounds.
    pub const ROUNDS_MAX: u32 = 10_000;

    /// The default of [`Experiment::jit_warm_up_max`].
    pub const JIT_WARM_UP_MAX: Nanos = Nanos::from_secs(10);

    /// One workload, measured once.
    pub fn one(workload: Workload) -> Self {
        let seed = workload.seed;
        Self {
            version: Self::VERSION,
            workloads: vec![workload],
            rounds: 1,
            seed,
            jit_warm_up_max: Self::JIT_WARM_UP_MAX,
            ..Self::default()
        }
    }

    /// Multiplies every load for `machines` machines, each of which makes the load that it has now.
    ///
    /// # Errors
    ///
    /// One of the loads would be too large.
    pub fn for_each_of(&mut self, machines: NonZeroU32) -> Result<(), crate::Problem> {
        for Workload { name, load, phases, .. } in &mut self.workloads {
            let all = load.times(machines).zip(phases.stop.times(machines));
            (*load, phases.stop) = all.ok_or_else(|| {
                let problem =
                    format!("{machines} times the load of {name} is too large; ask for less");
                crate::Problem::new("each", problem)
            })?;
        }
        // In rooms the axis is that of each room, and the number of rooms was multiplied.
        let is_in_rooms = self.workloads.iter().any(|line| line.load.rooms().is_some());
        if let Some(axis) = self.axis.as_mut().filter(|_| !is_in_rooms) {
            axis.times(machines);
        }
        Ok(())
    }

    /// Restores the secrets that are never written down: values of headers and of secret parameters of URLs, from
    /// fields as in options (`Name: value`, or `@FILE`), and the keys of certificates, from their files.
    ///
    /// # Errors
    ///
    /// The field that still lacks its value, or a file that cannot be read.
    pub fn give_secrets(
        &mut self,
        fields: &[String],
        read: &crate::Read<'_>,
    ) -> Result<(), crate::Problem> {
        let given = crate::options::headers(fields, read)?;
        for (index, workload) in self.workloads.iter_mut().enumerate() {
            for header in &mut workload.http.headers {
                let value =
                    given.iter().find(|given| given.name.eq_ignore_ascii_case(&header.name));
                header.value =
                    header.value.take().or_else(|| value.and_then(|given| given.value.clone()));
                if header.value.is_none() {
                    let name = &header.name;
                    return Err(crate::Problem::new(
                        "header",
                        format!(
                            "workloads[{index}].http.headers: the value of `{name}` is not written down; give it again \
                             with -H '{name}: …', or -H @FILE"
                        ),
                    ));
                }
            }
            let publish_to = workload.publish_to.as_mut().map(|url| ("publish_to", url));
            let server = workload.server.url_mut().map(|url| ("server", url));
            for (field, endpoint) in server.into_iter().chain(publish_to) {
                let value_of = |name: &str| {
                    let mut all = given.iter();
                    all.find(|given| given.name.eq_ignore_ascii_case(name))?.value.clone()
                };
                endpoint.path = path_with_secrets(&endpoint.path, value_of).map_err(|name| {
                    crate::Problem::new(
                        "header",
                        format!(
                            "workloads[{index}].{field}: the value of `{name}` in the URL is not written down; give it \
                             again with -H '{name}: …', or -H @FILE"
                        ),
                    )
                })?;
            }
            if let Some(identity) = workload.tls.as_mut().and_then(|tls| tls.identity.as_mut()) {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                let key = read(&identity.key_file, crate::options::PEM_MAX).map(text);
                identity.key =
                    Some(key.map_err(|problem| crate::Problem::new("client-key", problem))?);
            }
        }
        Ok(())
    }

    /// The workloads of two of the user's servers that take turns, the second one compared with the first; `None` for
    /// any other experiment.
    pub fn sides(&self) -> Option<[usize; 2]> {
        let is_user = |workload: &Workload| workload.server.url().is_some();
        match (&self.workloads[..], self.baseline, &self.axis) {
            ([base, head], Some(0), None) if is_user(base) && is_user(head) => Some([0, 1]),
            _ => None,
        }
    }

    /// The secrets that servers are given.
    pub fn secrets(&self) -> Secrets {
        secrets_of(&self.workloads)
    }

    /// The workloads of the blocks of each round, in order: every round has each workload once.
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        let mut random = Random::new(self.seed);
        (0..self.rounds)
            .map(|_| {
                let mut round: Vec<usize> = (0..self.workloads.len()).collect();
                match self.order {
                    Order::AsListed => {}
                    Order::Shuffled => random.shuffle(&mut round),
                }
                round
            })
            .collect()
    }

    /// The approximate time of all blocks together, without the start of subjects; of a sweep, its budget.
    pub fn block_time(&self) -> Nanos {
        if let Some(axis) = &self.axis {
            return axis.budget;
        }
        Nanos(self.round_time().0.saturating_mul(self.rounds.into()))
    }

    /// The approximate time of one round.
    pub fn round_time(&self) -> Nanos {
        self.workloads.iter().fold(Nanos::ZERO, |sum, one| sum + one.block_time())
    }
}

/// The secrets that the servers of these workloads are given.
pub fn secrets_of(workloads: &[Workload]) -> Secrets {
    let headers = workloads.iter().flat_map(|workload| &workload.http.headers);
    let values = headers.filter_map(|header| header.value.as_deref());
    let conversations = workloads.iter().filter_map(|one| one.conversation.as_ref());
    let values = values.chain(conversations.flat_map(Conversation::secrets));
    let urls = workloads.iter().flat_map(|it| it.server.url().into_iter().chain(&it.publish_to));
    let of_urls: Vec<String> = urls.flat_map(|url| secrets_of_path(&url.path)).collect();
    Secrets::of(values, of_urls.iter().map(String::as_str))
}

/// The order in which the blocks of a round run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The order of the workloads: steps, each of which may depend on what the one before it left behind.
    #[default]
    AsListed,
    /// Random and determined by the seed, anew in every round, so that no drift of the machine favours any of them.
    Shuffled,
}

/// A workload that is another one with a layer more, so that their difference is what the layer adds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The index of the workload that has the layer.
    pub workload: usize,
    /// The index of the one that is the same without it.
    pub base: usize,
    /// The layer, e.g. `TLS`.
    pub name: String,
}

/// A part of the page besides its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Wall time and CPU time of a round trip as google-benchmark prints them: mean, median and standard deviation.
    Benchmark,
    /// The size of what each subject needs to be shipped.
    Footprint,
    /// The lives of short-lived clients: least, mean and most, with their phases apart.
    Life,
    /// Memory of the server, by connections.
    Memory,
    /// Wall time by messages beside the true round trip.
    #[serde(alias = "wall-per-message")]
    WallPerMessage,
    /// A part that this version does not know.
    #[serde(other)]
    Other,
}

/// A row that is left out, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The name of the subject, or the words of the file that named it.
    pub name: String,
    /// The reason: not installed, no such transport, not verified.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_workload_once_in_an_order_that_the_seed_determines() {
        let experiment = |order, seed| Experiment { order, seed, rounds: 5, ..four() };
        assert_eq!(experiment(Order::AsListed, 1).blocks(), vec![vec![0, 1, 2, 3]; 5]);
        let shuffled = experiment(Order::Shuffled, 1).blocks();
        for round in &shuffled {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_eq!(shuffled, experiment(Order::Shuffled, 1).blocks());
        assert_ne!(shuffled, experiment(Order::Shuffled, 2).blocks());
    }

    fn four() -> Experiment {
        let one = crate::options::tests::resolved("ws://127.0.0.1:1");
        Experiment { workloads: vec![one; 4], ..Experiment::default() }
    }
}
