//! Whether what a server says is an answer to what it was asked.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tower_toolgate::message::{Inspection, MessageKind};

/// A response of JSON-RPC: no method, and exactly one of result and error.
#[derive(Deserialize)]
struct Reply<'a> {
    jsonrpc: &'a str,
    #[serde(default)]
    id: Value,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
}

impl Reply<'_> {
    fn answers(&self, id: &Value) -> bool {
        self.jsonrpc == "2.0"
            && self.method.is_none()
            && self.result.is_some() != self.error.is_some()
            && self.id == *id
    }
}

/// Whether a body answers every request of another, each once.
pub(super) fn answers(body: &[u8], asked: &Inspection) -> bool {
    let requests = asked.messages().filter(|message| message.kind() == MessageKind::Request);
    let ids: Vec<Value> =
        requests.filter_map(|message| message.id().and_then(|id| serde_json::from_str(id).ok())).collect();
    if !asked.is_batch() {
        let reply = serde_json::from_slice::<Reply<'_>>(body);
        return reply.is_ok_and(|reply| ids.first().is_some_and(|id| reply.answers(id)));
    }
    let replies = serde_json::from_slice::<Vec<Reply<'_>>>(body).unwrap_or_default();
    replies.len() == ids.len() && ids.iter().all(|id| replies.iter().any(|reply| reply.answers(id)))
}
