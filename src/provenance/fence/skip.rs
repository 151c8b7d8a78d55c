//! The inner loop over text in which nothing looks like a marker.

use super::bits::{BLOCK, SEEN, flagged, flagged3, from_bit};

/// The offset of the next character that could begin a look-alike, or the length. `passes` says where to go on behind
/// one that begins none after all.
#[inline]
pub(super) fn next_candidate(bytes: &[u8], from: usize, passes: impl Fn(usize) -> Option<usize>) -> usize {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let (start, mut leads) = (at, leads(block));
        at += BLOCK;
        while leads != 0 {
            let lead = start + leads.trailing_zeros() as usize;
            let Some(behind) = passes(lead) else { return lead };
            leads &= from_bit(behind - start);
            at = at.max(behind);
        }
    }
    in_rest(bytes, at, passes)
}

/// As [`next_candidate`], for what is shorter than a block.
fn in_rest(bytes: &[u8], from: usize, passes: impl Fn(usize) -> Option<usize>) -> usize {
    let mut at = from;
    while let Some(first) = bytes.get(at) {
        let behind = |distance: usize| bytes.get(at + distance).copied().unwrap_or_default();
        at = if begins(*first, behind(1), behind(2)) {
            let Some(behind) = passes(at) else { return at };
            behind
        } else {
            at + 1
        };
    }
    bytes.len()
}

/// The bytes of a block that begin a character that could be a bracket, as bits.
#[inline]
fn leads(block: &[u8; SEEN]) -> u64 {
    let wide = block.iter().take(BLOCK).fold(0, |all, byte| all | *byte) >= 0x80;
    if wide { flagged3(block, begins) } else { flagged(block, begins_ascii) }
}

#[inline(always)]
const fn begins_ascii(byte: u8) -> bool {
    (byte == b'<') | (byte == b'[') | (byte == b'&') | (byte == b'\\') | (byte == b'%')
}

/// Whether a character of these bytes could be a bracket. Some that are none pass, for the sake of few comparisons.
#[inline(always)]
pub(super) const fn begins(first: u8, second: u8, third: u8) -> bool {
    let two = ((first == 0xC2) & (second == 0xAB)) | (first == 0xCB);
    let letters = (first == 0xE1) & ((second == 0x90) | (second == 0x9A));
    let symbols = (first == 0xE2) & ((second != 0x80) | (third == 0xB9));
    let cjk = (first == 0xE3) & (second == 0x80) & (third >= 0x88) & (third <= 0x9A);
    let wide = (second == 0xBC) & ((third == 0x9C) | (third == 0xBB));
    let forms = (first == 0xEF) & ((second == 0xB8) | (second == 0xB9) | wide);
    let four = (first == 0xF0) & ((second == 0x9D) | ((second == 0x9F) & ((third == 0x84) | (third == 0x89))));
    begins_ascii(first) | two | letters | symbols | cjk | forms | four
}
