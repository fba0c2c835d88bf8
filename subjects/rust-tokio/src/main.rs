//! A TCP echo on tokio: a task for each connection on its default runtime.
//!
//! Chosen: `TCP_NODELAY`, the backlog that is asked for, 8 KiB to read into.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

struct Echo {
    /// The answer to as many bytes as it has; without, all bytes are sent back.
    reply: Option<Vec<u8>>,
    /// The time for which a message keeps the processor busy before it is answered.
    work: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).is_some() {
        println!("{}", locked("tokio"));
        return Ok(());
    }
    let echo = Arc::new(Echo {
        reply: env::var("WIREBENCH_REPLY").ok().map(String::into_bytes),
        work: Duration::from_nanos(variable("WIREBENCH_WORK_NS", "0").parse()?),
    });
    let socket = TcpSocket::new_v4()?;
    let host: std::net::Ipv4Addr = variable("WIREBENCH_HOST", "127.0.0.1").parse()?;
    socket.bind((host, variable("WIREBENCH_PORT", "0").parse()?).into())?;
    let listener = socket.listen(variable("WIREBENCH_BACKLOG", "4096").parse()?)?;
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

/// An error is the other end's business: it closed in the middle of something.
async fn connection(mut stream: TcpStream, echo: Arc<Echo>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; 8192];
    let mut owed = 0;
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        keep_busy(echo.work);
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

fn keep_busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}

/// The version of a library as the lock file has it, which is what was built.
fn locked(library: &str) -> &'static str {
    include_str!("../Cargo.lock")
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?")
}
