//! `wirebench certs`: certificates for servers and clients that are not ours.

use crate::args::values;
use crate::date;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use serve::certificates::{Authority, DAYS_MAX, KeyType, Leaf, Name, Usage, Validity, local_names};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wire::tls::Identity;

/// Write test certificates for other servers and clients
///
/// Six files in PEM: an authority, what it signed for a server and for a client, and the key of each. Each call makes
/// new keys.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Certs {
    /// Where to; made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What the server is called; repeatable [default: localhost 127.0.0.1 ::1]
    ///
    /// A name, `*.example.com` for all names of one level, or an address.
    #[arg(long, value_name = "NAME|ADDRESS")]
    name: Vec<Name>,
    /// The kind of all keys
    #[arg(long, value_name = "KIND", default_value = "ecdsa", value_parser = values::key_type())]
    key_type: KeyType,
    /// For how many days from now they are valid, at most 397
    #[arg(long, value_name = "NUMBER", default_value = "365", value_parser = days)]
    days: u64,
    /// Replace what is there
    #[arg(long)]
    force: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench certs tls                    for servers on this machine
  wirebench certs tls --days 1 --force   others in their place
  wirebench certs tls --name server.test --name 10.0.0.5 --key-type rsa";

impl Certs {
    /// Makes them all, writes them, and says what each is for.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let validity = Validity::days(now_unix_s, self.days);
        let names = if self.name.is_empty() { local_names() } else { self.name.clone() };
        let files = files(self.key_type, &names, validity).map_err(anyhow::Error::from)?;
        if let Some(there) =
            files.iter().map(|file| self.folder.join(file.name)).find(|path| path.exists())
            && !self.force
        {
            return Err(Failure::usage(format!(
                "{} is there already; take another folder, or --force to replace it",
                there.display()
            )));
        }
        fs::create_dir_all(&self.folder).map_err(|error| not_written(&self.folder, &error))?;
        for file in &files {
            let path = self.folder.join(file.name);
            file.write(&path).map_err(|error| not_written(&path, &error))?;
        }
        terminal.result(&self.page(&names, validity))?;
        Ok(Exit::DONE)
    }

    /// What was written, and what to do with it.
    fn page(&self, names: &[Name], validity: Validity) -> String {
        let folder = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let shown = |name: &str| report::escape(&folder.join(name).display().to_string());
        let (ca, server, server_key) =
            (shown("ca.pem"), shown("server.pem"), shown("server-key.pem"));
        let (client, client_key) = (shown("client.pem"), shown("client-key.pem"));
        let (names, key_type) = (values::listed(names), self.key_type);
        let until = date::rfc3339(validity.until_unix_s);
        let rows = [
            ("ca.pem", "the authority: what the other end is to trust"),
            ("ca-key.pem", "its key: whoever has it can sign for everyone"),
            ("server.pem", &format!("for {names}")),
            ("server-key.pem", "its key"),
            ("client.pem", "for a client that has to show one"),
            ("client-key.pem", "its key"),
        ]
        .map(|(name, what)| format!("  {name:<16}{what}\n"))
        .concat();
        format!(
            "{key_type}, valid until {until}, in {}:\n{rows}\n\
             wirebench  --ca {ca}\n\
             curl       --cacert {ca}\n\
             nginx      ssl_certificate \"{server}\";\n\
            \x20          ssl_certificate_key \"{server_key}\";\n\
             node       https.createServer({{ cert: fs.readFileSync(\"{server}\"),\n\
            \x20            key: fs.readFileSync(\"{server_key}\") }})\n\n\
             Where clients have to show one:\n\
             wirebench  --client-cert {client} --client-key {client_key}\n\
             nginx      ssl_client_certificate \"{ca}\"; ssl_verify_client on;\n\
             node       requestCert: true, rejectUnauthorized: true, ca: fs.readFileSync(\"{ca}\")\n",
            report::escape(&folder.display().to_string()),
        )
    }
}

/// What is written under one name.
struct File {
    name: &'static str,
    pem: Vec<u8>,
    /// Nobody else may read it.
    is_secret: bool,
}

impl File {
    /// Takes the place of what is there: what others had a right to read before gets no key.
    fn write(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mode = if self.is_secret { 0o600 } else { 0o644 };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(&self.pem)
    }
}

/// An authority, a server and a client.
fn files(
    key_type: KeyType,
    names: &[Name],
    validity: Validity,
) -> Result<Vec<File>, serve::certificates::CertificateError> {
    let authority = Authority::new(key_type, validity)?;
    let ca = Identity {
        chain_pem: authority.certificate_pem().as_bytes().to_vec(),
        key_pem: authority.key_pem().into_bytes(),
    };
    let server = authority.issue(&Leaf { names, usage: Usage::Server, validity })?;
    let client = authority.issue(&Leaf { names: &[], usage: Usage::Client, validity })?;
    let all = [
        ("ca.pem", "ca-key.pem", ca),
        ("server.pem", "server-key.pem", server),
        ("client.pem", "client-key.pem", client),
    ];
    let files = all.into_iter().flat_map(|(certificate, key, identity)| {
        [
            File { name: certificate, pem: identity.chain_pem, is_secret: false },
            File { name: key, pem: identity.key_pem, is_secret: true },
        ]
    });
    Ok(files.collect())
}

fn days(text: &str) -> Result<u64, String> {
    match values::large_count(text)?.get() {
        days if days > DAYS_MAX => Err(format!(
            "`{text}` is too long; browsers refuse certificates of more than 398 days, so at most {DAYS_MAX} are"
        )),
        days => Ok(days),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    let what = anyhow::anyhow!("cannot write {}: {error}", path.display());
    Failure::new(Exit::NOT_WRITTEN, what)
}
