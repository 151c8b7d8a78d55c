//! The filter of lists that people write: collect, parse, drop by name, serialise.

use std::collections::HashSet;
use std::error::Error;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower_service::Service;

use super::bodies::Frames;
use super::service::Answers;

type BoxError = Box<dyn Error + Send + Sync>;

/// As an `async fn`, it is spared the box that most have around its future.
#[derive(Clone)]
pub(crate) struct ListByHand {
    pub(crate) inner: Answers,
    /// The tools that the caller may use.
    pub(crate) names: HashSet<String>,
}

impl ListByHand {
    pub(crate) async fn call<B>(&mut self, request: Request<B>) -> Result<Response<Frames>, BoxError>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
        let message: Value = serde_json::from_slice(&bytes)?;
        let response = self.inner.call(Request::from_parts(head, Full::new(bytes))).await?;
        if message.get("method").and_then(Value::as_str) != Some("tools/list") {
            return Ok(response);
        }
        let (mut head, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let events = head.headers.get(CONTENT_TYPE).is_some_and(|media| media == "text/event-stream");
        let filtered = Bytes::from(if events { self.events(str::from_utf8(&bytes)?)? } else { self.list(&bytes)? });
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(filtered.len()));
        Ok(Response::from_parts(head, Frames::new(&filtered, usize::MAX)))
    }

    fn list(&self, message: &[u8]) -> Result<Vec<u8>, BoxError> {
        let mut message: Value = serde_json::from_slice(message)?;
        if let Some(tools) = message.pointer_mut("/result/tools").and_then(Value::as_array_mut) {
            let name =
                |tool: &Value| tool.get("name").and_then(Value::as_str).is_some_and(|name| self.names.contains(name));
            tools.retain(name);
        }
        Ok(serde_json::to_vec(&message)?)
    }

    fn events(&self, stream: &str) -> Result<Vec<u8>, BoxError> {
        let mut filtered = Vec::with_capacity(stream.len());
        for line in stream.split_inclusive('\n') {
            match line.strip_prefix("data: ") {
                Some(data) => {
                    filtered.extend_from_slice(b"data: ");
                    filtered.extend(self.list(data.as_bytes())?);
                    filtered.push(b'\n');
                }
                None => filtered.extend_from_slice(line.as_bytes()),
            }
        }
        Ok(filtered)
    }
}
