//! The parts of a command line that a record may keep.

use spec::Experiment;
use spec::secrets::{Secrets, text_without_secrets, url_without_secrets, without_secrets};

#[test]
fn values_of_headers_are_cut_out() {
    let kept = |arguments: &[&str]| without_secrets(arguments.iter().copied()).join(" ");
    #[rustfmt::skip]
    let table: [(&[&str], &str); 10] = [
        (&["run", "--header", "Authorization: Bearer s3cret", "-n", "5"], "run --header Authorization: … -n 5"),
        (&["run", "-H", "Cookie: s3cret", "-H", "X: s3cret"],             "run -H Cookie: … -H X: …"),
        (&["--header=Authorization: s3cret"],                             "--header=Authorization: …"),
        (&["-HCookie:s3cret"],                                            "-HCookie: …"),
        (&["--header", "s3cret"],                                         "--header …"),
        (&["--header", "--header", "--size", "64"],                       "--header … --size 64"),
        (&["--headers", "x:y"],                                           "--headers x:y"),
        (&["-qH", "X: s3cret", "-c", "5"],                                "-qH X: … -c 5"),
        (&["-vqHX:s3cret"],                                               "-vqHX: …"),
        (&["-cH"],                                                        "-cH"),
    ];
    for (arguments, expected) in table {
        assert_eq!(kept(arguments), expected);
    }
}

#[test]
fn user_names_and_passwords_of_urls_are_cut_out() {
    #[rustfmt::skip]
    let table = [
        ("ws://user:s3cret@localhost:80/a@b?c", "ws://…@localhost:80/a@b?c"),
        ("http://user@s3cret@host",             "http://…@host"),
        ("http://host?to=a@b",                  "http://host?to=a@b"),
        ("tcp://127.0.0.1:9000",                "tcp://127.0.0.1:9000"),
        ("unix:///tmp/socket",                  "unix:///tmp/socket"),
        ("not a url@all",                       "not a url@all"),
        ("user:s3cret@localhost:80",            "…@localhost:80"),
        ("ws://h/?a=1&token=s3cret&b=2",        "ws://h/?a=1&token=***&b=2"),
        ("ws://h/?API_KEY=s3cret",              "ws://h/?API_KEY=***"),
        ("ws://h/?sig=s3cret&design=2&token=",  "ws://h/?sig=***&design=2&token="),
    ];
    for (url, expected) in table {
        assert_eq!(url_without_secrets(url), expected);
        assert_eq!(without_secrets([url]), [expected]);
    }
}

#[test]
fn every_url_of_an_argument_loses_its_secrets() {
    #[rustfmt::skip]
    let table = [
        ("ws://u:s3cret@a,ws://u:s3cret@b",             "ws://…@a,ws://…@b"),
        ("--servers=ws://a/?token=s3cret ws://u:s3cret@b/", "--servers=ws://a/?token=*** ws://…@b/"),
        ("ws://u:s3cret,x@h/",                          "ws://…@h/"),
        ("ws://u:s3cret@h/?to=http://b/&token=s3cret",  "ws://…@h/?to=http://b/&token=***"),
        ("ws://u:s3,cret@a,ws://u:s3cret@b",            "ws://…@a,ws://…@b"),
    ];
    for (argument, expected) in table {
        assert_eq!(without_secrets([argument]), [expected]);
    }
}

#[test]
fn urls_in_a_sentence_lose_their_secrets_and_nothing_else() {
    #[rustfmt::skip]
    let table = [
        ("cannot reach ws://u:s3cret@h/: refused",      "cannot reach ws://…@h/: refused"),
        ("`http://h/?token=s3cret` is 'ws://u:s3cret@h'", "`http://h/?token=***` is 'ws://…@h'"),
        ("at ws://h/?token=***: refused",               "at ws://h/?token=***: refused"),
        ("npm:ws@8.0\n  a  b",                          "npm:ws@8.0\n  a  b"),
    ];
    for (text, expected) in table {
        assert_eq!(text_without_secrets(text), expected);
    }
}

#[test]
fn what_a_peer_sends_back_of_a_secret_is_cut_out() {
    let secrets = secrets_of(
        "ws://h/?token=hunter2&a=public",
        &[
            "Authorization: Bearer s3cret-token",
            "Cookie: id=cookie\"value; theme=dark",
            "X-Short: 12345",
        ],
    );
    #[rustfmt::skip]
    let table = [
        ("no user for hunter2 here",                "no user for *** here"),
        ("\"Bearer s3cret-token\"",                 "\"***\""),
        ("token s3cret-token, id cookie\"value",    "token ***, id ***"),
        (r#"cookie\"value is escaped"#,              "*** is escaped"),
        ("cut off in a quotation: \"s3cret-t\"",    "cut off in a quotation: \"***\""),
        ("cut off: s3cret-…",                       "cut off: ***…"),
        ("s3cret-other is another, dark and 12345", "s3cret-other is another, dark and 12345"),
        ("Bearer of public news",                   "Bearer of public news"),
        ("",                                        ""),
    ];
    for (said, expected) in table {
        assert_eq!(secrets.cut(said), expected);
    }
    assert_eq!(Secrets::default().cut("hunter2"), "hunter2");
}

#[test]
fn a_secret_of_a_conversation_is_cut_out_of_what_a_server_says() {
    let options =
        spec::Options { conversation: Some("./chat.toml".to_owned()), ..spec::Options::default() };
    let text = "speaks = \"ws\"\n[vars]\ntoken = { env = \"CHAT_TOKEN\" }\n\
                user = { csv = \"users.csv\", column = \"name\" }\n\
                word = { csv = \"users.csv\", column = \"Password\" }\n\
                pin = { csv = \"users.csv\", column = \"code\" }\n\
                [request.say]\nsend = '{\"id\":${id},\"token\":\"${token}\"}'\nreply = { id = \"$.id\" }\n";
    let users =
        "name,Password,code\nalexandra,correct-horse,314159\nbenjamin,battery staple,271828\n";
    let read = |path: &str, _| match path.ends_with("users.csv") {
        true => Ok(users.as_bytes().to_vec()),
        false => Ok(text.as_bytes().to_vec()),
    };
    let environment = |name: &str| (name == "CHAT_TOKEN").then(|| "hunter2-of-chat".to_owned());
    let pack = |_: &str, json: &[u8], _| Ok(json.to_vec());
    let context = spec::Context { environment: &environment, read: &read, pack: &pack, seed: 7 };
    let server = spec::Server::Given("ws://h/".parse().unwrap());
    let workloads = options.workloads("it", &server, &context).unwrap();
    let secrets = Experiment { workloads, ..Experiment::default() }.secrets();
    #[rustfmt::skip]
    let table = [
        ("no user for hunter2-of-chat here",    "no user for *** here"),
        ("alexandra: not correct-horse",        "alexandra: not ***"),
        ("benjamin: not battery staple, 314159", "benjamin: not ***, ***"),
        ("benjamin: not \"battery\"",           "benjamin: not \"***\""),
        ("271827, 2718281, corret-horse",       "271827, ***1, corret-horse"),
    ];
    for (said, expected) in table {
        assert_eq!(secrets.cut(said), expected);
    }
}

#[test]
fn secrets_of_every_url_are_given_again() {
    let mut experiment = experiment_of("ws://h/?token=hunter2", &[]);
    experiment.workloads[0].publish_to = Some("http://h:81/?token=hunter2".parse().unwrap());
    let json = serde_json::to_string(&experiment).unwrap();
    assert!(!json.contains("hunter2"), "{json}");
    let read = |path: &str, _| Err(format!("cannot read {path}"));
    let given = |json: &str, headers: &[&str]| {
        let mut experiment: Experiment = serde_json::from_str(json).unwrap();
        let fields: Vec<String> = headers.iter().map(|field| (*field).to_owned()).collect();
        experiment.give_secrets(&fields, &read).map(|()| experiment)
    };
    let again = given(&json, &["token: hunter2"]).unwrap();
    assert_eq!(again.workloads[0].publish_to, experiment.workloads[0].publish_to);
    assert_eq!(again.workloads[0].server, experiment.workloads[0].server);
    let missing = |experiment: &Experiment| {
        given(&serde_json::to_string(experiment).unwrap(), &[]).unwrap_err().to_string()
    };
    let problem = missing(&experiment);
    assert!(problem.contains("workloads[0].server: the value of `token` in the URL"), "{problem}");
    experiment.workloads[0].server = spec::Server::Given("ws://h/".parse().unwrap());
    let problem = missing(&experiment);
    assert!(problem.contains("workloads[0].publish_to: the value of `token`"), "{problem}");
}

/// The secrets of an experiment at `url` with these headers.
fn secrets_of(url: &str, headers: &[&str]) -> Secrets {
    experiment_of(url, headers).secrets()
}

/// An experiment at `url` with these headers.
fn experiment_of(url: &str, headers: &[&str]) -> Experiment {
    let options = spec::Options {
        header: headers.iter().map(|header| (*header).to_owned()).collect(),
        ..spec::Options::default()
    };
    let read = |path: &str, _| Err(format!("cannot read {path}"));
    let pack = |_: &str, json: &[u8], _| Ok(json.to_vec());
    let context = spec::Context { environment: &|_| None, read: &read, pack: &pack, seed: 7 };
    let server = spec::Server::Given(url.parse().expect("a URL"));
    let workloads = options.workloads("it", &server, &context).expect("valid options");
    Experiment { workloads, ..Experiment::default() }
}
