//! The one handshake of a child's life, and what each client is told of it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use tokio::time::timeout;

use super::config::StdioConfig;
use super::link::{Asked, Link};
use crate::upstream::envelope;

/// What the child said to `initialize`.
#[derive(Debug)]
pub(super) struct Welcome {
    member: &'static str,
    value: Bytes,
}

impl Welcome {
    /// The same for the one who asks by this id.
    pub(super) fn answer(&self, id: &str) -> Bytes {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"{}":"#, self.member);
        [head.as_bytes(), &self.value, b"}"].concat().into()
    }
}

/// Greets the child. One that knows no `initialize` is of the era without handshakes; it is heard all the same.
pub(super) async fn greet(link: &Arc<Link>, config: &StdioConfig) -> Result<Welcome, &'static str> {
    if !config.greets {
        let unknown = Bytes::from_static(br#"{"code":-32601,"message":"Method not found"}"#);
        return Ok(Welcome { member: "error", value: unknown });
    }
    let mut ticket = link.ask(&hello(config), config.events()).map_err(|_| "it cannot be greeted")?;
    let answer = timeout(config.start_timeout, &mut ticket.answer).await.map_err(|_| "it does not greet in time")?;
    let answer = answer.ok().and_then(Result::ok).ok_or("it did not greet")?;
    let said = envelope::read(&answer).ok_or("it did not greet")?;
    let welcome = match (said.result, said.error) {
        (Some(result), _) => Welcome { member: "result", value: answer.slice(result) },
        (None, Some(error)) => return Ok(Welcome { member: "error", value: answer.slice(error) }),
        (None, None) => return Err("it did not greet"),
    };
    let done = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    link.say(done).map_err(|_| "it does not read")?;
    Ok(welcome)
}

fn hello(config: &StdioConfig) -> Asked {
    let capabilities = if config.roots.is_empty() { json!({}) } else { json!({"roots": {}}) };
    let params = json!({
        "protocolVersion": config.revision,
        "capabilities": capabilities,
        "clientInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    let head = r#"{"jsonrpc":"2.0","method":"initialize","id":"#;
    let text = format!(r#"{head}0,"params":{params}}}"#).into();
    Asked { text, id: head.len()..head.len() + 1, token: None, owner: None, listens: false }
}
