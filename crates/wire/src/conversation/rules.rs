//! Decides what a message is: the first rule of a list whose conditions all hold.
//!
//! Conditions on places in JSON are decided in one pass ([`Places`]), which ends as soon as the rule is known; those on
//! text and bytes are checked only if no earlier rule has decided. A rule with an id holds only if the caller accepts
//! the id, so the kind of a message is matched first, and then the id. A decision by the first bytes of a message is
//! learnt ([`super::learnt`]), and the next message that begins the same way is not searched again.

use super::CompileError;
use super::learnt::{Learnt, Proof};
use super::places::{Places, Token, Value, Walked};
use super::text;
use sha2::Digest as _;
use spec::Sha256;
use spec::conversation::{Condition, Matcher, Offset, Place, Scalar, Status};

/// A list of rules, of which only the first that holds counts.
#[derive(Clone, Debug)]
pub(super) struct Rules<W> {
    /// The conditions of all rules; a rule has a bit for each.
    tests: Vec<Test>,
    places: Places,
    /// The tests at each place.
    at_place: Vec<Vec<usize>>,
    /// The tests that are decided by a walk over JSON, and those of them that hold where nothing is found.
    json: Bits,
    lacks: Bits,
    rules: Vec<Rule<W>>,
}

#[derive(Clone, Debug)]
struct Rule<W> {
    all: Bits,
    /// The test that finds the id.
    id: Option<usize>,
    what: W,
}

/// Sets of tests.
type Bits = u128;

/// A condition, ready to be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    /// These bytes begin at this index.
    Bytes(usize, Box<[u8]>),
    Contains(Box<[u8]>),
    Equals(usize, Literal),
    Has(usize),
    /// An id is at the place.
    Id(usize, Slot),
    /// An id is the number in bytes.
    IdInBytes(Offset, Slot),
    /// An id is between the texts.
    IdInText(Box<[u8]>, Box<[u8]>, Slot),
    Is(Box<[u8]>),
    Lacks(usize),
    Sha256(Sha256),
    Starts(Box<[u8]>),
    Status(Status),
}

/// The index among the ids that were found.
type Slot = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Literal {
    Bool(bool),
    Integer(i64),
    Text(Box<[u8]>),
}

/// A message that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard<'a> {
    pub(super) bytes: &'a [u8],
    /// The status of the HTTP response that carried it.
    pub(super) status: Option<u16>,
}

/// The number of ids found, by the way in which each was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Ids found by the bytes around them, which are known from an earlier message.
    pub learnt: u64,
    /// Ids found by a walk over the message, between two texts, or at their place in bytes.
    pub scanned: u64,
    /// The same, where a name or text with escapes had to be unescaped.
    pub odd: u64,
}

impl<W> Default for Rules<W> {
    fn default() -> Self {
        Self {
            tests: Vec::new(),
            places: Places::default(),
            at_place: Vec::new(),
            json: 0,
            lacks: 0,
            rules: Vec::new(),
        }
    }
}

impl<W> Rules<W> {
    /// Adds a rule after the others.
    ///
    /// # Errors
    ///
    /// There are too many conditions, ids or steps of paths.
    pub(super) fn add(&mut self, matcher: &Matcher, what: W) -> Result<(), CompileError> {
        let mut all = 0;
        for condition in &matcher.conditions {
            let test = match condition {
                Condition::Bytes { at, bytes } => {
                    Test::Bytes(*at as usize, bytes.0.as_slice().into())
                }
                Condition::Contains(text) => Test::Contains(text.as_bytes().into()),
                Condition::Equals { path, value } => {
                    Test::Equals(self.place(path, true)?, Literal::new(value))
                }
                Condition::Has(path) => Test::Has(self.place(path, false)?),
                Condition::Is(text) => Test::Is(text.as_bytes().into()),
                Condition::Lacks(path) => Test::Lacks(self.place(path, false)?),
                Condition::Sha256(digest) => Test::Sha256(*digest),
                Condition::Starts(text) => Test::Starts(text.as_bytes().into()),
                Condition::Status(status) => Test::Status(*status),
            };
            all |= 1 << self.test(test)?;
        }
        let id = matcher.id.as_ref().map(|place| self.id(place)).transpose()?;
        all |= id.map_or(0, |test| 1 << test);
        self.rules.push(Rule { all, id, what });
        Ok(())
    }

    /// Decides what `message` is, by the first rule that holds and for which `accept` returns a value, given what the
    /// rule is about and, if it has an id, the id in the message.
    #[inline]
    pub(super) fn decide<T>(
        &self,
        message: Heard<'_>,
        learnt: &mut Learnt,
        hits: &mut Hits,
        mut accept: impl FnMut(&W, Option<u64>) -> Option<T>,
    ) -> Option<T> {
        if let Some((rule, id)) = learnt.find(message.bytes)
            && let Some(found) = accept(&self.rules[rule].what, Some(id))
        {
            hits.learnt += 1;
            return Some(found);
        }
        self.decide_anew(message, learnt, hits, &mut accept)
    }

    /// The kind of messages that a rule is about.
    pub(super) fn what(&self, rule: usize) -> &W {
        &self.rules[rule].what
    }

    fn decide_anew<T>(
        &self,
        message: Heard<'_>,
        learnt: &mut Learnt,
        hits: &mut Hits,
        accept: &mut impl FnMut(&W, Option<u64>) -> Option<T>,
    ) -> Option<T> {
        let mut state = State::new(self, message);
        let (mut odd, mut is_odd, mut seen) = (false, false, None);
        let mut decided = state.decide(accept);
        if decided == Decided::Open {
            let walked = self.places.walk(message.bytes, &mut odd, |value| {
                state.found(value, &mut is_odd);
                decided = state.decide(accept);
                seen = Some(value.seen);
                decided != Decided::Open
            });
            if decided == Decided::Open {
                state.complete(walked);
                decided = state.decide(accept);
                seen = None;
            }
        }
        let Decided::Rule(index) = decided else { return None };
        if let Some(test) = self.rules[index].id {
            *if odd | is_odd { &mut hits.odd } else { &mut hits.scanned } += 1;
            if learnt.may_learn() {
                let proof = seen.and_then(|seen| self.prove(index, test, &state, seen));
                learnt.learn(proof, message.bytes);
            }
        }
        state.accepted
    }

    /// The part of the message that proves any message that has it to be one of rule `index`.
    fn prove<T>(
        &self,
        index: usize,
        test: usize,
        state: &State<'_, W, T>,
        seen: usize,
    ) -> Option<Proof> {
        let Test::Id(place, slot) = self.tests[test] else { return None };
        let is_alone = self.at_place[place].iter().all(|test| match self.tests[*test] {
            Test::Id(..) | Test::Has(_) | Test::Lacks(_) => true,
            Test::Bytes(..)
            | Test::Contains(_)
            | Test::Equals(..)
            | Test::IdInBytes(..)
            | Test::IdInText(..)
            | Test::Is(_)
            | Test::Sha256(_)
            | Test::Starts(_)
            | Test::Status(_) => false,
        });
        if !is_alone || state.is_unprovable {
            return None;
        }
        let id = state.ids[slot].1;
        Some(Proof { rule: index, id, seen: seen.max(state.starts_len) })
            .filter(Proof::is_short)
            .or_else(|| {
                // The id comes late: what is decided without it?
                let mut state = State::<W, ()>::new(self, state.message);
                state.met |= 1 << test;
                let mut seen = None;
                let mut decided = state.decide(&mut |_, _| Some(()));
                self.places.walk(state.message.bytes, &mut false, |value| {
                    if decided == Decided::Open {
                        state.found(value, &mut false);
                        decided = state.decide(&mut |_, _| Some(()));
                        seen = Some(value.seen);
                    }
                    decided != Decided::Open
                });
                let seen = seen.unwrap_or(0).max(state.starts_len);
                let is_proven = decided == Decided::Rule(index)
                    && !state.is_unprovable
                    && self.places.is_root_member(place);
                is_proven.then_some(Proof { rule: index, id, seen })
            })
    }

    fn place(
        &mut self,
        path: &spec::conversation::Path,
        is_read: bool,
    ) -> Result<usize, CompileError> {
        let place =
            self.places.add(path, is_read).ok_or(CompileError::Steps { max: Places::NODES_MAX })?;
        if self.at_place.len() <= place {
            self.at_place.resize(place + 1, Vec::new());
        }
        Ok(place)
    }

    fn id(&mut self, place: &Place) -> Result<usize, CompileError> {
        let slot = self.tests.iter().filter(|test| test.slot().is_some()).count();
        let test = match place {
            Place::Json(path) => Test::Id(self.place(path, true)?, slot),
            Place::Text { before, after } => {
                Test::IdInText(before.as_bytes().into(), after.as_bytes().into(), slot)
            }
            Place::Bytes(offset) => Test::IdInBytes(*offset, slot),
        };
        let known = self.tests.iter().position(|known| known.is_same_id(&test));
        if known.is_none() && slot == IDS_MAX {
            return Err(CompileError::Ids { max: IDS_MAX });
        }
        known.map_or_else(|| self.test(test), Ok)
    }

    /// The bit of a test; the same for the same test.
    fn test(&mut self, test: Test) -> Result<usize, CompileError> {
        if let Some(known) = self.tests.iter().position(|known| *known == test) {
            return Ok(known);
        }
        let bit = self.tests.len();
        if bit == Bits::BITS as usize {
            return Err(CompileError::Conditions { max: bit });
        }
        if let Some(place) = test.place() {
            self.at_place[place].push(bit);
            self.json |= 1 << bit;
        }
        if matches!(test, Test::Lacks(_)) {
            self.lacks |= 1 << bit;
        }
        self.tests.push(test);
        Ok(bit)
    }
}

impl Test {
    /// The place in JSON that decides it.
    const fn place(&self) -> Option<usize> {
        match self {
            Self::Equals(place, _) | Self::Has(place) | Self::Id(place, _) | Self::Lacks(place) => {
                Some(*place)
            }
            Self::Bytes(..)
            | Self::Contains(_)
            | Self::IdInBytes(..)
            | Self::IdInText(..)
            | Self::Is(_)
            | Self::Sha256(_)
            | Self::Starts(_)
            | Self::Status(_) => None,
        }
    }

    const fn slot(&self) -> Option<Slot> {
        match self {
            Self::Id(_, slot) | Self::IdInBytes(_, slot) | Self::IdInText(_, _, slot) => {
                Some(*slot)
            }
            Self::Bytes(..)
            | Self::Contains(_)
            | Self::Equals(..)
            | Self::Has(_)
            | Self::Is(_)
            | Self::Lacks(_)
            | Self::Sha256(_)
            | Self::Starts(_)
            | Self::Status(_) => None,
        }
    }

    fn is_same_id(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(place, _), Self::Id(other, _)) => place == other,
            (Self::IdInBytes(place, _), Self::IdInBytes(other, _)) => place == other,
            (Self::IdInText(before, after, _), Self::IdInText(other_before, other_after, _)) => {
                (before, after) == (other_before, other_after)
            }
            _ => false,
        }
    }
}

impl Literal {
    fn new(value: &Scalar) -> Self {
        match value {
            Scalar::Bool(value) => Self::Bool(*value),
            Scalar::Integer(value) => Self::Integer(*value),
            Scalar::Text(value) => Self::Text(value.as_bytes().into()),
        }
    }

    fn is(&self, token: Token<'_>, odd: &mut bool) -> bool {
        match (self, token) {
            (Self::Bool(value), Token::Literal(bytes)) => {
                bytes == if *value { &b"true"[..] } else { b"false" }
            }
            (Self::Integer(value), Token::Literal(bytes)) => {
                let number = str::from_utf8(bytes).ok().filter(|number| !number.starts_with('+'));
                number.and_then(|number| number.parse::<i64>().ok()) == Some(*value)
            }
            (Self::Text(value), token) => token.is_text(value, odd),
            (Self::Bool(_) | Self::Integer(_), Token::Container | Token::Text { .. }) => false,
        }
    }
}

/// The tests of a message, decided or not.
struct State<'r, W, T> {
    rules: &'r Rules<W>,
    message: Heard<'r>,
    met: Bits,
    failed: Bits,
    /// The first rule that is not known to fail.
    next: usize,
    /// The ids that were found, each with the range of its digits.
    ids: [(u64, (usize, usize)); IDS_MAX],
    accepted: Option<T>,
    /// The most bytes that a test of the beginning looked at.
    starts_len: usize,
    /// True if something other than the first bytes decided.
    is_unprovable: bool,
}

/// The state of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    /// None of the rules matches.
    None,
    /// It is not decided yet.
    Open,
    /// The rule with this index.
    Rule(usize),
}

impl<'r, W, T> State<'r, W, T> {
    fn new(rules: &'r Rules<W>, message: Heard<'r>) -> Self {
        Self {
            rules,
            message,
            met: 0,
            failed: 0,
            next: 0,
            ids: [(0, (0, 0)); IDS_MAX],
            accepted: None,
            starts_len: 0,
            is_unprovable: false,
        }
    }

    /// Decides what the message is, as far as that is known.
    fn decide(&mut self, accept: &mut impl FnMut(&W, Option<u64>) -> Option<T>) -> Decided {
        let rules = self.rules;
        while let Some(rule) = rules.rules.get(self.next) {
            let open = rule.all & !rules.json & !(self.met | self.failed);
            if rule.all & self.failed == 0 && open != 0 {
                self.read_texts(open);
            }
            if rule.all & self.failed == 0 {
                if rule.all & !self.met != 0 {
                    return Decided::Open;
                }
                let id = rule.id.and_then(|test| rules.tests[test].slot());
                self.accepted = accept(&rule.what, id.map(|slot| self.ids[slot].0));
                if self.accepted.is_some() {
                    return Decided::Rule(self.next);
                }
                self.is_unprovable = true;
            }
            self.next += 1;
        }
        Decided::None
    }

    /// Decides the tests of text among `open`, until one fails.
    fn read_texts(&mut self, mut open: Bits) {
        let bytes = self.message.bytes;
        while open != 0 {
            let bit = open.trailing_zeros() as usize;
            open &= open - 1;
            let mut is_of_start = false;
            let is_met = match &self.rules.tests[bit] {
                Test::Starts(text) => {
                    is_of_start = true;
                    self.starts_len = self.starts_len.max(text.len());
                    bytes.starts_with(text)
                }
                Test::Is(text) => bytes == &**text,
                Test::Contains(text) => text::position(bytes, text, 0).is_some(),
                Test::Sha256(Sha256(digest)) => sha2::Sha256::digest(bytes)[..] == digest[..],
                Test::Status(status) => {
                    self.message.status.is_some_and(|code| status.includes(code))
                }
                Test::Bytes(at, expected) => {
                    bytes.get(*at..).is_some_and(|rest| rest.starts_with(expected))
                }
                Test::IdInBytes(place, slot) => {
                    let id = place.number(bytes).and_then(|id| u64::try_from(id).ok());
                    self.ids[*slot].0 = id.unwrap_or_default();
                    id.is_some()
                }
                Test::IdInText(before, after, slot) => {
                    let id = text::number_between(bytes, before, after);
                    self.ids[*slot].0 = id.unwrap_or_default();
                    id.is_some()
                }
                Test::Equals(..) | Test::Has(_) | Test::Id(..) | Test::Lacks(_) => false,
            };
            self.is_unprovable |= !is_of_start;
            if !is_met {
                self.failed |= 1 << bit;
                return;
            }
            self.met |= 1 << bit;
        }
    }

    /// Decides the tests of the place at which a value was found.
    fn found(&mut self, value: Value<'_>, odd: &mut bool) {
        let Value { place, token, start, .. } = value;
        for bit in &self.rules.at_place[place] {
            let is_met = match &self.rules.tests[*bit] {
                Test::Equals(_, literal) => literal.is(token, odd),
                Test::Has(_) => !token.is_null(),
                Test::Lacks(_) => token.is_null(),
                Test::Id(_, slot) => match (token.natural(), token) {
                    (Some(id), Token::Literal(bytes) | Token::Text { bytes, .. }) => {
                        self.ids[*slot] = (id, (start, start + bytes.len()));
                        true
                    }
                    _ => false,
                },
                Test::Bytes(..)
                | Test::Contains(_)
                | Test::IdInBytes(..)
                | Test::IdInText(..)
                | Test::Is(_)
                | Test::Sha256(_)
                | Test::Starts(_)
                | Test::Status(_) => false,
            };
            *if is_met { &mut self.met } else { &mut self.failed } |= 1 << bit;
        }
    }

    /// Decides the tests of the places at which nothing was found.
    fn complete(&mut self, walked: Walked) {
        let open = self.rules.json & !(self.met | self.failed);
        let met = if walked == Walked::Whole { open & self.rules.lacks } else { 0 };
        self.met |= met;
        self.failed |= open & !met;
    }
}

/// The most places of ids in a list of rules.
const IDS_MAX: usize = 8;
