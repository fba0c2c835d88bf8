//! Places in JSON: `$.params.items[0]`.

use std::fmt;
use std::str::FromStr;

/// A place in a JSON text: the members and indices that lead to it from the root.
///
/// It is written `$.a.b[1]`; a member whose name has characters other than letters, digits, `_` and `-` is written
/// `$["the name"]`, as a JSON string. `$` is the whole text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<Key>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A member of an object.
    Member(String),
    /// An element of an array, from 0.
    Index(u32),
}

impl Path {
    /// The most steps that a path may have.
    pub const DEPTH_MAX: usize = 32;
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut rest = text.strip_prefix('$').ok_or(PathError::Root)?;
        let mut keys = Vec::new();
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let (key, behind) = if let Some(name) = rest.strip_prefix('.') {
                let len = name.find(|letter| !is_plain(letter)).unwrap_or(name.len());
                let (name, behind) = name.split_at(len);
                (Key::Member(name.to_owned()), behind)
            } else if let Some(quoted) = rest.strip_prefix("[\"") {
                let (name, behind) = quoted_name(quoted).ok_or(PathError::Key { at })?;
                (Key::Member(name), behind)
            } else if let Some((index, behind)) =
                rest.strip_prefix('[').and_then(|index| index.split_once(']'))
            {
                let is_number = index.bytes().all(|byte| byte.is_ascii_digit());
                let index = index.parse().ok().filter(|_| is_number);
                (Key::Index(index.ok_or(PathError::Key { at })?), behind)
            } else {
                return Err(PathError::Key { at });
            };
            if key == Key::Member(String::new()) && !rest.starts_with('[') {
                return Err(PathError::Key { at });
            }
            if keys.len() == Self::DEPTH_MAX {
                return Err(PathError::Depth);
            }
            keys.push(key);
            rest = behind;
        }
        Ok(Self(keys))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for key in &self.0 {
            match key {
                Key::Member(name) if !name.is_empty() && name.chars().all(is_plain) => {
                    write!(f, ".{name}")?;
                }
                Key::Member(name) => {
                    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(f, "[\"{name}\"]")?;
                }
                Key::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

crate::text::as_text!(Path, "a place in JSON", "$.params.items[0]");

/// A text that is not a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It has more steps than [`Path::DEPTH_MAX`].
    #[error("a path has at most {} steps", Path::DEPTH_MAX)]
    Depth,
    /// A step of it cannot be read.
    #[error("character {} begins no step; steps are `.name`, `[0]` and `[\"any name\"]`", at + 1)]
    Key {
        /// The byte of the text where the step begins.
        at: usize,
    },
    /// It does not begin at the root.
    #[error("a path begins with `$`, as in `$.id`")]
    Root,
}

/// The name before the closing `"]`, in which `\"` and `\\` stand for `"` and `\`; and the text after it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return text[at + 1..].strip_prefix(']').map(|behind| (name, behind)),
            '\\' => match letters.next()?.1 {
                escaped @ ('"' | '\\') => name.push(escaped),
                _ => return None,
            },
            letter => name.push(letter),
        }
    }
    None
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_and_are_written_alike() {
        let member = |name: &str| Key::Member(name.to_owned());
        #[rustfmt::skip]
        let table = [
            ("$",                  vec![]),
            ("$.id",               vec![member("id")]),
            ("$.a_b.c-d[0][12]",   vec![member("a_b"), member("c-d"), Key::Index(0), Key::Index(12)]),
            (r#"$["a.b"].c"#,      vec![member("a.b"), member("c")]),
            (r#"$["q\"s\\"][7]"#,  vec![member("q\"s\\"), Key::Index(7)]),
            (r#"$[""]"#,           vec![member("")]),
            ("$.größe",            vec![member("größe")]),
        ];
        for (text, keys) in table {
            assert_eq!(text.parse(), Ok(Path(keys.clone())), "{text}");
            assert_eq!(Path(keys).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_place() {
        #[rustfmt::skip]
        let table = [
            ("",          PathError::Root),
            ("id",        PathError::Root),
            ("$id",       PathError::Key { at: 1 }),
            ("$.",        PathError::Key { at: 1 }),
            ("$.a..b",    PathError::Key { at: 3 }),
            ("$.a b",     PathError::Key { at: 3 }),
            ("$[x]",      PathError::Key { at: 1 }),
            ("$[-1]",     PathError::Key { at: 1 }),
            ("$[+1]",     PathError::Key { at: 1 }),
            ("$[]",       PathError::Key { at: 1 }),
            ("$[1",       PathError::Key { at: 1 }),
            (r#"$["a]"#,  PathError::Key { at: 1 }),
            (r#"$["\n"]"#, PathError::Key { at: 1 }),
            ("$[4294967296]", PathError::Key { at: 1 }),
        ];
        for (text, error) in table {
            assert_eq!(text.parse::<Path>(), Err(error), "{text}");
        }
        let deep = "$".to_owned() + &".a".repeat(Path::DEPTH_MAX + 1);
        assert_eq!(deep.parse::<Path>(), Err(PathError::Depth));
        assert!(deep[..deep.len() - 2].parse::<Path>().is_ok());
    }
}
