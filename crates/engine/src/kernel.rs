//! The error message for a kernel without a system call that the engine needs.

/// Describes a kernel that does not execute `epoll_pwait2`, with the running release and what to do next.
pub(crate) fn no_epoll_pwait2() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    words(release.trim())
}

/// Describes a kernel of this release (empty if unknown) that does not execute `epoll_pwait2`.
fn words(release: &str) -> String {
    let numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut numbers = numbers.map_while(|number| number.parse::<u32>().ok());
    let version = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    if version >= SINCE {
        return format!(
            "Linux {release} has the system call epoll_pwait2, but a sandbox refuses it: allow it there (in a \
             container, in its seccomp profile), or update the container runtime"
        );
    }
    let kernel = if release.is_empty() { "this kernel" } else { &format!("Linux {release}") };
    let [major, minor] = SINCE;
    format!(
        "{kernel} does not have the system call epoll_pwait2: wirebench needs Linux {major}.{minor} or later; run it \
         on a machine with such a kernel"
    )
}

/// The first release of Linux with `epoll_pwait2`.
const SINCE: [u32; 2] = [5, 11];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_told_from_a_sandbox() {
        for old in ["5.10.0-28-amd64", "4.19.0", "5.4.0-150-generic", "5.4", ""] {
            let words = words(old);
            assert!(
                words.contains(&format!("{old} does not have the system call epoll_pwait2")),
                "{words}"
            );
            assert!(words.contains("needs Linux 5.11 or later; run it on"), "{words}");
        }
        for new in ["5.11.0", "5.15.0-25-generic", "6.1.0-18-amd64", "10.0"] {
            let words = words(new);
            let begin = format!(
                "Linux {new} has the system call epoll_pwait2, but a sandbox refuses it: allow it"
            );
            assert!(words.starts_with(&begin), "{words}");
        }
        assert!(words("").starts_with("this kernel does not have"));
    }
}
