//! The events of a `text/event-stream`, as WHATWG HTML, section 9.2, defines it.

use std::error::Error;
use std::{fmt, mem};

use bytes::{Buf, Bytes};
use memchr::memchr2;

use crate::http::Pieces;

const BOM: &[u8] = b"\xEF\xBB\xBF";
const CR: u8 = b'\r';
const LF: u8 = b'\n';
/// Shorter chunks are copied as they come.
const WORTH_KEEPING: usize = 4 << 10;

/// Splits a byte stream of `text/event-stream` into events, each as soon as it is complete.
///
/// No byte is read twice, and none is held that could go: an event goes with the CR that ends it, and so does a comment that
/// may be a keep-alive. Where the pieces end does not depend on how the bytes are chunked, but for the LF of such a CR.
#[derive(Debug)]
pub(crate) struct Splitter {
    limit: usize,
    /// What earlier chunks had of the next piece: long ones as they came, then what was copied.
    kept: Pieces,
    held: Vec<u8>,
    chunk: Bytes,
    /// Some of the chunk has been given out.
    cut: bool,
    /// How much of the chunk has been read in search of the next piece's end.
    read: usize,
    line: Line,
    /// The piece has a line that is not a comment.
    fields: bool,
    /// The last byte was a CR, so that a LF adds nothing to it.
    after_cr: bool,
    /// No piece has been given out.
    first: bool,
    /// The rest of a piece that is too long is passed over.
    skipping: bool,
}

/// What is known of the line that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The first of the stream, with so many bytes of a byte order mark.
    Bom(usize),
    Blank,
    Comment,
    Field,
}

/// An event is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of the stream is too long")
    }
}

impl Error for TooLong {}

impl Splitter {
    /// One event may have `limit` bytes, those of its end included. The LF of a last CRLF is free: it may come too late to count.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Pieces::default(),
            held: Vec::new(),
            chunk: Bytes::new(),
            cut: false,
            read: 0,
            line: Line::Bom(0),
            fields: false,
            after_cr: false,
            first: true,
            skipping: false,
        }
    }

    /// Takes in the next bytes. Nothing is copied here if [`next`](Self::next) has given all that it had.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.cut = false;
        self.chunk = if self.chunk.is_empty() { chunk } else { [&*self.chunk, &*chunk].concat().into() };
    }

    /// Ends what the stream has left without its end, which conforming clients discard and others read all the same.
    pub(crate) fn close(&mut self) {
        if self.earlier() > 0 || !self.chunk.is_empty() {
            self.push(Bytes::from_static(b"\n\n"));
        }
    }

    /// How many bytes are held of an event that is not complete.
    pub(crate) fn held(&self) -> usize {
        self.kept.len() + self.held.capacity()
    }

    /// The next event, in order; none if more bytes are needed. One that is too long is passed over.
    pub(crate) fn next(&mut self) -> Option<Result<Event, TooLong>> {
        let end = loop {
            let end = self.read_piece();
            if !self.skipping {
                break end;
            }
            let passed = end.unwrap_or(self.chunk.len());
            self.pass_over(passed, end.is_some());
            end?;
        };
        if self.earlier() + end.unwrap_or(self.read) > self.limit {
            (self.kept, self.held) = Default::default();
            self.pass_over(end.unwrap_or(self.chunk.len()), end.is_some());
            return Some(Err(TooLong));
        }
        self.read = 0;
        let Some(mut end) = end else {
            let rest = mem::take(&mut self.chunk);
            // Nothing of a chunk that has been given out, and no buffer around a short one, stays in memory for this.
            if self.cut || rest.len() < WORTH_KEEPING {
                self.hold(&rest);
            } else {
                self.keep(rest);
            }
            return None;
        };
        if self.after_cr && self.chunk.get(end) == Some(&LF) {
            self.after_cr = false;
            end += 1;
        }
        Some(Ok(self.cut(end)))
    }

    fn pass_over(&mut self, bytes: usize, whole: bool) {
        (self.read, self.first, self.skipping, self.cut) = (0, false, !whole, true);
        self.chunk.advance(bytes);
    }

    /// Reads on to the end of the piece: its offset in the chunk.
    fn read_piece(&mut self) -> Option<usize> {
        while let Some(&byte) = self.chunk.get(self.read) {
            let at_start = self.read == 0 && self.earlier() == 0 && !self.skipping;
            let after_cr = mem::replace(&mut self.after_cr, byte == CR);
            self.read += 1;
            let ended = match byte {
                // The piece before this one went without it.
                LF if after_cr => at_start,
                CR | LF => self.end_line(),
                _ => {
                    self.continue_line(byte);
                    false
                }
            };
            if ended {
                return Some(self.read);
            }
        }
        None
    }

    fn continue_line(&mut self, byte: u8) {
        self.line = match self.line {
            Line::Bom(matched) if BOM.get(matched) == Some(&byte) => {
                if matched + 1 == BOM.len() {
                    Line::Blank
                } else {
                    Line::Bom(matched + 1)
                }
            }
            Line::Bom(0) | Line::Blank if byte == b':' => Line::Comment,
            Line::Bom(_) | Line::Blank => Line::Field,
            line @ (Line::Comment | Line::Field) => line,
        };
        if matches!(self.line, Line::Comment | Line::Field) {
            let rest = self.chunk.get(self.read..).unwrap_or_default();
            self.read += memchr2(CR, LF, rest).unwrap_or(rest.len());
        }
    }

    /// Whether the piece ends with this line.
    fn end_line(&mut self) -> bool {
        let ended = match mem::replace(&mut self.line, Line::Blank) {
            Line::Bom(0) | Line::Blank => true,
            Line::Comment => !self.fields,
            Line::Bom(_) | Line::Field => false,
        };
        self.fields = !ended;
        ended
    }

    /// How many bytes earlier chunks had of the next piece.
    fn earlier(&self) -> usize {
        self.kept.len() + self.held.len()
    }

    fn keep(&mut self, chunk: Bytes) {
        self.kept.push(mem::take(&mut self.held).into());
        self.kept.push(chunk);
    }

    fn hold(&mut self, bytes: &[u8]) {
        let needed = self.held.len() + bytes.len();
        if needed > self.held.capacity() {
            // Doubled like any vector, but not beyond what an event may have.
            let capacity = self.held.capacity().saturating_mul(2).min(self.limit).max(needed);
            self.held.reserve_exact(capacity - self.held.len());
        }
        self.held.extend_from_slice(bytes);
    }

    fn cut(&mut self, end: usize) -> Event {
        let mut raw = self.chunk.split_to(end);
        self.cut = true;
        if self.kept.len() > 0 {
            self.keep(raw);
            raw = mem::take(&mut self.kept).join();
        } else if !self.held.is_empty() {
            self.hold(&raw);
            raw = mem::take(&mut self.held).into();
        }
        let bom = mem::take(&mut self.first) && raw.starts_with(BOM);
        Event { raw, start: if bom { BOM.len() } else { 0 } }
    }
}

/// A piece of the stream, as it came: an event with the blank line that ends it, a comment ahead of any field,
/// a blank line without an event, or the late LF of a CR that has gone.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    raw: Bytes,
    /// Where the first line starts: behind a byte order mark.
    start: usize,
}

impl Event {
    /// Exactly the bytes that came.
    pub(crate) fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The data lines, joined by LF; none if there is no data field. A single line is a slice, not a copy.
    pub(crate) fn data(&self) -> Option<Bytes> {
        let mut values = self.lines().filter_map(TextLine::data);
        let first = values.next()?;
        let Some(second) = values.next() else { return Some(self.raw.slice_ref(first)) };
        let mut joined = Vec::with_capacity(self.raw.len());
        joined.extend_from_slice(first);
        for value in [second].into_iter().chain(values) {
            joined.push(LF);
            joined.extend_from_slice(value);
        }
        Some(joined.into())
    }

    /// Whether some byte of it begins an object or an array, as in every message.
    pub(crate) fn has_json(&self) -> bool {
        looks_like_json(&self.raw)
    }

    /// Whether some line that is no data could be taken for JSON: some readers end lines elsewhere, or skip more at the
    /// start, and find data in it.
    pub(crate) fn hides_json(&self) -> bool {
        self.lines().any(|line| line.data().is_none() && looks_like_json(line.text))
    }

    /// Whether clients that follow the protocol take its data for a message.
    pub(crate) fn is_message(&self) -> bool {
        let kind = self.lines().filter_map(|line| line.field(b"event")).last();
        kind.is_none_or(|kind| kind.is_empty() || kind == b"message")
    }

    /// The same event with other data, given in pieces, as many lines as it takes, where the first data line was. All other
    /// lines stay as they are, but those that could be taken for JSON. Without a data field there is nothing to replace.
    pub(crate) fn with_data(&self, data: &[impl AsRef<[u8]>]) -> Bytes {
        let length = data.iter().map(|piece| piece.as_ref().len()).sum::<usize>();
        let mut edited = Vec::with_capacity(self.raw.len() + length);
        edited.extend_from_slice(self.raw.get(..self.start).unwrap_or_default());
        let mut replaced = false;
        for line in self.lines() {
            if line.data().is_none() {
                if looks_like_json(line.text) {
                    continue;
                }
                // With the line between them gone, a CR and a blank line's LF would be one line end.
                if edited.last() == Some(&CR) && line.text.is_empty() && line.end.first() == Some(&LF) {
                    edited.push(LF);
                }
                line.write(&mut edited);
            } else if !mem::replace(&mut replaced, true) {
                write_data(data, line.end, &mut edited);
            }
        }
        edited.into()
    }

    /// What remains of an event whose data must not be handed on: where to resume, and after how long.
    pub(crate) fn without_data(&self) -> Option<Bytes> {
        let mut left = Vec::new();
        for line in self.lines().filter(|line| !looks_like_json(line.text)) {
            if line.field(b"id").or(line.field(b"retry")).is_some() {
                left.extend_from_slice(line.text);
                left.push(LF);
            }
        }
        left.push(LF);
        (left.len() > 1).then(|| left.into())
    }

    fn lines(&self) -> impl Iterator<Item = TextLine<'_>> {
        lines(self.raw.get(self.start..).unwrap_or_default())
    }
}

#[derive(Clone, Copy)]
struct TextLine<'a> {
    text: &'a [u8],
    end: &'a [u8],
}

/// All lines; the last is what comes behind the last line end, be it nothing.
fn lines(bytes: &[u8]) -> impl Iterator<Item = TextLine<'_>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let (text, behind) =
            rest.and_then(|rest| rest.split_at_checked(memchr2(CR, LF, rest).unwrap_or(rest.len())))?;
        let end = match behind {
            [CR, LF, ..] => 2,
            [_, ..] => 1,
            [] => 0,
        };
        let (end, behind) = behind.split_at_checked(end)?;
        rest = (!end.is_empty()).then_some(behind);
        Some(TextLine { text, end })
    })
}

/// Whether some byte begins an object or an array.
fn looks_like_json(bytes: &[u8]) -> bool {
    memchr2(b'{', b'[', bytes).is_some()
}

impl<'a> TextLine<'a> {
    /// The value, if it is a data field.
    fn data(self) -> Option<&'a [u8]> {
        self.field(b"data")
    }

    /// The value of a field.
    fn field(self, name: &[u8]) -> Option<&'a [u8]> {
        match self.text.strip_prefix(name)? {
            [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
            // Still a part of the line, as `slice_ref` wants it.
            empty @ [] => Some(empty),
            _ => None,
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
        out.extend_from_slice(self.end);
    }
}

/// Writes each line of what the pieces are together as a field of its own.
fn write_data(pieces: &[impl AsRef<[u8]>], end: &[u8], out: &mut Vec<u8>) {
    const FIELD: &[u8] = b"data: ";
    out.extend_from_slice(FIELD);
    let mut after_cr = false;
    for piece in pieces.iter().map(AsRef::as_ref) {
        // The CR has ended the line.
        let piece = if after_cr { piece.strip_prefix(b"\n").unwrap_or(piece) } else { piece };
        for line in lines(piece) {
            out.extend_from_slice(line.text);
            if !line.end.is_empty() {
                out.extend_from_slice(end);
                out.extend_from_slice(FIELD);
            }
        }
        after_cr = piece.last() == Some(&CR);
    }
    out.extend_from_slice(end);
}

#[cfg(test)]
mod tests;
