//! Quantities as texts in files and records: `"250ms"`, `"64B"`, `"2000/s"`, exactly, without a space.

use crate::{Bytes, Count, Nanos, Rate, Share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

macro_rules! as_text {
    ($quantity:ident, $about:literal, $example:literal) => {
        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&format!("{self:#}").replace(' ', ""))
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $quantity;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($about, ", e.g. \"", $example, "\""))
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$quantity, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $quantity {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($quantity).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $about, "examples": [$example] })
            }
        }
    };
}

as_text!(Nanos, "a length of time with its unit", "250ms");
as_text!(Bytes, "a size with its unit", "64KiB");
as_text!(Rate, "a count per unit of time", "2000/s");
as_text!(Share, "a percentage", "0.5%");

/// A count is written as a number, and read from a number or a text: `"10k"`.
impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count, e.g. 50 or \"10k\"")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Count, E> {
                Ok(Count(count))
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Count, E> {
                let count = u64::try_from(count);
                count.map(Count).map_err(|_| E::custom("a count is not negative"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "description": "a count", "examples": [50, "10k"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_they_are_typed_and_read_back_exactly() {
        let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap();
        assert_eq!(json(&|| serde_json::to_string(&Nanos(1_500_000_001))), "\"1.500000001s\"");
        assert_eq!(json(&|| serde_json::to_string(&Nanos::from_secs(90))), "\"1m30s\"");
        assert_eq!(json(&|| serde_json::to_string(&Bytes(65))), "\"65B\"");
        assert_eq!(json(&|| serde_json::to_string(&Bytes(1 << 16))), "\"64KiB\"");
        let rate: Rate = serde_json::from_str("\"2000/s\"").unwrap();
        assert_eq!(serde_json::to_string(&rate).unwrap(), "\"2000/s\"");
        let error = serde_json::from_str::<Nanos>("\"250\"").unwrap_err().to_string();
        assert!(error.contains("did you mean `250s`?"), "{error}");
        let error = serde_json::from_str::<Bytes>("250").unwrap_err().to_string();
        assert!(error.contains("expected a size with its unit, e.g. \"64KiB\""), "{error}");
        let counts: Vec<Count> = serde_json::from_str("[50, \"10k\"]").unwrap();
        assert_eq!(serde_json::to_string(&counts).unwrap(), "[50,10000]");
        let error = serde_json::from_str::<Count>("-1").unwrap_err().to_string();
        assert!(error.contains("a count is not negative"), "{error}");
    }
}
