//! `wirebench init`: the file of a conversation to start from, for a server that listens.

use super::by_hand::ByHand;
use super::values;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::Terminal;
use run::talk::Talk as Asked;
use spec::conversation::READY_MADE;
use spec::{Carries, Context, Conversation, Endpoint, Server};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use units::Nanos;
use wire::discovery::{Finding, Manner};

/// Look at a server, and write a conversation to start from
///
/// It looks at the server over at most 8 connections, one a second: with upgrades to WebSocket, GET for a few paths,
/// and silence. It sends no message, no login, no POST, and nothing more after a 401, 403 or 429. If the server speaks
/// a protocol whose conversation comes with the program, the file is that conversation; otherwise it is a short one to
/// fill in, with what the server said.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Init {
    /// The server, as in ws://127.0.0.1:8080/chat
    #[arg(value_name = "URL")]
    url: String,
    /// The file to write [default: the name of the conversation, in this folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    by_hand: ByHand,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench init ws://127.0.0.1:8080
  wirebench init ws://127.0.0.1:8080/chat --output chat.toml
  wirebench init wss://127.0.0.1:8443 --ca tls/ca.pem --force   replace the file";

impl Init {
    /// Looks at the server, writes the file, and says what to do next.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let url: Endpoint =
            self.url.parse().map_err(|error| Failure::usage(format!("{}: {error}", self.url)))?;
        if let Some(path) = &self.output {
            self.check_free(path)?;
        }
        let options = self.by_hand.options();
        let (read, pack) = (&values::content, &values::packed);
        let context = Context { read, environment: &values::environment, pack, seed: 0 };
        let workloads = options.workloads("init", &Server::Given(url.clone()), &context);
        let workload = workloads.map_err(Failure::usage)?.remove(0);
        let wish = signals::listen()?;
        let asked = Asked {
            workload: &workload,
            public_allowed: self.by_hand.i_may_load_this_target,
            wait: Nanos::ZERO,
        };
        terminal.say(&format!("looking at {url}: at most 8 connections, one a second"));
        let secrets = spec::secrets_of(std::slice::from_ref(&workload));
        let found = run::discover::discover(asked, &wish.signal);
        let mut found = found.map_err(|error| Failure::from(error).without(&secrets))?;
        // They contain words of the server.
        found.words = secrets.cut(&found.words).replace(char::is_control, " ");
        let Some(draft) = Draft::of(&url, &found) else {
            terminal
                .result(&format!("{url}: {}\nNo conversation: {}\n", found.words, found.advice))?;
            return Ok(Exit::UNREACHABLE);
        };
        let path = self.output.clone().unwrap_or_else(|| format!("{}.toml", draft.name).into());
        let at = draft.place.to_string();
        let named = named(&path);
        let text = draft.text(&at, &named);
        Conversation::read(draft.name, &text).map_err(Failure::usage)?;
        self.write(&path, &text)?;
        terminal.result(&format!(
            "{url}: {}\nwrote {}\n\n\
             next: wirebench talk '{at}' --conversation {named}   plays it once\n      \
             wirebench run '{at}' --conversation {named}    measures it\n",
            found.words,
            path.display(),
        ))?;
        Ok(Exit::DONE)
    }

    /// Refuses to replace a file without being told to.
    fn check_free(&self, path: &Path) -> Result<(), Failure> {
        if path.exists() && !self.force {
            let advice = "name another with --output, or replace it with --force";
            return Err(Failure::usage(format!("{} already exists; {advice}", path.display())));
        }
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        self.check_free(path)?;
        let mut options = OpenOptions::new();
        options.write(true);
        match self.force {
            true => options.create(true).truncate(true),
            false => options.create_new(true),
        };
        let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
    }
}

/// A file to start from.
struct Draft<'a> {
    /// The name of the conversation.
    name: &'a str,
    /// The endpoint of the conversation.
    place: Endpoint,
    /// The comment at its head.
    words: &'a str,
    body: String,
}

impl<'a> Draft<'a> {
    /// Drafts the file for the server at `url`. Returns `None` if the server needs another kind of URL or a login
    /// first, or is an HTTP page.
    fn of(url: &Endpoint, found: &'a Finding) -> Option<Self> {
        let (place, words) = (found.place(url), found.words.as_str());
        if let Some(name) = found.conversation {
            let (_, body) = READY_MADE.iter().find(|(ready, _)| *ready == name)?;
            return Some(Self { name, place, words, body: (*body).to_owned() });
        }
        let speaks = match url.facts() {
            _ if found.manner == Manner::Closed => return None,
            facts if facts.over_websocket => "speaks = \"ws\"",
            facts if facts.carries == Carries::Requests => return None,
            _ => {
                "speaks = \"tcp\"\nframe = \"lines\" # or another: docs/CONVERSATIONS.md, \"The end of a message\""
            }
        };
        let opening = if found.manner == Manner::Greets { GREETING } else { "" };
        let body =
            format!("about = \"A server that is not known yet\"\n{speaks}\n{opening}{ASKING}");
        Some(Self { name: "conversation", place, words, body })
    }

    /// The file, with its use.
    fn text(&self, at: &str, file: &str) -> String {
        let words = self.words;
        format!(
            "# {at}: {words}.\n#\n\
             #   wirebench talk '{at}' --conversation {file}   plays it once, message by message\n\
             #   wirebench run '{at}' --conversation {file}    measures it\n#\n{}",
            self.body
        )
    }
}

/// Returns the path as `--conversation` takes it: the path of a file needs a slash.
fn named(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains('/') { shown } else { format!("./{shown}") }
}

/// The step that awaits a greeting.
const GREETING: &str = "
# The server speaks first, as the first line says. Describe that message here; {} is any message.
[[open]]
expect = {}
";

/// The request for an unknown server.
const ASKING: &str = r#"
# What is sent and timed: replace it with a message of your protocol. ${id} is a number that is used once, and
# ${pad:32} stands for 32 characters.
[request.ask]
send = '{"id":${id},"text":"${pad:32}"}'
# The message that answers it: here JSON with the same id. Add what distinguishes it, as in "$.type" = "reply".
reply = { id = "$.id" }

# Unsolicited messages are counted:
# [push.news]
# when = { "$.type" = "news" }
"#;
