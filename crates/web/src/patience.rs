//! Connections of viewers that are dropped if they do not read.
//!
//! Lines for a viewer that does not read fill the kernel's buffer and then that of the HTTP library. No other buffer
//! grows: a viewer fetches further lines when there is room for them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use units::Nanos;

/// A connection that fails if nothing can be written to it for too long.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    inner: S,
    longest: Duration,
    /// The timer that fails the connection; set while there is no room to write.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(inner: S, longest: Nanos) -> Self {
        Self { inner, longest: longest.into(), waits: None }
    }

    /// Passes on the result of a write, or the error `TimedOut` once there has been no room for `longest`.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let longest = self.longest;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(longest)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.bounded(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.bounded(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.bounded(context, shut)
    }
}

/// A listener whose connections are dropped if they do not read.
#[derive(Debug)]
pub(crate) struct Door(pub(crate) TcpListener);

impl axum::serve::Listener for Door {
    type Io = Patient<TcpStream>;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // After an error, such as too many open files, the listener of axum waits and tries again.
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        (Patient::new(stream, PATIENCE), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// The longest time without room to write before a viewer is dropped.
const PATIENCE: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test(start_paused = true)]
    async fn a_viewer_that_does_not_read_is_dropped_and_a_slow_one_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut patient = Patient::new(ours, PATIENCE);
        // It reads a little every nine seconds.
        let slow = async {
            let mut some = [0; 64];
            for _ in 0..5 {
                sleep(Duration::from_secs(9)).await;
                theirs.read_exact(&mut some).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(patient.write_all(&[1; 6 * 64]), slow);
        written.unwrap();
        // It no longer reads anything, and the buffer is full already.
        let began = tokio::time::Instant::now();
        let error = patient.write_all(&[1; 64]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 10));
    }
}
