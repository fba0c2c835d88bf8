//! Where a server is and what it speaks, as one text: `ws://127.0.0.1:8080/echo`.

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// HTTP/1.1.
    Http,
    /// Bytes without framing over TCP.
    Tcp,
    /// Messages with a 32-bit length before them, over TCP.
    TcpFramed,
    /// Bytes without framing over a Unix socket.
    Unix,
    /// WebSocket.
    WebSocket,
}

/// Where a server is and what it speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where it listens.
    pub place: Place,
    /// The path and query asked for, `/` by default; HTTP and WebSocket only.
    pub path: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A name or an address, and a port.
    Host {
        /// Without the brackets of an IPv6 address.
        name: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Path(std::path::PathBuf),
}
