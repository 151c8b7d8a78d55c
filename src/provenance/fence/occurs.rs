//! Whether a nonce occurs in a text.

use std::ops::Range;

use memchr::memmem;

use super::units::text_of;

/// Whether a nonce occurs in the contents of a JSON string, whatever is escaped in it.
pub(super) fn occurs_in_raw(raw: &[u8], nonce: &str) -> bool {
    // Nobody escapes hexadecimal digits without need.
    let is_digit = |at: usize| raw.get(at + 4..at + 6).is_some_and(is_digit_escaped);
    let hidden = memmem::find_iter(raw, br"\u00").any(is_digit);
    if hidden { occurs(text_of(raw).0.as_bytes(), nonce) } else { occurs(raw, nonce) }
}

/// Whether a character below U+0100 is a hexadecimal digit, by the last two digits of its escape.
fn is_digit_escaped(code: &[u8]) -> bool {
    matches!(code, [b'3', b'0'..=b'9'] | [b'4' | b'6', b'1'..=b'6'])
}

/// Whether a nonce occurs in a text, in small or capital digits.
pub(super) fn occurs(text: &[u8], nonce: &str) -> bool {
    let nonce = nonce.as_bytes();
    let Some(run) = run(nonce) else { return occurs_slowly(text, nonce) };
    let around = |at: usize| at.checked_sub(run.start).and_then(|start| text.get(start..start + nonce.len()));
    let Some(needle) = nonce.get(run.clone()) else { return true };
    memmem::find_iter(text, needle).filter_map(around).any(|found| found.eq_ignore_ascii_case(nonce))
}

/// The longest run of decimal digits behind another one: these have no case, and text has few of them. A run that is
/// looked for never begins within one that has been found, for before it stands what is none.
fn run(nonce: &[u8]) -> Option<Range<usize>> {
    let mut longest: Option<Range<usize>> = None;
    let mut start = None;
    for (at, digit) in nonce.iter().enumerate() {
        if !digit.is_ascii_digit() {
            start = Some(at + 1);
        } else if let Some(start) = start
            && longest.as_ref().is_none_or(|run| run.len() < at + 1 - start)
        {
            longest = Some(start..at + 1);
        }
    }
    longest.filter(|run| run.len() > 1)
}

/// Horspool's search, for the nonce in a million that has no such run.
fn occurs_slowly(text: &[u8], nonce: &[u8]) -> bool {
    let shifts = shifts(nonce);
    let mut at = 0;
    while let Some(window) = text.get(at..at + nonce.len()) {
        if window.eq_ignore_ascii_case(nonce) {
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
