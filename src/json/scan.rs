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
pub(super) fn string(bytes: &[u8], start: usize) -> Result<(usize, Content), (Fault, usize)> {
    let mut content = Content::default();
    let mut at = start;
    loop {
        at += plain_run(bytes.get(at..).unwrap_or_default());
        match bytes.get(at) {
            Some(b'"') => return Ok((at, content)),
            Some(b'\\') => {
                content.escaped = true;
                at = escape(bytes, at, &mut content)?;
            }
            Some(_) => return Err((Fault::Syntax, at)),
            None => return Err((Fault::Truncated, at)),
        }
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

const BLOCK: usize = 64;
const ONES: u64 = u64::MAX / 0xFF;

/// How many bytes come before the first quote, backslash or control character.
#[inline]
fn plain_run(bytes: &[u8]) -> usize {
    let mut run = 0;
    // Keys and short values end within a word or two; only long strings are worth whole blocks.
    while let Some(word) = bytes.get(run..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return run + marks.trailing_zeros() as usize / 8;
        }
        run += 8;
        if run == BLOCK {
            run += plain_blocks(bytes.get(run..).unwrap_or_default());
        }
    }
    run + bytes.get(run..).unwrap_or_default().iter().take_while(|byte| !is_special(**byte)).count()
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
