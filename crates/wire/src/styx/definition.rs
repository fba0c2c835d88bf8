//! Definitions of packets that are known only at run time; [`super::packets`] is the table of those known at compile
//! time.

use super::fault::{XmlFault, excerpt};
use super::field::Type;
use super::json::CLASS_ID;
use super::packets::{self, Packet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The packets of a protocol, and how each is packed.
///
/// A definition is XML: enums and structs below one root element of any name, in any order.
///
/// ```xml
/// <protocol>
///   <enum name="Suit"><value>CLUBS</value><value>HEARTS</value></enum>
///   <struct name="Card"><var name="suit" type="Suit"/><var name="rank" type="uint8"/></struct>
///   <struct name="Hand" id="7"><list name="cards" type="Card"/><var name="note" type="string"/></struct>
/// </protocol>
/// ```
///
/// Types are `bool`, `int8`, `int16`, `int32`, `int64`, `uint8`, `uint16`, `uint32`, `string`, and the names of enums
/// and structs. A type followed by `[]` is a list, and `<list type="T">` is the same as `<var type="T[]">`. A list of
/// `int8` is bytes: Base64 in JSON. Structs without an id get 1, 2 and so on, in order. Names are letters, digits and
/// underscores, and are the same in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub(super) enums: Vec<Enum>,
    pub(super) structs: Vec<Struct>,
    /// The index of the struct of each class id.
    pub(super) by_class_id: BTreeMap<u8, usize>,
}

/// An enum: an ordinal of one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// A struct: a packet, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) class_id: u8,
    pub(super) fields: Vec<(String, Kind)>,
    /// The least length of a value in bytes.
    pub(super) len_min: usize,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Bytes,
    /// An index of enums.
    Enum(usize),
    Integer(Integer),
    List(Box<Self>),
    String,
    /// An index of structs.
    Struct(usize),
}

/// An integer type, with its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    pub(super) name: &'static str,
    pub(super) len: usize,
    pub(super) signed: bool,
}

impl Definition {
    /// The packets of [`Packet`] as a definition, made from the same table.
    pub fn firebase() -> Self {
        let at = 0;
        let field = |(name, of): &(&str, Type)| DraftField {
            at,
            name: (*name).to_owned(),
            type_name: xml_name(*of),
        };
        let structs = Packet::structs().into_iter().map(|(name, class_id, fields)| DraftStruct {
            at,
            name: name.to_owned(),
            class_id: Some(class_id),
            fields: fields.iter().map(field).collect(),
        });
        let enums = packets::ENUMS.iter().map(|(name, values)| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            (at, Enum { name: (*name).to_owned(), values })
        });
        let draft = Draft { enums: enums.collect(), structs: structs.collect() };
        draft.resolve().expect("the table of packets is a definition")
    }

    /// The definition as XML, which reads back as the same.
    pub fn to_xml(&self) -> String {
        let mut xml = "<protocol>\n".to_owned();
        self.write_xml(&mut xml).expect("a string takes all that is written");
        xml + "</protocol>\n"
    }

    fn write_xml(&self, xml: &mut String) -> std::fmt::Result {
        for Enum { name, values } in &self.enums {
            write!(xml, "  <enum name=\"{name}\">")?;
            values.iter().try_for_each(|value| write!(xml, "<value>{value}</value>"))?;
            writeln!(xml, "</enum>")?;
        }
        for Struct { name, class_id, fields, .. } in &self.structs {
            writeln!(xml, "  <struct name=\"{name}\" id=\"{class_id}\">")?;
            for (name, kind) in fields {
                let type_name = self.type_name(kind);
                let (element, type_name) = match type_name.strip_suffix("[]") {
                    Some(type_name) => ("list", type_name),
                    None => ("var", &*type_name),
                };
                writeln!(xml, "    <{element} name=\"{name}\" type=\"{type_name}\"/>")?;
            }
            writeln!(xml, "  </struct>")?;
        }
        Ok(())
    }

    /// The class id and the name of each packet, by class id.
    pub fn packets(&self) -> impl Iterator<Item = (u8, &str)> {
        self.by_class_id.iter().map(|(class_id, index)| (*class_id, &*self.structs[*index].name))
    }

    /// The name of a type in a definition.
    pub(super) fn type_name(&self, kind: &Kind) -> String {
        match kind {
            Kind::Bool => "bool".to_owned(),
            Kind::Bytes => "int8[]".to_owned(),
            Kind::Enum(index) => self.enums[*index].name.clone(),
            Kind::Integer(integer) => integer.name.to_owned(),
            Kind::List(element) => self.type_name(element) + "[]",
            Kind::String => "string".to_owned(),
            Kind::Struct(index) => self.structs[*index].name.clone(),
        }
    }
}

/// The name that a type of the table has in a definition.
fn xml_name(of: Type) -> String {
    match of {
        Type::Bytes => "int8[]".to_owned(),
        Type::List(element) => xml_name(*element) + "[]",
        Type::Bool
        | Type::Enum(_)
        | Type::Int16
        | Type::Int32
        | Type::Int8
        | Type::String
        | Type::Struct(_) => of.name().to_owned(),
    }
}

impl Kind {
    /// The least number of bytes that a value of this type has.
    pub(super) fn len_min(&self, structs: &[Struct]) -> usize {
        match self {
            Self::Bool | Self::Enum(_) => 1,
            Self::Bytes | Self::List(_) => 4,
            Self::Integer(integer) => integer.len,
            Self::String => 2,
            Self::Struct(index) => structs[*index].len_min,
        }
    }
}

/// A definition whose types are still names.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) enums: Vec<(usize, Enum)>,
    pub(super) structs: Vec<DraftStruct>,
}

#[derive(Debug)]
pub(super) struct DraftStruct {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) class_id: Option<u8>,
    pub(super) fields: Vec<DraftField>,
}

#[derive(Debug)]
pub(super) struct DraftField {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) type_name: String,
}

/// A fault in a definition, and its offset in the text in bytes.
pub(super) type Fault = (usize, XmlFault);

impl Draft {
    /// Replaces each name by the type that it names.
    pub(super) fn resolve(self) -> Result<Definition, Fault> {
        let names = self.names()?;
        let by_class_id = self.class_ids()?;
        let mut structs = Vec::with_capacity(self.structs.len());
        let mut class_ids: Vec<_> = by_class_id.iter().map(|(id, index)| (*index, *id)).collect();
        class_ids.sort_unstable();
        for ((_, class_id), draft) in class_ids.into_iter().zip(&self.structs) {
            structs.push(Struct {
                name: draft.name.clone(),
                class_id,
                fields: fields(draft, &names)?,
                len_min: 0,
            });
        }
        let mut measure = Measure { draft: &self, structs, states: Vec::new() };
        measure.all()?;
        let structs = measure.structs;
        let enums = self.enums.into_iter().map(|(_, of)| of).collect();
        Ok(Definition { enums, structs, by_class_id })
    }

    /// The types that have a name of their own.
    fn names(&self) -> Result<BTreeMap<&str, Kind>, Fault> {
        let enums = self.enums.iter().enumerate();
        let enums = enums.map(|(index, (at, of))| (*at, &*of.name, Kind::Enum(index)));
        let structs = self.structs.iter().enumerate();
        let structs = structs.map(|(index, of)| (of.at, &*of.name, Kind::Struct(index)));
        let mut names = BTreeMap::new();
        for (at, name, kind) in enums.chain(structs) {
            let taken = builtin(name).is_some() || names.insert(name, kind).is_some();
            if taken {
                return Err((at, XmlFault::Duplicate { name: name.to_owned() }));
            }
        }
        Ok(names)
    }

    /// The struct of each class id.
    fn class_ids(&self) -> Result<BTreeMap<u8, usize>, Fault> {
        let mut class_ids = BTreeMap::new();
        let mut next = 1u32;
        for (index, draft) in self.structs.iter().enumerate() {
            let class_id = match draft.class_id {
                Some(class_id) => class_id,
                None => {
                    let class_id = u8::try_from(next).map_err(|_| {
                        (draft.at, XmlFault::ClassId { class_id: next.to_string() })
                    })?;
                    next += 1;
                    class_id
                }
            };
            if let Some(other) = class_ids.insert(class_id, index) {
                let by = self.structs[other].name.clone();
                return Err((draft.at, XmlFault::ClassIdTaken { class_id, by }));
            }
        }
        Ok(class_ids)
    }
}

/// The fields of a struct, with their types.
fn fields(draft: &DraftStruct, names: &BTreeMap<&str, Kind>) -> Result<Vec<(String, Kind)>, Fault> {
    let mut fields = Vec::with_capacity(draft.fields.len());
    let mut taken = BTreeSet::from([CLASS_ID]);
    for DraftField { at, name, type_name } in &draft.fields {
        if !taken.insert(name) {
            return Err((*at, XmlFault::Duplicate { name: name.clone() }));
        }
        let kind = kind(type_name, names)
            .ok_or_else(|| (*at, XmlFault::UnknownType { name: excerpt(type_name) }))?;
        fields.push((name.clone(), kind));
    }
    Ok(fields)
}

/// The type of this name, if there is one.
fn kind(name: &str, names: &BTreeMap<&str, Kind>) -> Option<Kind> {
    let element = name.trim_end_matches("[]");
    let mut lists = (name.len() - element.len()) / 2;
    if lists > LISTS_MAX {
        return None;
    }
    let mut kind = names.get(element).cloned().or_else(|| builtin(element))?;
    if kind == Kind::Integer(INT8) && lists > 0 {
        kind = Kind::Bytes;
        lists -= 1;
    }
    Some((0..lists).fold(kind, |kind, _| Kind::List(Box::new(kind))))
}

/// The types that every definition has.
fn builtin(name: &str) -> Option<Kind> {
    match name {
        "bool" => Some(Kind::Bool),
        "string" => Some(Kind::String),
        name => INTEGERS.into_iter().find(|integer| integer.name == name).map(Kind::Integer),
    }
}

/// Computes the least length of each struct, which has to be finite.
struct Measure<'d> {
    draft: &'d Draft,
    structs: Vec<Struct>,
    states: Vec<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Done,
    Unseen,
    Within,
}

impl Measure<'_> {
    fn all(&mut self) -> Result<(), Fault> {
        self.states = vec![State::Unseen; self.structs.len()];
        (0..self.structs.len()).try_for_each(|index| self.one(index).map(drop))
    }

    /// Computes the least length of one struct. The recursion is as deep as structs are nested; each struct is computed
    /// once.
    fn one(&mut self, index: usize) -> Result<usize, Fault> {
        if self.states[index] == State::Done {
            return Ok(self.structs[index].len_min);
        }
        self.states[index] = State::Within;
        let mut len_min = 0usize;
        for field in 0..self.structs[index].fields.len() {
            len_min = len_min.saturating_add(self.field(index, field)?);
        }
        if len_min > STRUCT_LEN_MIN_MAX {
            let name = self.structs[index].name.clone();
            return Err((self.draft.structs[index].at, XmlFault::TooLarge { name }));
        }
        self.structs[index].len_min = len_min;
        self.states[index] = State::Done;
        Ok(len_min)
    }

    fn field(&mut self, index: usize, field: usize) -> Result<usize, Fault> {
        let kind = &self.structs[index].fields[field].1;
        let in_list = matches!(kind, Kind::List(_));
        let mut element = kind;
        while let Kind::List(of) = element {
            element = of;
        }
        if let Kind::Struct(of) = *element {
            let fault = |fault: fn(String) -> XmlFault| {
                let name = self.structs[of].name.clone();
                (self.draft.structs[index].fields[field].at, fault(name))
            };
            if self.structs[of].fields.is_empty() {
                return Err(fault(|name| XmlFault::Empty { name }));
            }
            if self.states[of] == State::Within && !in_list {
                return Err(fault(|name| XmlFault::Recursive { name }));
            }
            if !in_list {
                return self.one(of);
            }
        }
        Ok(kind.len_min(&self.structs))
    }
}

const INT8: Integer = Integer { name: "int8", len: 1, signed: true };

const INTEGERS: [Integer; 7] = [
    INT8,
    Integer { name: "int16", len: 2, signed: true },
    Integer { name: "int32", len: 4, signed: true },
    Integer { name: "int64", len: 8, signed: true },
    Integer { name: "uint8", len: 1, signed: false },
    Integer { name: "uint16", len: 2, signed: false },
    Integer { name: "uint32", len: 4, signed: false },
];

/// Deepest nesting of lists in lists.
const LISTS_MAX: usize = 8;

/// Largest least length of a struct: a longer one does not fit in a frame.
const STRUCT_LEN_MIN_MAX: usize = 32 << 10;
