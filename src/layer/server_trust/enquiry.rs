//! The layer's own question for all of a server's tools, before a call that it cannot judge without.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, EXPECT, HeaderMap, HeaderName, HeaderValue, TRAILER, TRANSFER_ENCODING};
use http::request::Parts;

use super::judge::{Judge, Lists};
use crate::http::{Collected, Context};
use crate::json::reads_as;
use crate::layer::exchange::{Decided, Enquiry, Heard, ask_for_plain, measure};
use crate::message::{Call, Era, Inspection, Message};
use crate::server::{Definition, MAX_TOOLS, Page};

const MAX_PAGES: usize = 100;
const BOTH_MEDIA: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const PARAM: &str = "mcp-param-";
/// What is about the body of the call, or about that request alone.
const OF_THE_CALL: [HeaderName; 7] = [
    CONTENT_LENGTH,
    EXPECT,
    TRAILER,
    TRANSFER_ENCODING,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-name"),
];

/// A call that waits until all pages of the list of tools are there.
pub(super) struct ListEnquiry {
    judge: Judge,
    head: Parts,
    collected: Collected,
    context: Context,
    /// The id of the next question.
    id: String,
    pages: Pages,
}

/// What has come.
#[derive(Default)]
struct Pages {
    asked: usize,
    /// How often the server had said that there is another list.
    changes: u64,
    cursors: HashSet<String>,
    /// Where the next page begins.
    cursor: Option<String>,
    definitions: Vec<Definition>,
    /// What all of them have in bytes.
    bytes: usize,
    all: bool,
}

impl ListEnquiry {
    pub(super) fn new(judge: Judge, head: Parts, collected: Collected, context: Context) -> Self {
        let changes = judge.guard.shown.as_ref().map_or(0, |shown| shown.changes());
        let pages = Pages { changes, ..Pages::default() };
        Self { judge, head, collected, context, id: String::new(), pages }
    }

    fn body(&self) -> Bytes {
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let cursor = self.pages.cursor.as_deref().map(|cursor| format!(r#""cursor":{}"#, quoted(cursor)));
        let meta = meta(self.context.inspection()).map(|meta| format!(r#""_meta":{meta}"#));
        let params = Vec::from_iter(cursor.into_iter().chain(meta)).join(",");
        let id = &self.id;
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/list","params":{{{params}}}}}"#))
    }

    fn turn(&mut self, Page { mut definitions, next }: Page) -> Heard {
        self.pages.definitions.append(&mut definitions);
        if self.pages.definitions.len() > MAX_TOOLS {
            return Heard::Over;
        }
        let Some(cursor) = next else {
            self.pages.all = true;
            return Heard::Over;
        };
        if self.pages.asked >= MAX_PAGES || !self.pages.cursors.insert(cursor.clone()) {
            return Heard::Over;
        }
        self.pages.cursor = Some(cursor);
        Heard::Next
    }
}

impl Enquiry for ListEnquiry {
    fn ask(&mut self) -> (Parts, Bytes) {
        self.pages.asked += 1;
        self.id = unlikely_id();
        let bytes = self.body();
        let mut head = self.head.clone();
        suit(&mut head.headers);
        // Joined layers read again what cannot be read here, and refuse it.
        let _read = self.context.beside(&mut head, &bytes);
        (head, bytes)
    }

    fn limit(&self) -> usize {
        self.judge.guard.front.max_list_bytes.saturating_sub(self.pages.bytes)
    }

    fn hear(&mut self, message: &Bytes) -> Heard {
        self.pages.bytes = self.pages.bytes.saturating_add(message.len());
        match Page::read(message, &self.id) {
            Ok(Some(page)) => self.turn(page),
            Ok(None) => {
                self.judge.guard.shown.iter().for_each(|shown| shown.hear(message));
                Heard::Other
            }
            Err(_) => Heard::Over,
        }
    }

    fn decide(self: Box<Self>) -> Decided {
        let Self { judge, head, collected, context, pages, .. } = *self;
        let Some(shown) = judge.guard.shown.as_ref().filter(|_| pages.all) else {
            return judge.pass(head, collected, &context, Lists::Unavailable);
        };
        let (known, findings) = shown.learn(&pages.definitions, pages.changes);
        judge.guard.tell_news(&findings.news);
        judge.pass(head, collected, &context, Lists::Known(&known))
    }
}

/// An id that no client has in use: nobody can guess it.
fn unlikely_id() -> String {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    format!("toolgate-{:016x}-{asked}", RandomState::new().hash_one(asked))
}

/// Makes headers of a call those of a question for a list.
fn suit(headers: &mut HeaderMap) {
    OF_THE_CALL.iter().for_each(|name| drop(headers.remove(name)));
    let mirrored = Vec::from_iter(headers.keys().filter(|name| name.as_str().starts_with(PARAM)).cloned());
    mirrored.iter().for_each(|name| drop(headers.remove(name)));
    measure(headers, 0);
    if headers.contains_key(METHOD) {
        headers.insert(METHOD, HeaderValue::from_static("tools/list"));
    }
    headers.insert(ACCEPT, BOTH_MEDIA);
    ask_for_plain(headers);
}

/// What the first call says of itself that every request of its era has to say.
fn meta(inspection: &Inspection) -> Option<String> {
    let calls = |message: &Message<'_>| message.calls().any(|call| matches!(call, Call::Tool { .. }));
    let call = inspection.messages().find(calls).filter(|_| inspection.era() == Era::Modern)?;
    let is_own = |name: &str| reads_as(name, "progressToken");
    let members = call.meta().iter().filter(|member| !is_own(&member.name()));
    let written = members.map(|member| {
        let name = serde_json::to_string(&member.name()).unwrap_or_default();
        format!("{name}:{}", String::from_utf8_lossy(member.raw()))
    });
    Some(format!("{{{}}}", Vec::from_iter(written).join(",")))
}
