//! What a child says, to whom it is told.

use bytes::Bytes;
use serde_json::json;
use tokio::io::AsyncRead;

use super::hub::event;
use super::keep::Shared;
use super::lines::{Lines, NoLine, on_one_line};
use super::link::Link;
use crate::upstream::envelope::{self, Said, Sort, text_at};

/// Listens until the child's standard output is closed.
pub(super) async fn listen<R: AsyncRead + Unpin>(stdout: R, link: &Link, shared: &Shared) {
    let mut lines = Lines::new(stdout, shared.config.max_message_bytes);
    while let Some(line) = lines.next().await {
        let heard = match line {
            Ok(line) if line.iter().all(u8::is_ascii_whitespace) => Ok(()),
            Ok(line) => hear(&on_one_line(line), link, shared),
            Err(NoLine::NotText) => Err("it is no text"),
            Err(NoLine::TooLong) => Err("it is too long"),
        };
        if let Err(why) = heard {
            // Without the line: there may be anything in it.
            tracing::warn!(server.name = %shared.config.name, why, "what a server said was dropped");
        }
    }
}

fn hear(line: &Bytes, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    let said = envelope::read(line).ok_or("it is no message")?;
    match said.sort() {
        Sort::Answer if link.answer(line, &said) => Ok(()),
        Sort::Answer => Err("it answers nobody"),
        Sort::Request => reply(line, &said, link, shared),
        Sort::Notification => tell(line, &said, link, shared),
        // Whoever waits for it learns that it is none.
        Sort::Malformed if said.method(line).is_empty() && link.answer(line, &said) => Ok(()),
        Sort::Malformed => Err("it is no message"),
    }
}

fn tell(line: &Bytes, said: &Said, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    match &*said.method(line) {
        "notifications/progress" if link.notify(line, said) => Ok(()),
        "notifications/progress" => Err("it concerns no request"),
        // Nothing that it asks takes long enough.
        "notifications/cancelled" => Ok(()),
        _ if said.subscription.is_none() => {
            shared.hub.tell(&event(line));
            Ok(())
        }
        _ if link.notify(line, said) => Ok(()),
        _ => Err("it concerns no subscription"),
    }
}

/// Answers what the child asks: clients come and go, and none of them has been chosen to be asked.
fn reply(line: &Bytes, said: &Said, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    let id = said.id.clone().map_or("null", |id| text_at(line, id));
    let roots = &shared.config.roots;
    let answer = match &*said.method(line) {
        "ping" => r#""result":{}"#.to_owned(),
        "roots/list" if !roots.is_empty() => format!(r#""result":{}"#, json!({"roots": listed(roots)})),
        _ => r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned(),
    };
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#);
    link.say(answer.into()).map_err(|_| "it asks, but does not read")
}

fn listed(roots: &[(String, Option<String>)]) -> Vec<serde_json::Value> {
    let root = |(uri, name): &(String, Option<String>)| match name {
        Some(name) => json!({"uri": uri, "name": name}),
        None => json!({"uri": uri}),
    };
    roots.iter().map(root).collect()
}
