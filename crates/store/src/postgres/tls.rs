//! TLS to a database, whose certificate is always verified.

use crate::StoreError;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// Makes connections that trust the same authorities.
#[derive(Clone)]
pub(super) struct Connector(TlsConnector);

impl Connector {
    /// Trusts the authorities of a PEM file; `None`: those of the system.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no certificate.
    pub(super) fn new(authorities: Option<&Path>) -> Result<Self, StoreError> {
        let mut roots = RootCertStore::empty();
        match authorities {
            // A missing authority shows when a certificate is verified.
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Some(path) => {
                let wrong = |what: String| StoreError::Address {
                    address: format!("sslrootcert={}", path.display()),
                    what,
                };
                let certificates = CertificateDer::pem_file_iter(path)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| wrong(error.to_string()))?;
                if roots.add_parsable_certificates(certificates).0 == 0 {
                    return Err(wrong("there is no certificate in it".to_owned()));
                }
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has what its own versions need")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connect, Infallible> {
        Ok(Connect(self.0.clone(), ServerName::try_from(host.to_owned()).ok()))
    }
}

/// A connection that is to be made to a server of this name. A Unix socket has no name, and no TLS.
pub(super) struct Connect(TlsConnector, Option<ServerName<'static>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let Self(connector, name) = self;
        Box::pin(async move {
            let name = name.ok_or_else(|| io::Error::other("no certificate can have this name"))?;
            connector.connect(name, stream).await.map(Stream)
        })
    }
}

/// A connection inside TLS.
pub(super) struct Stream<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
