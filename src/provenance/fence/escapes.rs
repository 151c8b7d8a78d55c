//! Characters that are written as entities or escapes within a text.

use super::sieve::Sieve;
use super::skip::next_candidate;
use super::units::Units;

/// Names of entities, the longer before what they begin with. Letters of either case are read.
const NAMES: [(&str, char); 31] = [
    ("amp;", '&'),
    ("amp", '&'),
    ("lt;", '<'),
    ("lt", '<'),
    ("laquo;", '«'),
    ("laquo", '«'),
    ("lsaquo;", '‹'),
    ("langle;", '⟨'),
    ("lang;", '⟨'),
    ("lsqb;", '['),
    ("lbrack;", '['),
    ("sol;", '/'),
    ("bsol;", '\\'),
    ("percnt;", '%'),
    ("lowbar;", '_'),
    ("nbsp;", ' '),
    ("lessless;", '≪'),
    ("ll;", '≪'),
    ("ndash;", '-'),
    ("mdash;", '-'),
    ("dash;", '-'),
    ("hyphen;", '-'),
    ("minus;", '-'),
    ("shy;", '-'),
    ("zwnj;", ' '),
    ("zwj;", ' '),
    ("zerowidthspace;", ' '),
    ("newline;", ' '),
    ("tab;", ' '),
    ("ensp;", ' '),
    ("emsp;", ' '),
];

/// Reads characters, entities and escapes decoded to any depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<U> {
    units: U,
    at: usize,
}

impl<U: Units> Cursor<U> {
    pub(super) fn new(units: U) -> Self {
        Self { units, at: 0 }
    }

    /// The offset behind what has been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Skips what no look-alike begins with.
    #[inline]
    pub(super) fn skip(&mut self) {
        let sieve = Sieve { bytes: self.units.bytes(), escaped: U::ESCAPED };
        self.at = next_candidate(sieve.bytes, self.at, |lead| sieve.passes(lead));
    }

    /// The next character. What begins no entity or escape stands for itself.
    #[inline]
    pub(super) fn decoded(&mut self) -> Option<char> {
        let mut character = self.read()?;
        // What is decoded may itself begin an entity. A loop, for the depth is the writer's choice.
        while let Some(inner) = self.decoded_from(character) {
            character = inner;
        }
        Some(character)
    }

    #[inline]
    fn decoded_from(&mut self, lead: char) -> Option<char> {
        match lead {
            '&' => self.reference(),
            '\\' => self.attempt(Self::escape),
            '%' => self.attempt(Self::percent),
            _ => None,
        }
    }

    #[inline]
    fn read(&mut self) -> Option<char> {
        let (character, end) = self.units.unit(self.at)?;
        self.at = end;
        Some(character)
    }

    /// Reads on if `read` finds something, and stays where it is otherwise.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let found = read(&mut ahead)?;
        *self = ahead;
        Some(found)
    }

    fn take(&mut self, word: &str) -> bool {
        let read = |ahead: &mut Self| {
            word.chars()
                .try_for_each(|wanted| ahead.read().filter(|read| read.eq_ignore_ascii_case(&wanted)).map(|_| ()))
        };
        self.attempt(read).is_some()
    }

    fn reference(&mut self) -> Option<char> {
        let (next, _) = self.units.unit(self.at)?;
        match next {
            '#' => self.attempt(Self::numbered),
            'A'..='Z' | 'a'..='z' => {
                let named = NAMES.iter().find(|(name, _)| self.take(name)).map(|(_, named)| *named);
                named.or_else(|| self.attempt(Self::mathematical))
            }
            _ => None,
        }
    }

    /// A letter in a hand of mathematics, such as `&Escr;`.
    fn mathematical(&mut self) -> Option<char> {
        let letter = self.read()?;
        ["scr;", "fr;", "opf;"].iter().any(|hand| self.take(hand)).then_some(letter)
    }

    fn numbered(&mut self) -> Option<char> {
        self.read()?;
        let radix = if self.take("x") { 16 } else { 10 };
        let code = self.digits(radix)?;
        self.take(";");
        Some(character(code))
    }

    fn escape(&mut self) -> Option<char> {
        match self.read()? {
            '\\' => Some('\\'),
            'u' => self.braced().or_else(|| self.hex(4)),
            'U' => self.hex(8).or_else(|| self.hex(4)),
            'x' | 'X' => self.braced().or_else(|| self.hex(2)),
            _ => None,
        }
    }

    fn percent(&mut self) -> Option<char> {
        if self.take("u") { self.hex(4) } else { self.hex(2) }
    }

    fn braced(&mut self) -> Option<char> {
        self.attempt(|ahead| {
            let code = if ahead.take("{") { ahead.digits(16)? } else { return None };
            ahead.take("}").then(|| character(code))
        })
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let read =
            |ahead: &mut Self| (0..digits).try_fold(0_u32, |code, _| Some(code << 4 | ahead.read()?.to_digit(16)?));
        self.attempt(read).map(character)
    }

    /// All the digits that follow, at least one.
    fn digits(&mut self, radix: u32) -> Option<u32> {
        let digit = |cursor: &mut Self| cursor.attempt(|ahead| ahead.read()?.to_digit(radix));
        let mut code = digit(self)?;
        while let Some(next) = digit(self) {
            code = code.saturating_mul(radix).saturating_add(next);
        }
        Some(code)
    }
}

fn character(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}
