//! A fleet in network namespaces: a NATS server, agents each in a namespace of its own, and commands of a controller.
//!
//! The benchmark runs in network, process and mount namespaces of its own ([`enter`]): the kernel removes everything in
//! them when their first process ends, however it ends.

use super::super::nats;
use crate::packages::{self, From, Need, Probe};
use crate::process::{self, Process};
use crate::{shell, third_party};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs this command again in namespaces of its own, with the program that it is to measure.
pub(super) fn enter(program: Option<&Path>) -> Result<()> {
    ensure!(packages::am_root()?, "bench fleet makes network namespaces: run it as root");
    packages::ensure(&[
        Need::debian("cc", "gcc"),
        Need::debian("ip", "iproute2"),
        Need { probe: Probe::Program("go".to_owned()), from: From::Elsewhere(NO_GO) },
    ])?;
    third_party::install_nats_server()?;
    let program = super::super::program_of_fleet(program)?;
    let mut inside = shell::command("setpriv");
    inside.args(["--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork", "--kill-child"]);
    inside.args(["--mount-proc", "sh", "-c", INSIDE]).arg(std::env::current_exe()?);
    inside.args(std::env::args_os().skip(1)).arg("--inside").arg(program);
    shell::run(&mut inside)
}

/// A fleet, and servers for it to load.
pub(super) struct Fleet<'a> {
    wirebench: &'a Path,
    folder: PathBuf,
    pub(super) agents: Vec<Process>,
    pub(super) server: Process,
    pub(super) targets: Vec<Process>,
    /// The number of all agents, including those that do not run.
    count: usize,
}

impl<'a> Fleet<'a> {
    /// Starts `count` agents, whose links carry at most `rate`.
    pub(super) fn up(wirebench: &'a Path, count: usize, rate: Option<&str>) -> Result<Self> {
        let folder = super::super::scratch("fleet")?;
        fs::remove_dir_all(&folder)?;
        fs::create_dir_all(&folder)?;
        link(count, rate)?;
        let mut keys = shell::command(wirebench);
        keys.args(["fleet", "keys", "--agents", &count.to_string(), "--url"]);
        shell::output(keys.arg(format!("nats://{HUB}:4222")).arg(folder.join("keys")))?;
        let server = start_server(&folder)?;
        let mut status = shell::command(wirebench);
        status.args(["fleet", "status", "--fleet"]).arg(folder.join("keys/controller.join"));
        shell::output(&mut status)?;
        let (agents, targets) = (Vec::new(), Vec::new());
        let mut fleet = Self { wirebench, folder, agents, server, targets, count };
        fleet.keep(count)?;
        Ok(fleet)
    }

    /// Ensures that the first `count` agents run, and no others.
    pub(super) fn keep(&mut self, count: usize) -> Result<()> {
        self.agents.truncate(count);
        for agent in 0..count {
            let runs = match self.agents.get_mut(agent) {
                Some(process) => !process.has_ended()?,
                None => false,
            };
            if !runs {
                let started = self.start_agent(agent, &[])?;
                match self.agents.get_mut(agent) {
                    Some(ended) => *ended = started,
                    None => self.agents.push(started),
                }
            }
        }
        Ok(())
    }

    /// Starts an agent in its namespace, through `before`, which is a program with arguments.
    pub(super) fn start_agent(&self, agent: usize, before: &[&str]) -> Result<Process> {
        let name = format!("a{agent}");
        let mut command = self.at(Some(agent), before);
        command.args(["agent", "--allow-target", HUB, "--join"]);
        command.arg(self.folder.join(format!("keys/{name}.join")));
        command.arg("--state").arg(self.folder.join(&name));
        let mut process = Process::start(&name, all_cores()?, &command, &self.folder)?;
        process.wait_for_words(0, &["is connected"], PATIENCE)?;
        Ok(process)
    }

    /// Restarts the NATS server after it has ended.
    pub(super) fn restart_server(&mut self) -> Result<()> {
        self.server = start_server(&self.folder)?;
        Ok(())
    }

    /// Starts a server to load, in the namespace of an agent or next to the controller, and returns its URL.
    pub(super) fn serve(&mut self, agent: Option<usize>, protocol: &str) -> Result<String> {
        self.serve_on(&all_cores()?, agent, protocol)
    }

    /// Does the same as [`Self::serve`] on these cores.
    pub(super) fn serve_on(
        &mut self,
        cores: &str,
        agent: Option<usize>,
        protocol: &str,
    ) -> Result<String> {
        let host = if agent.is_some() { "127.0.0.1" } else { HUB };
        let mut command = self.at(agent, &[]);
        command.args(["serve", protocol, "--listen", &format!("{host}:28080")]);
        let name = format!("target-{}", self.targets.len());
        let mut target = Process::start(&name, cores, &command, &self.folder)?;
        process::await_ready(&mut target)?;
        self.targets.push(target);
        Ok(format!("{protocol}://{host}:28080"))
    }

    /// Starts a command that leaves a record, in the namespace of an agent or outside of them all, through `before`.
    pub(super) fn start(
        &self,
        agent: Option<usize>,
        before: &[&str],
        line: &str,
    ) -> Result<Process> {
        super::super::forget(&self.path_of_record())?;
        let mut command = self.at(agent, before);
        command.args(line.split_whitespace()).arg("--output").arg(self.path_of_record());
        Process::start("run", all_cores()?, &command, &self.folder)
    }

    /// Does the same as [`Self::start`] with the fleet.
    pub(super) fn start_run(&self, agent: Option<usize>, line: &str) -> Result<Process> {
        let join = self.folder.join("keys/controller.join");
        self.start(agent, &[], &format!("{line} --fleet {}", join.display()))
    }

    /// Waits for the end of a command, and returns its record.
    pub(super) fn record(&self, run: &mut Process) -> Result<Value> {
        run.finish_with(&[0, 12, 13], PATIENCE)?;
        super::super::record(&self.path_of_record())
    }

    /// Cuts the link of an agent, or mends it.
    pub(super) fn link(&self, agent: usize, state: &str) -> Result<()> {
        call(&format!("ip link set v{agent} {state}"))
    }

    /// The folder of all its files, whose path has no blanks.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `wirebench`, started through `before`, in the namespace of an agent or outside of them all.
    fn at(&self, agent: Option<usize>, before: &[&str]) -> Command {
        let namespace = agent.map(|agent| format!("ip netns exec a{agent}"));
        let words =
            namespace.iter().flat_map(|words| words.split(' ')).chain(before.iter().copied());
        let mut words = words.map(std::ffi::OsStr::new).chain([self.wirebench.as_os_str()]);
        let mut command = Command::new(words.next().expect("wirebench is among them"));
        command.args(words);
        command
    }

    fn path_of_record(&self) -> PathBuf {
        self.folder.join("record.json")
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        // The next figure has a network of its own. What cannot be removed ends with this process.
        for agent in 0..self.count {
            drop(call(&format!("ip link delete v{agent}")));
            drop(call(&format!("ip netns delete a{agent}")));
        }
        drop(call("ip link delete br0"));
    }
}

fn start_server(folder: &Path) -> Result<Process> {
    nats::start(&format!("{HUB}:4222"), all_cores()?, folder)
}

/// Makes a bridge, and namespaces that are linked to it; each link carries at most `rate` in either direction.
fn link(agents: usize, rate: Option<&str>) -> Result<()> {
    call("ip link add br0 type bridge")?;
    call(&format!("ip addr add {HUB}/24 dev br0"))?;
    call("ip link set br0 up")?;
    for agent in 0..agents {
        for line in [
            format!("ip netns add a{agent}"),
            format!("ip link add v{agent} type veth peer name eth0 netns a{agent}"),
            format!("ip link set v{agent} master br0 up"),
            format!("ip -n a{agent} addr add 10.78.0.{}/24 dev eth0", FIRST + agent),
            format!("ip -n a{agent} link set eth0 up"),
            format!("ip -n a{agent} link set lo up"),
        ] {
            call(&line)?;
        }
        if let Some(rate) = rate {
            let limit = format!("root tbf rate {rate} burst 32k latency 50ms");
            call(&format!("tc qdisc add dev v{agent} {limit}"))?;
            call(&format!("tc -n a{agent} qdisc add dev eth0 {limit}"))?;
        }
    }
    Ok(())
}

fn call(line: &str) -> Result<()> {
    let (program, words) = line.split_once(' ').context("a program with arguments")?;
    shell::output(shell::command(program).args(words.split(' '))).map(drop)
}

/// The cores for everything: this machine can only show agents that share them.
fn all_cores() -> Result<String> {
    Ok(format!("0-{}", std::thread::available_parallelism()?.get() - 1))
}

/// The address of everything outside of the agents' namespaces.
pub(super) const HUB: &str = "10.78.0.1";
/// The last number of the first agent's address.
pub(super) const FIRST: usize = 10;
/// The longest time for a run, and for expected words to appear.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);
/// Names of network namespaces are mounts, which end with the mount namespace.
const INSIDE: &str = "mkdir -p /run/netns && mount -t tmpfs netns /run/netns && ip link set lo up && exec \"$0\" \"$@\"";
const NO_GO: &str = "go: nats-server is built with it; see go.dev";
