//! Finds places in JSON in one pass over it: no allocation, and no more bytes read than needed.
//!
//! All places are looked for at once, as a tree of their steps. Members and elements on the way to none of them are
//! skipped ([`super::json`]). If two members have the same name, the first counts. `serde_json` reads names with a
//! backslash, so that an odd spelling is found as well.

use super::json::{self, Text};
use spec::conversation::{Key, Path};
use std::borrow::Cow;

/// Places that are looked for together.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The root is the first.
    nodes: Vec<Node>,
    count: usize,
}

/// A step on the way to a place.
#[derive(Clone, Debug, Default)]
struct Node {
    /// The place that ends here.
    place: Option<usize>,
    /// True if the content of a string at that place is needed; otherwise it is enough that a string begins there.
    is_read: bool,
    members: Vec<(Box<[u8]>, usize)>,
    elements: Vec<(u32, usize)>,
}

/// A value found at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// The number of the place.
    pub(super) place: usize,
    pub(super) token: Token<'a>,
    /// The index of its first byte; for a string, of the byte after the quote.
    pub(super) start: usize,
    /// The number of bytes that prove that this value is there: up to its end, with the byte after a literal; for a
    /// container or a string that is not read, only up to its opening.
    pub(super) seen: usize,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An object or an array.
    Container,
    /// A number, `true`, `false` or `null`.
    Literal(&'a [u8]),
    /// The inside of a string; empty if it is not asked for.
    Text { bytes: &'a [u8], is_escaped: bool },
}

/// The reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    /// The bytes are not JSON, as far as they were read.
    Broken,
    /// The visitor wanted no more.
    Stopped,
    /// All of it was seen.
    Whole,
}

impl Places {
    /// The most steps that all places have together.
    pub(super) const NODES_MAX: usize = 128;

    /// Adds a place and returns its number, the same for the same path. `is_read` asks for the content of a string
    /// there. `None` if there are more than [`Places::NODES_MAX`] steps.
    pub(super) fn add(&mut self, path: &Path, is_read: bool) -> Option<usize> {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for key in &path.0 {
            let next = self.nodes.len();
            let node = &mut self.nodes[at];
            let known = match key {
                Key::Member(name) => {
                    let name = name.as_bytes();
                    let known = node.members.iter().find(|(member, _)| **member == *name);
                    let known = known.map(|(_, node)| *node);
                    if known.is_none() {
                        node.members.push((name.into(), next));
                    }
                    known
                }
                Key::Index(index) => {
                    let known = node.elements.iter().find(|(element, _)| element == index);
                    let known = known.map(|(_, node)| *node);
                    if known.is_none() {
                        node.elements.push((*index, next));
                    }
                    known
                }
            };
            at = known.unwrap_or(next);
            if known.is_none() {
                self.nodes.push(Node::default());
            }
        }
        if self.nodes.len() > Self::NODES_MAX {
            return None;
        }
        self.nodes[at].is_read |= is_read;
        let count = &mut self.count;
        Some(*self.nodes[at].place.get_or_insert_with(|| {
            *count += 1;
            *count - 1
        }))
    }

    /// True if a place is that of a member of the root.
    pub(super) fn is_root_member(&self, place: usize) -> bool {
        let Some(root) = self.nodes.first() else { return false };
        root.members.iter().any(|(_, node)| self.nodes[*node].place == Some(place))
    }

    /// Looks for all places in `bytes`, and hands each value that it finds to `visit`, until that returns `true`.
    #[inline]
    pub(super) fn walk<'a>(
        &self,
        bytes: &'a [u8],
        odd: &mut bool,
        visit: impl FnMut(Value<'a>) -> bool,
    ) -> Walked {
        if self.nodes.is_empty() {
            return Walked::Broken;
        }
        let mut walk = Walk { nodes: &self.nodes, bytes, odd, been: 0, visit };
        match walk.value(0, json::skip_space(bytes, 0)) {
            Some(Step::Over(at)) if json::skip_space(bytes, at) == bytes.len() => Walked::Whole,
            Some(Step::Over(_)) | None => Walked::Broken,
            Some(Step::Stop) => Walked::Stopped,
        }
    }
}

impl<'a> Token<'a> {
    /// True for `null`.
    pub(super) fn is_null(self) -> bool {
        self == Token::Literal(b"null")
    }

    /// The natural number that it is, or that it contains if it is a string.
    #[inline]
    pub(super) fn natural(self) -> Option<u64> {
        match self {
            Token::Container | Token::Text { is_escaped: true, .. } => None,
            Token::Literal(bytes) | Token::Text { bytes, .. } => json::natural(bytes),
        }
    }

    /// True if it is a string with this content.
    pub(super) fn is_text(self, text: &[u8], odd: &mut bool) -> bool {
        match self {
            Token::Text { bytes, is_escaped: false } => bytes == text,
            Token::Text { bytes, is_escaped: true } => {
                *odd = true;
                unescaped(bytes).is_some_and(|unescaped| unescaped == text)
            }
            Token::Container | Token::Literal(_) => false,
        }
    }
}

/// The content of a string with escapes. The only part of a walk that allocates.
#[cold]
pub(super) fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let quoted = [b"\"", bytes, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).ok().map(String::into_bytes)
}

/// A walk under way.
struct Walk<'w, 'a, V> {
    nodes: &'w [Node],
    bytes: &'a [u8],
    odd: &'w mut bool,
    /// A bit for each node that was found: a second member of the same name does not count.
    been: u128,
    visit: V,
}

/// The place where a walk goes on.
enum Step {
    /// The byte with this index.
    Over(usize),
    /// Nothing: the visitor wanted no more.
    Stop,
}

impl<'a, V: FnMut(Value<'a>) -> bool> Walk<'_, 'a, V> {
    /// Walks over the value that begins at `at`; `None` if there is none.
    fn value(&mut self, node: usize, at: usize) -> Option<Step> {
        let bytes = self.bytes;
        self.been |= 1 << node;
        let &Node { place, is_read, .. } = &self.nodes[node];
        if let (Some(place), false, b'"') = (place, is_read, *bytes.get(at)?) {
            let token = Token::Text { bytes: b"", is_escaped: false };
            if (self.visit)(Value { place, token, start: at + 1, seen: at + 1 }) {
                return Some(Step::Stop);
            }
            return json::skip_value(bytes, at).map(Step::Over);
        }
        let (token, start, end, seen) = match bytes.get(at)? {
            b'"' => {
                let Text { end, is_escaped } = json::string(bytes, at + 1)?;
                (Token::Text { bytes: &bytes[at + 1..end], is_escaped }, at + 1, end + 1, end + 1)
            }
            b'{' | b'[' => (Token::Container, at, at, at + 1),
            _ => {
                let end = json::literal(bytes, at)?;
                (Token::Literal(&bytes[at..end]), at, end, end + 1)
            }
        };
        if let Some(place) = place
            && (self.visit)(Value { place, token, start, seen })
        {
            return Some(Step::Stop);
        }
        match bytes[at] {
            b'{' if !self.nodes[node].members.is_empty() => self.object(node, at + 1),
            b'[' if !self.nodes[node].elements.is_empty() => self.array(node, at + 1),
            b'{' | b'[' => json::skip_value(bytes, at).map(Step::Over),
            _ => Some(Step::Over(end)),
        }
    }

    /// Walks over the object whose first member begins at `at`.
    fn object(&mut self, node: usize, at: usize) -> Option<Step> {
        let (nodes, bytes) = (self.nodes, self.bytes);
        let mut at = json::skip_space(bytes, at);
        if bytes.get(at)? == &b'}' {
            return Some(Step::Over(at + 1));
        }
        loop {
            if bytes.get(at)? != &b'"' {
                return None;
            }
            let name = json::string(bytes, at + 1)?;
            let member = self.member(&nodes[node].members, &bytes[at + 1..name.end], name);
            at = json::skip_space(bytes, name.end + 1);
            if bytes.get(at)? != &b':' {
                return None;
            }
            at = json::skip_space(bytes, at + 1);
            at = match member {
                Some(member) => match self.value(member, at)? {
                    Step::Over(at) => at,
                    Step::Stop => return Some(Step::Stop),
                },
                None => json::skip_value(bytes, at)?,
            };
            at = json::skip_space(bytes, at);
            match bytes.get(at)? {
                b'}' => return Some(Step::Over(at + 1)),
                b',' => at = json::skip_space(bytes, at + 1),
                _ => return None,
            }
        }
    }

    /// Walks over the array whose first element begins at `at`.
    fn array(&mut self, node: usize, at: usize) -> Option<Step> {
        let (nodes, bytes) = (self.nodes, self.bytes);
        let mut at = json::skip_space(bytes, at);
        if bytes.get(at)? == &b']' {
            return Some(Step::Over(at + 1));
        }
        let mut index = 0_u32;
        loop {
            let element = nodes[node].elements.iter().find(|(element, _)| *element == index);
            at = match element {
                Some((_, element)) => match self.value(*element, at)? {
                    Step::Over(at) => at,
                    Step::Stop => return Some(Step::Stop),
                },
                None => json::skip_value(bytes, at)?,
            };
            index = index.saturating_add(1);
            at = json::skip_space(bytes, at);
            match bytes.get(at)? {
                b']' => return Some(Step::Over(at + 1)),
                b',' => at = json::skip_space(bytes, at + 1),
                _ => return None,
            }
        }
    }

    /// The node of the member of this name, unless there was one before.
    #[inline]
    fn member(&mut self, members: &[(Box<[u8]>, usize)], name: &[u8], text: Text) -> Option<usize> {
        let node = if text.is_escaped {
            *self.odd = true;
            let name = unescaped(name)?;
            members.iter().find(|(member, _)| **member == *name)
        } else {
            members.iter().find(|(member, _)| **member == *name)
        };
        node.map(|(_, node)| *node).filter(|node| self.been & (1 << node) == 0)
    }
}

/// The value at one place; the first if there are two. `None` if there is none, or the bytes are not JSON up to there.
fn find<'a>(path: &Path, bytes: &'a [u8]) -> Option<Value<'a>> {
    let mut places = Places::default();
    places.add(path, true)?;
    let mut found = None;
    places.walk(bytes, &mut false, |value| {
        found = Some(value);
        true
    });
    found
}

/// The natural number at one place.
pub(super) fn number(path: &Path, bytes: &[u8]) -> Option<u64> {
    find(path, bytes)?.token.natural()
}

/// The text at one place: the inside of a string without escapes, anything else as it is written.
pub(super) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let Value { token, start, .. } = find(path, bytes)?;
    Some(match token {
        Token::Container => (&bytes[start..json::skip_value(bytes, start)?]).into(),
        Token::Literal(bytes) | Token::Text { bytes, is_escaped: false } => bytes.into(),
        Token::Text { bytes, is_escaped: true } => unescaped(bytes)?.into(),
    })
}

#[cfg(test)]
mod tests;
