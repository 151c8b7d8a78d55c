//! The one handshake of a child's life, and what each client is told of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::config::{Greeting, StdioConfig};
use super::link::{Asked, Link};
use crate::json::{Kind, Reader};
use crate::message::{Era, Revision};
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

    /// Of a child that is not greeted.
    fn unknown() -> Self {
        Self { member: "error", value: Bytes::from_static(br#"{"code":-32601,"message":"Method not found"}"#) }
    }

    fn is_result(&self) -> bool {
        self.member == "result"
    }
}

/// Why a child has not been greeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoWelcome {
    /// It knows no revision of its clients.
    OtherEra,
    /// It says nothing, or nothing that is an answer.
    Silent(&'static str),
}

/// Greets the child. One that knows no `initialize` is of the era without handshakes; it is heard all the same.
pub(super) async fn greet(link: &Arc<Link>, config: &StdioConfig) -> Result<Welcome, NoWelcome> {
    match config.greeting {
        Greeting::Discovery => discover(link, config).await,
        Greeting::Handshake => shake_hands(link, config).await,
        Greeting::Nothing => Ok(Welcome::unknown()),
    }
}

async fn shake_hands(link: &Arc<Link>, config: &StdioConfig) -> Result<Welcome, NoWelcome> {
    let welcome = ask(link, &hello(config), config, config.start_timeout).await?;
    if welcome.is_result() {
        let done = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        link.say(done).map_err(|_| NoWelcome::Silent("it does not read"))?;
    }
    Ok(welcome)
}

/// Asks the child what it knows. One of the other era may answer anything but that, or not at all: who waits for this must
/// still learn of it within their time.
async fn discover(link: &Arc<Link>, config: &StdioConfig) -> Result<Welcome, NoWelcome> {
    let patience = config.start_timeout.min(config.timeout / 2);
    let found = ask(link, &discovery(), config, patience).await?;
    let knows = found.is_result() && knows_modern(&found.value).unwrap_or(false);
    if knows { Ok(Welcome::unknown()) } else { Err(NoWelcome::OtherEra) }
}

async fn ask(link: &Arc<Link>, asked: &Asked, config: &StdioConfig, time: Duration) -> Result<Welcome, NoWelcome> {
    let mut ticket = link.ask(asked, config.events()).map_err(|_| NoWelcome::Silent("it cannot be greeted"))?;
    let answer = timeout(time, &mut ticket.answer).await;
    let answer = answer.map_err(|_| NoWelcome::Silent("it does not greet in time"))?;
    let answer = answer.ok().and_then(Result::ok).ok_or(NoWelcome::Silent("it did not greet"))?;
    match envelope::read(&answer).map(|said| (said.result, said.error)) {
        Some((Some(result), _)) => Ok(Welcome { member: "result", value: answer.slice(result) }),
        Some((None, Some(error))) => Ok(Welcome { member: "error", value: answer.slice(error) }),
        Some((None, None)) | None => Err(NoWelcome::Silent("it did not greet")),
    }
}

/// Whether some revision that is offered has no handshake.
fn knows_modern(result: &[u8]) -> Option<bool> {
    let mut reader = Reader::tolerant(result).ok()?;
    reader.open_object().ok()?;
    while let Some(key) = reader.key().ok()? {
        if !key.is(result, "supportedVersions") || reader.kind().ok()? != Kind::Array {
            reader.value().ok()?;
            continue;
        }
        reader.open_array().ok()?;
        while reader.element().ok()? {
            let revision = reader.value().ok()?.as_text().and_then(|text| text.decode(result).ok());
            if revision.is_some_and(|revision| Revision::parse(&revision).era() == Era::Modern) {
                return Some(true);
            }
        }
    }
    Some(false)
}

fn discovery() -> Asked {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::V2026_07_28.as_str(),
        "io.modelcontextprotocol/clientInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    numbered("server/discover", &json!({"_meta": meta}))
}

fn numbered(method: &str, params: &Value) -> Asked {
    let head = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":"#);
    let text = format!(r#"{head}0,"params":{params}}}"#).into();
    Asked { text, id: head.len()..head.len() + 1, token: None, owner: None, listens: false }
}

fn hello(config: &StdioConfig) -> Asked {
    let capabilities = if config.roots.is_empty() { json!({}) } else { json!({"roots": {}}) };
    let params = json!({
        "protocolVersion": config.revision,
        "capabilities": capabilities,
        "clientInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    numbered("initialize", &params)
}
