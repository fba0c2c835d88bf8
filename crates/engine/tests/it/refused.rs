//! Kernels that lack a system call, or an option of one, as simulated by a filter of system calls.

use crate::kinds::{Kind, Tcp};
use crate::process::Process;
use engine::Completion::{Connected, Failed};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{ConnectionError, Engine};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

#[test]
fn a_kernel_without_epoll_pwait2_is_told_what_is_needed() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let made =
            refusing(libc::SYS_epoll_pwait2, None, errno, || Epoll::new(Clock::start()).err());
        assert_eq!(made, Some(ConnectionError::NoEpollPwait2));
        let words = made.unwrap().to_string();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert!(words.contains(release.trim()) && words.contains("epoll_pwait2"), "{words}");
    }
}

#[test]
fn a_source_address_needs_no_option_that_leaves_its_port_open() {
    let mut kind = Tcp::new();
    let mut server = kind.engine();
    let address = server.listen(&kind.address()).unwrap();
    let option = Some(libc::IP_BIND_ADDRESS_NO_PORT);
    refusing(libc::SYS_setsockopt, option, libc::ENOPROTOOPT, || {
        let mut client = Process::new(kind.engine());
        for source in [[127, 1, 2, 3], [127, 1, 2, 4], [127, 1, 2, 3]] {
            let there = client.engine.connect(&address, Some(source.into()));
            assert_eq!(client.next(), Connected(there));
        }
        let elsewhere = client.engine.connect(&address, Some([192, 0, 2, 1].into()));
        assert_eq!(client.next(), Failed(elsewhere, ConnectionError::AddressNotAvailable));
    });
    // Any other refusal is an error.
    refusing(libc::SYS_setsockopt, option, libc::EPERM, || {
        let mut client = Process::new(kind.engine());
        let there = client.engine.connect(&address, Some([127, 1, 2, 3].into()));
        assert_eq!(client.next(), Failed(there, ConnectionError::PermissionDenied));
    });
}

/// Runs `then` in a thread for which the system call `number` fails with `errno`: always, or where its third argument
/// is `option`.
fn refusing<T: Send>(
    number: libc::c_long,
    option: Option<libc::c_int>,
    errno: libc::c_int,
    then: impl FnOnce() -> T + Send,
) -> T {
    let is = |option: libc::c_int| {
        let value = u64::from(option.cast_unsigned());
        let equal = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        SeccompRule::new(vec![equal.unwrap()]).unwrap()
    };
    let rules = option.map(is).into_iter().collect();
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(
        [(number, rules)].into(),
        SeccompAction::Allow,
        refuse,
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    let in_thread = || {
        seccompiler::apply_filter(&program).unwrap();
        then()
    };
    std::thread::scope(|scope| scope.spawn(in_thread).join().unwrap())
}
