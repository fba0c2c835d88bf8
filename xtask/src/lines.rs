//! `cargo xtask lines`: lines of code and numbers of tests, by crate and language, now or at a revision of git.
//!
//! Blank lines and comments are left out. The tests of a Rust module (from `#[cfg(test)]` to the end of its item) and
//! files of tests, including those of a `mod` with `#[cfg(test)]`, have a column of their own. Lines are read as text:
//! that is cruder than a parser, but the same on both sides of a change.

use crate::files::{self, Uncommitted};
use crate::shell;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::AddAssign;

/// Count lines of code and tests, by crate and language
#[derive(clap::Args, Debug)]
pub(crate) struct LinesArgs {
    /// A revision of git [default: the files as they are]
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

/// Prints the table.
pub(crate) fn run(arguments: &LinesArgs) -> Result<()> {
    let mut rows: BTreeMap<(String, &str), Count> = BTreeMap::new();
    let mut total = Count::default();
    let texts = texts(arguments.revision.as_deref())?;
    let of_tests: BTreeSet<String> =
        texts.iter().flat_map(|(path, text)| modules_of_tests(path, text)).collect();
    for (path, text) in texts {
        let Some(language) = Language::of(&path) else { continue };
        let count = count(&text, language, is_of_tests(&path, &of_tests));
        *rows.entry((part(&path), language.name)).or_default() += count;
        total += count;
    }
    println!("{:<24} {:<12} {:>8} {:>8} {:>8}", "part", "language", "source", "in tests", "tests");
    for ((part, language), count) in &rows {
        println!("{}", count.row(part, language));
    }
    println!("{}", total.row("all", ""));
    Ok(())
}

/// The files with their texts, as they are or as they were at `revision`.
fn texts(revision: Option<&str>) -> Result<Vec<(String, String)>> {
    let Some(revision) = revision else {
        let read = |path: String| Some((fs::read_to_string(shell::root().join(&path)).ok()?, path));
        let files = files::list(Uncommitted::LeftOut)?.into_iter().filter_map(read);
        return Ok(files.map(|(text, path)| (path, text)).collect());
    };
    let git = |words: &[&str]| {
        shell::output(shell::command("git").args(["-c", "safe.directory=*"]).args(words))
    };
    let listed = git(&["ls-tree", "-r", "-z", "--name-only", revision])?;
    let code = listed.split_terminator('\0').filter(|path| Language::of(path).is_some());
    code.map(|path| Ok((path.to_owned(), git(&["show", &format!("{revision}:{path}")])?))).collect()
}

/// A language, and the marks of its comments.
#[derive(Clone, Copy, Debug)]
struct Language {
    name: &'static str,
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
}

impl Language {
    /// The language by the end of the file's name; `None` if it is not code.
    fn of(path: &str) -> Option<Self> {
        let c = |name| (name, &["//"][..], Some(("/*", "*/")));
        let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
        let (name, line_comments, block_comment) = match extension {
            "c" | "h" => c("C"),
            "cpp" | "hpp" => c("C++"),
            "css" => ("CSS", &[][..], Some(("/*", "*/"))),
            "go" => c("Go"),
            "html" => ("HTML", &[][..], Some(("<!--", "-->"))),
            "java" => c("Java"),
            "js" | "mjs" => c("JavaScript"),
            "php" => c("PHP"),
            "py" => ("Python", &["#"][..], None),
            "rs" => c("Rust"),
            "sh" => ("shell", &["#"][..], None),
            "ts" | "tsx" => c("TypeScript"),
            _ => return None,
        };
        Some(Self { name, line_comments, block_comment })
    }
}

/// Lines of code, of the product and of its tests, and the number of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    source: u64,
    in_tests: u64,
    tests: u64,
}

impl Count {
    fn row(self, part: &str, language: &str) -> String {
        let Self { source, in_tests, tests } = self;
        format!("{part:<24} {language:<12} {source:>8} {in_tests:>8} {tests:>8}")
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.source += other.source;
        self.in_tests += other.in_tests;
        self.tests += other.tests;
    }
}

/// The crate of a path, or its first folder.
fn part(path: &str) -> String {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

/// The modules that a file declares with `#[cfg(test)]`, as the paths of their files without `.rs`.
fn modules_of_tests(path: &str, text: &str) -> Vec<String> {
    let Some(module) = path.strip_suffix(".rs") else { return Vec::new() };
    let (folder, name) = module.rsplit_once('/').unwrap_or_default();
    let home = if matches!(name, "lib" | "main" | "mod") { folder } else { module };
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|behind| {
        let (_, name) = behind.lines().next()?.split_once("mod ")?;
        name.strip_suffix(';').map(|name| format!("{home}/{name}"))
    });
    declared.collect()
}

/// True for a file of a folder `tests`, and for one that is, or is below, one of `modules`.
fn is_of_tests(path: &str, modules: &BTreeSet<String>) -> bool {
    let mut above = path.strip_suffix(".rs");
    while let Some(module) = above {
        if modules.contains(module) {
            return true;
        }
        above = module.rsplit_once('/').map(|(folder, _)| folder);
    }
    path.starts_with("tests/") || path.contains("/tests/")
}

fn count(text: &str, language: Language, is_of_tests: bool) -> Count {
    let mut count = Count::default();
    let mut in_comment = false;
    let mut tests = if is_of_tests { Tests::WholeFile } else { Tests::Outside };
    for line in text.lines() {
        let line = line.trim();
        let (opens, closes) = language.block_comment.unwrap_or(("\0", "\0"));
        if in_comment {
            in_comment = !line.contains(closes);
            continue;
        }
        if let Some(comment) = line.strip_prefix(opens) {
            in_comment = !comment.contains(closes);
            continue;
        }
        if line.is_empty() || language.line_comments.iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        let is_rust = language.name == "Rust";
        count.tests += u64::from(is_rust && line == "#[test]");
        match is_rust && tests.holds(line) || tests == Tests::WholeFile {
            true => count.in_tests += 1,
            false => count.source += 1,
        }
    }
    count
}

/// The reach of the tests in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tests {
    WholeFile,
    Outside,
    /// In an item with `#[cfg(test)]`, with `open` braces open.
    Inside {
        open: i64,
        has_begun: bool,
    },
}

impl Tests {
    /// True for a line of tests; follows the braces of the item with `#[cfg(test)]`.
    fn holds(&mut self, line: &str) -> bool {
        let (mut open, mut has_begun) = match *self {
            Self::WholeFile => return true,
            Self::Outside if line == "#[cfg(test)]" => (0, false),
            Self::Outside => return false,
            Self::Inside { open, has_begun } => (open, has_begun),
        };
        for letter in line.chars() {
            open += match letter {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            has_begun |= letter == '{';
        }
        let is_over = open <= 0 && (has_begun || line.ends_with(';'));
        *self = if is_over { Self::Outside } else { Self::Inside { open, has_begun } };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, text: &str) -> [u64; 3] {
        let is_of_tests = is_of_tests(path, &BTreeSet::new());
        let Count { source, in_tests, tests } =
            count(text, Language::of(path).unwrap(), is_of_tests);
        [source, in_tests, tests]
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        for (path, text) in [
            ("crates/a/src/lib.rs", "//! A.\n\n/* b\n c */\nfn f() {} // g\n"),
            ("bench/a.c", "/* a */\n/* b\n * c\n */\n// d\nint f;\n"),
            ("subjects/a/a.py", "# a\n\nf()\n"),
            ("crates/report/web/a.css", "/* a\n*/\na { b: c }\n"),
            ("crates/report/web/a.html", "<!-- a -->\n<p>\n"),
        ] {
            assert_eq!(counted(path, text), [1, 0, 0], "{path}");
        }
        assert!(Language::of("README.md").is_none());
        assert!(Language::of("subjects/nginx/start").is_none());
    }

    #[test]
    fn tests_are_counted_apart() {
        let text = "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { if b { } }\n}\nfn g() {}\n";
        assert_eq!(counted("crates/a/src/lib.rs", text), [2, 5, 1]);
        assert_eq!(
            counted("crates/a/src/lib.rs", "#[cfg(test)]\nuse a::b;\nfn g() {}\n"),
            [1, 2, 0]
        );
        assert_eq!(counted("crates/a/tests/it/a.rs", "#[test]\nfn a() {\n}\n"), [0, 3, 1]);
        assert_eq!(counted("tests/a/b.js", "let a;\n"), [0, 1, 0]);
    }

    #[test]
    fn a_module_behind_cfg_test_is_of_tests_with_all_below_it() {
        let text = "mod b;\n#[cfg(test)]\nmod c;\n#[cfg(test)]\npub(crate) mod d;\n#[cfg(test)]\nmod e {\n}\n";
        for (path, home) in
            [("x/src/lib.rs", "x/src"), ("x/src/a.rs", "x/src/a"), ("x/src/a/mod.rs", "x/src/a")]
        {
            let modules: BTreeSet<String> = modules_of_tests(path, text).into_iter().collect();
            for of_tests in ["c.rs", "c/deep/er.rs", "d/mod.rs"] {
                assert!(is_of_tests(&format!("{home}/{of_tests}"), &modules), "{path}: {of_tests}");
            }
            for source in ["b.rs", "cc.rs", "e.rs"] {
                assert!(!is_of_tests(&format!("{home}/{source}"), &modules), "{path}: {source}");
            }
        }
    }

    #[test]
    fn a_part_is_a_crate_or_a_folder() {
        assert_eq!(part("crates/wire/src/lib.rs"), "crates/wire");
        assert_eq!(part("xtask/src/main.rs"), "xtask");
    }
}
