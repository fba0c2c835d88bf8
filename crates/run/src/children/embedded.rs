//! The embedded servers as subjects: the manifest of `wirebench serve`, in code.

use lab::{Manifest, Role, ServerSettings, Subject};
use spec::{Carries, Embedded, Protocol, Scheme};
use std::path::Path;

/// A server of `wirebench serve`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EmbeddedServer {
    /// The scheme asked for; a game server speaks two more. For a relay it is WebSocket, and the relay speaks the
    /// others too.
    pub(crate) scheme: Scheme,
    /// The arguments of `wirebench serve`, except those of its settings.
    arguments: Vec<String>,
}

impl EmbeddedServer {
    /// The server that answers a measurement.
    pub(crate) fn of(embedded: &Embedded) -> Self {
        let scheme = embedded.scheme;
        let kind = match (is_game(scheme), scheme.tls) {
            (false, _) => &[scheme.name()][..],
            (true, false) => &["game", "--web", "127.0.0.1:0"],
            (true, true) => &["game", "--web", "127.0.0.1:0", "--tls"],
        };
        let options = embedded.options.iter().map(String::as_str);
        Self::new(scheme, &kind.iter().copied().chain(options).collect::<Vec<_>>())
    }

    /// The relay with the options of `embedded`, whatever its scheme.
    pub(crate) fn relay(embedded: &Embedded) -> Self {
        let options = embedded.options.iter().map(String::as_str);
        let scheme = Scheme { tls: embedded.scheme.tls, ..Protocol::WebSocket.plain() };
        let kind = ["relay", scheme.name()];
        Self::new(scheme, &kind.into_iter().chain(options).collect::<Vec<_>>())
    }

    /// An oracle of `scheme` with a known `delay`, written as on the command line.
    pub(crate) fn oracle(scheme: Scheme, delay: &str) -> Self {
        Self::new(scheme, &["oracle", scheme.name(), "--delay", delay])
    }

    fn new(scheme: Scheme, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self { scheme, arguments }
    }

    /// This server as a subject: `program`, our own executable, with `settings` as arguments. Over a Unix socket it
    /// listens at `socket`.
    pub(crate) fn subject(
        &self,
        program: &Path,
        settings: &ServerSettings,
        socket: &Path,
    ) -> Subject {
        let path = |path: &Path| path.display().to_string();
        let listen = match self.scheme.protocol == Protocol::Unix {
            true => path(socket),
            false => format!("{}:{}", settings.host, settings.port),
        };
        let mut start = vec![path(program), "serve".to_owned()];
        start.extend(self.arguments.iter().cloned());
        start.extend(["--quiet", "--listen", &listen].map(str::to_owned));
        if !is_game(self.scheme) {
            start.extend(PATIENT.map(str::to_owned));
        }
        start.extend(settings.reply.iter().map(|reply| format!("--reply={reply}")));
        start.extend(settings.work.iter().map(|work| format!("--work={}ns", work.0)));
        for tls in settings.tls.iter() {
            let (certificate, key) = (path(&tls.certificate), path(&tls.key));
            start.extend(["--cert", &certificate, "--key", &key].map(str::to_owned));
        }
        let is_one = |scheme: &Scheme| match is_game(self.scheme) {
            true => is_game(*scheme) && scheme.tls == self.scheme.tls,
            false => *scheme == self.scheme,
        };
        let speaks: Vec<&str> = Scheme::all().filter(is_one).map(Scheme::name).collect();
        let name = format!("the embedded {} server", self.scheme);
        let folder = Path::new("/").to_owned();
        let manifest = Manifest::of_program(Role::Server, &speaks, start);
        Subject { name, folder, manifest, conversations: Vec::new() }
    }
}

/// Disables time-outs: its only peer is the run, which has its own.
const PATIENT: [&str; 4] = ["--receive-timeout", "none", "--idle-timeout", "none"];

/// True if a game server speaks `scheme`; it has one entrance for each such scheme.
fn is_game(scheme: Scheme) -> bool {
    scheme.facts().carries == Carries::Events
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn settings_become_arguments_of_our_own_program() {
        let tls = lab::TlsFiles { certificate: "/c.pem".into(), key: "/k.pem".into() };
        let settings = |reply: Option<&str>, is_secure: bool| ServerSettings {
            reply: reply.map(str::to_owned),
            tls: is_secure.then(|| tls.clone()),
            ..ServerSettings::default()
        };
        let usual = "--quiet --listen";
        let (game, patient) = (format!("{usual} 127.0.0.1:0"), PATIENT.join(" "));
        let local = format!("{game} {patient}");
        #[rustfmt::skip]
        let table = [
            (Protocol::Tcp.plain(), settings(None, false), format!("tcp {local}"), "tcp"),
            (Protocol::Unix.plain(), settings(None, false), format!("unix {usual} /s {patient}"), "unix"),
            (Protocol::WebSocket.plain(), settings(Some("a b"), false), format!("ws {local} --reply=a b"), "ws"),
            (Protocol::Tcp.plain(), ServerSettings { work: Some(Nanos(50_000)), ..settings(None, false) }, format!("tcp {local} --work=50000ns"), "tcp"),
            (Protocol::Tcp.secured().unwrap(), settings(None, true), format!("tls {local} --cert /c.pem --key /k.pem"), "tls"),
            (Protocol::GameWebSocket.plain(), settings(None, false), format!("game --web 127.0.0.1:0 {game}"), "game game-ws game-comet"),
        ];
        for (scheme, settings, expected, speaks) in table {
            let server = EmbeddedServer::of(&scheme.into());
            let manifest =
                server.subject(Path::new("/wirebench"), &settings, Path::new("/s")).manifest;
            assert_eq!(manifest.start.join(" "), format!("/wirebench serve {expected}"));
            assert_eq!(manifest.speaks.join(" "), speaks);
        }
    }

    #[test]
    fn one_relay_serves_all_transports_without_tls_and_one_those_inside_it() {
        for scheme in Scheme::all().filter(|scheme| scheme.facts().has_relay) {
            let name = if scheme.tls { "wss" } else { "ws" };
            let expected = EmbeddedServer::relay(&Scheme::named(name).unwrap().into());
            assert_eq!(EmbeddedServer::relay(&scheme.into()), expected, "{scheme}");
            assert_eq!(expected.arguments, ["relay", name]);
        }
    }
}
