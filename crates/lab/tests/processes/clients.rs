//! Clients that report, and others that do not.

use crate::scripts::{Script, launch, settings};
use lab::{Client, ClientError, Moment, Role, Run, Until};
use units::Nanos;

crate::tests![
    a_client_does_block_after_block,
    a_client_that_is_paused_ends_by_itself_too,
    a_client_that_dies_says_its_last_words,
    a_client_that_hangs_is_killed,
    garbage_ends_the_client,
    a_line_without_end_is_refused,
    words_outside_of_a_block_are_refused,
    what_it_does_not_support_is_told_apart,
];

fn run() -> Run {
    Run { warm_up: Nanos(5), until: Until::Messages(2), rate: None, patience: Nanos::from_secs(20) }
}

fn client(text: &str) -> (Script, Client) {
    let script = Script::shell(Role::Client, &format!("echo ready sh 1.0\n{text}"));
    let launch = launch();
    let client = Client::start(&script.subject, script.path(), &settings(), &launch).unwrap();
    (script, client)
}

fn failure(text: &str) -> (ClientError, Client) {
    let (_script, mut client) = client(text);
    let error = client.run(&run(), &mut |_| {}).unwrap_err();
    (error, client)
}

fn a_client_does_block_after_block() {
    let (script, mut client) = client(
        "while read line; do\necho \"$line $WIREBENCH_LIFE $WIREBENCH_KIND\" >> commands\n\
         echo measuring; echo measured; echo ok 2; echo wall_ns 9\necho round_trip_ns 4 5; echo done\ndone\n\
         echo end >> commands\n",
    );
    assert_eq!(client.library(), "sh 1.0");
    for _ in 0..2 {
        let mut moments = Vec::new();
        let report = client.run(&run(), &mut |moment| moments.push(moment)).unwrap();
        assert_eq!(moments, [Moment::Measuring, Moment::Measured]);
        assert_eq!((report.ok, report.wall), (2, Nanos(9)));
    }
    let ended = client.end().clone();
    assert_eq!((ended.code, ended.killed), (Some(0), vec![]), "it ends when its stdin is closed");
    let line = "run warm_up_ns=5 messages=2 long text\n";
    let commands = std::fs::read_to_string(script.path().join("commands")).unwrap();
    assert_eq!(commands, format!("{line}{line}end\n"));
}

fn a_client_that_is_paused_ends_by_itself_too() {
    let (_script, mut client) = client("while read line; do :; done\nexit 7\n");
    client.process().pause();
    // SIGTERM would have given the exit code 128 + 15 instead.
    assert_eq!(client.end().code, Some(7));
}

fn a_client_that_dies_says_its_last_words() {
    let (error, mut client) = failure("read line\necho measuring\necho refused >&2\nexit 4\n");
    assert_eq!(error.to_string(), "the client ended: exit code 4; it said:\nrefused");
    assert_eq!(client.process_mut().died().as_deref(), Some("exit code 4"));
}

fn a_client_that_hangs_is_killed() {
    let (_script, mut client) = client("read line\necho measuring\nsleep 60\n");
    let run = Run { patience: Nanos::from_millis(300), ..run() };
    let error = client.run(&run, &mut |_| {}).unwrap_err();
    assert!(matches!(error, ClientError::Late { .. }), "{error}");
    assert!(client.process_mut().died().is_some());
    assert!(client.process().pids().is_empty());
}

fn garbage_ends_the_client() {
    let (error, mut client) = failure("read line\nprintf 'measur\\033ing\\n'\nsleep 60\n");
    let expected = r#"the client's result: invalid line "measur\x1bing": expected `measuring`"#;
    assert_eq!(error.to_string(), expected);
    assert!(client.process_mut().died().is_some());
}

fn a_line_without_end_is_refused() {
    let (error, _client) = failure("read line\nhead -c 3000000 /dev/zero\nsleep 60\n");
    assert!(error.to_string().contains("it is longer than 1048576 bytes"), "{error}");
}

fn words_outside_of_a_block_are_refused() {
    // Each line is passed on before the next one is read; the script waits until each has been read.
    let script = Script::python(
        Role::Client,
        "import array, fcntl, termios, time\n\
         unread = array.array('i', [1])\n\
         for line in ('ready py 1.0', 'hello', 'again'):\n    \
             print(line, flush=True)\n    \
             unread[0] = 1\n    \
             while unread[0]: fcntl.ioctl(1, termios.FIONREAD, unread)\n\
         print(file=open('said', 'w'), flush=True)\n\
         time.sleep(60)\n",
    );
    let mut client = Client::start(&script.subject, script.path(), &settings(), &launch()).unwrap();
    script.written("said");
    let error = client.run(&run(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains(r#"invalid line "hello": no command was given"#), "{error}");
}

fn what_it_does_not_support_is_told_apart() {
    let (error, mut client) = failure("read line\necho unsupported binary messages\nread line\n");
    assert_eq!(error, ClientError::Unsupported { said: "binary messages".to_owned() });
    assert_eq!(client.process_mut().died(), None, "it may take another command");
    let (error, _client) = failure("read line\necho no rates >&2\nexit 127\n");
    assert_eq!(error, ClientError::Unsupported { said: "no rates".to_owned() });
}
