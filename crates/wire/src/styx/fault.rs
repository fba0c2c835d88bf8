//! The faults of a definition.

use crate::excerpt::cut;

/// The part of a name that an error keeps.
pub(super) fn excerpt(name: &str) -> String {
    cut(name, NAME_LEN_MAX).to_owned()
}

/// A fault of a definition, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct XmlError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The fault.
    pub fault: XmlFault,
}

/// The faults that a definition can have. Texts taken from it are escaped when shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlFault {
    /// The element has an attribute that it cannot have.
    #[error("unknown attribute {name:?}")]
    Attribute {
        /// Its name.
        name: String,
    },
    /// A class id is not a number from 0 to 255, or there are more structs without one than free numbers.
    #[error("class id {class_id:?}, expected a number from 0 to 255")]
    ClassId {
        /// The text that was found.
        class_id: String,
    },
    /// Two structs have the same class id.
    #[error("class id {class_id} is already used by {by:?}")]
    ClassIdTaken {
        /// The class id.
        class_id: u8,
        /// The first struct.
        by: String,
    },
    /// Something else has this name.
    #[error("the name {name:?} is already used")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Another element is expected there.
    #[error("<{}>, expected {expected}", name.escape_debug())]
    Element {
        /// The element that was found.
        name: String,
        /// The elements that are expected.
        expected: &'static str,
    },
    /// A struct without fields cannot be the type of a field.
    #[error("{name:?} has no fields, so it cannot be the type of a field")]
    Empty {
        /// The struct.
        name: String,
    },
    /// An enum has no values, or more than a byte can distinguish.
    #[error("enum of {count} values, expected 1 to {max}")]
    EnumValues {
        /// The number of values that it has.
        count: usize,
        /// The largest number that it may have.
        max: usize,
    },
    /// A name is letters, digits and underscores, and does not begin with a digit.
    #[error("{name:?} is not a name")]
    Name {
        /// The name that was found.
        name: String,
    },
    /// The element lacks an attribute.
    #[error("no attribute `{name}`")]
    NoAttribute {
        /// Its name.
        name: &'static str,
    },
    /// A struct contains itself other than through a list.
    #[error("{name:?} contains itself")]
    Recursive {
        /// The struct.
        name: String,
    },
    /// The text is not XML.
    #[error("not XML: {message}")]
    Syntax {
        /// The message of the XML reader.
        message: Box<str>,
    },
    /// There is text between elements.
    #[error("text, expected an element")]
    Text,
    /// The least length of a struct does not fit in a frame.
    #[error("{name:?} is too long for any frame")]
    TooLarge {
        /// The struct.
        name: String,
    },
    /// The text is longer than a definition may be.
    #[error("definition of {len} bytes, limit is {max}")]
    TooLong {
        /// Its length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// No enum and no struct has this name.
    #[error("unknown type {name:?}")]
    UnknownType {
        /// The name.
        name: String,
    },
}

/// Longest name, in bytes.
pub(super) const NAME_LEN_MAX: usize = 128;
