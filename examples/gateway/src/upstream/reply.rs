//! Whether what a server says is an answer to what it was asked.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use tower_toolgate::message::{Inspection, MessageKind};

/// The members of a response, none of them twice. A derived struct would take an array for one.
struct Reply<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Reply<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Reply<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Reply<'de>, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("duplicate member"));
                    }
                }
                Ok(Reply(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Whether a body answers every request of another, each once.
pub(super) fn answers(body: &[u8], asked: &Inspection) -> bool {
    // What is ignored is not checked by serde, and must be text all the same.
    let Ok(body) = str::from_utf8(body) else { return false };
    let requests = asked.messages().filter(|message| message.kind() == MessageKind::Request);
    let ids: Vec<Value> =
        requests.filter_map(|message| message.id().and_then(|id| serde_json::from_str(id).ok())).collect();
    if !asked.is_batch() {
        let reply = serde_json::from_str::<Reply<'_>>(body);
        return reply.is_ok_and(|reply| ids.first().is_some_and(|id| answers_id(&reply, id)));
    }
    let replies = serde_json::from_str::<Vec<Reply<'_>>>(body).unwrap_or_default();
    replies.len() == ids.len() && ids.iter().all(|id| replies.iter().any(|reply| answers_id(reply, id)))
}

/// A response of JSON-RPC: no method, and exactly one of result and error, which is an object.
fn answers_id(reply: &Reply<'_>, id: &Value) -> bool {
    let is = |member: &str, value: &Value| {
        reply.0.get(member).is_some_and(|raw| serde_json::from_str::<Value>(raw.get()).is_ok_and(|said| said == *value))
    };
    let has = |member: &str| reply.0.contains_key(member);
    let error_is_object = reply.0.get("error").is_none_or(|error| error.get().starts_with('{'));
    is("jsonrpc", &"2.0".into()) && is("id", id) && !has("method") && has("result") != has("error") && error_is_object
}
