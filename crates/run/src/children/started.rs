//! Servers of the user's that the run starts: before the start, the place where one is to listen must be free; after
//! it, the place must belong to the server.
//!
//! Neither a server that was there before nor one that takes the place in between is ever measured instead: the
//! listening socket must be held by a process of the server that was started. If another program takes a port that was
//! chosen here before the server does, another port is chosen.

use crate::found_server::listeners;
use crate::reach::{Context, resolve};
use engine::Address;
use lab::{Launch, OfUser, Server};
use probe::Unseen;
use record::Warning;
use spec::{Endpoint, Started};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use units::Nanos;

/// Starts a server of the user's, and waits until it listens at its URL, whose name may take up to `resolve_timeout` to
/// be resolved. `port` is the one that it had before, if it is started again. Returns the server with a warning for
/// each port that was free and that another program took before the server did.
///
/// # Errors
///
/// The reason why it does not listen there; then no process of it is left running.
pub(super) fn start(
    started: &Started,
    port: Option<u16>,
    resolve_timeout: Nanos,
    launch: &Launch,
    context: Context<'_>,
) -> Result<(Server, Vec<Warning>), String> {
    let folder = Path::new(started.folder.as_deref().unwrap_or("."));
    if !folder.is_dir() {
        return Err(format!("there is no folder {}", folder.display()));
    }
    let is_chosen = started.takes_port() && port.is_none();
    let mut taken = Vec::new();
    loop {
        let (url, line) = placed(started, port, resolve_timeout, context)?;
        let places = places(&url, resolve_timeout, context)?;
        let ready_line = started.ready_line.as_deref();
        let server = OfUser { line: &line, folder, url: url.whole(), ready_line };
        match start_at(&places, server, started.start_timeout, launch, context) {
            Ok(server) => return Ok((server, taken)),
            Err(failure) if !failure.is_of_port || !is_chosen => return Err(failure.reason),
            Err(failure) if taken.len() + 1 == PORTS_MAX => {
                return Err(format!(
                    "{} ({PORTS_MAX} free ports were tried one after another)",
                    failure.reason
                ));
            }
            Err(failure) => taken.push(warning(started, &url, &failure)),
        }
    }
}

/// The reason why a server does not listen.
struct Failure {
    reason: String,
    /// True if another program has its port.
    is_of_port: bool,
}

/// The warning about a port that was free and then was taken.
fn warning(started: &Started, url: &Endpoint, failure: &Failure) -> Warning {
    Warning {
        code: "port_taken".to_owned(),
        message: format!(
            "another program took the port that was chosen for {}, so it was started again at another one",
            started.row
        ),
        evidence: format!("{url}: {}", failure.reason),
        advice: format!(
            "nothing needs to be done; a port written in the command itself instead of {} is never changed",
            Started::PORT
        ),
    }
}

/// Starts a server, and waits until it listens at one of `places`.
fn start_at(
    places: &[Address],
    server: OfUser<'_>,
    start_timeout: Nanos,
    launch: &Launch,
    context: Context<'_>,
) -> Result<Server, Failure> {
    if let Some(place) = places.iter().find(|place| holders(place).is_some()) {
        let reason = format!(
            "another program listens at {place} already, and would be measured instead; end it, or name another port"
        );
        return Err(Failure { reason, is_of_port: true });
    }
    let url = server.url.clone();
    let listens = |pids: &[u32]| {
        if context.check().is_err() {
            return Err("it was interrupted".to_owned());
        }
        let found: Vec<Vec<u32>> = places.iter().filter_map(holders).collect();
        let is_its = found.iter().flatten().any(|pid| pids.contains(pid));
        match found.is_empty() || is_its {
            true => Ok(is_its),
            false => Err(format!(
                "another program listens at {url} now, not one that this command started; give the URL alone to \
                 measure a server that something else runs, as in a container"
            )),
        }
    };
    let launch = Launch { ready_timeout: start_timeout, ..launch.clone() };
    Server::of_user(server, &launch, &listens).map_err(|error| {
        // No process of it is left: whatever listens there now is another program.
        let has_stranger = || places.iter().any(|place| holders(place).is_some());
        let is_of_port = error.says_port_is_taken() || has_stranger();
        Failure { reason: error.to_string(), is_of_port: is_of_port && context.check().is_ok() }
    })
}

/// The URL and the command, with a free port or the given one filled in where they take a port.
fn placed(
    started: &Started,
    port: Option<u16>,
    resolve_timeout: Nanos,
    context: Context<'_>,
) -> Result<(Endpoint, String), String> {
    let mut url = started.url.clone();
    if !started.takes_port() {
        return Ok((url, started.command.clone()));
    }
    let no_port = |reason: String| format!("there is no free port for {url}: {reason}");
    let free = match port {
        Some(port) => port,
        None => {
            let ip = places(&url, resolve_timeout, context)?.into_iter().find_map(ip);
            let ip = ip.ok_or_else(|| no_port("it has no address".to_owned()))?;
            engine::free_port(ip).map_err(|error| no_port(error.to_string()))?
        }
    };
    if let spec::Address::Host { port, .. } = &mut url.address {
        *port = free;
    }
    Ok((url, started.command.replace(Started::PORT, &free.to_string())))
}

/// The addresses at which the server may listen.
fn places(
    url: &Endpoint,
    resolve_timeout: Nanos,
    context: Context<'_>,
) -> Result<Vec<Address>, String> {
    let resolved = resolve(url, resolve_timeout, context.clock);
    resolved.map(|resolved| resolved.addresses).map_err(|error| error.to_string())
}

fn ip(place: Address) -> Option<IpAddr> {
    match place {
        Address::Tcp(address) => Some(address.ip()),
        Address::Unix(_) => None,
    }
}

/// The processes that hold a socket listening at `place`, as far as they can be seen; `None` if there is no such
/// socket.
fn holders(place: &Address) -> Option<Vec<u32>> {
    let place = match place {
        Address::Tcp(address) => Address::Tcp(reached(*address)),
        Address::Unix(path) => Address::Unix(path.clone()),
    };
    match listeners(&place) {
        Ok(found) => Some(found.iter().map(|listener| listener.pid).collect()),
        Err(Unseen::Hidden) => Some(Vec::new()),
        Err(Unseen::Elsewhere | Unseen::NoSocket) => None,
    }
}

/// The address that a connection to `address` reaches: loopback instead of the unspecified address.
fn reached(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            (std::net::Ipv4Addr::LOCALHOST, address.port()).into()
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, address.port()).into()
        }
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}

/// The most ports that are chosen for one start of a server.
const PORTS_MAX: usize = 3;
