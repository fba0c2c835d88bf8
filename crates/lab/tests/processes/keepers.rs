//! Nothing is left running, whatever a subject does and however we end.

use crate::scripts::{Script, launch, runs, wait_until};
use lab::{Catalogue, Home, Launch, PrivateFolder, Role, Server, ServerSettings, Tools};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, ExitCode, Stdio};

crate::tests![
    a_subject_has_two_seconds_to_end_by_itself_and_its_exit_code_is_told,
    what_ignores_sigterm_is_killed_and_named,
    neither_a_second_fork_nor_a_new_session_gets_away,
    what_is_left_behind_by_one_that_ended_is_ended_and_named,
    nothing_is_left_when_we_are_killed,
    a_program_that_is_paused_does_not_outlive_a_keeper_that_is_killed,
    a_subject_that_is_paused_uses_no_cpu_and_is_ended_all_the_same,
    a_file_cannot_grow_without_end,
    a_full_stderr_stops_nobody_and_its_end_is_kept,
    a_subject_sees_only_what_is_meant_for_it,
    a_subject_is_kept_on_its_cpus,
    a_program_that_is_not_there_is_named,
    a_subject_says_its_version,
];

/// Makes this binary start the subject in a folder and wait to be killed.
pub(crate) const PARENT: &str = "start-and-wait";

pub(crate) fn parent() -> ExitCode {
    let folder = std::env::args_os().nth(2).expect("the folder of a script");
    let folder = std::path::Path::new(&folder);
    let script = Script::python(Role::Server, "");
    let launch = Launch { scratch: folder.to_owned(), ..launch() };
    let settings = ServerSettings::default();
    let server = Server::start(&script.subject, folder, &settings, &launch).unwrap();
    let _files = PrivateFolder::new(folder, "files").unwrap();
    println!("{}", server.process().keeper_pid());
    loop {
        std::thread::park();
    }
}

fn start(script: &Script) -> Server {
    let settings = ServerSettings::default();
    Server::start(&script.subject, script.path(), &settings, &launch()).unwrap()
}

fn a_subject_has_two_seconds_to_end_by_itself_and_its_exit_code_is_told() {
    let script = Script::shell(
        Role::Server,
        "trap 'echo bye >&2; exit 7' TERM\necho ready ws://127.0.0.1:1/\nwhile :; do sleep 0.01; done\n",
    );
    let mut server = start(&script);
    assert_eq!(server.process_mut().died(), None);
    let ended = server.process_mut().end().clone();
    assert_eq!((ended.code, ended.killed, ended.left), (Some(7), vec![], vec![]));
    assert_eq!(server.process_mut().died().as_deref(), Some("exit code 7"));
    assert!(server.process().stderr().ends_with("bye\n"), "{}", server.process().stderr());
}

fn what_ignores_sigterm_is_killed_and_named() {
    let script = Script::python(
        Role::Server,
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         print('ready ws://127.0.0.1:1/', flush=True)\nwhile True: time.sleep(1)\n",
    );
    let mut server = start(&script);
    let pids = server.process().pids();
    let ended = server.process_mut().end().clone();
    assert_eq!(ended.code, Some(128 + 9));
    assert!(matches!(&ended.killed[..], [name] if name.starts_with("python")), "{ended:?}");
    assert!(!pids.iter().any(|pid| runs(*pid)), "{pids:?}");
}

/// Detaches as far as a process can, and ignores SIGTERM and SIGHUP.
const DAEMON: &str = "\
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with open('daemon', 'w') as file: file.write(f'{os.getpid()}\\n')
        while True: time.sleep(1)
    os._exit(0)
os.wait()
while not os.path.exists('daemon'): time.sleep(0.01)
";

fn neither_a_second_fork_nor_a_new_session_gets_away() {
    let wait = "print('ready ws://127.0.0.1:1/', flush=True)\nwhile True: time.sleep(1)\n";
    let script = Script::python(Role::Server, &format!("{DAEMON}{wait}"));
    let mut server = start(&script);
    let daemon: u32 = script.written("daemon").parse().unwrap();
    assert!(server.process().pids().contains(&daemon));
    let ended = server.process_mut().end().clone();
    assert_eq!(ended.code, Some(128 + 15));
    assert_eq!(ended.killed.len(), 1, "{ended:?}");
    assert!(!runs(daemon));
}

fn what_is_left_behind_by_one_that_ended_is_ended_and_named() {
    let script = Script::python(
        Role::Server,
        &format!("{DAEMON}print('ready ws://127.0.0.1:1/', flush=True)\n"),
    );
    let mut server = start(&script);
    let daemon: u32 = script.written("daemon").parse().unwrap();
    wait_until("the daemon has ended", || !runs(daemon));
    let ended = server.process_mut().end().clone();
    assert_eq!(ended.code, Some(0));
    assert!(matches!(&ended.left[..], [name] if name.contains(&daemon.to_string())), "{ended:?}");
}

fn nothing_is_left_when_we_are_killed() {
    let script = Script::python(
        Role::Server,
        &format!(
            "{DAEMON}print('ready ws://127.0.0.1:1/', flush=True)\nwhile True: time.sleep(1)\n"
        ),
    );
    let mut us = Command::new(std::env::current_exe().unwrap())
        .arg(PARENT)
        .arg(script.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let daemon: u32 = script.written("daemon").parse().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(us.stdout.take().unwrap()), &mut line)
        .unwrap();
    let keeper: u32 = line.trim().parse().unwrap();
    let has_files = || {
        let mut entries = script.path().read_dir().unwrap();
        entries.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("wirebench-"))
    };
    assert!(runs(daemon) && runs(keeper) && has_files());
    us.kill().unwrap();
    us.wait().unwrap();
    wait_until("the daemon and its keeper have ended", || !runs(daemon) && !runs(keeper));
    assert!(!has_files());
}

fn a_program_that_is_paused_does_not_outlive_a_keeper_that_is_killed() {
    let script = Script::shell(Role::Server, "echo ready ws://127.0.0.1:1/\nexec sleep 60\n");
    let server = start(&script);
    let pids = server.process().pids();
    server.process().pause();
    let keeper = Pid::from_raw(server.process().keeper_pid().cast_signed()).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    wait_until("it has ended", || !pids.iter().any(|pid| runs(*pid)));
}

fn a_subject_that_is_paused_uses_no_cpu_and_is_ended_all_the_same() {
    let script = Script::shell(
        Role::Server,
        "(while :; do :; done) &\necho ready ws://127.0.0.1:1/\nwhile :; do :; done\n",
    );
    let mut server = start(&script);
    let pids = server.process().pids();
    assert_eq!(pids.len(), 2);
    let stopped = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "))
    };
    server.process().pause();
    wait_until("both are stopped", || pids.iter().all(stopped));
    server.process().resume();
    wait_until("both go on", || !pids.iter().any(stopped));
    server.process().pause();
    let ended = server.process_mut().end().clone();
    assert_eq!((ended.code, ended.killed), (Some(128 + 15), vec![]));
    assert!(!pids.iter().any(|pid| runs(*pid)));
}

fn a_file_cannot_grow_without_end() {
    let script = Script::python(
        Role::Server,
        "import os, signal, time\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n\
         print('ready ws://127.0.0.1:1/', flush=True)\n\
         file = os.open('log', os.O_WRONLY | os.O_CREAT)\nos.lseek(file, 256 << 20, 0)\nos.write(file, b'more')\n\
         time.sleep(60)\n",
    );
    let mut server = start(&script);
    wait_until("it has ended", || server.process().pids().is_empty());
    server.process_mut().end();
    let died = server.process_mut().died();
    assert_eq!(died.as_deref(), Some("it wrote a file of more than 256 MiB (SIGXFSZ)"));
}

fn a_full_stderr_stops_nobody_and_its_end_is_kept() {
    let script = Script::python(
        Role::Server,
        "import os, time\nfor _ in range(200): os.write(2, b'x' * 65535 + b'\\n')\nos.write(2, b'\\x1b[2Jlast\\n')\n\
         print('ready ws://127.0.0.1:1/', flush=True)\ntime.sleep(60)\n",
    );
    let mut server = start(&script);
    server.process_mut().end();
    let said = server.process().stderr();
    assert!(said.ends_with("xxx\n\\u{1b}[2Jlast\n"), "{}", &said[said.len() - 40..]);
    assert!(said.len() <= (64 << 10) + 10);
}

fn a_subject_sees_only_what_is_meant_for_it() {
    let script = Script::shell(
        Role::Server,
        "env | cut -d= -f1 | sort > names\nulimit -c > core\necho ready ws://127.0.0.1:1/\nsleep 60\n",
    );
    let _server = start(&script);
    let names = script.written("names");
    // The shell itself adds some.
    let names = names.lines().filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    let expected =
        "HOME LANG PATH WIREBENCH_BACKLOG WIREBENCH_HOST WIREBENCH_MESSAGE_MAX WIREBENCH_PORT";
    assert_eq!(names.collect::<Vec<_>>().join(" "), expected);
    assert_eq!(script.written("core"), "0");
}

fn a_subject_is_kept_on_its_cpus() {
    let script = Script::shell(
        Role::Server,
        "grep Cpus_allowed_list /proc/self/status | cut -f2 > cpus\necho ready ws://127.0.0.1:1/\nsleep 60\n",
    );
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let last = list.rsplit(['-', ',']).next().unwrap();
    let mut launch = launch();
    launch.cpus = vec![last.parse().unwrap()];
    let settings = ServerSettings::default();
    let _server = Server::start(&script.subject, script.path(), &settings, &launch).unwrap();
    assert_eq!(script.written("cpus"), last);
}

fn a_program_that_is_not_there_is_named() {
    let mut script = Script::shell(Role::Server, "");
    script.subject.manifest.start = vec!["venv/bin/nothing".to_owned()];
    let settings = ServerSettings::default();
    let error = Server::start(&script.subject, script.path(), &settings, &launch()).unwrap_err();
    let expected = "cannot start venv/bin/nothing: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), expected);
}

fn a_subject_says_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let version = |command: &str| {
        let text = format!(
            "role = \"server\"\nlanguage = \"sh\"\nlibrary = \"none\"\nversion = \"1\"\nfrom = \"own\"\n\
             licence = \"MIT\"\nspeaks = [\"ws\"]\nstart = [\"true\"]\n\
             ask-version = [\"sh\", \"-c\", \"{command}\"]\n"
        );
        let subject = folder.path().join("subjects/versioned");
        std::fs::create_dir_all(&subject).unwrap();
        std::fs::write(subject.join("subject.toml"), text).unwrap();
        let catalogue = Catalogue::read(&folder.path().join("subjects")).unwrap();
        let home = Home::new(folder.path().join("home"));
        let subject = catalogue.find("versioned").unwrap();
        let installed = home.install(subject, &Tools::new(launch(), false), &mut |_| {}).unwrap();
        lab::version(subject, &installed, &launch()).map_err(|error| error.to_string())
    };
    assert_eq!(version("echo; echo v1.2; echo more").as_deref(), Ok("v1.2"));
    let failed = |how: &str| Err(how.to_owned());
    assert_eq!(
        version("echo no >&2; exit 3"),
        failed("`sh -c echo no >&2; exit 3` failed: exit code 3; it said:\nno")
    );
    assert_eq!(version(":"), failed("`sh -c :` failed: it printed nothing"));
    let clock = engine::clock::Clock::start();
    let hangs = version("echo thinking >&2; sleep 60").unwrap_err();
    let expected = format!("it did not end within {}; it said:\nthinking", lab::VERSION_TIMEOUT);
    assert!(hangs.ends_with(&expected), "{hangs}");
    assert!(clock.now().0 < units::Nanos::from_secs(30).0, "the wait for a version is limited");
}
