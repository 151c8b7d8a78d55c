//! What servers are answered from here, whichever way they ask.

use bytes::Bytes;
use serde_json::{Value, json};

/// What a server is answered that asks for what nobody does for it.
pub(super) const UNKNOWN: &str = r#""error":{"code":-32601,"message":"Method not found"}"#;
/// The answer of a user who is not asked, or has not answered.
pub(super) const DECLINED: &str = r#""result":{"action":"decline"}"#;

/// A root that the operator names, and what it is called.
pub(super) type Root = (String, Option<String>);

/// An answer, with the id as it was written and a member for its outcome.
pub(super) fn reply(id: &str, outcome: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#).into()
}

/// What a server learns of the roots.
pub(super) fn listed(roots: &[Root]) -> String {
    let root = |(uri, name): &Root| match name {
        Some(name) => json!({"uri": uri, "name": name}),
        None => json!({"uri": uri}),
    };
    let roots: Vec<Value> = roots.iter().map(root).collect();
    format!(r#""result":{}"#, json!({"roots": roots}))
}
