//! RESP, the protocol of Redis: the extent of a reply ("Redis serialization protocol specification", versions 2 and 3).
//!
//! A reply is an element: a line, a length and that many bytes, or a number of further elements. Elements that are
//! still to come are counted, so that nesting of any depth takes neither memory nor recursion.
//!
//! Left out: the meaning of a reply, which matchers find in its bytes, and elements of unknown length (`$?`), which no
//! known server sends.

use super::PeerError;
use super::text::position;
use crate::excerpt::Excerpt;

/// The part of a reply that was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of bytes of complete elements.
    whole: usize,
    /// The number of elements still to come after the next one.
    owed: usize,
    /// The number of bytes of the next element that contain no line end.
    searched: usize,
}

impl Progress {
    /// The length of the reply at the start of `bytes`; `None` if it is incomplete. It has at most `len_max` bytes.
    ///
    /// # Errors
    ///
    /// It is longer, or is not a reply.
    pub(super) fn end(&mut self, bytes: &[u8], len_max: usize) -> Result<Option<usize>, PeerError> {
        let over = || PeerError::OverLimit { max: len_max };
        loop {
            if self.whole > len_max + LINE_END.len() {
                return Err(over());
            }
            let rest = &bytes[self.whole..];
            let Some(kind) = rest.first() else { return Ok(None) };
            // An error quotes the bytes that decide it, and none that happened to arrive with them.
            let kind = Kind::of(*kind).ok_or_else(|| error(&rest[..1]))?;
            let searched = self.searched.min(rest.len());
            let line_len = position(rest, LINE_END, searched);
            if kind != Kind::Line && line_len.unwrap_or(rest.len() - 1) >= NUMBER_LINE_LEN_MAX {
                return Err(error(&rest[..NUMBER_LINE_LEN_MAX]));
            }
            let Some(line_len) = line_len else {
                // The end of a line may have begun.
                self.searched = rest.len() - 1;
                let is_over = kind == Kind::Line && bytes.len() - 1 > len_max;
                return if is_over { Err(over()) } else { Ok(None) };
            };
            let head_len = line_len + LINE_END.len();
            let number = |per: usize| {
                let number = number(&rest[1..line_len]).ok_or_else(|| error(&rest[..line_len]))?;
                number.checked_mul(per).filter(|all| *all <= len_max).ok_or_else(over)
            };
            let (len, within, is_whole) = match kind {
                Kind::Line => (head_len, 0, true),
                Kind::Bulk if rest[1..line_len] == *b"-1" => (head_len, 0, true),
                Kind::Bulk => {
                    let len = head_len + number(1)?;
                    if self.whole + len > len_max {
                        return Err(over());
                    }
                    match rest.get(len..len + LINE_END.len()) {
                        Some(LINE_END) => (len + LINE_END.len(), 0, true),
                        Some(other) => return Err(error(other)),
                        None => return Ok(None),
                    }
                }
                Kind::Array if rest[1..line_len] == *b"-1" => (head_len, 0, true),
                Kind::Array => (head_len, number(1)?, true),
                Kind::Map => (head_len, number(2)?, true),
                Kind::Attributes => (head_len, number(2)?, false),
            };
            self.whole += len;
            self.searched = 0;
            self.owed += within;
            if self.owed > len_max {
                return Err(over());
            }
            if !is_whole {
                continue;
            }
            let Some(owed) = self.owed.checked_sub(1) else {
                let is_over = self.whole > len_max + LINE_END.len();
                return if is_over { Err(over()) } else { Ok(Some(self.whole)) };
            };
            self.owed = owed;
        }
    }
}

/// The kinds of elements, by what follows their first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Line,
    /// A text of as many bytes as it says.
    Bulk,
    /// An array of as many elements as it says.
    Array,
    /// A map of as many pairs as it says.
    Map,
    /// The same, followed by the element that they are about.
    Attributes,
}

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        match byte {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => Some(Self::Line),
            b'$' | b'!' | b'=' => Some(Self::Bulk),
            b'*' | b'~' | b'>' => Some(Self::Array),
            b'%' => Some(Self::Map),
            b'|' => Some(Self::Attributes),
            _ => None,
        }
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cold]
fn error(bytes: &[u8]) -> PeerError {
    PeerError::Resp { said: Excerpt::new(bytes) }
}

pub(super) const LINE_END: &[u8] = b"\r\n";

/// More than the longest line that says a number: its kind, and the digits of 64 bits.
const NUMBER_LINE_LEN_MAX: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    type Outcome = Result<Option<usize>, PeerError>;

    /// The length of the first reply in `bytes`, which arrive in pieces that end at `ends`.
    fn pieced(bytes: &[u8], ends: &[usize], len_max: usize) -> Outcome {
        let mut progress = Progress::default();
        for end in ends {
            if let Some(len) = progress.end(&bytes[..*end], len_max)? {
                return Ok(Some(len));
            }
        }
        Ok(None)
    }

    /// A reply that is nested at most `depth` deep.
    fn reply(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
        let line = |random: &mut Random, out: &mut Vec<u8>| {
            out.push(b"+-:_#,("[random.below(7)]);
            out.extend((0..random.below(6)).map(|_| b"ab$*\r1"[random.below(6)]));
            out.extend_from_slice(LINE_END);
        };
        match random.below(if depth == 0 { 3 } else { 6 }) {
            0 => line(random, out),
            1 => out.extend_from_slice([b"$-1\r\n", b"*-1\r\n"][random.below(2)]),
            2 => {
                let len = random.below(9);
                out.push(b"$!="[random.below(3)]);
                out.extend_from_slice(format!("{len}\r\n").as_bytes());
                out.extend((0..len).map(|_| b"\r\n*1"[random.below(4)]));
                out.extend_from_slice(LINE_END);
            }
            kind => {
                let (marks, per): (&[u8], usize) = if kind == 5 { (b"%|", 2) } else { (b"*~>", 1) };
                let (mark, count) = (marks[random.below(marks.len())], random.below(4));
                out.push(mark);
                out.extend_from_slice(format!("{count}\r\n").as_bytes());
                let further = count * per + usize::from(mark == b'|');
                (0..further).for_each(|_| reply(random, depth - 1, out));
            }
        }
    }

    #[test]
    fn replies_of_any_kind_end_where_they_were_written_to_end_in_any_pieces() {
        let mut random = Random::new(3);
        for round in 0..3000 {
            let mut bytes = Vec::new();
            reply(&mut random, 4, &mut bytes);
            let len = bytes.len();
            bytes.extend_from_slice(b"+next\r\n");
            let mut ends: Vec<usize> =
                (0..random.below(6)).map(|_| random.below(bytes.len())).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let found = pieced(&bytes, &ends, 1 << 20);
            assert_eq!(found, Ok(Some(len)), "round {round}: {}", bytes.escape_ascii());
            let cut = pieced(&bytes[..len - 1], &[len - 1], 1 << 20);
            assert_eq!(cut, Ok(None), "round {round}: {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_redis_says_is_cut_into_its_replies() {
        // Redis 7.0.15 on HELLO 3, GET, LRANGE, SUBSCRIBE, PUBLISH, CLIENT LIST (cut short) and COMMAND INFO.
        let replies: [&[u8]; _] = [
            b"%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:3\r\n\
              $4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
            b"_\r\n",
            b"*0\r\n",
            b">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n",
            b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n",
            b":1\r\n",
            b"=12\r\ntxt:id=3 ad\n\r\n",
            b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read\r\n+@string\r\n+@fast\r\n\
              ~0\r\n~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n\
              $4\r\nspec\r\n%1\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n\
              $7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n~0\r\n",
        ];
        let all = replies.concat();
        let mut at = 0;
        for reply in replies {
            assert_eq!(pieced(&all[at..], &[all.len() - at], 1 << 10), Ok(Some(reply.len())));
            at += reply.len();
        }
    }

    #[test]
    fn what_is_no_reply_is_an_error_however_it_comes() {
        #[rustfmt::skip]
        let table: [&[u8]; _] = [
            b"HTTP/1.1 400 Bad Request\r\n",
            b"\r\n",
            b"$x\r\n",
            b"$\r\n",
            b"$-2\r\n",
            b"$?\r\n",
            b"%-1\r\n",
            b"*+1\r\n",
            b"*1\r\nx",
            b"$3\r\nabcde\r\n",
            b"$00000000000000000000001",
        ];
        for bytes in table {
            let whole = pieced(bytes, &[bytes.len()], 64);
            let ends: Vec<usize> = (0..=bytes.len()).collect();
            assert!(matches!(whole, Err(PeerError::Resp { .. })), "{bytes:?} {whole:?}");
            assert_eq!(pieced(bytes, &ends, 64), whole, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_reply_has_no_more_bytes_and_elements_than_the_limit() {
        let over = Err(PeerError::OverLimit { max: 16 });
        #[rustfmt::skip]
        let table: [(&[u8], Outcome); _] = [
            (b"+fifteen letters\r\n",            Ok(Some(18))),
            (b"+sixteen letters!\r\n",           over.clone()),
            (b"+sixteen letters and no end",     over.clone()),
            (b"$9\r\nnine char\r\n",             Ok(Some(15))),
            (b"$11\r\neleven char\r\n",          Ok(Some(18))),
            (b"$12\r\ntwelve chars\r\n",         over.clone()),
            (b"$17\r\n",                         over.clone()),
            (b"$18446744073709551615\r\n",       over.clone()),
            (b"*17\r\n",                         over.clone()),
            (b"%9\r\n",                          over.clone()),
            (b"*16\r\n*1\r\n*2\r\n",             over.clone()),
            (b"*4\r\n+a\r\n+b\r\n+c\r\n+d\r\n",  over),
        ];
        for (bytes, expected) in table {
            let ends: Vec<usize> = (0..=bytes.len()).collect();
            for found in [pieced(bytes, &[bytes.len()], 16), pieced(bytes, &ends, 16)] {
                assert_eq!(found, expected, "{}", bytes.escape_ascii());
            }
        }
        let deep = b"*1\r\n".repeat(100_000);
        assert_eq!(pieced(&deep, &[deep.len()], 1 << 20), Ok(None), "nesting takes no stack");
    }
}
