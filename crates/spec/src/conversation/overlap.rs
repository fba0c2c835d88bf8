//! Finds matchers that can never match, and pairs where one takes all messages of the other, as far as their conditions
//! decide it.
//!
//! Everything reported here is certain. Two matchers about which nothing is reported may still match the same message;
//! such a message is an error while a conversation is verified.

use super::{Condition, Key, Matcher, Path, Place, Scalar};

/// The reason why no message meets all conditions; `None` if there may be one.
pub(super) fn contradiction(matcher: &Matcher) -> Option<String> {
    let all = &matcher.conditions;
    let place = place_of_id(matcher);
    let pairs = all.iter().enumerate().flat_map(|(index, one)| {
        all[index + 1..].iter().chain(&place).map(move |other| (one, other))
    });
    pairs.into_iter().find_map(|(one, other)| exclude(one, other).or_else(|| exclude(other, one)))
}

/// True if `other` certainly matches every message that `one` matches. Only an id at the same place implies an id.
pub(super) fn implies(one: &Matcher, other: &Matcher) -> bool {
    if other.id.is_some() && other.id != one.id {
        return false;
    }
    let place = place_of_id(one);
    let mut conditions = other.conditions.iter();
    conditions.all(|needed| one.conditions.iter().chain(&place).any(|given| follows(given, needed)))
}

/// The condition that an id is at its place, if that is a condition compared here.
fn place_of_id(matcher: &Matcher) -> Option<Condition> {
    match matcher.id.as_ref()? {
        Place::Json(path) => Some(Condition::Has(path.clone())),
        Place::Text { .. } | Place::Bytes(_) => None,
    }
}

/// True if both certainly match the same messages.
pub(super) fn is_same(one: &Matcher, other: &Matcher) -> bool {
    implies(one, other) && implies(other, one)
}

/// True if `needed` follows from `given`.
fn follows(given: &Condition, needed: &Condition) -> bool {
    use Condition::{Bytes, Contains, Equals, Has, Is, Lacks, Starts, Status};
    if given == needed {
        return true;
    }
    match (given, needed) {
        (Equals { path, .. } | Has(path), Has(needed)) => path.0.starts_with(&needed.0),
        (Lacks(path), Lacks(needed)) => needed.0.starts_with(&path.0),
        (Is(text) | Starts(text), Starts(needed)) => text.starts_with(needed),
        (Is(text) | Starts(text) | Contains(text), Contains(needed)) => text.contains(needed),
        (Bytes { at: 0, bytes }, Starts(needed)) => bytes.0.starts_with(needed.as_bytes()),
        (_, Bytes { at, bytes: needed }) => {
            start_of(given).and_then(|given| part(given, *at, needed.0.len())) == Some(&needed.0)
        }
        (Status(given), Status(needed)) => {
            needed.includes(given.first) && needed.includes(given.last)
        }
        _ => false,
    }
}

/// The reason why no message meets both.
fn exclude(one: &Condition, other: &Condition) -> Option<String> {
    use Condition::{Bytes, Contains, Equals, Has, Is, Lacks, Sha256, Starts, Status};
    match (one, other) {
        (Equals { path, .. } | Has(path), Lacks(lacked)) if path.0.starts_with(&lacked.0) => {
            Some(format!("`{path}` is to be there, and `{lacked}` is not"))
        }
        (Equals { path, value }, Equals { path: same, value: another })
            if path == same && value != another =>
        {
            Some(format!("`{path}` cannot be {} and {}", shown(value), shown(another)))
        }
        (Equals { path, value }, Has(deeper)) if is_inside(deeper, path) => {
            Some(format!("`{path}` is {}, which has no `{deeper}`", shown(value)))
        }
        (Equals { path, .. } | Has(path), Equals { path: other, .. } | Has(other)) => {
            shape_exclusion(path, other)
        }
        (Is(text), Is(other)) if text != other => {
            Some("a message cannot be two different texts".to_owned())
        }
        (Sha256(digest), Sha256(other)) if digest != other => {
            Some("a message cannot have two different digests".to_owned())
        }
        (Is(text), Starts(start)) if !text.starts_with(start) => {
            Some(format!("`{text}` does not begin with `{start}`"))
        }
        (Starts(start), Starts(other))
            if !start.starts_with(other) && !other.starts_with(start) =>
        {
            Some(format!("a message cannot begin with `{start}` and with `{other}`"))
        }
        (Is(text), Contains(part)) if !text.contains(part) => {
            Some(format!("`{text}` has no `{part}` in it"))
        }
        (Is(text) | Starts(text), Equals { path, .. } | Has(path)) => text_exclusion(text, path),
        (Is(text), Bytes { at, bytes })
            if part((0, text.as_bytes()), *at, bytes.0.len()).is_none() =>
        {
            Some(format!("`{text}` has no byte {}", *at as usize + bytes.0.len() - 1))
        }
        (_, Bytes { at, bytes }) => {
            let (start, given) = start_of(one)?;
            let differs = (start.max(*at)..).zip(common((start, given), (*at, &bytes.0)));
            let (place, (given, needed)) =
                differs.into_iter().find(|(_, (given, needed))| given != needed)?;
            Some(format!("byte {place} cannot be {given:02x} and {needed:02x}"))
        }
        (Status(one), Status(other)) if one.first > other.last || other.first > one.last => {
            Some(format!("a status cannot be {one} and {other}"))
        }
        _ => None,
    }
}

/// The reason why no JSON has both paths: one takes for an object what the other takes for an array.
fn shape_exclusion(one: &Path, other: &Path) -> Option<String> {
    let differing = one.0.iter().zip(&other.0).find(|(one, other)| one != other)?;
    match differing {
        (Key::Member(_), Key::Index(_)) | (Key::Index(_), Key::Member(_)) => Some(format!(
            "`{one}` and `{other}` cannot be in one message: an object is not an array"
        )),
        _ => None,
    }
}

/// The reason why a message that begins with `text` has no place like `path`.
fn text_exclusion(text: &str, path: &Path) -> Option<String> {
    let first = text.trim_start_matches([' ', '\t', '\r', '\n']).chars().next()?;
    let needed = match path.0.first()? {
        Key::Member(_) => '{',
        Key::Index(_) => '[',
    };
    (first != needed).then(|| {
        format!(
            "`{path}` is in JSON that begins with `{needed}`, and the message begins with `{text}`"
        )
    })
}

/// The bytes that a condition guarantees in a message, and the place of the first.
fn start_of(condition: &Condition) -> Option<(u32, &[u8])> {
    match condition {
        Condition::Bytes { at, bytes } => Some((*at, &bytes.0)),
        Condition::Is(text) | Condition::Starts(text) => Some((0, text.as_bytes())),
        Condition::Equals { .. }
        | Condition::Has(_)
        | Condition::Lacks(_)
        | Condition::Sha256(_)
        | Condition::Contains(_)
        | Condition::Status(_) => None,
    }
}

/// The `len` bytes from `at` on, of bytes whose first is at `start`; `None` if not all of them are there.
fn part((start, bytes): (u32, &[u8]), at: u32, len: usize) -> Option<&[u8]> {
    bytes.get(at.checked_sub(start)? as usize..)?.get(..len)
}

/// The pairs of bytes at the places that both have.
fn common<'b>(
    (start, bytes): (u32, &'b [u8]),
    (other_start, other): (u32, &'b [u8]),
) -> impl Iterator<Item = (&'b u8, &'b u8)> {
    let first = start.max(other_start);
    let from = |start: u32, bytes: &'b [u8]| bytes.iter().skip((first - start) as usize);
    from(start, bytes).zip(from(other_start, other))
}

/// True if `inner` is a place inside the value at `outer`.
fn is_inside(inner: &Path, outer: &Path) -> bool {
    inner.0.len() > outer.0.len() && inner.0.starts_with(&outer.0)
}

fn shown(value: &Scalar) -> String {
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Integer(value) => value.to_string(),
        Scalar::Text(value) => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Condition::{Bytes, Contains, Has, Is, Lacks, Sha256, Starts, Status};

    fn path(text: &str) -> Path {
        text.parse().unwrap()
    }

    fn equals(text: &str, value: Scalar) -> Condition {
        Condition::Equals { path: path(text), value }
    }

    fn digest(byte: u8) -> Condition {
        Sha256(crate::Sha256([byte; 32]))
    }

    fn bytes(at: u32, bytes: &[u8]) -> Condition {
        Bytes { at, bytes: crate::conversation::HexBytes(bytes.to_vec()) }
    }

    fn of(conditions: Vec<Condition>, id: Option<&str>) -> Matcher {
        Matcher { conditions, id: id.map(|id| Place::Json(path(id))) }
    }

    #[test]
    fn what_can_never_match_is_told() {
        let text = |text: &str| text.to_owned();
        let one = || equals("$.a", Scalar::Integer(1));
        #[rustfmt::skip]
        let table = [
            (vec![Has(path("$.a")), Lacks(path("$.a"))],             None,       "is to be there"),
            (vec![Lacks(path("$.a")), one()],                        None,       "is to be there"),
            (vec![Has(path("$.a.b")), Lacks(path("$.a"))],           None,       "`$.a.b` is to be there, and `$.a` is not"),
            (vec![Lacks(path("$.id"))],                              Some("$.id"), "`$.id` is to be there"),
            (vec![one(), equals("$.a", Scalar::Text(text("1")))],    None,       "`$.a` cannot be "),
            (vec![one(), Has(path("$.a.b"))],                        None,       "which has no `$.a.b`"),
            (vec![Has(path("$.a")), Has(path("$[0]"))],              None,       "an object is not an array"),
            (vec![Starts(text("42[")), Has(path("$.a"))],            None,       "begins with `{`"),
            (vec![Starts(text("{"))],                                Some("$[1]"), "begins with `[`"),
            (vec![Is(text("2")), Starts(text("3"))],                 None,       "does not begin"),
            (vec![Starts(text("4")), Starts(text("5"))],             None,       "cannot begin with"),
            (vec![Is(text("2")), Contains(text("3"))],               None,       "has no `3`"),
            (vec![Is(text("2")), Is(text("3"))],                     None,       "two different texts"),
            (vec![digest(1), digest(2)],                             None,       "two different digests"),
            (vec![Status("2xx".parse().unwrap()), Status("404".parse().unwrap())], None, "a status cannot be "),
            (vec![bytes(0, b"\x01\x02"), bytes(1, b"\x03")],         None,       "byte 1 cannot be 0"),
            (vec![bytes(1, b"b"), Starts(text("ac"))],               None,       "byte 1 cannot be 6"),
            (vec![bytes(3, b"d"), Is(text("abc"))],                  None,       "`abc` has no byte 3"),
        ];
        for (conditions, id, message) in table {
            let mut reversed = conditions.clone();
            reversed.reverse();
            for conditions in [conditions, reversed] {
                let found = contradiction(&of(conditions.clone(), id));
                assert!(
                    found.as_ref().is_some_and(|found| found.contains(message)),
                    "{conditions:?}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn what_may_match_is_left_alone() {
        let text = |text: &str| text.to_owned();
        #[rustfmt::skip]
        let table = [
            (vec![], None),
            (vec![Has(path("$.a")), Lacks(path("$.b"))],           Some("$.id")),
            (vec![Has(path("$.a")), Lacks(path("$.a.b"))],         None),
            (vec![Has(path("$.a[0]")), Has(path("$.b.c"))],        None),
            (vec![Starts(text(" {\"a\"")), Has(path("$.a"))],      None),
            (vec![Starts(text("4")), Starts(text("43"))],          None),
            (vec![bytes(0, b"ab"), bytes(1, b"bc"), bytes(9, b"a"), Starts(text("abcd"))], None),
            (vec![bytes(1, b"bc"), Is(text("abc"))],               None),
            (vec![Status("2xx".parse().unwrap()), Status("204".parse().unwrap())], None),
        ];
        for (conditions, id) in table {
            assert_eq!(contradiction(&of(conditions, id)), None);
        }
    }

    #[test]
    fn what_is_matched_twice_is_told() {
        let text = |text: &str| text.to_owned();
        let next = || equals("$.type", Scalar::Text(text("next")));
        #[rustfmt::skip]
        let table = [
            // One matcher, another, and whether the second matches every message of the first.
            (of(vec![next()], None),                 of(vec![], None),                       true),
            (of(vec![], None),                       of(vec![next()], None),                 false),
            (of(vec![next()], Some("$.id")),         of(vec![Has(path("$.type"))], None),    true),
            (of(vec![next()], None),                 of(vec![next()], Some("$.id")),         false),
            (of(vec![next()], Some("$.id")),         of(vec![Has(path("$.id"))], None),      true),
            (of(vec![Has(path("$.a.b"))], None),     of(vec![Has(path("$.a"))], None),       true),
            (of(vec![Lacks(path("$.a"))], None),     of(vec![Lacks(path("$.a.b"))], None),   true),
            (of(vec![Lacks(path("$.a.b"))], None),   of(vec![Lacks(path("$.a"))], None),     false),
            (of(vec![Starts(text("43"))], None),     of(vec![Starts(text("4"))], None),      true),
            (of(vec![Starts(text("4"))], None),      of(vec![Starts(text("43"))], None),     false),
            (of(vec![Is(text("43[]"))], None),       of(vec![Contains(text("[]"))], None),   true),
            (of(vec![bytes(0, b"abc")], None),       of(vec![bytes(1, b"bc")], None),         true),
            (of(vec![bytes(1, b"bc")], None),        of(vec![bytes(0, b"abc")], None),        false),
            (of(vec![bytes(1, b"b")], None),         of(vec![bytes(1, b"bc")], None),         false),
            (of(vec![Is(text("abc"))], None),        of(vec![bytes(2, b"c")], None),          true),
            (of(vec![bytes(0, b"abc")], None),       of(vec![Starts(text("ab"))], None),      true),
            (of(vec![Status("200".parse().unwrap())], None), of(vec![Status("2xx".parse().unwrap())], None), true),
        ];
        for (one, other, expected) in table {
            assert_eq!(implies(&one, &other), expected, "{one:?} {other:?}");
        }
    }
}
