//! What comes in lines, each with a bound on its length.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::codec::{Decoder, LinesCodec, LinesCodecError};

/// The lines of a source.
pub(super) struct Lines<R> {
    source: R,
    codec: LinesCodec,
    buffer: BytesMut,
    ended: bool,
}

/// Why a line is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoLine {
    /// It is no text.
    NotText,
    /// It is longer than the bound; all of it is skipped.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, max_bytes: usize) -> Self {
        let codec = LinesCodec::new_with_max_length(max_bytes);
        Self { source, codec, buffer: BytesMut::with_capacity(8 << 10), ended: false }
    }

    /// The next line, `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, NoLine>> {
        loop {
            let decoded =
                if self.ended { self.codec.decode_eof(&mut self.buffer) } else { self.codec.decode(&mut self.buffer) };
            match decoded {
                Ok(Some(line)) => return Some(Ok(Bytes::from(line))),
                Ok(None) if self.ended => return None,
                Ok(None) => self.read().await,
                Err(LinesCodecError::MaxLineLengthExceeded) => return Some(Err(NoLine::TooLong)),
                Err(LinesCodecError::Io(_)) => return Some(Err(NoLine::NotText)),
            }
        }
    }

    async fn read(&mut self) {
        self.buffer.reserve(8 << 10);
        self.ended = self.source.read_buf(&mut self.buffer).await.map_or(true, |read| read == 0);
    }
}

/// Within JSON line breaks are blanks: these keep a message on one line, of stdio as of a stream of events.
pub(super) fn on_one_line(text: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &text).is_none() {
        return text;
    }
    let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    text.iter().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], max_bytes: usize) -> Vec<Result<Bytes, NoLine>> {
        let mut lines = Lines::new(text, max_bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn too_long_and_not_text_end_with_their_line() {
        let ok = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        assert_eq!(all(b"a\r\n\nb", 4).await, [ok("a"), ok(""), ok("b")]);
        assert_eq!(all(b"12345\nab\n", 4).await, [Err(NoLine::TooLong), ok("ab")]);
        assert_eq!(all(b"1234\nab\n", 4).await, [ok("1234"), ok("ab")]);
        assert_eq!(all(b"\xFF\nab\n", 4).await, [Err(NoLine::NotText), ok("ab")]);
        assert_eq!(all(b"", 4).await, []);
    }

    #[test]
    fn breaks_become_blanks() {
        let text = Bytes::from_static(b"{\r\n}");
        assert_eq!(on_one_line(text), "{  }");
        assert_eq!(on_one_line(Bytes::from_static(b"{}")), "{}");
    }
}
