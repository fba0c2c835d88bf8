//! Network namespaces: ports that no other program has, and links that can be cut. Only root can create them, with
//! `CAP_SYS_ADMIN`.

use crate::harness::say_skipped;
use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A network namespace of this thread, and of all processes and threads that it starts, with nothing but loopback. The
/// thread returns to its previous namespace when this is dropped.
pub(crate) struct Namespace {
    /// The namespace that the thread came from; `None` if it has not left it.
    before: Option<File>,
    /// Not `Send`: only the thread itself can go back.
    _stays: PhantomData<*const ()>,
}

impl Namespace {
    /// Moves this thread into a new one. If it may not, as root in most containers, it stays, and says so.
    pub(crate) fn enter() -> Self {
        let name = new_name();
        let add = || Command::new("ip").args(["netns", "add", &name]).status();
        let is_made = geteuid().is_root() && add().is_ok_and(|status| status.success());
        let before = is_made.then(|| {
            let before = File::open(OF_THREAD).unwrap();
            move_into(&File::open(format!("/run/netns/{name}")).unwrap()).unwrap();
            // It lives on without a name while a thread is in it.
            ip(&format!("netns delete {name}"));
            ip("link set lo up");
            before
        });
        if before.is_none() {
            say_skipped(
                "a network of its own for a test: only root makes network namespaces, with CAP_SYS_ADMIN",
            );
        }
        Self { before, _stays: PhantomData }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.before.iter().for_each(|before| move_into(before).unwrap());
    }
}

fn move_into(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// A second namespace beside that of this thread, and the link to it; both are gone when it is dropped.
pub(crate) struct Link {
    pub(crate) name: String,
    /// The thread leaves its own namespace after that.
    _here: Namespace,
}

impl Link {
    pub(crate) const HERE: &str = "10.231.77.1";
    pub(crate) const THERE: &str = "10.231.77.2";

    /// `None`, and a message, if only root could create it.
    pub(crate) fn new() -> Option<Self> {
        let here = Namespace::enter();
        here.before.as_ref()?;
        let link = Self { name: new_name(), _here: here };
        let name = &link.name;
        for line in [
            format!("netns add {name}"),
            format!("link add name wb-here type veth peer name wb-there netns {name}"),
            format!("addr add {}/24 dev wb-here", Self::HERE),
            "link set dev wb-here up".to_owned(),
            format!("-n {name} addr add {}/24 dev wb-there", Self::THERE),
            format!("-n {name} link set dev wb-there up"),
            format!("-n {name} link set lo up"),
        ] {
            ip(&line);
        }
        Some(link)
    }

    pub(crate) fn set(&self, state: &str) {
        ip(&format!("link set dev wb-here {state}"));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(Command::new("ip").args(["netns", "delete", &self.name]).status());
    }
}

/// A name that no other namespace has.
fn new_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("wb{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn ip(line: &str) {
    let status = Command::new("ip").args(line.split_whitespace()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "ip {line}: {status:?}");
}

const OF_THREAD: &str = "/proc/thread-self/ns/net";

#[test]
fn a_thread_in_a_namespace_has_loopback_alone_and_is_back_after_it() {
    let now = || std::fs::read_link(OF_THREAD).unwrap();
    let interfaces = || {
        let found = Command::new("ip").args(["-brief", "link"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    let before = now();
    let namespace = Namespace::enter();
    if namespace.before.is_none() {
        return;
    }
    assert_ne!(now(), before);
    let of_child = interfaces();
    assert!(of_child.starts_with("lo ") && of_child.lines().count() == 1, "{of_child}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    crate::peers::Stream::connect(listener.local_addr().unwrap()).unwrap();
    drop(namespace);
    assert_eq!(now(), before);
}
