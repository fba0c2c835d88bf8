//! Commands of other programs: run, and shown so that a person can repeat them.

use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The folder of the workspace, which is the working directory of every command.
///
/// As cargo sets it at run time: two clones may share a target folder, and so this program.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let here = std::env::var_os("CARGO_MANIFEST_DIR")
            .unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        PathBuf::from(here).parent().expect("xtask is a folder of the workspace").to_owned()
    })
}

/// The folder that cargo builds into, and that everything else is installed below.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// `program` in the folder of the workspace, with nothing on its standard input.
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// `cargo` with `arguments`, split at spaces.
pub(crate) fn cargo(arguments: &str) -> Command {
    let mut command = command("cargo");
    command.args(arguments.split_whitespace());
    command
}

/// Parts of the program that are not in its usual build.
pub(crate) const FEATURES: &str = "wirebench/fleet,wirebench/otlp,wirebench/postgres";

/// Runs to the end; its output goes where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end; what it prints goes where ours goes, and each line of its standard output to `read` first.
pub(crate) fn run_reading(command: &mut Command, mut read: impl FnMut(&str)) -> Result<()> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start `{}`", shown(command)))?;
    let printed = child.stdout.take().expect("it is a pipe");
    for line in BufReader::new(printed).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        read(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns its standard output. Its messages are in the error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}\n{}", shown(command), output.status, words.trim_end());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` did not print UTF-8", shown(command)))
}

/// Sends a signal, by its name without `SIG`, to a process of ours.
pub(crate) fn signal(signal: &str, id: u32) -> Result<()> {
    output(command("kill").arg(format!("-{signal}")).arg(id.to_string())).map(drop)
}

/// True if the program starts and succeeds; its output is not shown.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it in the folder of the workspace.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    if let Some(folder) =
        command.get_current_dir().and_then(|folder| folder.strip_prefix(root()).ok())
        && folder != Path::new("")
    {
        words.push(format!("cd {} &&", folder.display()));
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), quoted(&value.to_string_lossy())));
        }
    }
    words.push(quoted(&command.get_program().to_string_lossy()));
    words.extend(command.get_args().map(|argument| quoted(&argument.to_string_lossy())));
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut doc = cargo("doc --no-deps");
        doc.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown(&doc), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
        let mut elsewhere = command("make");
        elsewhere.current_dir(root().join("bench/liars")).arg("it's");
        assert_eq!(shown(&elsewhere), r"cd bench/liars && make 'it'\''s'");
    }

    #[test]
    fn a_failed_command_names_itself() {
        let error = output(&mut command("false")).unwrap_err();
        assert_eq!(error.to_string().trim_end(), "`false` failed: exit status: 1");
        let error = run(&mut command("no-such-program")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program`");
    }
}
