//! rustls's unbuffered connections behind our [`Session`].
//!
//! This is the one file that knows how they are driven: feed records, handle the state that is returned, discard the
//! bytes that it names, and repeat until there is nothing to do but wait.

use super::certificate::Refused;
use super::error::PeerError;
use super::facts::{Facts, Version};
use super::options::{Client, Server};
use super::session::{End, Read, Session};
use super::suites;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use rustls::{CommonState, HandshakeKind, ProtocolVersion};
use std::sync::Arc;

/// One end of a TLS connection. rustls makes it when the handshake begins, not before: its cost is part of the
/// handshake.
pub(super) enum Rustls {
    Client(UnbufferedClientConnection, Arc<Refused>),
    NewClient(Client),
    NewServer(Server),
    Server(UnbufferedServerConnection, Arc<Refused>),
}

/// The next step after reading the records once.
enum Step {
    Again,
    Done,
    Failed(rustls::Error),
    PeerClosed,
}

impl Session for Rustls {
    fn begin(&mut self, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        *self = match self {
            Self::Client(..) | Self::Server(..) => return Ok(()),
            Self::NewClient(client) => {
                Self::Client(client.connection()?, Arc::clone(client.refused()))
            }
            Self::NewServer(server) => {
                Self::Server(server.connection()?, Arc::clone(server.refused()))
            }
        };
        match self.read(&mut [], &mut Vec::new(), tx).end {
            Some(End::Failed(error)) => Err(*error),
            Some(End::CloseNotify) | None => Ok(()),
        }
    }

    fn read(&mut self, records: &mut [u8], plain: &mut Vec<u8>, tx: &mut Vec<u8>) -> Read {
        let mut used = 0;
        let mut end = None;
        loop {
            let (len, step) = self.step(&mut records[used..], plain, tx);
            used += len;
            match step {
                Step::Again => {}
                Step::Done => return Read { used, end },
                Step::PeerClosed => end = Some(End::CloseNotify),
                Step::Failed(error) => {
                    self.write_alert(&mut records[used..], tx);
                    let error = PeerError::of(error, self.is_complete(), self.refused());
                    return Read { used, end: Some(End::Failed(Box::new(error))) };
                }
            }
        }
    }

    fn write(&mut self, waiting: &mut [u8], from: usize, tx: &mut Vec<u8>) -> bool {
        let is_sent = match self {
            Self::Client(connection, _) => write(connection.process_tls_records(waiting), from, tx),
            Self::Server(connection, _) => write(connection.process_tls_records(waiting), from, tx),
            Self::NewClient(_) | Self::NewServer(_) => false,
        };
        if !is_sent {
            // The keys of TLS 1.2 are used up after 2^24 records with AES; only `close_notify` may still be sent.
            self.write_alert(waiting, tx);
        }
        is_sent
    }

    fn close(&mut self, waiting: &mut [u8], tx: &mut Vec<u8>) {
        match self {
            Self::Client(connection, _) => close(connection.process_tls_records(waiting), tx),
            Self::Server(connection, _) => close(connection.process_tls_records(waiting), tx),
            Self::NewClient(_) | Self::NewServer(_) => {}
        }
    }

    fn facts(&self) -> Option<Facts> {
        let common = self.common().filter(|common| !common.is_handshaking())?;
        let alpn = common.alpn_protocol().map(|name| String::from_utf8_lossy(name).into());
        let kind = common.handshake_kind()?;
        let group = common.negotiated_key_exchange_group();
        let suite = common.negotiated_cipher_suite()?;
        Some(Facts {
            version: suites::version(suite),
            suite: suites::name(suite),
            group: group.and_then(|group| group.name().as_str()),
            alpn,
            resumed: kind == HandshakeKind::Resumed,
        })
    }

    fn awaited(&self) -> &'static str {
        let Some(common) = self.common() else { return "the handshake" };
        let version = common.protocol_version();
        let is_tls13 = version == Some(ProtocolVersion::TLSv1_3);
        match (self, version) {
            (Self::Client(..) | Self::NewClient(_), None) => "the server's hello",
            (Self::Server(..) | Self::NewServer(_), None) => "the client's hello",
            (Self::Client(..) | Self::NewClient(_), Some(_)) if is_tls13 => {
                "the server's certificate and Finished"
            }
            (Self::Client(..) | Self::NewClient(_), Some(_)) => {
                "the rest of the server's handshake"
            }
            (Self::Server(..) | Self::NewServer(_), Some(_)) if is_tls13 => "the client's Finished",
            (Self::Server(..) | Self::NewServer(_), Some(_)) => {
                "the client's key exchange and Finished"
            }
        }
    }
}

impl Rustls {
    fn step(&mut self, records: &mut [u8], plain: &mut Vec<u8>, tx: &mut Vec<u8>) -> (usize, Step) {
        match self {
            Self::Client(connection, _) => {
                handle(connection.process_tls_records(records), plain, tx)
            }
            Self::Server(connection, _) => {
                handle(connection.process_tls_records(records), plain, tx)
            }
            Self::NewClient(_) | Self::NewServer(_) => (0, Step::Done),
        }
    }

    /// Appends the alert with which rustls reports a failure to the peer. The records are not read again: rustls writes
    /// the alert first.
    fn write_alert(&mut self, records: &mut [u8], tx: &mut Vec<u8>) {
        while self.common().is_some_and(CommonState::wants_write) {
            let (_, Step::Again) = self.step(records, &mut Vec::new(), tx) else { return };
        }
    }

    fn common(&self) -> Option<&CommonState> {
        match self {
            Self::Client(connection, _) => Some(connection),
            Self::Server(connection, _) => Some(connection),
            Self::NewClient(_) | Self::NewServer(_) => None,
        }
    }

    fn is_complete(&self) -> bool {
        self.common().is_some_and(|common| !common.is_handshaking())
    }

    fn refused(&self) -> &Refused {
        match self {
            Self::Client(_, refused) | Self::Server(_, refused) => refused,
            Self::NewClient(client) => client.refused(),
            Self::NewServer(server) => server.refused(),
        }
    }
}

impl std::fmt::Debug for Rustls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rustls").field("facts", &self.facts()).finish_non_exhaustive()
    }
}

/// Does what the state asks for; returns the number of bytes of the records that are done with, and the next step.
fn handle<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &mut Vec<u8>,
    tx: &mut Vec<u8>,
) -> (usize, Step) {
    let UnbufferedStatus { mut discard, state } = status;
    let step = match state {
        Err(error) => Step::Failed(error),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            let mut step = Step::Again;
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => {
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                    Err(error) => step = Step::Failed(error),
                }
            }
            step
        }
        Ok(ConnectionState::EncodeTlsData(data)) => {
            encode(data, tx);
            Step::Again
        }
        Ok(ConnectionState::TransmitTlsData(sent)) => {
            sent.done();
            Step::Again
        }
        Ok(ConnectionState::PeerClosed) => Step::PeerClosed,
        // Nothing here lets a client send early data; in an unknown state we wait.
        Ok(_) => Step::Done,
    };
    (discard, step)
}

fn encode<Data>(mut data: EncodeTlsData<'_, Data>, tx: &mut Vec<u8>) {
    let from = tx.len();
    if let Err(EncodeError::InsufficientSize(room)) = data.encode(&mut []) {
        tx.resize(from + room.required_size, 0);
        let written = data.encode(&mut tx[from..]).unwrap_or(0);
        tx.truncate(from + written);
    }
}

/// Encrypts the end of `tx` in place: its plaintext is first copied to the space after the records.
fn write<Data>(status: UnbufferedStatus<'_, '_, Data>, from: usize, tx: &mut Vec<u8>) -> bool {
    let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else {
        tx.truncate(from);
        return false;
    };
    let end = tx.len();
    let len = end - from;
    let mut copy = end + len.div_ceil(RECORD_PLAIN_LEN) * RECORD_ADDED_LEN_MAX;
    tx.reserve(copy - end + len);
    tx.resize(copy, 0);
    tx.extend_from_within(from..end);
    loop {
        let (room, plain) = tx.split_at_mut(copy);
        match traffic.encrypt(plain, &mut room[from..]) {
            Ok(written) => {
                tx.truncate(from + written);
                return true;
            }
            Err(EncryptError::EncryptExhausted) => {
                tx.truncate(from);
                return false;
            }
            // rustls needs more room than our own bytes take: it renews its keys before them.
            Err(EncryptError::InsufficientSize(needed)) => {
                let wanted = from + needed.required_size;
                tx.resize(wanted + len, 0);
                tx.copy_within(copy..copy + len, wanted);
                copy = wanted;
            }
        }
    }
}

fn close<Data>(status: UnbufferedStatus<'_, '_, Data>, tx: &mut Vec<u8>) {
    let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else { return };
    let from = tx.len();
    let mut required_size = 0;
    loop {
        tx.resize(from + required_size, 0);
        match traffic.queue_close_notify(&mut tx[from..]) {
            Err(EncryptError::InsufficientSize(room)) => required_size = room.required_size,
            written => return tx.truncate(from + written.unwrap_or(0)),
        }
    }
}

impl Version {
    /// This version in rustls.
    pub(super) fn of_rustls(self) -> &'static rustls::SupportedProtocolVersion {
        match self {
            Self::Tls12 => &rustls::version::TLS12,
            Self::Tls13 => &rustls::version::TLS13,
        }
    }
}

/// Most bytes that a record protects (RFC 8446 §5.1).
const RECORD_PLAIN_LEN: usize = 1 << 14;

/// Most bytes that a record adds to them: header, nonce (TLS 1.2 with AES-GCM) or type (TLS 1.3), and tag.
const RECORD_ADDED_LEN_MAX: usize = 5 + 8 + 16;
