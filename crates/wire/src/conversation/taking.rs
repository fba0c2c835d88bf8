//! Values that are taken from what a server says, and kept for the connection.

use super::template::number;
use super::text;
use super::{PeerError, places, show};
use crate::contract::Response;
use crate::excerpt::Excerpt;
use spec::conversation::{Extent, Place, Take, TakeFrom};
use std::borrow::Cow;

/// A value that is taken from a message or a response.
#[derive(Debug)]
pub(super) struct Taking {
    /// Its number among the values of the connection.
    pub(super) var: usize,
    pub(super) name: String,
    pub(super) from: TakeFrom,
}

/// The values of `takes`; `names` are those of all values.
pub(super) fn takings(takes: &[Take], names: &[String]) -> Vec<Taking> {
    let taking = |take: &Take| {
        let var = number(&take.var, names).expect("every name that is taken is listed");
        Taking { var, name: take.var.clone(), from: take.from.clone() }
    };
    takes.iter().map(taking).collect()
}

/// Takes values from `heard`, a message or the body of `response`.
///
/// # Errors
///
/// A value is missing or too long; `step` is what waited for it.
pub(super) fn take(
    takes: &[Taking],
    step: &str,
    heard: &[u8],
    response: Option<&Response<'_>>,
    values: &mut [Box<[u8]>],
) -> Result<(), PeerError> {
    for Taking { var, name, from } in takes {
        let value = match from {
            TakeFrom::Message(Place::Json(path)) => places::text(path, heard),
            TakeFrom::Message(Place::Text { before, after }) => {
                text::between(heard, before.as_bytes(), after.as_bytes()).map(Into::into)
            }
            TakeFrom::Message(Place::Bytes(place)) => match place.extent {
                Extent::Number(_) => {
                    let number = place.number(heard);
                    number.map(|number| Cow::Owned(number.to_string().into_bytes()))
                }
                Extent::Bytes(_) | Extent::Rest => place.bytes(heard).map(Cow::Borrowed),
            },
            TakeFrom::Header(field) => response.and_then(|response| field_of(response, field)),
        };
        let Some(value) = value else {
            return Err(PeerError::Take {
                step: step.to_owned(),
                var: name.clone(),
                place: show::source(from),
                said: Excerpt::new(heard),
            });
        };
        if value.len() > VALUE_LEN_MAX {
            let (step, var, len) = (step.to_owned(), name.clone(), value.len());
            return Err(PeerError::TakenTooLong { step, var, len, max: VALUE_LEN_MAX });
        }
        values[*var] = value.into_owned().into();
    }
    Ok(())
}

/// The value of the first field of this name; for `Set-Cookie`, the `NAME=VALUE` of each field, joined as `Cookie`
/// needs them (RFC 6265 §4.2.1).
fn field_of<'a>(response: &Response<'a>, name: &str) -> Option<Cow<'a, [u8]>> {
    if !name.eq_ignore_ascii_case("set-cookie") {
        return response.field(name).map(Cow::Borrowed);
    }
    let pairs = response
        .fields(name)
        .map(|field| field.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii());
    let joined = pairs.collect::<Vec<_>>().join(&b"; "[..]);
    (!joined.is_empty()).then_some(Cow::Owned(joined))
}

/// The longest value that is taken from a message, in bytes.
const VALUE_LEN_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::sample::response;

    fn taken(from: TakeFrom, response: &Response<'_>) -> Result<Box<[u8]>, String> {
        let takes = [Taking { var: 0, name: "v".to_owned(), from }];
        let mut values = [Box::default()];
        take(&takes, "step", response.body, Some(response), &mut values)
            .map_err(|error| error.to_string())?;
        let [value] = values;
        Ok(value)
    }

    #[test]
    fn values_of_a_response_are_taken_from_its_body_and_its_fields() {
        let head = "Location: /next\r\nSet-Cookie: sid=a1; Path=/; HttpOnly\r\n\
                    set-cookie:  theme=dark;Secure\r\n";
        let response = response(200, head, br#"{"token":"t","n":7}"#);
        let json = |path: &str| TakeFrom::Message(Place::Json(path.parse().unwrap()));
        let header = |name: &str| TakeFrom::Header(name.to_owned());
        let bytes = |place: &str| TakeFrom::Message(Place::Bytes(place.parse().unwrap()));
        #[rustfmt::skip]
        let table = [
            (json("$.token"),      Ok("t")),
            (json("$.n"),          Ok("7")),
            (header("location"),   Ok("/next")),
            (header("Set-Cookie"), Ok("sid=a1; theme=dark")),
            (json("$.a"),          Err("no value for `v` at $.a in")),
            (bytes("@2:5"),        Ok("token")),
            (bytes("@0:u8"),       Ok("123")),
            (bytes("@18"),         Ok("}")),
            (bytes("@18:u16le"),   Err("no value for `v` at @18:u16le in")),
            (header("ETag"),       Err("no value for `v` in the header field ETag in")),
        ];
        for (from, expected) in table {
            match (taken(from.clone(), &response.as_response()), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(&*found, expected.as_bytes(), "{from:?}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, _) => panic!("{from:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_value_has_a_limit() {
        let long = "x".repeat(VALUE_LEN_MAX + 1);
        let response = response(200, &format!("a: {long}\r\n"), b"");
        let error = taken(TakeFrom::Header("A".to_owned()), &response.as_response()).unwrap_err();
        assert!(error.contains("16385 bytes, limit is 16384"), "{error}");
    }
}
