//! Subprotocols that a connection offers, with the values that are filled into them: each must be a token (RFC 6455,
//! 4.1).
//!
//! Values that connections are given are checked before anything is sent; those that a login gives, only once they have
//! arrived.

use super::template::{self, Filling, compile};
use super::{CompileError, PeerError};
use crate::http1::grammar::is_token_byte;
use spec::Conversation;
use spec::conversation::{Fill, Template};
use units::Random;

/// The subprotocols of a conversation, the best first.
#[derive(Debug)]
pub(super) struct Offered(Vec<Offer>);

/// A subprotocol.
#[derive(Debug)]
struct Offer {
    /// The text as written in the file.
    written: String,
    compiled: template::Compiled,
}

impl Offered {
    /// The subprotocols of `conversation`; `names` are those of its values.
    ///
    /// # Errors
    ///
    /// A value that connections are given does not make a token.
    pub(super) fn of(conversation: &Conversation, names: &[String]) -> Result<Self, CompileError> {
        let offer = |template: &Template| {
            let written = template.to_string();
            check_given(conversation, template, &written)?;
            Ok(Offer { written, compiled: compile(template, names)? })
        };
        conversation.subprotocols.iter().map(offer).collect::<Result<_, _>>().map(Self)
    }

    /// True if they are the same on every connection.
    pub(super) fn is_constant(&self) -> bool {
        self.0.iter().all(|offer| offer.compiled.is_constant())
    }

    /// The subprotocols of a connection.
    pub(super) fn filled(&self, filling: Filling<'_>, random: &mut Random) -> Vec<String> {
        let mut text = |offer: &Offer| {
            let mut text = Vec::new();
            offer.compiled.write(filling, random, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        self.0.iter().map(&mut text).collect()
    }

    /// Refuses values that were taken in `step` and do not make a token. The error does not quote the value, which may
    /// be a secret.
    pub(super) fn check(&self, filling: Filling<'_>, step: &str) -> Result<(), PeerError> {
        for offer in &self.0 {
            let mut text = Vec::new();
            // Whatever is drawn at random is a token.
            offer.compiled.write(filling, &mut Random::new(0), &mut text);
            if let Some(fault) = fault_of(&text) {
                let (step, subprotocol) = (step.to_owned(), offer.written.clone());
                return Err(PeerError::Subprotocol { step, subprotocol, fault });
            }
        }
        Ok(())
    }
}

/// Refuses values that connections are given for the holes of `template` and that are not tokens.
fn check_given(
    conversation: &Conversation,
    template: &Template,
    written: &str,
) -> Result<(), CompileError> {
    let mut reached: Vec<&str> = template.vars().collect();
    let mut at = 0;
    while let Some(name) = reached.get(at).copied() {
        at += 1;
        let var = conversation.vars.iter().find(|var| var.name == name);
        let fault = match var.map(|var| &var.fill) {
            Some(Fill::Template(template)) => {
                let more: Vec<&str> =
                    template.vars().filter(|name| !reached.contains(name)).collect();
                reached.extend(more);
                fault_in(template.0.is_empty().then_some("").into_iter().chain(template.texts()))
            }
            Some(Fill::Pick(values) | Fill::Column { values: Some(values), .. }) => {
                fault_in(values.iter().map(String::as_str))
            }
            Some(Fill::Secret { value, .. }) => fault_in(value.iter().map(String::as_str)),
            Some(Fill::Column { values: None, .. }) | None => None,
        };
        if let Some(fault) = fault {
            let (name, subprotocol) = (name.to_owned(), written.to_owned());
            return Err(CompileError::Subprotocol { name, subprotocol, fault });
        }
    }
    Ok(())
}

fn fault_in<'a>(mut values: impl Iterator<Item = &'a str>) -> Option<String> {
    values.find_map(|value| fault_of(value.as_bytes()))
}

/// The reason why `text` is not a token, in words.
fn fault_of(text: &[u8]) -> Option<String> {
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    let odd = text.iter().find(|byte| !is_token_byte(**byte))?;
    Some(format!("has '{}'", odd.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use crate::conversation::Compiled;
    use spec::Conversation;

    /// The error of a conversation with this subprotocol and these `[vars]`.
    fn error_of(subprotocol: &str, vars: &str) -> Option<String> {
        let text = format!(
            "speaks = 'ws'\nsubprotocols = ['v1', '{subprotocol}']\n[vars]\n{vars}\n[request.x]\nsend = 'x'\nreply = 'order'"
        );
        let read = Conversation::read("sample", &text).unwrap_or_else(|error| panic!("{error}"));
        let files = |_: &str, _| Ok(b"name\nann\nbob c\n".to_vec());
        let filled = read.filled(&files, &|_| Some("a,b".to_owned())).unwrap();
        Compiled::new(&filled).err().map(|error| error.to_string())
    }

    #[test]
    fn values_that_make_no_token_are_refused_before_anything_is_sent() {
        #[rustfmt::skip]
        let table = [
            ("t.${a}", "a = 'x${client}${random:4}${pad:3}'",              None),
            ("t.${a}", "a = ['b', 'c-d']",                                 None),
            ("t.${b}", "a = ['x y']\nb = 'fine'",                          None),
            ("t.${a}", "a = ['b', 'c d']",                                 Some("the value of `a` has ' '")),
            ("${a}",   "a = ''",                                           Some("the value of `a` is empty")),
            ("t.${b}", "a = ['(']\nb = '${a}${a}'",                        Some("the value of `a` has '('")),
            ("t.${a}", "a = 'gr\u{fc}n'",                                  Some("the value of `a` has '\\xc3'")),
            ("t.${a}", "a = { csv = 'users.csv', column = 'name' }",       Some("the value of `a` has ' '")),
            ("t.${a}", "a = { env = 'TOKEN' }",                            Some("the value of `a` has ','")),
        ];
        for (subprotocol, vars, expected) in table {
            let error = error_of(subprotocol, vars);
            let expected = expected.map(|start| {
                format!("{start}, and a subprotocol such as `{subprotocol}` is a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 6455, 4.1)")
            });
            assert_eq!(error, expected, "{vars}");
        }
    }
}
