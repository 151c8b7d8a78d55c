//! A copy of a text into which characters are inserted.

use std::ops::Range;

/// Up to here, a run of bytes is copied as if it had so many: that takes no loop.
const SHORT: usize = 16;
/// The bytes that a character may have.
const WIDEST: usize = 4;

/// A copy that is being made.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    text: &'a [u8],
    /// Up to where it has been copied.
    from: usize,
    /// What has been copied, and room.
    copy: Vec<u8>,
    length: usize,
}

/// A character to be inserted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inserted {
    bytes: [u8; WIDEST],
    length: usize,
}

impl From<char> for Inserted {
    #[inline]
    fn from(character: char) -> Self {
        let mut bytes = [0; WIDEST];
        character.encode_utf8(&mut bytes);
        Self { bytes, length: character.len_utf8() }
    }
}

impl<'a> Copying<'a> {
    /// A copy behind a header, with room for some more bytes than the text has.
    pub(super) fn of(text: &'a [u8], header: Vec<u8>, more: usize) -> Self {
        let (length, mut copy) = (header.len(), header);
        copy.resize(length + text.len() + more + 128, 0);
        Self { text, from: 0, copy, length }
    }

    /// Inserts a character at an offset, which is not before the last one.
    #[inline]
    pub(super) fn insert(&mut self, at: usize, character: Inserted) {
        let run = at - self.from;
        let short = self.text.get(self.from..).and_then(<[u8]>::first_chunk::<SHORT>);
        let room = self.copy.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<{ SHORT + WIDEST }>);
        if let (Some(short), Some(room), true) = (short, room, run <= SHORT) {
            if let Some(to) = room.first_chunk_mut() {
                *to = *short;
            }
            if let Some(to) = room.get_mut(run..).and_then(<[u8]>::first_chunk_mut) {
                *to = character.bytes;
            }
            self.from = at;
            self.length += run + character.length;
        } else {
            self.insert_slowly(at, character);
        }
    }

    #[inline(never)]
    fn insert_slowly(&mut self, at: usize, character: Inserted) {
        self.copy_to(at);
        self.push(character.bytes.get(..character.length).unwrap_or_default());
    }

    /// Puts a character in the place of a range, which is behind the last one.
    #[inline]
    pub(super) fn replace(&mut self, range: Range<usize>, character: Inserted) {
        self.insert(range.start, character);
        self.from = range.end;
    }

    fn copy_to(&mut self, to: usize) {
        let from = std::mem::replace(&mut self.from, to);
        self.push(self.text.get(from..to).unwrap_or_default());
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.copy.len() {
            self.copy.resize(2 * end, 0);
        }
        if let Some(room) = self.copy.get_mut(self.length..end) {
            room.copy_from_slice(bytes);
            self.length = end;
        }
    }

    /// The rest, and a footer behind it.
    pub(super) fn end(mut self, footer: &str) -> Vec<u8> {
        self.copy_to(self.text.len());
        self.push(footer.as_bytes());
        self.copy.truncate(self.length);
        self.copy
    }
}
