//! The middleware that people write: collect, parse, check, rebuild.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Empty, Full};
use serde_json::Value;
use tower_service::Service;
use tower_toolgate::Role;

use super::service::Bare;

/// As an `async fn`, it is spared the box that most have around its future.
#[derive(Clone)]
pub(crate) struct ByHand {
    pub(crate) inner: Bare,
    pub(crate) roles: HashMap<String, Rules>,
}

/// What one role may do.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) tools: Vec<String>,
    /// By tool, the first words of `cmd`.
    pub(crate) commands: HashMap<String, HashSet<String>>,
}

impl ByHand {
    pub(crate) async fn call<B>(&mut self, request: Request<B>) -> Result<Response<Empty<Bytes>>, Infallible>
    where
        B: Body<Data = Bytes, Error = Infallible>,
    {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let Ok(message) = serde_json::from_slice::<Value>(&bytes) else {
            return Ok(refused(StatusCode::BAD_REQUEST));
        };
        let rules = head.extensions.get::<Role>().and_then(|role| self.roles.get(role.as_str()));
        if !rules.is_some_and(|rules| rules.permit(&message)) {
            return Ok(refused(StatusCode::FORBIDDEN));
        }
        self.inner.call(Request::from_parts(head, Full::new(bytes))).await
    }
}

impl Rules {
    fn permit(&self, message: &Value) -> bool {
        let text = |pointer| message.pointer(pointer).and_then(Value::as_str);
        if text("/method") != Some("tools/call") {
            return true;
        }
        let Some(tool) = text("/params/name") else { return false };
        if tool.contains("_drop_") || !self.tools.iter().any(|pattern| matches(pattern, tool)) {
            return false;
        }
        let Some(allowed) = self.commands.get(tool) else { return true };
        let first = text("/params/arguments/cmd").and_then(|command| command.split_whitespace().next());
        first.is_some_and(|word| allowed.contains(word))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

fn refused(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}
