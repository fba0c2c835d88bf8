//! `wirebench certs`: test certificates for third-party servers and clients.

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
/// Six files in PEM: the certificate of an authority, of a server and of a client, and the key of each. The authority
/// signs both. Each call makes new keys.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Certs {
    /// The folder to write to; created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A name or address of the server; repeatable [default: localhost 127.0.0.1 ::1]
    ///
    /// `*.example.com` stands for all names one level below.
    #[arg(long, value_name = "NAME|ADDRESS")]
    name: Vec<Name>,
    /// The type of all keys
    #[arg(long, value_name = "KIND", default_value = "ecdsa", value_parser = values::key_type())]
    key_type: KeyType,
    /// The number of days for which the certificates are valid, from now on; at most 397
    #[arg(long, value_name = "NUMBER", default_value = "365", value_parser = days)]
    days: u64,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench certs tls                    for servers on this machine
  wirebench certs tls --days 1 --force   replace them
  wirebench certs tls --name server.test --name 10.0.0.5 --key-type rsa";

impl Certs {
    /// Makes all certificates, writes them, and prints the use of each.
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
                "{} already exists; name another folder, or replace it with --force",
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

    /// The page on stdout: the files, and the settings that use them in wirebench, curl, nginx and Node.
    fn page(&self, names: &[Name], validity: Validity) -> String {
        let folder = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let shown = |name: &str| report::escape(&folder.join(name).display().to_string());
        let (ca, server, server_key) =
            (shown("ca.pem"), shown("server.pem"), shown("server-key.pem"));
        let (client, client_key) = (shown("client.pem"), shown("client-key.pem"));
        let (names, key_type) = (values::listed(names), self.key_type);
        let until = date::rfc3339(validity.until_unix_s);
        let rows = [
            ("ca.pem", "the authority: the other end must trust it"),
            ("ca-key.pem", "its key: keep it secret, it can sign for any name"),
            ("server.pem", &format!("for {names}")),
            ("server-key.pem", "its key"),
            ("client.pem", "for clients, where the server asks for a certificate"),
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
             Where the server asks clients for a certificate:\n\
             wirebench  --client-cert {client} --client-key {client_key}\n\
             nginx      ssl_client_certificate \"{ca}\"; ssl_verify_client on;\n\
             node       requestCert: true, rejectUnauthorized: true, ca: fs.readFileSync(\"{ca}\")\n",
            report::escape(&folder.display().to_string()),
        )
    }
}

/// A file to write.
struct File {
    name: &'static str,
    pem: Vec<u8>,
    /// True for a key: only its owner may read it.
    is_secret: bool,
}

impl File {
    /// Replaces an existing file instead of writing into it, so that a key never inherits wider permissions.
    fn write(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mode = if self.is_secret { 0o600 } else { 0o644 };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(&self.pem)
    }
}

/// The certificates and keys of an authority, a server and a client.
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
            "`{text}` is above the limit of {DAYS_MAX} days; browsers refuse certificates that are valid for more than 398"
        )),
        days => Ok(days),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    let what = anyhow::anyhow!("cannot write {}: {error}", path.display());
    Failure::new(Exit::NOT_WRITTEN, what)
}
