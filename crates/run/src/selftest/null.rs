//! The null subject: an echo on a thread of our own.

use crate::RunError;
use engine::clock::{Clock, sharpen_timers};
use engine::epoll::Epoll;
use engine::{Address, ConnectionError, Engine};
use serve::Server;
use spec::{Endpoint, Protocol};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use wire::{Role, ServerOptions, Stack};

/// An echo that answers until it is dropped.
pub(super) struct Echo {
    pub(super) url: Endpoint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// Starts the echo.
    ///
    /// # Errors
    ///
    /// [`RunError::Engine`] if it cannot listen.
    pub(super) fn start() -> Result<Self, RunError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let endpoint = Endpoint::new(Protocol::TcpFramed.plain(), anywhere.into());
        let stack = wire::stack(&endpoint, Role::Server(&ServerOptions::default()))
            .map_err(|error| RunError::InvalidRequest(error.to_string()))?;
        let thread = engine::thread::start("echo", {
            let stop = Arc::clone(&stop);
            move || {
                if let Err(error) = serve(stack, stop, &tell) {
                    drop(tell.send(Err(error)));
                }
            }
        })?;
        let address = told.recv().unwrap_or(Err(ConnectionError::Reset));
        let Address::Tcp(address) = address.map_err(RunError::Engine)? else {
            return Err(RunError::Engine(ConnectionError::AddressNotAvailable));
        };
        let url = Endpoint { address: address.into(), ..endpoint };
        Ok(Self { url, stop, thread: Some(thread) })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Reports the address that it listens at, then serves; the engine is made here because engines do not move between
/// threads.
fn serve(
    stack: Stack,
    stop: Arc<AtomicBool>,
    tell: &Sender<Result<Address, ConnectionError>>,
) -> Result<(), ConnectionError> {
    drop(sharpen_timers());
    let mut engine = Epoll::new(Clock::start())?;
    let address = engine.listen(&Address::Tcp(([127, 0, 0, 1], 0).into()))?;
    drop(tell.send(Ok(address)));
    Server::new(stack, stop).run(&mut engine);
    Ok(())
}
