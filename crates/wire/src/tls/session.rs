//! The part of a TLS library that the layer needs: bytes in, plaintext out; plaintext in, records out.

use super::error::PeerError;
use super::facts::Facts;

/// One end of a TLS connection, without a buffer of its own.
pub(super) trait Session {
    /// Starts the handshake: a client appends its first message to `tx`.
    fn begin(&mut self, tx: &mut Vec<u8>) -> Result<(), PeerError>;

    /// Reads `records`, which are complete: appends their plaintext to `plain`, and the answers of TLS itself,
    /// including alerts, to `tx`.
    fn read(&mut self, records: &mut [u8], plain: &mut Vec<u8>, tx: &mut Vec<u8>) -> Read;

    /// Replaces the end of `tx`, from `from` on, by records that protect it. `waiting` is the part of its last input
    /// that [`Session::read`] did not use. If nothing may be sent any more, removes that end and returns `false`.
    fn write(&mut self, waiting: &mut [u8], from: usize, tx: &mut Vec<u8>) -> bool;

    /// Appends `close_notify` to `tx`, unless it was sent before.
    fn close(&mut self, waiting: &mut [u8], tx: &mut Vec<u8>);

    /// The parameters that were agreed on; `None` before the handshake is complete.
    fn facts(&self) -> Option<Facts>;

    /// The next handshake message of the peer, in words.
    fn awaited(&self) -> &'static str;
}

/// The result of [`Session::read`].
#[derive(Debug)]
pub(super) struct Read {
    /// The bytes of the input that are done with; the next call passes the rest again, followed by more.
    pub(super) used: usize,
    /// The reason why nothing more can be read; `None` while the stream goes on.
    pub(super) end: Option<End>,
}

/// The reasons why a stream of records is over.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The peer sent `close_notify`.
    CloseNotify,
    /// The peer broke TLS, or refused us.
    Failed(Box<PeerError>),
}
