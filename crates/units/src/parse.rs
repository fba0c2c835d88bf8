//! Reading quantities from what people type.

/// Why a text is not the quantity that it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);
