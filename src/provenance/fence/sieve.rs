//! Ruling out early what begins no look-alike: nearly every bracket, entity and escape of ordinary text.
//!
//! All that is said here is that the slow way would find nothing; in doubt it is taken.

use super::skip::begins;

/// Fill that is looked through: more is left to the slow way, so that nothing is looked through twice.
const MOST_FILL: usize = 8;

/// A text, in which escapes of JSON may stand for characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) escaped: bool,
}

impl Sieve<'_> {
    /// Where to go on behind a character that could begin a look-alike but does not; nothing if it may.
    #[inline(always)]
    pub(super) fn passes(self, at: usize) -> Option<usize> {
        match self.byte(at) {
            b'<' if self.is_tag(at) => Some(at + 1),
            b'\\' if self.escaped => self.escape(at),
            lead => self.lead(lead, at + 1),
        }
    }

    /// Whether an angle bracket opens a tag as HTML is full of: what [`bracket`](Self::bracket) says without a loop.
    #[inline(always)]
    fn is_tag(self, at: usize) -> bool {
        let Some([_, first, second, third]) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) else { return false };
        let (letter, next) = if *first == b'/' { (second, third) } else { (first, second) };
        match (tag(*letter), *letter | 0x20) {
            (ENDS, _) => true,
            (GOES_ON, b't') => tag(*next) != OPEN && !matches!(next, b'o' | b'O' | b'0'),
            _ => false,
        }
    }

    #[inline]
    fn byte(self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    /// A character that is known, and where it ends.
    #[inline]
    fn lead(self, lead: u8, end: usize) -> Option<usize> {
        match lead {
            b'<' => self.bracket(end, true),
            b'[' => self.bracket(end, false),
            b'&' => self.reference(end),
            b'%' => self.percent(end),
            b'\\' => self.backslash(end),
            _ => None,
        }
    }

    /// Behind a bracket, two letters rule nearly every word out.
    #[inline]
    fn bracket(self, end: usize, angle: bool) -> Option<usize> {
        let (first, at) = self.behind_fill(end)?;
        let word: &[u8] = match first {
            b'e' | b'E' if angle => b"xXnN",
            b't' | b'T' => b"oO0",
            b'<' if angle => return None,
            // It is looked at for itself.
            b'<' | b'[' => return Some(end),
            _ => return (!is_open(first)).then_some(end),
        };
        let (second, _) = self.behind_fill(at)?;
        (!is_open(second) && !word.contains(&second)).then_some(end)
    }

    /// The next byte that is no fill, and where it ends.
    #[inline]
    fn behind_fill(self, from: usize) -> Option<(u8, usize)> {
        let mut at = from;
        for _ in 0..MOST_FILL {
            at += match self.byte(at) {
                b'\\' if self.escaped && is_fill_escaped(self.byte(at + 1)) => 2,
                fill if is_fill(fill) => 1,
                byte => return Some((byte, at + 1)),
            };
        }
        None
    }

    /// Behind an ampersand.
    #[inline]
    fn reference(self, end: usize) -> Option<usize> {
        let small = |at| self.byte(at).to_ascii_lowercase();
        match (small(end), small(end + 1)) {
            (b'#' | b'\\', _) | (b'a' | b'b' | b'l' | b'p', b'\\') => None,
            (b'l', b't') => self.bracket(self.behind_semicolon(end + 2), true),
            (b'a', b'm') => match small(end + 2) {
                b'p' => self.reference_in_reference(self.behind_semicolon(end + 3)),
                b'\\' => None,
                _ => Some(end),
            },
            (b'l', b'a' | b's' | b'b' | b'l' | b'e') | (b'b', b's') | (b'p', b'e') => None,
            // Names of fill among them.
            _ => Some(end),
        }
    }

    /// Behind an ampersand that was written as an entity: its depth is the writer's choice, and left to the slow way.
    #[inline]
    fn reference_in_reference(self, end: usize) -> Option<usize> {
        match self.byte(end).to_ascii_lowercase() {
            b'#' | b'\\' | b'a' | b'b' | b'l' | b'p' => None,
            _ => Some(end),
        }
    }

    #[inline]
    fn behind_semicolon(self, at: usize) -> usize {
        at + usize::from(self.byte(at) == b';')
    }

    /// Behind a percent sign: what is no bracket, no ampersand, no backslash and no percent sign again passes.
    #[inline]
    fn percent(self, end: usize) -> Option<usize> {
        let second = self.byte(end + 1).to_ascii_lowercase();
        let opens = match self.byte(end).to_ascii_lowercase() {
            b'\\' | b'u' => true,
            b'2' => matches!(second, b'5' | b'6' | b'\\'),
            b'3' => matches!(second, b'c' | b'\\'),
            b'5' => matches!(second, b'b' | b'c' | b'\\'),
            b'a' => matches!(second, b'b' | b'\\'),
            _ => false,
        };
        (!opens).then_some(end)
    }

    /// Behind a backslash of the text.
    #[inline]
    fn backslash(self, end: usize) -> Option<usize> {
        let opens = match self.byte(end) {
            b'\\' if self.escaped => matches!(self.byte(end + 1), b'\\' | b'u'),
            byte => matches!(byte, b'\\' | b'u' | b'U' | b'x' | b'X'),
        };
        (!opens).then_some(end)
    }

    /// An escape of JSON.
    #[inline]
    fn escape(self, at: usize) -> Option<usize> {
        match self.byte(at + 1) {
            b'"' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
            b'\\' => self.backslash(at + 2),
            b'u' => self.unit(at + 2),
            _ => None,
        }
    }

    /// The digits of an escape.
    #[inline]
    fn unit(self, at: usize) -> Option<usize> {
        let digits = self.bytes.get(at..at + 4)?;
        let code = digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))?;
        let [first, second, third, _] = utf8(char::from_u32(code)?);
        match begins(first, second, third) {
            true => self.lead(first, at + 4),
            false => Some(at + 4),
        }
    }
}

fn utf8(character: char) -> [u8; 4] {
    let mut bytes = [0; 4];
    character.encode_utf8(&mut bytes);
    bytes
}

/// Fill that is written as an escape of two bytes.
#[inline]
const fn is_fill_escaped(byte: u8) -> bool {
    matches!(byte, b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// The fill of ASCII.
#[inline]
const fn is_fill(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7F | b'-' | b'/' | b'_' | b'*' | b'+' | b'.' | b'`' | b'~')
}

/// Whether a byte begins what could be anything.
#[inline]
const fn is_open(byte: u8) -> bool {
    matches!(byte, b'&' | b'%' | b'\\' | 0x80..)
}

/// What a byte behind a bracket says of it: that it begins no marker, that the next byte decides, or nothing.
const ENDS: u8 = 0;
const GOES_ON: u8 = 1;
const OPEN: u8 = 2;

/// By byte: a table, since every tag is looked at.
#[expect(clippy::indexing_slicing, reason = "at compile time")]
const TAGS: [u8; 256] = {
    let (mut tags, mut byte) = ([OPEN; 256], 0_u8);
    while byte < 0x80 {
        tags[byte as usize] = match byte {
            b'e' | b'E' | b't' | b'T' => GOES_ON,
            b'<' | b'[' => OPEN,
            _ if is_fill(byte) || is_open(byte) => OPEN,
            _ => ENDS,
        };
        byte += 1;
    }
    tags
};

#[inline(always)]
fn tag(byte: u8) -> u8 {
    TAGS.get(usize::from(byte)).copied().unwrap_or(OPEN)
}
