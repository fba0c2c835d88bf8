//! The parts of a command line that a record may keep.

use record::{url_without_secrets, without_secrets};

#[test]
fn values_of_headers_are_cut_out() {
    let kept = |arguments: &[&str]| without_secrets(arguments.iter().copied()).join(" ");
    #[rustfmt::skip]
    let table: [(&[&str], &str); 7] = [
        (&["run", "--header", "Authorization: Bearer s3cret", "-n", "5"], "run --header Authorization: … -n 5"),
        (&["run", "-H", "Cookie: s3cret", "-H", "X: s3cret"],             "run -H Cookie: … -H X: …"),
        (&["--header=Authorization: s3cret"],                             "--header=Authorization: …"),
        (&["-HCookie:s3cret"],                                            "-HCookie: …"),
        (&["--header", "s3cret"],                                         "--header …"),
        (&["--header", "--header", "--size", "64"],                       "--header … --size 64"),
        (&["--headers", "x:y"],                                           "--headers x:y"),
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
    ];
    for (url, expected) in table {
        assert_eq!(url_without_secrets(url), expected);
        assert_eq!(without_secrets([url]), [expected]);
    }
}
