//! Keys for a fleet: an authority and the server's certificate, a key pair for each member, and the part of the
//! server's configuration with the permissions of each.
//!
//! An agent may write its own slots, send its beats, answer questions, and read the plan and its own slots. It may
//! neither read nor write anything of another agent. Only controllers may write plans and steps, and create the log.

use crate::join::{Join, JoinError, Role, write_secret};
use crate::protocol::Name;
use serve::certificates::{
    Authority, CertificateError, KeyType, Leaf, Name as Host, Usage, Validity,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The keys of a fleet: of a controller, and of the agents `a0`, `a1`, …
pub struct Keys {
    members: Vec<(Name, Role, nkeys::KeyPair)>,
}

/// Shows no key.
impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("members", &self.members.len()).finish_non_exhaustive()
    }
}

/// The reason why keys cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] JoinError),
    /// A certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// No key can be made.
    #[error("cannot make a key: {0}")]
    Key(nkeys::error::Error),
}

/// The join files of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joins {
    /// The join file of controllers.
    pub controller: PathBuf,
    /// The join files of the agents, in their order.
    pub agents: Vec<PathBuf>,
    /// The join files of the watches, in their order.
    pub watches: Vec<PathBuf>,
}

impl Keys {
    /// New keys for this many agents and watches, and for their controller.
    pub fn new(agents: u32, watches: u32) -> Self {
        let member = |name: &str, role| {
            let name: Name = name.parse().expect("it is a name");
            (name, role, nkeys::KeyPair::new_user())
        };
        let controller = member(CONTROLLER, Role::Controller);
        let agents = (0..agents).map(|index| member(&format!("a{index}"), Role::Agent));
        let watches = (0..watches).map(|index| member(&format!("w{index}"), Role::Watch));
        Self { members: std::iter::once(controller).chain(agents).chain(watches).collect() }
    }

    /// Writes the users and their permissions into `folder`, to be included by the configuration of the server.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or exists already.
    pub fn write_users(&self, folder: &Path) -> Result<PathBuf, KeysError> {
        let users =
            self.members.iter().map(|(name, role, key)| user(name, *role, &key.public_key()));
        let users = format!("{HEAD}{}]\n", users.collect::<String>());
        let path = folder.join(USERS);
        write_secret(&path, users.as_bytes())?;
        Ok(path)
    }

    /// Writes a join file for each member into `folder`, with the server's `url`.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or exists already.
    pub fn write_joins(&self, folder: &Path, url: &str) -> Result<Joins, KeysError> {
        let ca = url.starts_with("tls://").then(|| PathBuf::from(AUTHORITY));
        let write = |(name, role, key): &(Name, Role, nkeys::KeyPair)| {
            let seed = Some(key.seed().map_err(KeysError::Key)?);
            let path = folder.join(format!("{name}.join"));
            let (url, name, ca) = (url.to_owned(), name.clone(), ca.clone());
            Join { url, name, role: *role, seed, ca }.write(&path)?;
            Ok::<_, KeysError>(path)
        };
        let of = |wanted: Role| {
            let members = self.members.iter().filter(|(_, role, _)| *role == wanted);
            members.map(write).collect::<Result<Vec<_>, _>>()
        };
        let controller = of(Role::Controller)?.remove(0);
        Ok(Joins { controller, agents: of(Role::Agent)?, watches: of(Role::Watch)? })
    }
}

/// Writes the certificate of an authority into `folder`, and one of the server with its key, for these names.
///
/// # Errors
///
/// [`KeysError`].
pub fn write_certificates(
    folder: &Path,
    hosts: &[Host],
    validity: Validity,
) -> Result<(), KeysError> {
    let authority = Authority::new(KeyType::Ecdsa, validity)?;
    let server = authority.issue(&Leaf { names: hosts, usage: Usage::Server, validity })?;
    // The authority's own key is not kept: nothing else must be signed with it.
    write_secret(&folder.join(AUTHORITY), authority.certificate_pem().as_bytes())?;
    write_secret(&folder.join("server.pem"), &server.chain_pem)?;
    write_secret(&folder.join("server-key.pem"), &server.key_pem)?;
    Ok(())
}

/// The entry of a user.
fn user(name: &Name, role: Role, public: &str) -> String {
    let (publish, subscribe) = permissions(name, role);
    let list = |subjects: &[String]| {
        let quoted: Vec<String> = subjects.iter().map(|one| format!("\"{one}\"")).collect();
        quoted.join(", ")
    };
    let mut text = String::new();
    let (publish, subscribe) = (list(&publish), list(&subscribe));
    let answers = match role {
        Role::Agent | Role::Watch => "\n      allow_responses: { max: 1, expires: \"2s\" }",
        Role::Controller => "",
    };
    write!(
        text,
        "  {{\n    # {name}\n    nkey: {public}\n    permissions: {{\n      publish: {{ allow: [{publish}] }}\n      \
         subscribe: {{ allow: [{subscribe}] }}{answers}\n    }}\n  }}\n"
    )
    .expect("a text takes all");
    text
}

/// The subjects that a member may publish to, and those that it may subscribe to.
fn permissions(name: &Name, role: Role) -> (Vec<String>, Vec<String>) {
    let inbox = inbox(name);
    let of_a_part = || {
        vec![
            format!("wb.hb.{name}"),
            format!("wb.log.*.slot.*.{name}"),
            "$JS.API.DIRECT.GET.WB.wb.log.*.plan".to_owned(),
            format!("$JS.API.DIRECT.GET.WB.wb.log.*.slot.*.{name}"),
        ]
    };
    let asked = vec![format!("{inbox}.>"), format!("wb.cmd.{name}.>")];
    match role {
        Role::Agent => ([of_a_part(), vec![format!("wb.live.{name}")]].concat(), asked),
        // It sends no messages, so it has no totals to report.
        Role::Watch => (of_a_part(), asked),
        Role::Controller => (
            vec![
                "wb.>".to_owned(),
                "$JS.API.DIRECT.GET.WB".to_owned(),
                "$JS.API.DIRECT.GET.WB.>".to_owned(),
                "$JS.API.STREAM.CREATE.WB".to_owned(),
                "$JS.API.STREAM.INFO.WB".to_owned(),
            ],
            vec![format!("{inbox}.>"), "wb.>".to_owned()],
        ),
    }
}

/// The prefix of the subjects of answers to a member. Each member has its own, so that nobody else can read the
/// answers.
pub(crate) fn inbox(name: &Name) -> String {
    format!("_INBOX_{name}")
}

const HEAD: &str = "# The members of a fleet, by `wirebench fleet keys`.\nusers: [\n";
/// The files beside join files.
const AUTHORITY: &str = "ca.pem";
const USERS: &str = "users.conf";
const CONTROLLER: &str = "controller";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn every_member_has_a_file_that_only_its_owner_may_read_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::new(2, 1);
        write_certificates(folder.path(), &["nats.test".parse().unwrap()], Validity::days(0, 1))
            .unwrap();
        let include = keys.write_users(folder.path()).unwrap();
        let written = keys.write_joins(folder.path(), "tls://nats.test:4222").unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
                entry.file_name().into_string().unwrap()
            })
            .collect();
        names.sort();
        let all = [
            "a0.join",
            "a1.join",
            "ca.pem",
            "controller.join",
            "server-key.pem",
            "server.pem",
            "users.conf",
            "w0.join",
        ];
        assert_eq!(names, all);
        let join = Join::read(&written.agents[1], Role::Agent).unwrap();
        assert_eq!(join.name.as_str(), "a1");
        let watch = Join::read(&written.watches[0], Role::Watch).unwrap();
        assert_eq!(watch.name.as_str(), "w0");
        let other = Join::read(&written.watches[0], Role::Agent).unwrap_err().to_string();
        assert!(other.ends_with("is for a watch, but this needs one for an agent"), "{other}");
        assert_eq!(join.ca, Some(folder.path().join("ca.pem")));
        let include = std::fs::read_to_string(&include).unwrap();
        let seed = join.seed.clone().unwrap();
        assert!(!include.contains(&seed) && !format!("{join:?}").contains(&seed));
        let public = nkeys::KeyPair::from_seed(&seed).unwrap().public_key();
        assert!(include.contains(&public));
        let again = keys.write_users(folder.path()).unwrap_err().to_string();
        assert!(again.contains("users.conf: File exists"), "{again}");
    }

    #[test]
    fn a_join_file_is_refused_with_the_next_thing_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let written = Keys::new(1, 0).write_joins(folder.path(), "nats://127.0.0.1:4222").unwrap();
        let path = &written.agents[0];
        let error = |role| {
            Join::read(path, role)
                .unwrap_err()
                .to_string()
                .replace(&path.display().to_string(), "F")
        };
        assert_eq!(
            error(Role::Controller),
            "F is for an agent, but this needs one for a controller"
        );
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let open = "F has the mode 0640, so others can take its key; `chmod 600 F`";
        assert_eq!(error(Role::Agent), open);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(path, "url = \"nats://h\"\nname = \"a0\"\nrole = \"agent\"\nseed = 7\n")
            .unwrap();
        let garbage = error(Role::Agent);
        assert!(garbage.starts_with("F is not a join file: invalid type"), "{garbage}");
    }

    #[test]
    fn an_agent_may_touch_nothing_of_another_agent() {
        for (name, role) in [("a1", Role::Agent), ("w1", Role::Watch)] {
            let (publish, subscribe) = permissions(&name.parse().unwrap(), role);
            let own = |subject: &String| subject.contains(name);
            let is_shared = |subject: &String| subject == "$JS.API.DIRECT.GET.WB.wb.log.*.plan";
            assert!(publish.iter().all(|subject| own(subject) || is_shared(subject)));
            assert!(subscribe.iter().all(own));
            let live = publish.contains(&format!("wb.live.{name}"));
            assert_eq!(live, role == Role::Agent, "a watch has no totals");
        }
    }
}
