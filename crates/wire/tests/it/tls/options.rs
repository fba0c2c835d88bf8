//! Impossible options, and the errors about them.

use super::world::{client_options, server_options, world};
use wire::tls::{
    Client, ClientOptions, Identity, OptionsError, Server, ServerOptions, Trust, Version, suites,
};

#[test]
fn suites_are_named_as_iana_does() {
    let all: Vec<_> = suites().collect();
    assert!(all.contains(&("TLS13_AES_128_GCM_SHA256", Version::Tls13)));
    assert!(all.contains(&("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Version::Tls12)));
    assert_eq!(all.len(), 9);
    for name in ["TLS_AES_128_GCM_SHA256", "tls13_aes_128_gcm_sha256"] {
        client(|options| options.suites = vec![name.to_owned()]).unwrap();
    }
}

#[test]
fn a_suite_that_cannot_be_is_named() {
    let refused = client(|options| options.suites = vec!["TLS13_AES_128_GCM".to_owned()]);
    let said = refused.unwrap_err().to_string();
    assert!(
        said.starts_with(
            "unknown cipher suite `TLS13_AES_128_GCM`; did you mean `TLS13_AES_128_GCM_SHA256`? The suites are TLS13_"
        ),
        "{said}"
    );
    let refused = client(|options| {
        options.suites = vec!["TLS13_AES_128_GCM_SHA256".to_owned()];
        options.versions = vec![Version::Tls12];
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "TLS13_AES_128_GCM_SHA256 belongs to TLS 1.3, which was not asked for"
    );
    let refused = client(|options| {
        options.suites = vec!["TLS13_AES_128_GCM_SHA256".to_owned()];
        options.versions = vec![Version::Tls13, Version::Tls12];
    });
    assert_eq!(refused.unwrap_err(), OptionsError::VersionWithoutSuite { version: Version::Tls12 });
    let refused = server(|options| {
        options.suites = vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned()];
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "no TLS 1.2 suite works with the ECDSA key of the certificate; TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 does not"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told_by_its_part() {
    let world = world();
    let with = |chain_pem: &[u8], key_pem: &[u8]| {
        let identity = Identity { chain_pem: chain_pem.to_vec(), key_pem: key_pem.to_vec() };
        server(|options| options.identity = identity).unwrap_err().to_string()
    };
    let (chain, key) = (&world.ecdsa.chain_pem[..], &world.ecdsa.key_pem[..]);
    assert_eq!(
        with(key, key),
        "no certificate in the certificate chain; PEM has `-----BEGIN CERTIFICATE-----`"
    );
    assert_eq!(
        with(chain, chain),
        "no private key in the key file; PEM has `-----BEGIN PRIVATE KEY-----`"
    );
    assert_eq!(
        with(chain, &world.rsa.key_pem),
        "the private key does not belong to the certificate"
    );
    let cut = &chain[..chain.len() / 2];
    assert!(
        with(cut, key).starts_with("the certificate chain cannot be read: "),
        "{}",
        with(cut, key)
    );
    let cut = &key[..key.len() / 2];
    assert!(
        with(chain, cut).starts_with("the private key cannot be read: "),
        "{}",
        with(chain, cut)
    );

    let trusting = |pem: &[u8]| {
        let pem = vec![pem.to_vec()];
        client(|options| options.trust = Trust::Authorities { pem, der: Vec::new() })
    };
    assert_eq!(trusting(b"").unwrap_err(), OptionsError::NoCertificate { part: "the authorities" });
    assert_eq!(trusting(key).unwrap_err(), OptionsError::NoCertificate { part: "the authorities" });
}

#[test]
fn names_that_cannot_be_are_refused() {
    let refused = Client::new(&client_options(), "no name").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`no name` is not the name of a server; use one like `example.org` or `127.0.0.1`"
    );
    for (len, is_fine) in [(0, false), (1, true), (255, true), (256, false)] {
        assert_eq!(
            client(|options| options.alpn = vec!["a".repeat(len)]).is_ok(),
            is_fine,
            "{len}"
        );
    }
}

fn client(change: impl FnOnce(&mut ClientOptions)) -> Result<Client, OptionsError> {
    let mut options = client_options();
    change(&mut options);
    Client::new(&options, "server.test")
}

fn server(change: impl FnOnce(&mut ServerOptions)) -> Result<Server, OptionsError> {
    let mut options = server_options();
    change(&mut options);
    Server::new(&options)
}
