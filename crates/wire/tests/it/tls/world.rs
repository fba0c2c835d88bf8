//! Authorities, certificates and options, made once for all tests.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, date_time_ymd,
};
use std::sync::OnceLock;
use wire::tls::{Client, ClientOptions, Identity, Server, ServerOptions, Trust};

/// An authority, the identities that it issued, and some that it did not issue.
pub(crate) struct World {
    pub(crate) authority_pem: String,
    pub(crate) client: Identity,
    pub(crate) client_stranger: Identity,
    pub(crate) ecdsa: Identity,
    pub(crate) expired: Identity,
    pub(crate) for_clients_only: Identity,
    pub(crate) future: Identity,
    pub(crate) rsa: Identity,
    pub(crate) self_signed: Identity,
    pub(crate) stranger: Identity,
}

/// The world, made on first use.
pub(crate) fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(World::make)
}

impl World {
    fn make() -> Self {
        let authority = authority("The Authority");
        let other = self::authority("Another Authority");
        let server = || params("server.test", ExtendedKeyUsagePurpose::ServerAuth);
        let mut expired = server();
        expired.not_after = date_time_ymd(2025, 3, 1);
        let mut future = server();
        future.not_before = date_time_ymd(2030, 1, 2);
        let alone = ecdsa_key();
        let alone_pem = server().self_signed(&alone).expect("rcgen makes it").pem();
        let client = || params("client.test", ExtendedKeyUsagePurpose::ClientAuth);
        Self {
            authority_pem: authority.0.pem(),
            client: issue(client(), ecdsa_key(), &authority.1),
            client_stranger: issue(client(), ecdsa_key(), &other.1),
            ecdsa: issue(server(), ecdsa_key(), &authority.1),
            expired: issue(expired, ecdsa_key(), &authority.1),
            for_clients_only: issue(client(), ecdsa_key(), &authority.1),
            future: issue(future, ecdsa_key(), &authority.1),
            rsa: issue(server(), rsa_key(), &authority.1),
            self_signed: identity(alone_pem, &alone),
            stranger: issue(server(), ecdsa_key(), &other.1),
        }
    }
}

fn authority(name: &str) -> (Certificate, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = ecdsa_key();
    (params.self_signed(&key).expect("rcgen makes it"), Issuer::new(params, key))
}

fn params(name: &str, usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let names = [name.to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).expect("rcgen makes it");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    params
}

fn issue(params: CertificateParams, key: KeyPair, issuer: &Issuer<'static, KeyPair>) -> Identity {
    identity(params.signed_by(&key, issuer).expect("rcgen makes it").pem(), &key)
}

fn identity(chain_pem: String, key: &KeyPair) -> Identity {
    Identity { chain_pem: chain_pem.into_bytes(), key_pem: key.serialize_pem().into_bytes() }
}

fn ecdsa_key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("rcgen makes it")
}

fn rsa_key() -> KeyPair {
    KeyPair::generate_for(&PKCS_RSA_SHA256).expect("rcgen makes it")
}

/// A client that trusts the authority, with every default.
pub(crate) fn client_options() -> ClientOptions {
    let pem = vec![world().authority_pem.clone().into_bytes()];
    ClientOptions {
        versions: Vec::new(),
        suites: Vec::new(),
        trust: Trust::Authorities { pem, der: Vec::new() },
        identity: None,
        alpn: Vec::new(),
        resumption: true,
        now_unix_s: NOW_UNIX_S,
    }
}

/// A server with an ECDSA certificate, with every default.
pub(crate) fn server_options() -> ServerOptions {
    ServerOptions {
        versions: Vec::new(),
        suites: Vec::new(),
        identity: world().ecdsa.clone(),
        client_authorities_pem: None,
        alpn: Vec::new(),
        resumption: true,
        now_unix_s: NOW_UNIX_S,
    }
}

/// A client that expects the server's right name.
pub(crate) fn client(options: &ClientOptions) -> Client {
    Client::new(options, "server.test").expect("the options are good")
}

/// A server.
pub(crate) fn server(options: &ServerOptions) -> Server {
    Server::new(options).expect("the options are good")
}

/// 2026-01-01.
pub(crate) const NOW_UNIX_S: u64 = 1_767_225_600;
