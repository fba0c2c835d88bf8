//! A program of the user's that publishes in rooms: started once, and told on its stdin what to publish when that is
//! due.
//!
//! Workers speak with it as with any other end of publishers, over a Unix socket of ours. A thread takes their lines
//! from there and writes each whole into the pipe that the program reads. While the pipe is full it takes none, so that
//! workers find their socket full as well: they wait for nobody, and leave the message unsent.
//!
//! Left out: what becomes of a message, which is known by its receivers alone (crate `drive`).

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
    /// The folder of the socket, which lives as long as this.
    _folder: PrivateFolder,
}

impl Program {
    /// Starts the program of a shell's line, for the server at `url`, whose place may be left open in the line.
    ///
    /// # Errors
    ///
    /// The reason for which it is not started; then nothing of it is left running.
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

    /// The place where workers say what it is to publish.
    pub(crate) fn place(&self) -> Endpoint {
        Endpoint::new(Protocol::Unix.plain(), spec::Address::Unix(self.socket.clone()))
    }

    /// Its end in words, if it has ended, or reads no more of what it is told.
    pub(crate) fn ended(&self) -> Option<String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..END_POLLS {
            if let Some(status) = process.died() {
                let said = last_words(&process.stderr());
                return Some(format!("the program of --publish-with has ended: {status}{said}"));
            }
            // Its end takes a moment to be seen.
            match &self.teller {
                Some(teller) if teller.is_finished() => sleep(END_POLL),
                Some(_) | None => return None,
            }
        }
        Some("the program of --publish-with has closed its stdin, and is told no more".to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Whoever waits for it to read goes on when nobody can.
        self.process.get_mut().unwrap_or_else(PoisonError::into_inner).end();
        if let Some(teller) = self.teller.take() {
            drop(teller.join());
        }
    }
}

/// The line of a shell with the place of the server in it.
fn placed(line: &str, url: &Endpoint) -> String {
    let line = line.replace("{url}", &url.to_string());
    match &url.address {
        spec::Address::Host { port, .. } => line.replace(spec::Started::PORT, &port.to_string()),
        spec::Address::Unix(_) => line,
    }
}

/// Passes lines on.
struct Teller {
    pipe: ChildStdin,
    /// The begin of a line that has no end yet, of each connection at its index.
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
    /// Passes on all whole lines of the connection at an index that has said so many more bytes; false if nobody reads.
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

    /// The connection at an index is gone: a line that it has begun is never told.
    fn forget(&mut self, index: usize) -> bool {
        self.begun.get_mut(index).into_iter().for_each(Vec::clear);
        true
    }
}

/// The most that is read at once.
const RX_LEN: usize = 64 << 10;
/// Time between two looks at whether all is over.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);
/// Time between two looks for the end of a program that reads no more, and the most looks: for 1 s.
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
