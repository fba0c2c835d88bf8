//! Tells the program which commit it was built from, where git knows.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Some(output) = commit.ok().filter(|output| output.status.success()) {
        println!(
            "cargo::rustc-env=WIREBENCH_COMMIT={}",
            String::from_utf8_lossy(&output.stdout).trim()
        );
    }
}
