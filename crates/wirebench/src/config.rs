//! The project file: defaults of a project, as options of a workload.
//!
//! Its table `[run]` has the keys of an experiment's file (docs/EXPERIMENTS.md); every option that a flag or a file
//! names overrides it. It has no options of single calls, and none that say where results go.

use crate::exit::Failure;
use crate::input;
use spec::Options;
use std::io::{self, ErrorKind};
use std::path::Path;
use units::Bytes;

/// The project file, looked for in the current directory.
pub(crate) const FILE: &str = "wirebench.toml";

/// The largest project file that is read.
const SIZE_MAX: Bytes = Bytes(1 << 20);

/// The defaults of a project.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Project {
    /// Options of every workload.
    pub(crate) run: Options,
}

impl Project {
    /// Reads the file in `folder`, if there is one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not TOML, or has a key or value that is not possible, with line and column.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let read = Self::of_file(&folder.join(FILE), FILE);
        Ok(read?.unwrap_or_default())
    }

    /// Reads a file of this form that has to exist.
    ///
    /// # Errors
    ///
    /// As [`Project::read`], or there is no such file.
    pub(crate) fn read_other(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let none = || Failure::usage(format!("cannot read {name}: there is no such file"));
        Self::of_file(path, &name)?.ok_or_else(none)
    }

    /// The settings of the file `path`, which errors call `name`; `None` if there is no such file.
    fn of_file(path: &Path, name: &str) -> Result<Option<Self>, Failure> {
        let cannot = |error: io::Error| Failure::usage(format!("cannot read {name}: {error}"));
        let text = match input::read(path, SIZE_MAX) {
            Ok(bytes) => input::text(bytes, "settings").map_err(cannot)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(error)),
        };
        Self::parse(&text, name).map(Some).map_err(Failure::usage)
    }

    fn parse(text: &str, name: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let before = text.get(..at).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("{name}:{line}:{column}: {}", error.message().replace('\n', "; "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_file_holds_options() {
        let project = Project::parse("[run]\nconnections = 7\nwarm-up = '2s'\n", FILE).unwrap();
        assert_eq!(project.run.set(), ["connections", "warm-up"]);
        assert!(Project::parse("", FILE).unwrap().run.is_empty());
    }

    #[test]
    fn problems_have_a_place_and_say_what_is_expected() {
        for (text, problem) in [
            (
                "[run]\nspeed = 3\n",
                "wirebench.toml:2:1: unknown field `speed`, expected one of `connections`",
            ),
            (
                "[run]\nwarm-up = 3\n",
                "wirebench.toml:2:11: invalid type: integer `3`, expected a length of time",
            ),
            ("[ladder]\n", "wirebench.toml:1:2: unknown field `ladder`, expected `run`"),
            ("[run\n", "wirebench.toml:1:5: "),
        ] {
            let error = Project::parse(text, FILE).unwrap_err();
            assert!(error.starts_with(problem), "{text}: {error}");
        }
    }
}
