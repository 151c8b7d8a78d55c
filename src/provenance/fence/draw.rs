//! What is drawn at random.

use std::fmt::Write;

use memchr::memmem;

use super::FenceError;
use super::units::{Units, all, text_of};

/// Fills a buffer with randomness.
pub(super) type Source<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), getrandom::Error>;

/// 96 bits.
const NONCE_BYTES: usize = 12;
pub(super) const NONCE_DIGITS: usize = 2 * NONCE_BYTES;

/// The private-use area of the Basic Multilingual Plane.
const MARKS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

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
    let mut taken = vec![false; MARKS.count()];
    for (character, _) in texts.flat_map(all) {
        let at = u32::from(character).wrapping_sub(u32::from(*MARKS.start()));
        if let Some(taken) = taken.get_mut(at as usize) {
            *taken = true;
        }
    }
    let free: Vec<char> = MARKS.zip(taken).filter(|(_, taken)| !taken).map(|(mark, _)| mark).collect();
    let mut bytes = [0; 4];
    source(&mut bytes).map_err(|_| FenceError::Randomness)?;
    let drawn = (u32::from_le_bytes(bytes) as usize).checked_rem(free.len()).ok_or(FenceError::NoMark)?;
    free.get(drawn).copied().ok_or(FenceError::NoMark)
}

/// Whether a nonce occurs in the contents of a JSON string, whatever is escaped in it.
pub(super) fn occurs_in_raw(raw: &[u8], nonce: &str) -> bool {
    // Hexadecimal digits are escaped as `\u003X`, `\u004X` or `\u006X`, which nobody does without need.
    let hidden = memmem::find(raw, br"\u00").is_some();
    if hidden { occurs(text_of(raw).0.as_bytes(), nonce) } else { occurs(raw, nonce) }
}

/// Whether a nonce occurs in a text, in small or capital digits. Horspool's search: most of the text is not read.
pub(super) fn occurs(text: &[u8], nonce: &str) -> bool {
    let shifts = shifts(nonce.as_bytes());
    let mut at = 0;
    while let Some(window) = text.get(at..at + nonce.len()) {
        if window.eq_ignore_ascii_case(nonce.as_bytes()) {
            return true;
        }
        let last = window.last().copied().unwrap_or_default().to_ascii_lowercase();
        at += shifts.get(usize::from(last)).copied().unwrap_or(1);
    }
    false
}

fn shifts(nonce: &[u8]) -> [usize; 256] {
    let mut shifts = [nonce.len().max(1); 256];
    for (digit, shift) in nonce.iter().zip((1..nonce.len()).rev()) {
        if let Some(entry) = shifts.get_mut(usize::from(*digit)) {
            *entry = shift;
        }
    }
    shifts
}
