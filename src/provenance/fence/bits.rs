//! What is known of the bytes of a block, as bits.

/// As many bytes as a word has bits.
pub(super) const BLOCK: usize = 64;
/// A block, and the bytes behind it by which its last characters are known.
pub(super) const SEEN: usize = BLOCK + 2;

/// Flags as bits. A multiplication moves each of eight to its place in the highest byte.
#[inline]
fn bits(flags: &[u8; BLOCK]) -> u64 {
    let (words, _) = flags.as_chunks::<8>();
    let eight = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().rev().fold(0, |bits, word| bits << 8 | eight(word))
}

/// The bits from an offset on.
#[inline]
pub(super) fn from_bit(offset: usize) -> u64 {
    u32::try_from(offset).ok().and_then(|gone| u64::MAX.checked_shl(gone)).unwrap_or(0)
}

/// Visits the bytes that have a flag; each visit says where to go on behind it.
#[inline]
pub(super) fn each_flagged(bytes: &[u8], has_flag: impl Fn(u8) -> bool, mut visit: impl FnMut(usize) -> usize) {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let (start, mut flagged) = (at, flagged(block, &has_flag));
        at += BLOCK;
        while flagged != 0 {
            let behind = visit(start + flagged.trailing_zeros() as usize);
            flagged &= from_bit(behind - start);
            at = at.max(behind);
        }
    }
    while let Some(byte) = bytes.get(at) {
        at = if has_flag(*byte) { visit(at) } else { at + 1 };
    }
}

/// The bytes of a block that have a flag, as bits. Without an exit, so that it is vectorised.
#[inline]
pub(super) fn flagged(block: &[u8; SEEN], has_flag: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0; BLOCK];
    let any = block.iter().zip(&mut flags).fold(0, |any, (byte, flag)| {
        *flag = u8::from(has_flag(*byte));
        any | *flag
    });
    if any == 0 { 0 } else { bits(&flags) }
}

/// As [`flagged`], by the two bytes behind as well.
#[inline]
pub(super) fn flagged3(block: &[u8; SEEN], has_flag: impl Fn(u8, u8, u8) -> bool) -> u64 {
    let mut flags = [0; BLOCK];
    let (second, third) = (block.iter().skip(1), block.iter().skip(2));
    let any = block.iter().zip(second).zip(third).zip(&mut flags).fold(0, |any, (((a, b), c), flag)| {
        *flag = u8::from(has_flag(*a, *b, *c));
        any | *flag
    });
    if any == 0 { 0 } else { bits(&flags) }
}
