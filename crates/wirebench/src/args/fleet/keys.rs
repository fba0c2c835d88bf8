//! `wirebench fleet keys`: keys and certificates for a fleet.

use crate::exit::{Exit, Failure};
use crate::terminal::{Label, Terminal};
use ::fleet::keys::{KeysError, write_certificates};
use serve::certificates::{DAYS_MAX, Name, Validity};
use std::path::PathBuf;

/// Write keys for a controller, its agents and watches, and for their NATS server
///
/// The folder gets a join file for the controller and one for each agent and watch, users.conf for the server to
/// include, and, unless the address begins with nats://, the certificate of the server with its key. Only its owner can
/// read a file, and no existing file is overwritten. The lines for the configuration of the server are printed.
#[derive(Debug, clap::Args)]
#[command(help_template = super::super::help::TEMPLATE)]
pub(super) struct Keys {
    /// The folder to write to; created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The number of agents
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=256))]
    agents: u32,
    /// The number of watches: each machine of the measured server needs one (`wirebench watch`)
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16))]
    watch: u32,
    /// The address of the server as agents and controllers reach it
    #[arg(long, value_name = "URL", default_value = "tls://localhost:4222")]
    url: String,
    /// Another name or address of the server; repeatable
    #[arg(long, value_name = "NAME|ADDRESS")]
    name: Vec<Name>,
    /// The number of days for which the certificate is valid; at most 397
    #[arg(long, value_name = "NUMBER", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=DAYS_MAX))]
    days: u64,
}

impl Keys {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let (is_secured, host) = match self.url.split_once("://") {
            Some(("tls", rest)) => (true, rest),
            Some(("nats", rest)) => (false, rest),
            Some(_) | None => {
                let url = &self.url;
                return Err(Failure::usage(format!(
                    "--url: `{url}`: use tls://HOST:4222, or nats://HOST:4222 without TLS"
                )));
            }
        };
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let host: Name = host
            .trim_matches(['[', ']'])
            .parse()
            .map_err(|error| Failure::usage(format!("--url: {error}")))?;
        let failed = |error: KeysError| Failure::new(Exit::NOT_WRITTEN, error);
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            Failure::new(Exit::NOT_WRITTEN, anyhow::anyhow!("{}: {error}", self.folder.display()))
        })?;
        let keys = ::fleet::keys::Keys::new(self.agents, self.watch);
        if is_secured {
            let names: Vec<Name> = std::iter::once(host).chain(self.name.clone()).collect();
            let now = engine::clock::unix_seconds().unwrap_or(0);
            write_certificates(&self.folder, &names, Validity::days(now, self.days))
                .map_err(failed)?;
        }
        keys.write_users(&self.folder).map_err(failed)?;
        let joins = keys.write_joins(&self.folder, &self.url).map_err(failed)?;
        let tls = if is_secured {
            "tls { cert_file: \"server.pem\", key_file: \"server-key.pem\" }\n"
        } else {
            ""
        };
        terminal.result(&format!("{tls}authorization {{ include \"users.conf\" }}\n"))?;
        let watches = match joins.watches.len() {
            0 => String::new(),
            1 => ", and a watch, w0".to_owned(),
            count => format!(", and {count} watches, w0 to w{}", count - 1),
        };
        let agents = match joins.agents.len() {
            1 => "1 agent, a0".to_owned(),
            count => format!("{count} agents, a0 to a{}", count - 1),
        };
        terminal.say(&format!(
            "{agents}{watches}: give each its own .join file{}; add the lines above to the server's configuration",
            if is_secured { " and ca.pem" } else { "" },
        ));
        terminal.say_labelled(
            Label::Next,
            &format!("wirebench fleet status --fleet {}", joins.controller.display()),
        );
        Ok(Exit::DONE)
    }
}
