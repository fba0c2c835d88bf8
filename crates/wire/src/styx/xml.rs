//! Definitions as XML: reading the elements. [`super::definition`] resolves their names.

use super::definition::{Definition, Draft, DraftField, DraftStruct, Enum, Fault};
use super::fault::{NAME_LEN_MAX, XmlError, XmlFault, excerpt};
use crate::excerpt::cut;
use roxmltree::{Document, Node, ParsingOptions};

impl Definition {
    /// Reads a definition from its XML.
    ///
    /// # Errors
    ///
    /// The first fault, and its place. A document type declaration is a fault too.
    pub fn from_xml(text: &str) -> Result<Self, XmlError> {
        read(text)
    }
}

/// Reads a definition from its XML.
fn read(text: &str) -> Result<Definition, XmlError> {
    if text.len() > TEXT_LEN_MAX {
        let fault = XmlFault::TooLong { len: text.len(), max: TEXT_LEN_MAX };
        return Err(XmlError { line: 1, column: 1, fault });
    }
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        let message = cut(&error.to_string(), MESSAGE_LEN_MAX).into();
        XmlError { line: at.row, column: at.col, fault: XmlFault::Syntax { message } }
    })?;
    read_document(&document).and_then(Draft::resolve).map_err(|(at, fault)| {
        let at = document.text_pos_at(at);
        XmlError { line: at.row, column: at.col, fault }
    })
}

fn read_document(document: &Document<'_>) -> Result<Draft, Fault> {
    let root = Element { node: document.root_element() };
    let mut draft = Draft::default();
    for element in root.elements()? {
        match element.name() {
            "enum" => draft.enums.push((element.at(), element.read_enum()?)),
            "struct" => draft.structs.push(element.read_struct()?),
            _ => return Err(element.unexpected("<enum> or <struct>")),
        }
    }
    Ok(draft)
}

/// An element of the document.
#[derive(Clone, Copy)]
struct Element<'d, 'input> {
    node: Node<'d, 'input>,
}

impl<'d> Element<'d, '_> {
    fn read_enum(self) -> Result<Enum, Fault> {
        let name = self.name_attribute()?;
        self.only_attributes(&["name"])?;
        let elements = self.elements()?;
        let (count, max) = (elements.len(), ENUM_VALUES_MAX);
        if !(1..=max).contains(&count) {
            return Err(self.fault(XmlFault::EnumValues { count, max }));
        }
        let mut values = Vec::with_capacity(count);
        for element in elements {
            if element.name() != "value" {
                return Err(element.unexpected("<value>"));
            }
            element.only_attributes(&[])?;
            let value = element.identifier(element.node.text().unwrap_or_default().trim())?;
            if values.contains(&value) {
                return Err(element.fault(XmlFault::Duplicate { name: value }));
            }
            values.push(value);
        }
        Ok(Enum { name, values })
    }

    fn read_struct(self) -> Result<DraftStruct, Fault> {
        let name = self.name_attribute()?;
        self.only_attributes(&["id", "name"])?;
        let class_id = self.node.attribute("id").map(|class_id| {
            let fault = || XmlFault::ClassId { class_id: excerpt(class_id) };
            class_id.parse().map_err(|_| self.fault(fault()))
        });
        let class_id = class_id.transpose()?;
        let mut fields = Vec::new();
        for element in self.elements()? {
            let list = match element.name() {
                "list" => "[]",
                "var" => "",
                _ => return Err(element.unexpected("<var> or <list>")),
            };
            element.only_attributes(&["name", "type"])?;
            element.no_elements()?;
            fields.push(DraftField {
                at: element.at(),
                name: element.name_attribute()?,
                type_name: format!("{}{list}", element.attribute("type")?),
            });
        }
        Ok(DraftStruct { at: self.at(), name, class_id, fields })
    }

    /// The elements inside; text among them is an error.
    fn elements(self) -> Result<Vec<Self>, Fault> {
        let mut elements = Vec::new();
        for node in self.node.children() {
            let inner = Self { node };
            if node.is_element() {
                elements.push(inner);
            } else if node.is_text() && node.text().is_some_and(|text| !text.trim().is_empty()) {
                return Err(inner.fault(XmlFault::Text));
            }
        }
        Ok(elements)
    }

    fn no_elements(self) -> Result<(), Fault> {
        match self.elements()?.first() {
            None => Ok(()),
            Some(element) => Err(element.unexpected("nothing")),
        }
    }

    fn name(self) -> &'d str {
        self.node.tag_name().name()
    }

    fn name_attribute(self) -> Result<String, Fault> {
        self.identifier(self.attribute("name")?)
    }

    fn attribute(self, name: &'static str) -> Result<&'d str, Fault> {
        let missing = || self.fault(XmlFault::NoAttribute { name });
        self.node.attribute(name).ok_or_else(missing)
    }

    fn only_attributes(self, known: &[&str]) -> Result<(), Fault> {
        match self.node.attributes().find(|attribute| !known.contains(&attribute.name())) {
            None => Ok(()),
            Some(attribute) => {
                let name = excerpt(attribute.name());
                Err(self.fault(XmlFault::Attribute { name }))
            }
        }
    }

    fn identifier(self, name: &str) -> Result<String, Fault> {
        let right = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let first = name.as_bytes().first();
        if first.is_some_and(|byte| !byte.is_ascii_digit())
            && name.len() <= NAME_LEN_MAX
            && name.bytes().all(right)
        {
            return Ok(name.to_owned());
        }
        Err(self.fault(XmlFault::Name { name: excerpt(name) }))
    }

    fn unexpected(self, expected: &'static str) -> Fault {
        self.fault(XmlFault::Element { name: excerpt(self.name()), expected })
    }

    fn fault(self, fault: XmlFault) -> Fault {
        (self.at(), fault)
    }

    fn at(self) -> usize {
        self.node.range().start
    }
}

/// Longest definition, in bytes.
const TEXT_LEN_MAX: usize = 1 << 20;

/// Most elements, texts, comments and attributes together.
const NODES_MAX: u32 = 1 << 16;

/// Most values of an enum: its ordinal is one byte.
const ENUM_VALUES_MAX: usize = 256;

/// Longest part that is kept of a message of the XML reader.
const MESSAGE_LEN_MAX: usize = 256;
