//! The targets that an agent may load, by its own rule: a controller cannot direct it elsewhere.

use spec::{Address, Endpoint};
use std::net::IpAddr;
use std::str::FromStr;

/// The targets that an agent may load: its own machine, and those that its owner named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    named: Vec<Target>,
}

/// A target that the owner of an agent named: `HOST`, or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    name: String,
    /// `None`: any.
    port: Option<u16>,
}

impl Targets {
    /// Allows these, and the agent's own machine.
    pub const fn new(named: Vec<Target>) -> Self {
        Self { named }
    }

    /// True if the agent may load it.
    pub fn allow(&self, endpoint: &Endpoint) -> bool {
        match &endpoint.address {
            Address::Unix(_) => true,
            Address::Host { name, port } => {
                let is_own = name == "localhost"
                    || name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
                let is_named = |target: &Target| {
                    target.name.eq_ignore_ascii_case(name)
                        && target.port.is_none_or(|only| only == *port)
                };
                is_own || self.named.iter().any(is_named)
            }
        }
    }
}

/// The name with which an owner allows `endpoint`.
pub(crate) fn shown(endpoint: &Endpoint) -> String {
    match &endpoint.address {
        Address::Unix(path) => path.display().to_string(),
        Address::Host { name, port } if name.contains(':') => format!("[{name}]:{port}"),
        Address::Host { name, port } => format!("{name}:{port}"),
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a target: name a host, as in chat.example, or a port of it, as in chat.example:443"
            )
        };
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (name, port) = match bracketed {
            Some((name, "")) => (name, None),
            Some((name, port)) => (name, Some(port.strip_prefix(':').ok_or_else(wrong)?)),
            None if text.parse::<IpAddr>().is_ok() => (text, None),
            None => text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
        };
        let port = port.map(|port| port.parse().map_err(|_| wrong())).transpose()?;
        if name.is_empty() || name.contains(['/', ' ', '*']) {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_loads_its_own_machine_and_what_its_owner_named() {
        let named = ["chat.example", "10.0.0.7:8080", "[2001:db8::1]:443"];
        let targets = Targets::new(named.iter().map(|text| text.parse().unwrap()).collect());
        #[rustfmt::skip]
        let table = [
            ("ws://127.0.0.1:9",          true),
            ("ws://[::1]:9",              true),
            ("ws://localhost:9",          true),
            ("unix:/run/a.sock",          true),
            ("ws://chat.example:9",       true),
            ("wss://CHAT.example/",       true),
            ("ws://chat.example.net",     false),
            ("ws://10.0.0.7:8080",        true),
            ("ws://10.0.0.7:8081",        false),
            ("wss://[2001:db8::1]/",      true),
            ("ws://[2001:db8::1]/",       false),
            ("ws://9.9.9.9",              false),
        ];
        for (url, expected) in table {
            assert_eq!(targets.allow(&url.parse().unwrap()), expected, "{url}");
        }
        for text in ["", "a:b", "a/b", "*.example", "[::1]x"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
