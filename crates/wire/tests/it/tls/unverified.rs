//! A client that trusts anyone: any certificate will do, but its key must be the peer's.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

use crate::tls::world::{client, client_options, world};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::sync::Arc;
use wire::framed::{Framed, Limits};
use wire::tls::{ClientOptions, Identity, Tls, Trust};
use wire::{Event, Input, PeerError, Protocol};
use x509_parser::asn1_rs::{Any, Class, FromDer};

#[test]
fn a_certificate_of_version_1_is_accepted_with_its_own_key_only() {
    for version in [&version::TLS12, &version::TLS13] {
        for (identity, other) in
            [(&world().ecdsa, &world().self_signed), (&world().rsa, &world().ecdsa)]
        {
            let der = CertificateDer::from_pem_slice(&identity.chain_pem).unwrap();
            let old = CertificateDer::from(as_version_1(&der));
            assert!(old.len() < der.len());
            assert_eq!(connect(old.clone(), identity, version), Ok(()), "{version:?}");
            let error = connect(old, other, version).unwrap_err().to_string();
            assert!(error.contains("has an invalid signature, or its key made one"), "{error}");
        }
    }
}

#[test]
fn a_certificate_that_has_no_key_is_refused() {
    let error = connect(b"\x30\x03\x30\x01\x02".to_vec().into(), &world().ecdsa, &version::TLS13);
    assert!(error.unwrap_err().to_string().ends_with("cannot be read"));
}

/// Lets a client that trusts anyone shake hands with a server that shows `certificate` and has the key of `identity`.
fn connect(
    certificate: CertificateDer<'static>,
    identity: &Identity,
    version: &'static SupportedProtocolVersion,
) -> Result<(), PeerError> {
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem).unwrap();
    let key = aws_lc_rs::sign::any_supported_type(&key).unwrap();
    let certified = CertifiedKey::new(vec![certificate], key);
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    let options = ClientOptions { trust: Trust::Anyone, ..client_options() };
    let mut machine = Tls::client(&client(&options), Framed::new(Limits::default()));
    let mut to_server = Vec::new();
    machine.open(&mut to_server);
    loop {
        let mut unread = &to_server[..];
        while !unread.is_empty() {
            server.read_tls(&mut unread).unwrap();
            server.process_new_packets().unwrap();
        }
        to_server.clear();
        let mut to_client = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut to_client).unwrap();
        }
        let mut input = Input::new(&mut to_client);
        if let Some(Event::Secured(_)) = machine.receive(&mut input, &mut to_server)? {
            return Ok(());
        }
        assert!(!to_server.is_empty(), "both ends wait");
    }
}

/// The same certificate without its version and extensions. Its signature is no longer valid, which nobody checks here.
fn as_version_1(certificate: &[u8]) -> Vec<u8> {
    let [signed, algorithm, signature] = &parts(content(certificate))[..] else {
        panic!("a certificate has three parts")
    };
    let is_old = |part: &&&[u8]| Any::from_der(part).unwrap().1.class() != Class::ContextSpecific;
    let kept: Vec<u8> =
        parts(content(signed)).iter().filter(is_old).flat_map(|part| part.to_vec()).collect();
    sequence(&[&sequence(&[&kept]), algorithm, signature])
}

fn content(der: &[u8]) -> &[u8] {
    Any::from_der(der).unwrap().1.data
}

fn parts(mut content: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while !content.is_empty() {
        let (rest, _) = Any::from_der(content).unwrap();
        parts.push(&content[..content.len() - rest.len()]);
        content = rest;
    }
    parts
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[0x30, 0x82][..], &len, &content].concat()
}
