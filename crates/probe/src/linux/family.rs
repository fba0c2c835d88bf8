//! The descendants of a process and the CPU time of those that have ended, from `/proc/PID/task/TID/children` and
//! `/proc/PID/stat` (proc(5)).

use units::Nanos;

/// All descendants of process `root`, without `root` itself; empty if there is no such process. A process that starts
/// or ends during the scan may be missing.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = children(root);
    let mut next = 0;
    while let Some(&pid) = found.get(next).filter(|_| found.len() < DESCENDANTS_MAX) {
        found.extend(children(pid));
        next += 1;
    }
    found
}

/// CPU time (user and system) of all children of process `pid` that have ended and been waited for, including theirs in
/// turn, in steps of 10 ms; `None` if there is no such process.
pub fn reaped_cpu(pid: u32) -> Option<Nanos> {
    reaped_said(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let said = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children"));
    let all: Vec<String> = threads.flatten().filter_map(|thread| said(thread).ok()).collect();
    all.iter().flat_map(|said| said.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
}

/// Reads fields 16 and 17. The name of the program (field 2) is in parentheses, and may itself contain any character.
fn reaped_said(stat: &str) -> Option<Nanos> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(16 - 3);
    let mut ticks = || -> Option<u64> { fields.next()?.parse().ok() };
    Some(Nanos((ticks()?.saturating_add(ticks()?)).saturating_mul(TICK.0)))
}

/// `USER_HZ` is 100 on every architecture that matters here, whatever the timer's HZ.
const TICK: Nanos = Nanos::from_millis(10);
/// The scan stops once a program has this many processes.
const DESCENDANTS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_stat_is_read_whatever_the_program_is_called() {
        let stat = "7 (a) b 1 (c)) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 13 14 20 0 1 0 5 6 7";
        assert_eq!(reaped_said(stat), Some(Nanos::from_millis(270)));
        assert_eq!(reaped_said("7 (a) S 1 7"), None);
        assert_eq!(reaped_said(""), None);
    }

    #[test]
    fn children_of_children_are_found() {
        // The shell has a child that has a child; all wait for their stdin to end.
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'cat; :' <&0; :"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = shell.stdin.take().unwrap();
        while descendants(shell.id()).len() < 2 {
            assert!(shell.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        assert!(descendants(std::process::id()).contains(&shell.id()));
        drop(stdin);
        shell.wait().unwrap();
        assert!(descendants(shell.id()).is_empty());
    }
}
