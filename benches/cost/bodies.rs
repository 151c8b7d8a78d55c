//! Calls of `run_query`, of exact sizes.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A call with nothing but its command.
pub(crate) fn call(size: usize) -> Bytes {
    padded(size, "")
}

/// A call with rows, each an object of six members.
pub(crate) fn rows(size: usize) -> Bytes {
    let mut rows = String::new();
    for id in 1_000.. {
        let row = format!(
            r#"{{"id":{id},"name":"row {id}","active":{},"score":{}.5,"parent":null,"note":"see the minutes of the meeting"}}"#,
            id % 2 == 0,
            id % 100,
        );
        if padded(0, &rows).len() + row.len() + 32 > size {
            break;
        }
        _ = write!(rows, "{}{row}", if rows.is_empty() { r#","rows":["# } else { "," });
    }
    padded(size, &format!("{rows}]"))
}

/// A call with one long string.
pub(crate) fn text(size: usize) -> Bytes {
    let text = "It was a bright cold day in April, and the clocks were striking thirteen. ";
    let length = size.saturating_sub(256);
    padded(size, &format!(r#","text":"{}""#, text.chars().cycle().take(length).collect::<String>()))
}

/// The command fills up what is missing.
fn padded(size: usize, arguments: &str) -> Bytes {
    let body = |padding: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"run_query","arguments":{{"cmd":"ls {padding}"{arguments}}}}}}}"#
        )
    };
    body(&"x".repeat(size.saturating_sub(body("").len()))).into()
}

/// A body that arrives in frames, its length being announced.
pub(crate) struct Frames {
    left: Bytes,
    size: usize,
}

impl Frames {
    pub(crate) fn new(body: &Bytes, size: usize) -> Self {
        Self { left: body.clone(), size }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.size.min(self.left.len());
        let frame = self.left.split_to(size);
        Poll::Ready((size > 0).then(|| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
