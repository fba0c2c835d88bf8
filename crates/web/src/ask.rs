//! A run that the page asks for, as the arguments and the file of the process that measures it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use spec::{Criteria, Options};
use std::ffi::OsString;
use std::path::Path;

/// The page's request for a new run.
#[derive(Debug, Deserialize)]
pub(crate) struct Ask {
    /// True if a public address may be loaded.
    #[serde(default)]
    public_allowed: bool,
    #[serde(flatten)]
    what: What,
}

/// A target with the options of `wirebench run`, or a whole file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    /// An experiment.
    File {
        /// The name under which the history has it.
        name: String,
        /// Its text: TOML (docs/EXPERIMENTS.md), its resolved form in JSON, or a record.
        text: String,
    },
    /// A server and the load.
    Target {
        /// Its URL.
        url: String,
        /// The options, under the names that they have in a file.
        #[serde(deserialize_with = "options")]
        options: toml::Table,
        /// The criteria by which it ends and is judged.
        #[serde(default)]
        criteria: Criteria,
    },
}

/// Checks options and keeps them as they were sent: a serialized [`Options`] leaves out those that may be secret.
fn options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<toml::Table, D::Error> {
    let table = toml::Table::deserialize(deserializer)?;
    Options::deserialize(table.clone()).map_err(|error| D::Error::custom(error.message()))?;
    Ok(table)
}

impl Ask {
    /// The name of the run in lists.
    pub(crate) fn name(&self) -> String {
        match &self.what {
            What::File { name, .. } => stem(name),
            // User, password and query may be secret.
            What::Target { url, .. } => {
                let host = url.trim().split(['?', '#']).next().unwrap_or_default();
                host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned()
            }
        }
    }

    /// The name of its file, which is that of the experiment in the history.
    pub(crate) fn file_name(&self) -> String {
        match &self.what {
            What::File { text, .. } if text.trim_start().starts_with('{') => self.name() + ".json",
            What::File { .. } => self.name() + ".toml",
            // The history takes a file that ends in .toml for an experiment, and this one has only options.
            What::Target { .. } => "settings".to_owned(),
        }
    }

    /// The text of its file: the experiment, or the options. Options are not passed as arguments because others on the
    /// machine can read those, and some options are secret.
    ///
    /// # Errors
    ///
    /// The options cannot be written as TOML.
    pub(crate) fn text(&self) -> Result<String, toml::ser::Error> {
        match &self.what {
            What::File { text, .. } => Ok(text.clone()),
            What::Target { options, .. } => {
                let run = options.clone().into();
                toml::to_string(&toml::Table::from_iter([("run".to_owned(), run)]))
            }
        }
    }

    /// The arguments of the process; `file` is the path of the file with [`Ask::text`].
    pub(crate) fn words(&self, file: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["run".into(), "-q".into()];
        if self.public_allowed {
            words.push("--i-may-load-this-target".into());
        }
        if let What::Target { criteria, .. } = &self.what {
            words.extend(["--settings".into(), file.into()]);
            words.extend(flags(criteria).into_iter().map(OsString::from));
        }
        // The target comes from the page: after `--` it is never read as an option.
        words.push("--".into());
        words.push(match &self.what {
            What::File { .. } => file.into(),
            What::Target { url, .. } => url.trim().into(),
        });
        words
    }
}

/// Criteria as flags. They have no secrets, and each is formatted from its parsed value, so that none is read as
/// another option.
fn flags(criteria: &Criteria) -> Vec<String> {
    let Criteria { rounds, until, budget, require, strict } = criteria;
    let mut flags: Vec<String> = Vec::new();
    flags.extend(rounds.map(|rounds| format!("--rounds={}", rounds.0)));
    flags.extend(until.iter().map(|goal| format!("--until={goal}")));
    flags.extend(budget.map(|budget| format!("--budget={}ns", budget.0)));
    flags.extend(require.iter().map(|limit| format!("--require={limit}")));
    flags.extend(strict.then(|| "--strict".to_owned()));
    flags
}

/// A file name of only letters, digits and `-`, made from `name`.
fn stem(name: &str) -> String {
    let letters = name.trim().chars().take(NAME_MAX);
    let plain = letters.map(|it| if it.is_ascii_alphanumeric() { it } else { '-' });
    let stem: String = plain.collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() { "page".to_owned() } else { stem.to_owned() }
}

/// The longest name, in letters.
const NAME_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(json: &str) -> Result<Ask, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn words(ask: &Ask) -> String {
        let words = ask.words(Path::new("the/file"));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_options_of_a_target_go_by_file_and_the_target_is_no_option() {
        let asked = ask(r#"{"public_allowed": true, "target": {"url": " --i-am@h/?key=1 ",
                "options": {"rate": "2k/s", "duration": "3s", "connections": 10, "header": ["A: secret"]}}}"#);
        let asked = asked.unwrap();
        assert_eq!(asked.name(), "h/");
        assert_eq!(
            words(&asked),
            "run -q --i-may-load-this-target --settings the/file -- --i-am@h/?key=1"
        );
        #[derive(Deserialize)]
        struct Settings {
            run: Options,
        }
        let settings: Settings = toml::from_str(&asked.text().unwrap()).unwrap();
        assert_eq!(settings.run.set(), ["connections", "duration", "rate", "header"]);
    }

    #[test]
    fn criteria_are_flags_in_the_words_of_the_program() {
        let asked = ask(
            r#"{"target": {"url": "a", "options": {}, "criteria": {"rounds": "1k", "until": "p99 within 3%",
                "budget": "90s", "require": ["p99<20ms", "error_rate < 0.1%"], "strict": true}}}"#,
        );
        assert_eq!(
            words(&asked.unwrap()),
            "run -q --settings the/file --rounds=1000 --until=p99 within 3% --budget=90000000000ns \
             --require=p99 < 20ms --require=error_rate < 0.1% --strict -- a"
        );
        let json =
            r#"{"target": {"url": "a", "options": {}, "criteria": {"require": ["p99 < 20"]}}}"#;
        let error = ask(json).unwrap_err();
        assert!(error.contains("column 7: `20`"), "{error}");
    }

    #[test]
    fn a_file_is_as_it_was_given_and_has_a_name_that_leads_nowhere_else() {
        for (name, text, file) in [
            ("../../my chat", "rounds = 1", "my-chat.toml"),
            ("", " {}", "page.json"),
            ("/", "", "page.toml"),
        ] {
            let json = serde_json::json!({ "file": { "name": name, "text": text } });
            let asked = ask(&json.to_string()).unwrap();
            assert_eq!((&asked.file_name()[..], &asked.text().unwrap()[..]), (file, text));
            assert_eq!(words(&asked), "run -q -- the/file");
        }
    }

    #[test]
    fn an_option_that_is_none_or_is_refused_names_itself() {
        for (options, words) in [(r#"{"size": "a lot"}"#, "a lot"), (r#"{"speed": 1}"#, "speed")] {
            let json = format!(r#"{{"target": {{"url": "a", "options": {options}}}}}"#);
            let error = ask(&json).unwrap_err();
            assert!(error.contains(words), "{json}: {error}");
        }
    }
}
