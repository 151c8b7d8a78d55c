//! The pull reader: the only place where the bytes of a text are looked at for their grammar.

#[cfg(feature = "server-trust")]
use std::borrow::Cow;

use super::error::{Error, Fault};
use super::keys::Keys;
use super::number::number;
use super::scan;
use super::text::{Kind, Span, Text, Value};
use super::{MAX_DEPTH, MAX_LENGTH};

/// Reads one text, once, from start to end. The caller asks for what it wants to know and skips the rest;
/// all of it is checked alike.
///
/// A tolerant reader has the same grammar, but does not look at what only an exact reader of a value would stumble
/// over: in containers that are skipped whole, names that repeat or have half a surrogate pair; anywhere, numbers
/// beyond binary64. In objects that the caller opens, names are judged as strictly as ever.
#[derive(Debug)]
pub(crate) struct Reader<'a, const TOLERANT: bool = false> {
    text: &'a str,
    at: usize,
    keys: Keys,
    depth: u8,
    /// A bit for each open container, set where it is an array; the innermost is the lowest.
    arrays: u128,
    /// The innermost container was opened and nothing of it has been read.
    fresh: bool,
}

type Result<T> = std::result::Result<T, Error>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        Self::over(bytes)
    }
}

impl<'a> Reader<'a, true> {
    /// A reader for what is passed on: exact where it is edited, indifferent elsewhere.
    pub(crate) fn tolerant(bytes: &'a [u8]) -> Result<Self> {
        Self::over(bytes)
    }
}

impl<'a, const TOLERANT: bool> Reader<'a, TOLERANT> {
    fn over(bytes: &'a [u8]) -> Result<Self> {
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            return Err(Error::new(Fault::ByteOrderMark, 0));
        }
        if bytes.len() > MAX_LENGTH {
            return Err(Error::new(Fault::TooLong, MAX_LENGTH));
        }
        let text = str::from_utf8(bytes).map_err(|error| Error::new(Fault::InvalidUtf8, error.valid_up_to()))?;
        let keys = Keys::default();
        let mut reader = Self { text, at: 0, keys, depth: 0, arrays: 0, fresh: false };
        match reader.next_byte() {
            Some(_) => Ok(reader),
            None => Err(reader.fault(Fault::Empty)),
        }
    }

    /// The offset of what is read next.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The kind of the value that comes next, as far as its first byte tells.
    pub(crate) fn kind(&mut self) -> Result<Kind> {
        self.next_kind()
    }

    #[inline(always)]
    fn next_kind(&mut self) -> Result<Kind> {
        match self.next_byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'N' | b'I') => Err(self.fault(Fault::NotANumber)),
            Some(_) => Err(self.fault(Fault::Syntax)),
            None => Err(self.fault(Fault::Truncated)),
        }
    }

    /// Enters the object that comes next; its members are read with [`Reader::key`].
    #[inline]
    pub(crate) fn open_object(&mut self) -> Result<()> {
        self.open(b'{', 0)?;
        self.keys.open();
        Ok(())
    }

    /// Enters the array that comes next; its elements are read with [`Reader::element`].
    #[inline]
    pub(crate) fn open_array(&mut self) -> Result<()> {
        self.open(b'[', 1)
    }

    /// The name of the next member of the innermost object, the value of which comes next; `None` when the object has
    /// ended.
    pub(crate) fn key(&mut self) -> Result<Option<Text>> {
        self.next_key(true)
    }

    /// `judged` as the object was when it was opened. Always inlined: where a member is skipped, its name need not be
    /// handed out.
    #[inline(always)]
    fn next_key(&mut self, judged: bool) -> Result<Option<Text>> {
        if !self.more(b'}')? {
            if judged {
                self.keys.close();
            }
            return Ok(None);
        }
        if self.next_byte() != Some(b'"') {
            return Err(self.unexpected());
        }
        let start = self.at;
        let key = self.string()?;
        match judged.then(|| self.keys.insert(self.text.as_bytes(), key)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return Err(Error::new(Fault::DuplicateKey, start)),
            Some(Err(_)) => return Err(Error::new(Fault::LoneSurrogateInKey, start)),
        }
        if self.next_byte() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Enters the object that comes next, as where it is skipped; its members are read with
    /// [`Reader::key_unjudged`] or [`Reader::name_unjudged`].
    #[cfg(any(feature = "provenance", feature = "server-trust"))]
    pub(crate) fn open_unjudged(&mut self) -> Result<()> {
        self.open(b'{', 0)
    }

    /// The same as [`Reader::key`], of an object in which names may repeat.
    #[cfg(feature = "provenance")]
    pub(crate) fn key_unjudged(&mut self) -> Result<Option<Text>> {
        self.next_key(false)
    }

    /// The next member's name, and where it is written, of an object in which names may repeat.
    #[cfg(feature = "server-trust")]
    pub(crate) fn name_unjudged(&mut self) -> Result<Option<(Cow<'a, str>, Text)>> {
        let Some(key) = self.next_key(false)? else { return Ok(None) };
        let name = key.decode(self.text.as_bytes());
        let start = key.span().start().saturating_sub(1);
        name.map(|name| Some((name, key))).map_err(|_| Error::new(Fault::LoneSurrogateInKey, start))
    }

    /// A reader of what comes next, for what has to be known ahead. It judges no names of what is open.
    #[cfg(feature = "provenance")]
    pub(crate) fn ahead(&self) -> Self {
        Self { keys: Keys::default(), ..*self }
    }

    /// Whether the innermost array has another element, which comes next; it has ended otherwise.
    #[inline]
    pub(crate) fn element(&mut self) -> Result<bool> {
        self.more(b']')
    }

    /// Reads the value that comes next, whatever it is.
    pub(crate) fn value(&mut self) -> Result<Value> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            Kind::Object | Kind::Array => {
                let outside = self.depth;
                self.enter(kind)?;
                self.skip_to(outside)?;
                Ok(Value::new(kind, Span::new(start, self.at)))
            }
            scalar @ (Kind::Bool | Kind::Null | Kind::Number | Kind::String) => self.scalar(scalar),
        }
    }

    /// Makes sure that nothing but white space comes after the value.
    pub(crate) fn end(mut self) -> Result<()> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(self.fault(Fault::TrailingData)),
        }
    }

    /// Reads on until only `outside` containers are open. No recursion: depth costs no stack.
    fn skip_to(&mut self, outside: u8) -> Result<()> {
        while self.depth > outside {
            let more = if self.arrays & 1 == 1 { self.more(b']')? } else { self.next_key(!TOLERANT)?.is_some() };
            if !more {
                continue;
            }
            match self.next_kind()? {
                kind @ (Kind::Object | Kind::Array) => self.enter(kind)?,
                scalar @ (Kind::Bool | Kind::Null | Kind::Number | Kind::String) => {
                    self.scalar(scalar)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the scalar that comes next, its kind being known. Always inlined: where it is skipped, no value need be
    /// made.
    #[inline(always)]
    fn scalar(&mut self, kind: Kind) -> Result<Value> {
        let start = self.at;
        match kind {
            Kind::String => return Ok(Value::string(self.string()?)),
            Kind::Number => {
                let (end, integer) =
                    number::<TOLERANT>(self.text, start).map_err(|(fault, at)| Error::new(fault, at))?;
                self.at = end;
                return Ok(Value::number(Span::new(start, end), integer));
            }
            Kind::Bool if self.text.as_bytes().get(start) == Some(&b't') => self.literal("true")?,
            Kind::Bool => self.literal("false")?,
            Kind::Null => self.literal("null")?,
            Kind::Array | Kind::Object => return Err(self.unexpected()),
        }
        Ok(Value::new(kind, Span::new(start, self.at)))
    }

    /// Enters a container that is skipped.
    #[inline]
    fn enter(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Object if TOLERANT => self.open(b'{', 0),
            Kind::Object => self.open_object(),
            _ => self.open_array(),
        }
    }

    #[inline]
    fn open(&mut self, bracket: u8, array: u128) -> Result<()> {
        if self.next_byte() != Some(bracket) {
            return Err(self.unexpected());
        }
        if self.depth == MAX_DEPTH {
            return Err(self.fault(Fault::TooDeep));
        }
        self.at += 1;
        self.depth += 1;
        self.arrays = self.arrays << 1 | array;
        self.fresh = true;
        Ok(())
    }

    /// Whether the innermost container goes on; reads the comma if so, its end otherwise.
    #[inline]
    fn more(&mut self, end: u8) -> Result<bool> {
        let fresh = std::mem::take(&mut self.fresh);
        match self.next_byte() {
            Some(byte) if byte == end => {
                self.at += 1;
                self.depth -= 1;
                self.arrays >>= 1;
                Ok(false)
            }
            Some(b',') if !fresh => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if fresh => Ok(true),
            _ => Err(self.unexpected()),
        }
    }

    #[inline]
    fn string(&mut self) -> Result<Text> {
        let start = self.at + 1;
        let (end, content) = scan::string(self.text.as_bytes(), start).map_err(|(fault, at)| Error::new(fault, at))?;
        self.at = end + 1;
        Ok(Text::new(Span::new(start, end), content))
    }

    #[inline]
    fn literal(&mut self, literal: &str) -> Result<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(literal.as_bytes()) {
            self.at += literal.len();
            return Ok(());
        }
        Err(self.no_literal(literal))
    }

    #[cold]
    fn no_literal(&self, literal: &str) -> Error {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(b"nan") {
            return self.fault(Fault::NotANumber);
        }
        let truncated = literal.as_bytes().starts_with(rest);
        self.fault(if truncated { Fault::Truncated } else { Fault::Syntax })
    }

    /// The first byte that is not white space.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    #[cold]
    fn unexpected(&self) -> Error {
        let end = self.at >= self.text.len();
        self.fault(if end { Fault::Truncated } else { Fault::Syntax })
    }

    #[cold]
    fn fault(&self, fault: Fault) -> Error {
        Error::new(fault, self.at)
    }
}
