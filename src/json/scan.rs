//! The inner loops over strings.

use super::error::Fault;

/// What a string holds besides plain characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Some character is written as an escape.
    pub(super) escaped: bool,
    /// Some escape is half a surrogate pair.
    pub(super) lone: bool,
}

/// Reads a string of which the opening quote has been read: the offset of its closing quote.
#[inline]
pub(super) fn string(bytes: &[u8], start: usize) -> Result<(usize, Content), (Fault, usize)> {
    let at = start + plain_run(bytes.get(start..).unwrap_or_default());
    // Nearly every string is plain throughout, and is over where its reader is.
    if bytes.get(at) == Some(&b'"') { Ok((at, Content::default())) } else { behind_plain(bytes, at) }
}

/// Reads on from the first byte of a string that is not plain.
#[inline(never)]
fn behind_plain(bytes: &[u8], start: usize) -> Result<(usize, Content), (Fault, usize)> {
    let mut content = Content::default();
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at, content)),
            Some(b'\\') => {
                content.escaped = true;
                at = escape(bytes, at, &mut content)?;
            }
            Some(_) => return Err((Fault::Syntax, at)),
            None => return Err((Fault::Truncated, at)),
        }
        at += plain_run(bytes.get(at..).unwrap_or_default());
    }
}

/// Reads an escape, or a surrogate pair of two: the offset behind it.
fn escape(bytes: &[u8], at: usize, content: &mut Content) -> Result<usize, (Fault, usize)> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let unit = code_unit(bytes, at)?;
            let low = || matches!(code_unit(bytes, at + 6), Ok(0xDC00..=0xDFFF));
            match unit {
                0xD800..=0xDBFF if low() => return Ok(at + 12),
                0xD800..=0xDFFF => content.lone = true,
                _ => {}
            }
            Ok(at + 6)
        }
        Some(_) => Err((Fault::Syntax, at)),
        None => Err((Fault::Truncated, at)),
    }
}

/// The code unit of the escape `\uXXXX` at an offset.
pub(super) fn code_unit(bytes: &[u8], at: usize) -> Result<u32, (Fault, usize)> {
    let Some([b'\\', b'u', digits @ ..]) = bytes.get(at..at + 6) else {
        let fault = if bytes.len() < at + 6 { Fault::Truncated } else { Fault::Syntax };
        return Err((fault, at));
    };
    digits.iter().try_fold(0, |unit, &digit| {
        char::from(digit).to_digit(16).map(|digit| unit << 4 | digit).ok_or((Fault::Syntax, at))
    })
}

const WORD: usize = size_of::<u64>();
/// Strings up to this length are searched by words only.
const SHORT: usize = 64;
/// Summing up a block costs as much as some vectors of it, so blocks are long.
const BLOCK: usize = 256;
const ONES: u64 = u64::MAX / 0xFF;

/// How many bytes come before the first quote, backslash or control character.
#[inline]
fn plain_run(bytes: &[u8]) -> usize {
    // Keys and short values end within a word or two; only long strings are worth whole blocks.
    let (words, _) = bytes.as_chunks();
    first_special(words.iter().take(SHORT / WORD)).unwrap_or_else(|| long_plain_run(bytes))
}

#[inline(never)]
fn long_plain_run(bytes: &[u8]) -> usize {
    let run = plain_blocks(bytes);
    let (words, tail) = bytes.get(run..).unwrap_or_default().as_chunks();
    let in_tail = || words.len() * WORD + tail.iter().take_while(|byte| !is_special(**byte)).count();
    run + first_special(words.iter()).unwrap_or_else(in_tail)
}

#[inline(always)]
fn first_special<'a>(words: impl Iterator<Item = &'a [u8; WORD]>) -> Option<usize> {
    for (at, word) in words.enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at * WORD + marks.trailing_zeros() as usize / 8);
        }
    }
    None
}

/// How many bytes at the start are whole blocks without a special byte. The fold has no exit, so that it is vectorised.
fn plain_blocks(bytes: &[u8]) -> usize {
    let plain = |block: &&[u8]| !block.iter().fold(false, |special, &byte| special | is_special(byte));
    bytes.chunks_exact(BLOCK).take_while(plain).count() * BLOCK
}

const fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// A word whose lowest set bit is in the first special byte of `word`; zero if it has none.
const fn marks(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let hit = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    hit & (ONES * 0x80)
}
