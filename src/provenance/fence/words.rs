//! Where words begin.

use super::bits::{BLOCK, SEEN, flagged, flagged3, from_bit};
use super::units::Units;

/// The words of a text that follow white space, as their offsets.
#[derive(Debug)]
struct Words<U, F> {
    body: U,
    /// Behind white space: where a word begins unless more of it follows.
    pending: Option<usize>,
    each: F,
}

/// Says in ascending order at which offsets words follow white space.
#[inline]
pub(super) fn words<U: Units>(body: U, each: impl FnMut(usize)) {
    let mut words = Words { body, pending: None, each };
    let mut at = 0;
    while let Some(block) = body.bytes().get(at..).and_then(<[u8]>::first_chunk) {
        at = words.block(at, block);
    }
    while let Some(end) = words.character(at) {
        at = end;
    }
}

impl<U: Units, F: FnMut(usize)> Words<U, F> {
    /// Reads a block, and says where to go on.
    #[inline]
    fn block(&mut self, start: usize, block: &[u8; SEEN]) -> usize {
        let (spaces, others) = spaces::<U>(block);
        if others != 0 {
            return self.mixed(start, spaces, others);
        }
        let carried = self.pending.take().map_or(0, |_| 1);
        let mut begins = (spaces << 1 | carried) & !spaces;
        while begins != 0 {
            (self.each)(start + begins.trailing_zeros() as usize);
            begins &= begins - 1;
        }
        self.pending = (spaces >> (BLOCK - 1) != 0).then_some(start + BLOCK);
        start + BLOCK
    }

    /// Reads a block in which some characters are to be decoded.
    fn mixed(&mut self, start: usize, spaces: u64, others: u64) -> usize {
        let (mut rest, mut at) = (spaces | others, start);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let next = start + bit as usize;
            self.plain(next);
            if spaces >> bit & 1 != 0 {
                self.pending = Some(next + 1);
                at = next + 1;
            } else {
                let Some(end) = self.character(next) else { break };
                at = end;
            }
            rest &= from_bit(at - start);
        }
        let end = at.max(start + BLOCK);
        self.plain(end);
        end
    }

    /// What stands before an offset and has not been read is no white space.
    #[inline]
    fn plain(&mut self, end: usize) {
        if let Some(begin) = self.pending.take_if(|pending| *pending < end) {
            (self.each)(begin);
        }
    }

    /// Reads a character, and says where it ends.
    #[inline]
    fn character(&mut self, at: usize) -> Option<usize> {
        let (character, end) = self.body.unit(at)?;
        if character.is_whitespace() {
            self.pending = Some(end);
        } else if self.pending.take().is_some() {
            (self.each)(at);
        }
        Some(end)
    }
}

/// The white space of ASCII in a block, and what may be other white space, as bits.
#[inline]
fn spaces<U: Units>(block: &[u8; SEEN]) -> (u64, u64) {
    let spaces = flagged(block, is_space);
    let beyond = |any: bool, byte: &u8| any | (*byte >= 0x80) | (U::ESCAPED & (*byte == b'\\'));
    if !block.iter().take(BLOCK).fold(false, beyond) {
        return (spaces, 0);
    }
    (spaces, flagged3(block, |a, b, c| may_be_space(a, b, c) | (U::ESCAPED & (a == b'\\'))))
}

#[inline(always)]
const fn is_space(byte: u8) -> bool {
    (byte == b' ') | ((byte >= b'\t') & (byte <= b'\r'))
}

/// Whether a character of these bytes could be white space beyond ASCII.
#[inline(always)]
const fn may_be_space(first: u8, second: u8, third: u8) -> bool {
    let two = (first == 0xC2) & ((second == 0x85) | (second == 0xA0));
    let ogham = (first == 0xE1) & (second == 0x9A);
    let general = (first == 0xE2) & ((second == 0x80) | (second == 0x81));
    let wide = (first == 0xE3) & (second == 0x80) & (third == 0x80);
    two | ogham | general | wide
}
