//! `wirebench fleet up --local N`: a NATS server and agents on this machine, until Ctrl-C.

use super::super::subject_folders;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::{Label, Terminal};
use ::fleet::keys::{Keys, KeysError};
use engine::clock::{Clock, sleep};
use lab::{Launch, PrivateFolder, Process, Program, Purpose};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use units::Nanos;

/// Start a NATS server and agents on this machine, until Ctrl-C
///
/// The server listens only on loopback, on a free port, and stores its data in a folder that is removed at the end.
/// Each agent has its own key. Agents on one machine share its cores: this is for trying out a fleet, not for measuring
/// more than one process can.
#[derive(Debug, clap::Args)]
#[command(help_template = super::super::help::TEMPLATE)]
pub(super) struct Up {
    /// The number of agents
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    local: u32,
    /// The program nats-server [default: WIREBENCH_NATS_SERVER, or that of --install, or the one in PATH]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
    /// First build nats-server with Go, if it is missing
    #[arg(long)]
    install: bool,
    /// The path of the controller's join file; that of a watch, watch.join, is written next to it
    #[arg(long, value_name = "FILE", default_value = ".wirebench/fleet.join")]
    join: PathBuf,
}

/// Everything that runs, in the order of shutdown.
struct Running {
    agents: Vec<Process>,
    server: Process,
    /// The join files outside of `folder`.
    written: [PathBuf; 2],
    folder: PrivateFolder,
}

impl Up {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let wish = signals::listen()?;
        let launch = subject_folders::launch()?;
        let program = self.program(&launch, terminal)?;
        let mut running = self.start(&program, &launch)?;
        let agents = if self.local == 1 { "agent" } else { "agents" };
        terminal.say(&format!(
            "a NATS server and {} {agents} run on this machine; Ctrl-C ends them",
            self.local
        ));
        let next = format!("wirebench URL --rate 9000/s --fleet {}", self.join.display());
        terminal.say_labelled(Label::Next, &next);
        loop {
            sleep(LOOK_EVERY);
            let signal = wish.signal.load(Ordering::Relaxed);
            if signal != 0 {
                running.end();
                return Ok(Exit::of_signal(i32::try_from(signal).unwrap_or(0)));
            }
            if let Some(died) = running.server.died() {
                let said = last_line(&running.server.stderr());
                return Err(internal(format!("nats-server has ended: {died}; {said}")));
            }
            for agent in 0..running.agents.len() {
                if let Some(died) = running.agents[agent].died() {
                    let said = last_line(&running.agents[agent].stderr());
                    terminal.say_labelled(
                        Label::Warning,
                        &format!("agent a{agent} has ended: {died}; {said}"),
                    );
                    running.agents[agent] = start_agent(&running.folder, agent, &launch)?;
                }
            }
        }
    }

    /// The program of the server.
    fn program(&self, launch: &Launch, terminal: &Terminal) -> Result<PathBuf, Failure> {
        let named = self
            .nats_server
            .clone()
            .or_else(|| std::env::var_os("WIREBENCH_NATS_SERVER").map(PathBuf::from));
        if let Some(named) = named {
            return match named.is_file() {
                true => Ok(named),
                false => Err(Failure::usage(format!(
                    "nats-server not found at {}; there is no such file",
                    named.display()
                ))),
            };
        }
        let folder = subject_folders::tools().join(VERSION);
        let built = folder.join("nats-server");
        if built.is_file() {
            return Ok(built);
        }
        if self.install {
            terminal.say(&format!("building nats-server {VERSION} with Go"));
            install(&folder, launch)?;
            return Ok(built);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join("nats-server"))
            .find(|file| file.is_file());
        found.ok_or_else(|| {
            Failure::usage(
                "nats-server not found; --install builds it with Go, --nats-server FILE names it",
            )
        })
    }

    fn start(&self, program: &Path, launch: &Launch) -> Result<Running, Failure> {
        let folder = PrivateFolder::new(&launch.scratch, "fleet").map_err(internal)?;
        let root = folder.path("");
        let failed = |error: KeysError| Failure::new(Exit::NOT_WRITTEN, error);
        let keys = Keys::new(self.local, 1);
        keys.write_users(&root).map_err(failed)?;
        let config = config(&root);
        folder.write("nats.conf", config.as_bytes()).map_err(internal)?;
        let command =
            [program.display().to_string(), "--config".to_owned(), "nats.conf".to_owned()];
        let server = Program { command: &command, folder: &root, purpose: Purpose::Own(None) };
        let mut server = Process::start(&server, launch).map_err(internal)?;
        let url = wait_for(&root, &mut server)?;
        let joins = keys.write_joins(&root, &url).map_err(failed)?;
        if let Some(above) = self.join.parent() {
            fs::create_dir_all(above)
                .map_err(|error| internal(format!("{}: {error}", above.display())))?;
        }
        let watch = self.join.with_file_name("watch.join");
        for (from, to) in [(&joins.controller, &self.join), (&joins.watches[0], &watch)] {
            // Left by an earlier fleet, whose server is gone.
            drop(fs::remove_file(to));
            fs::copy(from, to).map_err(|error| internal(format!("{}: {error}", to.display())))?;
        }
        // The first controller creates the log, and no agent can join without it.
        let (tell, _told) = std::sync::mpsc::channel();
        drop(super::super::fleet_way::connect(&self.join, tell)?);
        let agents = (0..self.local as usize).map(|agent| start_agent(&folder, agent, launch));
        let agents = agents.collect::<Result<_, _>>()?;
        let written = [self.join.clone(), watch];
        Ok(Running { agents, server, written, folder })
    }
}

impl Running {
    fn end(&mut self) {
        for agent in &mut self.agents {
            agent.end();
        }
        self.server.end();
        self.written.iter().for_each(|file| drop(fs::remove_file(file)));
    }
}

fn start_agent(folder: &PrivateFolder, agent: usize, launch: &Launch) -> Result<Process, Failure> {
    let root = folder.path("");
    let word = |path: PathBuf| path.display().to_string();
    let command = [
        word(launch.program.clone()),
        "agent".to_owned(),
        "--join".to_owned(),
        word(root.join(format!("a{agent}.join"))),
        "--state".to_owned(),
        word(root.join(format!("a{agent}"))),
    ];
    let program = Program { command: &command, folder: &root, purpose: Purpose::Own(None) };
    Process::start(&program, launch).map_err(internal)
}

/// The configuration of a server for this machine alone.
fn config(root: &Path) -> String {
    let root = root.display();
    format!(
        "listen: \"127.0.0.1:-1\"\nserver_name: \"wirebench\"\nports_file_dir: \"{root}\"\nping_interval: \"1s\"\n\
         ping_max: 2\nwrite_deadline: \"2s\"\nmax_payload: 1MB\n\
         jetstream {{ store_dir: \"{root}/store\", sync_interval: \"always\" }}\nauthorization {{ include \"users.conf\" }}\n"
    )
}

/// Waits until the server reports its address, and returns it.
fn wait_for(root: &Path, server: &mut Process) -> Result<String, Failure> {
    let clock = Clock::start();
    while clock.now().0 < READY_MAX.0 {
        if let Some(died) = server.died() {
            return Err(internal(format!(
                "nats-server has ended: {died}; {}",
                last_line(&server.stderr())
            )));
        }
        let mut files = fs::read_dir(root).into_iter().flatten().flatten().map(|file| file.path());
        let ports = files.find(|path| path.extension().is_some_and(|end| end == "ports"));
        let text = ports.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(url) = ports["nats"][0].as_str() {
            return Ok(url.to_owned());
        }
        sleep(LOOK_EVERY);
    }
    Err(internal(format!(
        "nats-server is not ready after {READY_MAX}: {}",
        last_line(&server.stderr())
    )))
}

/// Builds nats-server into `folder`.
fn install(folder: &Path, launch: &Launch) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| internal(format!("{}: {error}", folder.display())))?;
    let command = [
        "env".to_owned(),
        format!("GOBIN={}", folder.display()),
        "go".to_owned(),
        "install".to_owned(),
        format!("github.com/nats-io/nats-server/v2@{VERSION}"),
    ];
    let program = Program { command: &command, folder, purpose: Purpose::Build };
    let mut process = Process::start(&program, launch).map_err(internal)?;
    let clock = Clock::start();
    while process.died().is_none() {
        if clock.now().0 > INSTALL_MAX.0 {
            return Err(internal(format!(
                "`{}` takes longer than {INSTALL_MAX}",
                command[2..].join(" ")
            )));
        }
        sleep(LOOK_EVERY);
    }
    let code = process.end().code;
    if code == Some(0) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`{}` failed: {}",
        command[2..].join(" "),
        last_line(&process.stderr())
    )))
}

fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output").to_owned()
}

fn internal(what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::INTERNAL, anyhow::anyhow!("{what}"))
}

/// The version that `--install` builds.
const VERSION: &str = "v2.15.2";
const LOOK_EVERY: Nanos = Nanos::from_millis(20);
const READY_MAX: Nanos = Nanos::from_secs(20);
const INSTALL_MAX: Nanos = Nanos::from_secs(600);
