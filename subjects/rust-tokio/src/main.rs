//! A TCP echo on tokio: a task for each connection on its default runtime.
//!
//! Chosen: `TCP_NODELAY`, the backlog that is asked for, 8 KiB to read into.

use std::sync::Arc;

use server::{AnyError, Work};
use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};

#[allow(dead_code)] // A stream has no longest message.
#[path = "../rust-server/server.rs"]
mod server;

struct Echo {
    /// The answer to every message of its own length; without it, all bytes are sent back.
    reply: Option<Vec<u8>>,
    work: Work,
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    if server::says_version("tokio", include_str!("../Cargo.lock")) {
        return Ok(());
    }
    let reply = server::reply().map(String::into_bytes);
    let echo = Arc::new(Echo { reply, work: Work::read()? });
    let listener = server::listen()?;
    println!("ready tcp://{}", listener.local_addr()?);
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(connection(stream, Arc::clone(&echo)));
                }
                Err(error) => eprintln!("accept: {error}"),
            }
        }
    });
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

/// An error is caused by the other end: it closed in the middle of something.
async fn connection(mut stream: TcpStream, echo: Arc<Echo>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; 8192];
    let mut owed = 0;
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        echo.work.keep_busy();
        match &echo.reply {
            None => stream.write_all(&buffer[..count]).await?,
            Some(reply) => {
                owed += count;
                stream.write_all(&reply.repeat(owed / reply.len())).await?;
                owed %= reply.len();
            }
        }
    }
}
