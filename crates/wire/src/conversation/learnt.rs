//! The bytes around an id that prove what a message is, learnt from earlier messages.
//!
//! A walk over a message reads its bytes from the left, so two messages that are equal up to where the walk ended,
//! except for the digits of the id, are decided alike: this is no guess. An id that comes last is proven by the end of
//! the message: in JSON the last `}` closes the root, and a name whose opening quote follows a `,` is that name. This
//! is true of complete JSON in which no name occurs twice.

use super::json;

/// The shapes of messages that a connection has learnt.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    shapes: Vec<Shape>,
    /// The number of messages from which nothing could be learnt.
    failures: u8,
}

/// The shape of a message: it begins with `before`, and the digits of the id follow, at once or at the end.
#[derive(Debug)]
struct Shape {
    rule: usize,
    before: Box<[u8]>,
    after: After,
}

#[derive(Debug)]
enum After {
    /// The digits follow at once, and then this.
    AtOnce(Box<[u8]>),
    /// The message ends with the first of these, the digits, and the second.
    AtEnd(Box<[u8]>, Box<[u8]>),
}

/// The part of a message that decides its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof {
    pub(super) rule: usize,
    /// The range of the digits of the id.
    pub(super) id: (usize, usize),
    /// The number of bytes from the start that decide, without the id if that comes after them.
    pub(super) seen: usize,
}

impl Proof {
    /// True if the bytes that decide are few enough to be kept.
    pub(super) fn is_short(&self) -> bool {
        self.seen <= SEEN_MAX
    }
}

impl Learnt {
    /// Knows nothing and learns nothing: for messages that teach nothing about others.
    pub(super) const fn never() -> Self {
        Self { shapes: Vec::new(), failures: FAILURES_MAX }
    }

    /// True if it may learn from one more message.
    pub(super) fn may_learn(&self) -> bool {
        self.shapes.len() < SHAPES_MAX && self.failures < FAILURES_MAX
    }

    /// The rule and the id of a message whose shape is known.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8]) -> Option<(usize, u64)> {
        self.shapes.iter().find_map(|shape| Some((shape.rule, shape.id(bytes)?)))
    }

    /// The rules of the shapes that are known, and the bytes that such messages begin with.
    pub(super) fn shapes(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.shapes.iter().map(|shape| (shape.rule, &*shape.before))
    }

    /// Learns from a message that was decided without it; called while [`Self::may_learn`].
    pub(super) fn learn(&mut self, proof: Option<Proof>, bytes: &[u8]) {
        let shape = proof.filter(Proof::is_short).and_then(|proof| Shape::new(proof, bytes));
        match shape {
            Some(shape) => self.shapes.push(shape),
            None => self.failures += 1,
        }
    }
}

impl Shape {
    fn new(proof: Proof, bytes: &[u8]) -> Option<Self> {
        let Proof { rule, id: (start, end), seen } = proof;
        let (before, after) = if seen > end {
            let after = bytes.get(end..seen)?;
            (&bytes[..start], After::AtOnce(after.into()))
        } else {
            let (lead, tail) = (lead(&bytes[..start])?, &bytes[end..]);
            let end: &[u8] = if lead.ends_with(b"\"") { b"\"}" } else { b"}" };
            let is_end = tail.trim_ascii_end() == end && tail.len() <= TAIL_MAX;
            if !is_end || seen > start - lead.len() {
                return None;
            }
            (&bytes[..seen], After::AtEnd(lead.into(), tail.into()))
        };
        Some(Self { rule, before: before.into(), after })
    }

    /// The id in a message of this shape.
    #[inline]
    fn id(&self, bytes: &[u8]) -> Option<u64> {
        let rest = bytes.strip_prefix(&*self.before)?;
        match &self.after {
            After::AtOnce(after) => {
                let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, rest) = rest.split_at(len);
                rest.starts_with(after).then(|| json::natural(digits))?
            }
            After::AtEnd(lead, tail) => {
                let rest = rest.strip_suffix(&**tail)?;
                let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                let (rest, digits) = rest.split_at(rest.len() - digits);
                rest.ends_with(lead).then(|| json::natural(digits))?
            }
        }
    }
}

/// The end of `bytes` from the comma before the last name: `,"name":`, and the opening quote of a string.
fn lead(bytes: &[u8]) -> Option<&[u8]> {
    let name = bytes.strip_suffix(b"\"").unwrap_or(bytes).strip_suffix(b"\":")?;
    let quote = name.iter().rposition(|byte| *byte == b'"')?;
    let is_first = quote > 0 && name[quote - 1] == b',';
    let is_plain = !name[quote..].contains(&b'\\');
    (is_first && is_plain && bytes.len() - quote < LEAD_MAX).then(|| &bytes[quote - 1..])
}

/// The most bytes of a message kept to recognize the next one.
const SEEN_MAX: usize = 96;

/// The longest name of a late id, with its punctuation.
const LEAD_MAX: usize = 32;

/// The longest end of a message after its id.
const TAIL_MAX: usize = 4;

/// The most shapes of a connection.
const SHAPES_MAX: usize = 3;

/// The most messages from which nothing was learnt; after them no more are tried.
const FAILURES_MAX: u8 = 16;
