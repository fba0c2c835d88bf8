//! The server of the page: one thread with a runtime of its own, in a process that measures nothing.

use crate::api::{self, History, Shared};
use crate::patience::Door;
use crate::runs::Runs;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use units::Nanos;

/// Everything that the page needs from the program around it.
pub struct Settings {
    /// The address to listen on; port 0 stands for any free port.
    pub listen: SocketAddr,
    /// The secret that every path begins with: letters and digits.
    pub token: String,
    /// The program that measures: `wirebench`.
    pub program: PathBuf,
    /// The folder for the files of experiments, while they are measured.
    pub folder: PathBuf,
    /// Opens the history; `Ok(None)`: there is none yet. `Err`: the reason why it cannot be opened.
    pub history: History,
}

/// A server that listens.
pub struct Ui {
    runtime: Runtime,
    socket: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The reason why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// The address is taken, or is not one of this machine.
    #[error("cannot listen at {address}: {error}; name another one, as in --listen 127.0.0.1:0")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The system refuses what the server needs for itself.
    #[error("cannot set up the server of the page: {0}")]
    Runtime(std::io::Error),
}

impl Ui {
    /// Opens the socket and the runtime. [`Ui::serve`] answers requests.
    ///
    /// # Errors
    ///
    /// [`UiError`]: the address is taken, or the system refuses.
    pub fn listen(settings: Settings) -> Result<Self, UiError> {
        let Settings { listen, token, program, folder, history } = settings;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(UiError::Runtime)?;
        let refused = |error| UiError::Address { address: listen, error };
        let socket = runtime.block_on(TcpListener::bind(listen)).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        let runs = Runs::new(program, folder);
        let shared = Arc::new(Shared { token, port: address.port(), runs, history });
        Ok(Self { runtime, socket, address, shared })
    }

    /// The URL of the page, with its token.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.shared.token)
    }

    /// The runs that were started here.
    pub fn runs(&self) -> &Runs {
        &self.shared.runs
    }

    /// Answers requests until `is_over` is true; it is called ten times a second.
    ///
    /// # Errors
    ///
    /// [`UiError::Runtime`]: the socket is gone.
    pub fn serve(self, mut is_over: impl FnMut(&Runs) -> bool) -> Result<(), UiError> {
        let Self { runtime, socket, shared, .. } = self;
        let served = runtime.block_on(async {
            let service = axum::serve(Door(socket), api::router(Arc::clone(&shared)));
            let mut looks = tokio::time::interval(LOOKED_EVERY.into());
            let over = async {
                while !is_over(&shared.runs) {
                    looks.tick().await;
                }
            };
            tokio::select! {
                served = service => served,
                () = over => Ok(()),
            }
        });
        // Does not wait for a request that still reads the history.
        runtime.shutdown_background();
        served.map_err(UiError::Runtime)
    }
}

impl fmt::Debug for Ui {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ui").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// The time between two calls of `is_over`.
const LOOKED_EVERY: Nanos = Nanos::from_millis(100);
