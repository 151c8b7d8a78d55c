//! What looks like the beginning of a marker.
//!
//! A look-alike begins at every bracket behind which, fill left out, a word of a marker follows. That is a matter of what
//! is not fill alone: with stuffing put in or taken out, the same brackets begin look-alikes. Escaping and unescaping are
//! exact inverses for that reason, however look-alikes overlap.

use super::escapes::Cursor;
use super::fold::{Symbol, fold};
use super::units::{Raw, Units};

/// The words of markers: dashes and slashes are fill. The first two need two brackets, the last but one a square one.
/// An end is one behind a single bracket, too.
const WORDS: [&[u8]; 7] =
    [b"ext", b"endext", b"externalcontent", b"externaldata", b"tooloutput", b"tooloutput::", b"endext"];
const TWO_ANGLES: u8 = 0b000_0011;
const ANGLE: u8 = 0b101_1100;
const SQUARE: u8 = 0b010_0000;

/// Reads symbols, and knows what they may become.
#[derive(Debug, Default)]
struct Matcher {
    /// The words that are not ruled out, as bits.
    alive: u8,
    /// How many of their letters have been read.
    read: usize,
    /// The offset behind the last bracket, and the one behind the bracket before it.
    last: usize,
    before: usize,
    /// A backslash has been read since the last letter.
    escaping: bool,
}

impl Matcher {
    fn is_idle(&self) -> bool {
        self.alive == 0
    }

    /// Reads a symbol that ends at an offset: the offset behind the first bracket of a look-alike that it completes.
    #[inline]
    fn feed(&mut self, symbol: Symbol, end: usize) -> Option<usize> {
        match symbol {
            Symbol::Fill => {}
            Symbol::Backslash => self.escaping = true,
            Symbol::Angle => {
                let two = if self.alive & ANGLE == ANGLE && self.read == 0 { TWO_ANGLES } else { 0 };
                *self = Self { alive: ANGLE | two, last: end, before: self.last, ..Self::default() };
            }
            Symbol::Square => *self = Self { alive: SQUARE, last: end, ..Self::default() },
            Symbol::Letter(letter) => return self.letter(letter),
            Symbol::Other => *self = Self::default(),
        }
        None
    }

    fn letter(&mut self, letter: u8) -> Option<usize> {
        let escaping = std::mem::take(&mut self.escaping);
        let going_on = self.words(|word| word.get(self.read) == Some(&letter));
        if going_on == 0 {
            // `\n` in a text within a text.
            if !(escaping && matches!(letter, b'n' | b'r' | b't')) {
                *self = Self::default();
            }
            return None;
        }
        self.read += 1;
        let complete = self.words(|word| word.len() == self.read) & going_on;
        self.alive = going_on & !complete;
        match complete {
            0 => None,
            _ if complete & TWO_ANGLES != 0 => Some(self.before),
            _ => Some(self.last),
        }
    }

    /// The words that are alive and fit.
    fn words(&self, fits: impl Fn(&[u8]) -> bool) -> u8 {
        let bits = WORDS.iter().zip(0_u8..).filter(|(word, _)| fits(word));
        bits.fold(0, |words, (_, bit)| words | 1 << bit) & self.alive
    }
}

/// The offsets behind the first bracket of each look-alike, in ascending order. Reads a text once.
#[derive(Debug)]
pub(super) struct LookAlikes<U> {
    cursor: Cursor<U>,
    matcher: Matcher,
    found: usize,
}

impl<U: Units> LookAlikes<U> {
    pub(super) fn new(units: U) -> Self {
        Self { cursor: Cursor::new(units), matcher: Matcher::default(), found: 0 }
    }

    /// Reads the next character: what it completes, and nothing behind the last one.
    #[inline]
    pub(super) fn read(&mut self) -> Option<Option<usize>> {
        let character = self.cursor.decoded()?;
        // One character that looks like two brackets begins two look-alikes, and is escaped once.
        let found = self.feed(character).filter(|found| *found > self.found);
        self.found = found.unwrap_or(self.found);
        Some(found)
    }

    #[inline]
    fn feed(&mut self, character: char) -> Option<usize> {
        let (matcher, end) = (&mut self.matcher, self.cursor.at());
        let mut found = None;
        fold(character, |symbol| found = matcher.feed(symbol, end).or(found));
        found
    }
}

impl<U: Units> Iterator for LookAlikes<U> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            if self.matcher.is_idle() {
                self.cursor.skip();
            }
            if let Some(found) = self.read()? {
                return Some(found);
            }
        }
    }
}

/// Whether what stands between the quotes of a JSON string holds what looks like a marker, escaped or not.
pub(crate) fn mentions_fence(raw: &[u8]) -> bool {
    LookAlikes::new(Raw(raw)).next().is_some()
}
