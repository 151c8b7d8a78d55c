//! Fencing what is text.

use std::ops::Range;

use bytes::Bytes;

use super::walk::{Walk, Walked, is_meta};
use super::{Style, Unmarkable};
use crate::json::{Kind, Value};
use crate::provenance::{Fence, FenceMode, RawEdits, RawFenced};

/// What a message of an error may have in bytes behind a fence: the rest of it goes.
const MAX_ERROR_BYTES: usize = 4096;

/// The fence around the texts of one message.
#[derive(Default)]
pub(super) struct Texts {
    fence: Option<Fence>,
    /// How many texts have been fenced.
    fenced: usize,
    lossy: bool,
}

impl Texts {
    /// Draws the fence of a message once something in it is from outside.
    pub(super) fn prepare(&mut self, text: &Bytes, style: &Style, external: bool) -> Walked {
        if !external || style.fence == FenceMode::Off || self.fence.is_some() {
            return Ok(());
        }
        // What is in no part of the message is in no text of it.
        let fence = Fence::for_raw(style.fence, std::iter::once(&text[..])).map_err(|_| Unmarkable::Fence)?;
        self.fence = Some(match &style.fence_server {
            Some(server) => fence.with_server(server.clone()),
            None => fence,
        });
        Ok(())
    }

    /// How a tag names the fence.
    pub(super) fn name(&self) -> Option<String> {
        self.fence.as_ref().map(|fence| [fence.mode().as_str(), ":", fence.nonce()].concat())
    }

    /// What follows belongs to another message.
    pub(super) fn next_message(&mut self) {
        self.lossy = false;
    }

    pub(super) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// What changes in the next text, of which what stands between its quotes is given.
    fn wrap(&mut self, raw: &[u8]) -> Vec<(Range<usize>, Bytes)> {
        let Some(fence) = &self.fence else { return Vec::new() };
        let RawFenced { edits, lossy } = fence.wrap_raw(self.fenced, raw);
        self.fenced += 1;
        self.lossy |= lossy;
        match edits {
            RawEdits::Insert(edits) => edits.into_iter().map(|(at, with)| (at..at, with)).collect(),
            RawEdits::Replace(with) => vec![(0..raw.len(), with)],
        }
    }

    /// A text of which the wire has no copy, as it is without a fence.
    fn wrap_text(&mut self, text: &str) -> String {
        let Some(fence) = &self.fence else { return text.to_owned() };
        self.fenced += 1;
        fence.wrap(self.fenced - 1, text)
    }
}

impl Walk<'_> {
    pub(super) fn fences(&self) -> bool {
        self.texts.fence.is_some() && self.mark.is_external()
    }

    /// Reads what is a text, or should be: any string in it is fenced.
    pub(super) fn text(&mut self) -> Walked {
        self.leaves()
    }

    /// Reads a value: any string in it is fenced, names of members are not.
    pub(super) fn leaves(&mut self) -> Walked {
        if !self.fences() {
            return self.search();
        }
        match self.reader.kind()? {
            Kind::Array => self.each(&mut Self::leaves),
            Kind::Object => self.members(&mut |walk, member| {
                let is_meta = walk.searches() && is_meta(&member.name) && walk.reader.kind()? == Kind::Object;
                if is_meta { walk.meta_of_text() } else { walk.leaves() }
            }),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => {
                let value = self.reader.value()?;
                self.fence(value);
                Ok(())
            }
        }
    }

    /// Reads a value that should be a string; nothing if it is nested, when it has been seen to.
    pub(super) fn leaf(&mut self) -> Walked<Option<Value>> {
        match self.reader.kind()? {
            Kind::Array | Kind::Object => self.leaves().map(|()| None),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => Ok(Some(self.reader.value()?)),
        }
    }

    /// Fences a string that has been read.
    pub(super) fn fence(&mut self, value: Value) {
        let (Some(text), true) = (value.as_text(), self.fences()) else { return };
        let span = text.span();
        let raw = span.of(self.text);
        self.report.fenced += 1;
        self.report.parts += 1;
        for (range, with) in self.texts.wrap(raw) {
            self.edits.replace(span.start() + range.start..span.start() + range.end, with);
        }
    }

    /// The message of an error. A long one is cut off: what errors have to say is short.
    pub(super) fn error_message(&mut self) -> Walked {
        let Some(value) = self.leaf()? else { return Ok(()) };
        let long = value.as_text().filter(|text| text.span().len() > MAX_ERROR_BYTES && self.fences());
        let Some(text) = long else {
            self.fence(value);
            return Ok(());
        };
        let whole = text.decode(self.text).unwrap_or_default();
        let cut = (0..=MAX_ERROR_BYTES).rev().find_map(|at| whole.get(..at)).unwrap_or_default();
        self.texts.lossy = true;
        let span = value.raw_span();
        let fenced = self.fenced_string(cut);
        self.edits.replace(span.start()..span.end(), fenced);
        Ok(())
    }

    /// A text of ours, or one that was read from somewhere else, as a fenced string of JSON.
    pub(super) fn fenced_string(&mut self, text: &str) -> Bytes {
        self.report.fenced += 1;
        self.report.parts += 1;
        Bytes::from(serde_json::to_string(&self.texts.wrap_text(text)).unwrap_or_default())
    }
}
