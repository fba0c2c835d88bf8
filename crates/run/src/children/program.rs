//! A user's program that publishes in rooms: started once, and given on its stdin each message to publish when it is
//! due.
//!
//! Workers write to it as to any other server, over a Unix socket of ours. A thread reads their lines from the socket
//! and writes whole lines into the pipe that the program reads. While the pipe is full the thread reads nothing, so the
//! workers' sockets fill up as well: they do not wait, and leave the message unsent.
//!
//! Left out: the fate of a message, which only its receivers know (crate `drive`).

use super::servers::last_words;
use crate::reach::Context;
use engine::clock::sleep;
use engine::epoll::Epoll;
use engine::{Address, Completion, Engine, Node, Step, thread};
use lab::{Launch, PrivateFolder, Process, Purpose};
use spec::{Endpoint, Protocol};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use units::Nanos;

/// A program that was started. It is ended when dropped.
#[derive(Debug)]
pub(crate) struct Program {
    process: Mutex<Process>,
    socket: PathBuf,
    /// True once nobody publishes any more.
    is_over: Arc<AtomicBool>,
    teller: Option<JoinHandle<()>>,
    /// The folder of the socket, which lives as long as this value.
    _folder: PrivateFolder,
}

impl Program {
    /// Starts the program of a shell command `line` for the server at `url`; the line may contain placeholders for the
    /// server's place.
    ///
    /// # Errors
    ///
    /// The reason why it did not start; then no process of it is left running.
    pub(crate) fn start(
        line: &str,
        url: &Endpoint,
        launch: &Launch,
        context: Context<'_>,
    ) -> Result<Self, String> {
        let folder = PrivateFolder::new(&launch.scratch, "publish")?;
        let socket = folder.path("socket");
        let command = ["/bin/sh".to_owned(), "-c".to_owned(), placed(line, url)];
        let program =
            lab::Program { command: &command, folder: Path::new("."), purpose: Purpose::Told };
        let mut process = Process::start(&program, launch).map_err(|error| error.to_string())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut teller = Teller {
            pipe: process.take_stdin(),
            begun: Vec::new(),
            is_over: Arc::clone(&is_over),
            rx: vec![0; RX_LEN].into(),
        };
        let (place, clock) = (Address::Unix(socket.clone()), context.clock);
        let (ready, is_ready) = channel();
        let tell = move || {
            let engine = Epoll::new(clock);
            let engine = engine.and_then(|mut it| it.listen(&place).map(|_| it));
            drop(ready.send(engine.as_ref().map(|_| ()).map_err(ToString::to_string)));
            if let Ok(mut engine) = engine {
                engine::run(&mut engine, &mut teller);
            }
        };
        let teller = thread::start("publisher", tell).map_err(|error| error.to_string())?;
        is_ready.recv().map_err(|error| error.to_string())??;
        let process = Mutex::new(process);
        Ok(Self { process, socket, is_over, teller: Some(teller), _folder: folder })
    }

    /// The address to which workers write what it is to publish.
    pub(crate) fn place(&self) -> Endpoint {
        Endpoint::new(Protocol::Unix.plain(), spec::Address::Unix(self.socket.clone()))
    }

    /// Describes its end, if it has ended or has stopped reading its stdin.
    pub(crate) fn ended(&self) -> Option<String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..END_POLLS {
            if let Some(status) = process.died() {
                let said = last_words(&process.stderr());
                return Some(format!("the program of --publish-with has ended: {status}{said}"));
            }
            // Its end takes a moment to become visible.
            match &self.teller {
                Some(teller) if teller.is_finished() => sleep(END_POLL),
                Some(_) | None => return None,
            }
        }
        Some(
            "the program of --publish-with has closed its stdin, so nothing more can be published"
                .to_owned(),
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A thread blocked in writing to it returns once its process is gone.
        self.process.get_mut().unwrap_or_else(PoisonError::into_inner).end();
        if let Some(teller) = self.teller.take() {
            drop(teller.join());
        }
    }
}

/// The shell command with the server's place filled in.
fn placed(line: &str, url: &Endpoint) -> String {
    let line = line.replace("{url}", &url.to_string());
    match &url.address {
        spec::Address::Host { port, .. } => line.replace(spec::Started::PORT, &port.to_string()),
        spec::Address::Unix(_) => line,
    }
}

/// Passes lines on to the program.
struct Teller {
    pipe: ChildStdin,
    /// For each connection, by its index, the start of a line whose end has not arrived yet.
    begun: Vec<Vec<u8>>,
    is_over: Arc<AtomicBool>,
    rx: Box<[u8]>,
}

impl Node<Epoll> for Teller {
    fn step(&mut self, engine: &mut Epoll) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            let is_read = match completion {
                Completion::Received { connection, len } => self.tell(connection.index(), len),
                Completion::Ended(id) => {
                    engine.close(id);
                    self.forget(id.index())
                }
                Completion::Failed(id, _) => self.forget(id.index()),
                Completion::Accepted(_) | Completion::Connected(_) => true,
            };
            if !is_read {
                return Step::Done;
            }
        }
        match self.is_over.load(Ordering::Relaxed) {
            true => Step::Done,
            false => Step::Wait(engine.now() + LOOK_EVERY),
        }
    }
}

impl Teller {
    /// Passes on all complete lines of the connection at `index`, which has received `len` more bytes; false if the
    /// program no longer reads.
    fn tell(&mut self, index: usize, len: usize) -> bool {
        if self.begun.len() <= index {
            self.begun.resize_with(index + 1, Vec::new);
        }
        let begun = &mut self.begun[index];
        begun.extend_from_slice(&self.rx[..len]);
        let Some(end) = begun.iter().rposition(|byte| *byte == b'\n') else { return true };
        let is_read = self.pipe.write_all(&begun[..=end]).is_ok();
        begun.drain(..=end);
        is_read
    }

    /// Drops the unfinished line of the connection at `index`, which is gone.
    fn forget(&mut self, index: usize) -> bool {
        self.begun.get_mut(index).into_iter().for_each(Vec::clear);
        true
    }
}

/// The most that is read at once.
const RX_LEN: usize = 64 << 10;
/// Time between two checks of whether publishing is over.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);
/// Time between two checks for the end of a program that has stopped reading, and the most checks: for 1 s.
const END_POLL: Nanos = Nanos::from_millis(5);
const END_POLLS: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_place_of_the_server_where_it_leaves_it_open() {
        let url = |text: &str| text.parse::<Endpoint>().unwrap();
        let line = "publish {url} --port {port} {port}";
        assert_eq!(placed(line, &url("ws://h:81/a")), "publish ws://h:81/a --port 81 81");
        assert_eq!(placed("publish", &url("ws://h:81")), "publish");
        assert_eq!(placed("publish {port}", &url("unix:/a/b")), "publish {port}");
    }
}
