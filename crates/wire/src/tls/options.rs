//! The settings of either end, made once for many connections.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums are those of libraries, and may grow"
)]

use super::certificate::Refused;
use super::error::PeerError;
use super::facts::Version;
use super::options_error::OptionsError;
use super::suites;
use super::tickets::Tickets;
use super::trust::{Anyone, Clients, Nobody, Vouched};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SignatureAlgorithm, SupportedCipherSuite};
use std::sync::Arc;
use std::time::Duration;

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The versions to offer; empty means both.
    pub versions: Vec<Version>,
    /// The cipher suites to offer by name, best first; empty means all. See [`suites`](super::suites).
    pub suites: Vec<String>,
    /// The certificates that are accepted.
    pub trust: Trust,
    /// The certificate to show to a server that asks for one.
    pub identity: Option<Identity>,
    /// The protocols to offer by ALPN, best first; empty means no ALPN.
    pub alpn: Vec<String>,
    /// True if connections resume earlier ones by tickets.
    pub resumption: bool,
    /// The time at which certificates have to be valid, in seconds since 1970.
    pub now_unix_s: u64,
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The versions to accept; empty means both.
    pub versions: Vec<Version>,
    /// The cipher suites to accept by name, best first; empty means all.
    pub suites: Vec<String>,
    /// The certificate to show to clients.
    pub identity: Identity,
    /// Authorities in PEM; clients have to show a certificate issued by one of them. `None` if clients are not asked.
    pub client_authorities_pem: Option<Vec<u8>>,
    /// The protocols to accept by ALPN, best first; empty means no ALPN.
    pub alpn: Vec<String>,
    /// True if tickets are given out and accepted.
    pub resumption: bool,
    /// The time at which certificates have to be valid, in seconds since 1970.
    pub now_unix_s: u64,
}

/// The certificates that are accepted.
#[derive(Clone, Debug)]
pub enum Trust {
    /// All of them.
    Anyone,
    /// Certificates that one of these authorities signed, directly or through a chain.
    Authorities {
        /// Files in PEM, each with one certificate or more.
        pem: Vec<Vec<u8>>,
        /// Certificates in DER, as the system keeps them; those that cannot be read are left out.
        der: Vec<Vec<u8>>,
    },
}

/// A certificate and its key.
#[derive(Clone)]
pub struct Identity {
    /// The certificate in PEM, followed by those that lead to an authority.
    pub chain_pem: Vec<u8>,
    /// Its private key in PEM: PKCS#8, SEC 1 or PKCS#1.
    pub key_pem: Vec<u8>,
}

/// A client with its settings; its copies share tickets.
#[derive(Clone, Debug)]
pub struct Client(Arc<ClientParts>);

#[derive(Debug)]
struct ClientParts {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    refused: Arc<Refused>,
}

/// A server with its settings; its copies share ticket keys.
#[derive(Clone, Debug)]
pub struct Server(Arc<ServerParts>);

#[derive(Debug)]
struct ServerParts {
    config: Arc<ServerConfig>,
    refused: Arc<Refused>,
}

impl Client {
    /// A client for the server of this name or address, for which its certificate must be valid.
    ///
    /// # Errors
    ///
    /// The option that cannot be used, and why.
    pub fn new(options: &ClientOptions, server_name: &str) -> Result<Self, OptionsError> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| OptionsError::ServerName { name: server_name.to_owned() })?;
        let suites = Suites::choose(&options.versions, &options.suites)?;
        let refused = Arc::<Refused>::default();
        let provider = suites.provider();
        let verifier = options.trust.verifier(&provider, &refused)?;
        let builder = ClientConfig::builder_with_details(provider, clock(options.now_unix_s))
            .with_protocol_versions(&suites.versions())
            .map_err(OptionsError::of_rustls)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &options.identity {
            None => builder
                .with_client_cert_resolver(Arc::new(Nobody { refused: Arc::clone(&refused) })),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                builder.with_client_auth_cert(chain, key).map_err(OptionsError::of_key)?
            }
        };
        config.alpn_protocols = alpn(&options.alpn)?;
        config.resumption = if options.resumption {
            Resumption::store(Arc::<Tickets>::default())
        } else {
            Resumption::disabled()
        };
        Ok(Self(Arc::new(ClientParts { config: Arc::new(config), name, refused })))
    }

    pub(super) fn connection(&self) -> Result<UnbufferedClientConnection, PeerError> {
        let made = UnbufferedClientConnection::new(Arc::clone(&self.0.config), self.0.name.clone());
        made.map_err(|error| PeerError::of(error, false, &self.0.refused))
    }

    pub(super) fn refused(&self) -> &Arc<Refused> {
        &self.0.refused
    }
}

impl Server {
    /// A server.
    ///
    /// # Errors
    ///
    /// The option that cannot be used, and why.
    pub fn new(options: &ServerOptions) -> Result<Self, OptionsError> {
        let suites = Suites::choose(&options.versions, &options.suites)?;
        let refused = Arc::<Refused>::default();
        let provider = suites.provider();
        let builder =
            ServerConfig::builder_with_details(Arc::clone(&provider), clock(options.now_unix_s))
                .with_protocol_versions(&suites.versions())
                .map_err(OptionsError::of_rustls)?;
        let builder = match &options.client_authorities_pem {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let roots = Arc::new(authorities(std::slice::from_ref(pem), &[])?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| OptionsError::Rustls { what: error.to_string() })?;
                let refused = Arc::clone(&refused);
                builder.with_client_cert_verifier(Arc::new(Clients { refused, verifier }))
            }
        };
        let (chain, key) = options.identity.read()?;
        suites.check_key(&key)?;
        let mut config = builder.with_single_cert(chain, key).map_err(OptionsError::of_key)?;
        config.alpn_protocols = alpn(&options.alpn)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if options.resumption {
            config.ticketer = Ticketer::new().map_err(OptionsError::of_rustls)?;
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(Self(Arc::new(ServerParts { config: Arc::new(config), refused })))
    }

    pub(super) fn connection(&self) -> Result<UnbufferedServerConnection, PeerError> {
        let made = UnbufferedServerConnection::new(Arc::clone(&self.0.config));
        made.map_err(|error| PeerError::of(error, false, &self.0.refused))
    }

    pub(super) fn refused(&self) -> &Arc<Refused> {
        &self.0.refused
    }
}

impl Trust {
    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
        refused: &Arc<Refused>,
    ) -> Result<Arc<dyn ServerCertVerifier>, OptionsError> {
        let provider = Arc::clone(provider);
        let (pem, der) = match self {
            Self::Anyone => return Ok(Arc::new(Anyone { provider })),
            Self::Authorities { pem, der } => (pem, der),
        };
        let roots = Arc::new(authorities(pem, der)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| OptionsError::Rustls { what: error.to_string() })?;
        Ok(Arc::new(Vouched { refused: Arc::clone(refused), verifier }))
    }
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), OptionsError> {
        let chain = certificates(&self.chain_pem, "the certificate chain")?;
        let key = PrivateKeyDer::from_pem_slice(&self.key_pem).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => OptionsError::NoKey,
            error => OptionsError::Pem { part: "the private key", what: error.to_string() },
        })?;
        Ok((chain, key))
    }
}

/// Debug output omits the key: keys do not belong in logs.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Cipher suites, and the versions that they leave.
struct Suites(Vec<SupportedCipherSuite>);

impl Suites {
    fn choose(versions: &[Version], names: &[String]) -> Result<Self, OptionsError> {
        let wanted = |version: Version| versions.is_empty() || versions.contains(&version);
        let all = suites::find(names)?;
        let fits = |suite: &SupportedCipherSuite| wanted(suites::version(*suite));
        if let Some(misfit) = all.iter().find(|suite| !names.is_empty() && !fits(suite)) {
            let (suite, version) = (suites::name(*misfit), suites::version(*misfit));
            return Err(OptionsError::SuiteOfOtherVersion { suite, version });
        }
        let fitting: Vec<_> = all.into_iter().filter(fits).collect();
        let has = |version| fitting.iter().any(|suite| suites::version(*suite) == version);
        match versions.iter().find(|version| !has(**version)) {
            Some(version) => Err(OptionsError::VersionWithoutSuite { version: *version }),
            None => Ok(Self(fitting)),
        }
    }

    fn provider(&self) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider { cipher_suites: self.0.clone(), ..default_provider() })
    }

    fn versions(&self) -> Vec<&'static rustls::SupportedProtocolVersion> {
        let has = |version| self.0.iter().any(|suite| suites::version(*suite) == version);
        Version::ALL.into_iter().filter(|it| has(*it)).map(Version::of_rustls).collect()
    }

    /// Checks that one of the TLS 1.2 suites, each of which names a kind of key, fits the key of the certificate.
    fn check_key(&self, key: &PrivateKeyDer<'static>) -> Result<(), OptionsError> {
        let Ok(key) = rustls::crypto::aws_lc_rs::sign::any_supported_type(key) else {
            return Ok(()); // rustls will report what is wrong with it.
        };
        let kind = key.algorithm();
        let fits = |suite: &SupportedCipherSuite| suite.usable_for_signature_algorithm(kind);
        let tls12 = || self.0.iter().filter(|suite| suite.tls13().is_none());
        match tls12().next() {
            Some(suite) if !tls12().any(fits) => Err(OptionsError::SuiteOfOtherKey {
                suite: suites::name(*suite),
                key: if kind == SignatureAlgorithm::RSA { "RSA" } else { "ECDSA" },
            }),
            _ => Ok(()),
        }
    }
}

/// A clock that does not advance: `wire` has none of its own.
#[derive(Debug)]
struct Clock(UnixTime);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

fn clock(now_unix_s: u64) -> Arc<dyn TimeProvider> {
    Arc::new(Clock(UnixTime::since_unix_epoch(Duration::from_secs(now_unix_s))))
}

fn authorities(pem: &[Vec<u8>], der: &[Vec<u8>]) -> Result<RootCertStore, OptionsError> {
    let part = "the authorities";
    let mut roots = RootCertStore::empty();
    for file in pem {
        for certificate in certificates(file, part)? {
            roots
                .add(certificate)
                .map_err(|error| OptionsError::Pem { part, what: error.to_string() })?;
        }
    }
    roots.add_parsable_certificates(der.iter().map(|bytes| CertificateDer::from(bytes.as_slice())));
    if roots.is_empty() { Err(OptionsError::NoCertificate { part }) } else { Ok(roots) }
}

fn certificates(
    pem: &[u8],
    part: &'static str,
) -> Result<Vec<CertificateDer<'static>>, OptionsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = read.map_err(|error| OptionsError::Pem { part, what: error.to_string() })?;
    if chain.is_empty() { Err(OptionsError::NoCertificate { part }) } else { Ok(chain) }
}

fn alpn(names: &[String]) -> Result<Vec<Vec<u8>>, OptionsError> {
    match names.iter().find(|name| name.is_empty() || name.len() > ALPN_LEN_MAX) {
        Some(name) => Err(OptionsError::Alpn { len: name.len(), max: ALPN_LEN_MAX }),
        None => Ok(names.iter().map(|name| name.clone().into_bytes()).collect()),
    }
}

impl OptionsError {
    fn of_rustls(error: rustls::Error) -> Self {
        Self::Rustls { what: error.to_string() }
    }

    fn of_key(error: rustls::Error) -> Self {
        match error {
            rustls::Error::InconsistentKeys(_) => Self::KeyMismatch,
            error => Self::of_rustls(error),
        }
    }
}

/// The length of a name has one byte (RFC 7301 §3.1).
const ALPN_LEN_MAX: usize = 255;
