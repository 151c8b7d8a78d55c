//! The id of a body that was refused, so that its sender learns of it.

use super::id::id;
use crate::json::Reader;

/// Ids longer than this are not looked for.
const MAX_ID: usize = 4096;

/// Looks for the one top-level `id` in bytes that come piece by piece and may be neither JSON nor complete.
///
/// Nothing is decided by what is found: it only makes an answer reach the caller that waits for it.
#[derive(Debug, Default)]
pub(crate) struct IdSalvage {
    state: State,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The bytes of the key or id that is being read.
    piece: Vec<u8>,
    id: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space yet.
    #[default]
    Start,
    /// In the top-level object, before or within a key.
    Key,
    /// After a key that is not `id`, until the next comma.
    Other,
    /// After the key `id`, until the next comma.
    Id,
    /// Nothing to be found any more.
    Ended,
    /// More than one id, or something that might be one: none is believed.
    Doubtful,
}

impl IdSalvage {
    /// Looks through all of one piece.
    pub(crate) fn of(bytes: &[u8]) -> Option<String> {
        let mut salvage = Self::default();
        salvage.feed(bytes);
        salvage.finish()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.state {
                State::Ended | State::Doubtful => return,
                State::Start => self.start(byte),
                State::Key | State::Other | State::Id => self.step(byte),
            }
        }
    }

    /// The id, as it was written, if there was exactly one and it is valid.
    pub(crate) fn finish(self) -> Option<String> {
        let raw = self.id.filter(|_| self.state != State::Doubtful)?;
        let value = Reader::new(&raw).ok()?.value().ok()?;
        let span = id(&raw, value).ok()?;
        (span.of(&raw).len() == raw.len()).then(|| String::from_utf8(raw).ok()).flatten()
    }

    fn start(&mut self, byte: u8) {
        self.state = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => State::Start,
            b'{' => State::Key,
            _ => State::Ended,
        };
        self.depth = usize::from(byte == b'{');
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return self.keep(byte);
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 1 => return self.member_ends(State::Ended),
            b'}' | b']' => self.depth -= 1,
            b',' if self.depth == 1 => return self.member_ends(State::Key),
            b':' if self.depth == 1 && self.state == State::Key => return self.key_ends(),
            b' ' | b'\t' | b'\n' | b'\r' if self.piece.is_empty() => return,
            _ => {}
        }
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        if matches!(self.state, State::Key | State::Id) && self.piece.len() < MAX_ID {
            self.piece.push(byte);
        }
    }

    fn key_ends(&mut self) {
        let key = std::mem::take(&mut self.piece);
        let is_id = serde_json::from_slice::<String>(&key).is_ok_and(|key| key == "id");
        self.state = match (is_id, &self.id) {
            (true, None) => State::Id,
            (true, Some(_)) => State::Doubtful,
            (false, _) => State::Other,
        };
    }

    fn member_ends(&mut self, next: State) {
        let mut piece = std::mem::take(&mut self.piece);
        piece.truncate(piece.trim_ascii_end().len());
        if self.state == State::Id {
            self.id = Some(piece);
        }
        self.state = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_id_is_found_wherever_it_stands() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"a"}"#, Some("7")),
            (r#"{"method":"a","params":{"id":1,"x":[{"id":2}]},"id":"a-b"}"#, Some(r#""a-b""#)),
            (r#" { "id" : -3 , "x":"#, Some("-3")),
            (r#"{"id":"a\"},b","x":1"#, Some(r#""a\"},b""#)),
            (r#"{"x":"\"id\":5","id":6}"#, Some("6")),
            (r#"{"id":1,"id":2}"#, None),
            (r#"{"id":1,"\u0069d":2}"#, None),
            (r#"{"\u0069d":2}"#, Some("2")),
            (r#"{"m\u0065thod":"a","id":2}"#, Some("2")),
            (r#"{"id":7"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":1.0}"#, None),
            (r#"{"id":{"a":1}}"#, None),
            (r#"{"id":7x}"#, None),
            (r#"{"id":1 2,"x":1}"#, None),
            ("{\"id\":1\t2}", None),
            (r#"{"id":- 5}"#, None),
            (r#"{"id" : 5 }"#, Some("5")),
            (r#"[{"id":1}]"#, None),
            ("not json", None),
            ("", None),
            (r#"{"params":{"id":1}}"#, None),
        ] {
            assert_eq!(IdSalvage::of(body.as_bytes()).as_deref(), expected, "{body}");
            let mut piecemeal = IdSalvage::default();
            body.as_bytes().iter().for_each(|byte| piecemeal.feed(&[*byte]));
            assert_eq!(piecemeal.finish().as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn a_long_id_costs_no_memory() {
        let mut salvage = IdSalvage::default();
        salvage.feed(br#"{"id":""#);
        (0..10_000).for_each(|_| salvage.feed(b"aaaaaaaaaa"));
        assert!(salvage.piece.len() <= MAX_ID);
        salvage.feed(br#"","x":1}"#);
        assert_eq!(salvage.finish(), None);
    }
}
