//! A kernel without an indispensable system call, simulated by a filter of system calls.

use crate::harness::Sandbox;
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

#[test]
fn a_kernel_without_epoll_pwait2_ends_what_serves_or_measures_with_what_is_needed() {
    let filter = SeccompFilter::new(
        [(EPOLL_PWAIT2, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(Errno::NOSYS.raw_os_error().cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    let sandbox = Sandbox::new();
    // A process inherits the filter of the thread that starts it.
    let run = |line: &str| {
        seccompiler::apply_filter(&program).unwrap();
        sandbox.run(line)
    };
    for line in ["--quick", "serve tcp", "tcp://127.0.0.1:9 -n 1"] {
        let ended = std::thread::scope(|scope| scope.spawn(|| run(line)).join().unwrap());
        ended.check(1, &["epoll_pwait2", "Linux "]);
        ended.check_no_result();
        assert_eq!(ended.stderr.matches("epoll_pwait2").count(), 1, "{ended:?}");
    }
    assert!(sandbox.records().is_empty(), "nothing was measured");
}

/// The number of the system call, on every architecture.
const EPOLL_PWAIT2: i64 = 441;
