//! The inner loop over text in which nothing looks like a marker.

/// Long enough to be worth vectors, short enough that one candidate does not cost much.
const BLOCK: usize = 64;
/// How much is read byte by byte first: in JSON the next backslash is near.
const SHORT: usize = 16;

/// Whether a candidate can begin with a byte.
#[inline(always)]
const fn leads(byte: u8) -> bool {
    matches!(byte, b'<' | b'[' | b'&' | b'\\' | b'%' | 0xC2 | 0xCB | 0xE1 | 0xE2 | 0xE3 | 0xEF | 0xF0)
}

/// The offset of the next character that could begin a look-alike, or the length.
#[inline]
pub(super) fn next_candidate(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        if let Some(found) = first_in(bytes, at, at.saturating_add(SHORT)) {
            return found;
        }
        at = plain_blocks(bytes, at.saturating_add(SHORT));
        match first_in(bytes, at, at.saturating_add(BLOCK)) {
            Some(found) => return found,
            None if at.saturating_add(BLOCK) >= bytes.len() => return bytes.len(),
            None => at = at.saturating_add(BLOCK),
        }
    }
}

#[inline]
fn first_in(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let part = bytes.get(from..to.min(bytes.len()))?;
    let found = |(at, lead): (usize, &u8)| {
        // Few bytes lead a candidate; only what does is looked at further.
        leads(*lead) && begins(*lead, behind(bytes, from + at, 1), behind(bytes, from + at, 2))
    };
    part.iter().enumerate().position(found).map(|at| from + at)
}

fn behind(bytes: &[u8], at: usize, distance: usize) -> u8 {
    bytes.get(at + distance).copied().unwrap_or_default()
}

/// Skips whole blocks without a candidate. The fold has no exit, so that it is vectorised.
fn plain_blocks(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    let block = |at: usize| bytes.get(at..)?.first_chunk::<BLOCK>();
    while let (Some(first), Some(second), Some(third)) = (block(at), block(at + 1), block(at + 2)) {
        let triples = first.iter().zip(second).zip(third);
        if triples.fold(false, |found, ((a, b), c)| found | begins(*a, *b, *c)) {
            break;
        }
        at += BLOCK;
    }
    at
}

/// Whether a character of these bytes could be a bracket. Some that are none pass, for the sake of few comparisons.
#[inline(always)]
const fn begins(first: u8, second: u8, third: u8) -> bool {
    let ascii = (first == b'<') | (first == b'[') | (first == b'&') | (first == b'\\') | (first == b'%');
    let two = ((first == 0xC2) & (second == 0xAB)) | (first == 0xCB);
    let letters = (first == 0xE1) & ((second == 0x90) | (second == 0x9A));
    let symbols = (first == 0xE2) & ((second != 0x80) | (third == 0xB9));
    let cjk = (first == 0xE3) & (second == 0x80) & (third >= 0x88) & (third <= 0x9A);
    let wide = (second == 0xBC) & ((third == 0x9C) | (third == 0xBB));
    let forms = (first == 0xEF) & ((second == 0xB8) | (second == 0xB9) | wide);
    let four = (first == 0xF0) & ((second == 0x9D) | ((second == 0x9F) & ((third == 0x84) | (third == 0x89))));
    ascii | two | letters | symbols | cjk | forms | four
}
