//! What is drawn at random.

use std::fmt::Write;

use super::FenceError;
use super::units::Units;

/// Fills a buffer with randomness.
pub(super) type Source<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), getrandom::Error>;

/// 96 bits.
const NONCE_BYTES: usize = 12;
pub(super) const NONCE_DIGITS: usize = 2 * NONCE_BYTES;

/// The private-use area of the Basic Multilingual Plane.
const FIRST_MARK: u32 = 0xE000;
/// As many words of bits as it takes.
const MARKS: usize = (0xF900 - 0xE000) / 64;

/// Draws a nonce that occurs nowhere.
pub(super) fn nonce(source: Source<'_>, occurs: impl Fn(&str) -> bool) -> Result<String, FenceError> {
    loop {
        let mut bytes = [0; NONCE_BYTES];
        source(&mut bytes).map_err(|_| FenceError::Randomness)?;
        let mut nonce = String::with_capacity(NONCE_DIGITS);
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(nonce, "{byte:02x}");
        }
        if !occurs(&nonce) {
            return Ok(nonce);
        }
    }
}

/// Draws one of the marks that occur in no text.
pub(super) fn mark<U: Units>(source: Source<'_>, texts: impl Iterator<Item = U>) -> Result<char, FenceError> {
    let mut free = [u64::MAX; MARKS];
    for text in texts {
        text.each_private(|character| {
            let at = u32::from(character).wrapping_sub(FIRST_MARK);
            if let Some(word) = free.get_mut(at as usize / 64) {
                *word &= !(1 << (at % 64));
            }
        });
    }
    let mut bytes = [0; 4];
    source(&mut bytes).map_err(|_| FenceError::Randomness)?;
    let count: u32 = free.iter().map(|word| word.count_ones()).sum();
    let drawn = u32::from_le_bytes(bytes).checked_rem(count).ok_or(FenceError::NoMark)?;
    nth(&free, drawn).and_then(char::from_u32).ok_or(FenceError::NoMark)
}

/// The code of the mark of which so many are free before.
fn nth(free: &[u64; MARKS], mut before: u32) -> Option<u32> {
    for (word, first) in free.iter().zip((FIRST_MARK..).step_by(64)) {
        let here = word.count_ones();
        if before < here {
            // The lowest bits go.
            let word = (0..before).fold(*word, |word, _| word & word.wrapping_sub(1));
            return Some(first + word.trailing_zeros());
        }
        before -= here;
    }
    None
}
