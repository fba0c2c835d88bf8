//! Places in JSON that tell a right finder from a wrong one, and random documents, compared with `serde_json`.

use super::*;
use serde_json::Value as Json;
use units::Random;

/// The number at `path` in `text`, if there is one.
fn number(text: &str, path: &str) -> Option<u64> {
    super::number(&path.parse().unwrap(), text.as_bytes())
}

#[test]
fn inputs_that_tell_finders_apart() {
    #[rustfmt::skip]
    let table = [
        (r#"{"a":{"id":9},"id":5}"#,         "$.id",        Some(5)),
        (r#"{"id":5,"a":{"id":9}}"#,         "$.id",        Some(5)),
        (r#"{"x\"id":9,"id":5}"#,            "$.id",        Some(5)),
        (r#"{"x":"\"id\":9","id":5}"#,       "$.id",        Some(5)),
        (r#"{"id":5,"id":9}"#,               "$.id",        Some(5)),
        (r#"{"a":1,"\u0069d":5}"#,           "$.id",        Some(5)),
        (r#"{ "id" : 5 }"#,                  "$.id",        Some(5)),
        ("{\"id\":5}\n",                     "$.id",        Some(5)),
        (r#"{"id":"5"}"#,                    "$.id",        Some(5)),
        (r#"{"id":"\u0035"}"#,               "$.id",        None),
        (r#"{"id":5.0}"#,                    "$.id",        None),
        (r#"{"id":5e0}"#,                    "$.id",        None),
        (r#"{"id":-5}"#,                     "$.id",        None),
        (r#"{"id":null}"#,                   "$.id",        None),
        (r#"{"id":[5]}"#,                    "$.id",        None),
        (r#"[{"id":5}]"#,                    "$.id",        None),
        (r#"[{"id":5}]"#,                    "$[0].id",     Some(5)),
        (r#"{"id":5,"cut":"#,                "$.id",        Some(5)),
        (r#"{"id":5"#,                       "$.id",        Some(5)),
        (r#"{"cut"#,                         "$.id",        None),
        (r#"["3","4",{"a":[7,[8]]}]"#,       "$[1]",        Some(4)),
        (r#"["3","4",{"a":[7,[8]]}]"#,       "$[2].a[1][0]", Some(8)),
        (r#"["3","4",{"a":[7,[8]]}]"#,       "$[3]",        None),
        (r#"{"a":{"b":1},"a":{"c":2}}"#,     "$.a.c",       None),
        (r#"{"a b":{"":2}}"#,                "$[\"a b\"][\"\"]", Some(2)),
        ("7",                                "$",           Some(7)),
        ("",                                 "$.id",        None),
        ("[1,]",                             "$[1]",        None),
        (r#"{"id" 5}"#,                      "$.id",        None),
        (r#"43["id"]"#,                      "$[0]",        None),
    ];
    for (text, path, expected) in table {
        assert_eq!(number(text, path), expected, "{path} in {text}");
    }
}

#[test]
fn several_places_are_found_in_one_pass_and_no_further_than_wanted() {
    let mut places = Places::default();
    let paths = ["$.id", "$.a.b", "$.a", "$.c[1]"].map(|path| path.parse().unwrap());
    let numbers = paths.each_ref().map(|path| places.add(path, true).unwrap());
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert_eq!(places.add(&paths[1], false), Some(1), "the same path is the same place");
    let text = br#"{"a":{"x":[],"b":1},"c":[0,"x"],"id":7,"broken"#;
    let mut found = Vec::new();
    let walked = places.walk(text, &mut false, |value| {
        found.push((value.place, value.seen));
        value.place == 0
    });
    assert_eq!(walked, Walked::Stopped);
    assert_eq!(found, [(2, 6), (1, 19), (3, 30), (0, 39)]);
    assert_eq!(places.walk(text, &mut false, |_| false), Walked::Broken);
    assert_eq!(places.walk(b"{}", &mut false, |_| false), Walked::Whole);
    assert_eq!(places.walk(b"{} 1", &mut false, |_| false), Walked::Broken);
}

#[test]
fn a_string_that_is_not_read_is_known_by_its_quote() {
    let mut places = Places::default();
    places.add(&"$.a".parse().unwrap(), false).unwrap();
    let mut seen = 0;
    let walked = places.walk(br#"{"a":"no end"#, &mut false, |value| {
        seen = value.seen;
        true
    });
    assert_eq!((walked, seen), (Walked::Stopped, 6));
    assert_eq!(places.walk(br#"{"a":"b","c":1}"#, &mut false, |_| false), Walked::Whole);
}

#[test]
fn there_are_no_more_steps_than_bits() {
    let mut places = Places::default();
    for index in 0..Places::NODES_MAX - 1 {
        assert!(places.add(&format!("$[{index}]").parse().unwrap(), true).is_some());
    }
    assert_eq!(places.add(&"$.one.more".parse().unwrap(), true), None);
}

#[test]
fn every_place_of_random_documents_is_found_as_serde_finds_it() {
    let mut random = Random::new(16);
    for _ in 0..2000 {
        let document = document(&mut random, 4);
        let mut all = Vec::new();
        places_of(&document, &mut Vec::new(), &mut all);
        let text = spelt(&document, &mut random);
        for (path, expected) in all {
            let found = find(&path, text.as_bytes()).map(|value| value.token);
            assert_is(found, Some(expected), &path, &text);
            let mut beside = path.clone();
            beside.0.push(Key::Member("absent".to_owned()));
            assert_is(
                find(&beside, text.as_bytes()).map(|value| value.token),
                None,
                &beside,
                &text,
            );
        }
    }
}

fn assert_is(found: Option<Token<'_>>, expected: Option<&Json>, path: &Path, text: &str) {
    let is_it = match (found, expected) {
        (None, None) => true,
        (Some(Token::Container), Some(Json::Object(_) | Json::Array(_))) => true,
        (Some(token @ Token::Text { .. }), Some(Json::String(text))) => {
            token.is_text(text.as_bytes(), &mut false)
        }
        (Some(Token::Literal(bytes)), Some(literal)) => bytes == literal.to_string().as_bytes(),
        _ => false,
    };
    assert!(is_it, "{path} in {text}: {found:?}, expected {expected:?}");
}

/// All places of a document, and the values there.
fn places_of<'d>(value: &'d Json, way: &mut Vec<Key>, all: &mut Vec<(Path, &'d Json)>) {
    all.push((Path(way.clone()), value));
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                way.push(Key::Member(name.clone()));
                places_of(value, way, all);
                way.pop();
            }
        }
        Json::Array(elements) => {
            for (index, value) in (0..).zip(elements) {
                way.push(Key::Index(index));
                places_of(value, way, all);
                way.pop();
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// A random document whose names and texts are hard to read.
fn document(random: &mut Random, depth: usize) -> Json {
    const TEXTS: [&str; 8] = [
        "id",
        "a",
        "",
        "x\"id",
        "\\",
        "}],\"id\":9",
        "é\u{1F600}\n\u{1}",
        "a longer text than a word",
    ];
    let text = |random: &mut Random| TEXTS[random.below(TEXTS.len())].to_owned();
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Json::Null,
        1 => Json::Bool(random.below(2) == 0),
        2 => Json::from(random.next_u32()),
        3 => Json::from(-1.5),
        4 => Json::String(text(random)),
        5 => (0..random.below(4)).map(|_| document(random, depth - 1)).collect(),
        _ => Json::Object(
            (0..random.below(4)).map(|_| (text(random), document(random, depth - 1))).collect(),
        ),
    }
}

/// The document as text, with white space between tokens and with escapes where none are needed.
fn spelt(value: &Json, random: &mut Random) -> String {
    let space = [" ", "", "", "\n\t", "\r "][random.below(5)];
    let text = |text: &str, random: &mut Random| {
        let plain = Json::from(text).to_string();
        match random.below(4) {
            0 => plain.replace("id", "\\u0069d").replace('a', "\\u0061"),
            _ => plain,
        }
    };
    match value {
        Json::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(|value| spelt(value, random)).collect();
            format!("{space}[{space}{}{space}]", elements.join(&format!("{space},{space}")))
        }
        Json::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| {
                    let (name, value) = (text(name, random), spelt(value, random));
                    format!("{name}{space}:{space}{value}")
                })
                .collect();
            format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}")))
        }
        Json::String(string) => text(string, random),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    }
}
