//! Lists in files, where a single value may be written without brackets.

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor, value};
use std::fmt;
use std::marker::PhantomData;

/// One value, or a list of values.
///
/// # Errors
///
/// It is neither, or a value is not of the type.
pub fn one_or_more<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct OneOrMore<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value, or a list of values")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(value::StrDeserializer::new(text)).map(|one| vec![one])
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Vec<T>, E> {
            T::deserialize(value::I64Deserializer::new(number)).map(|one| vec![one])
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Vec<T>, E> {
            T::deserialize(value::U64Deserializer::new(number)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = sequence.next_element()? {
                all.push(one);
            }
            Ok(all)
        }
    }

    deserializer.deserialize_any(OneOrMore(PhantomData))
}
