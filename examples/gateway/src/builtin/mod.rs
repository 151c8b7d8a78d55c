//! Two small MCP servers for a first look: `files` holds a few notes, `web` a few pages. Both speak every
//! revision over Streamable HTTP, answer in JSON, and touch neither disk nor network.

mod files;
mod protocol;
mod web;

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::Service;

use crate::config;

/// What a built-in server offers.
trait Tools: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The definitions of its tools, an array.
    fn definitions(&self) -> Value;
    /// Calls a tool: what it says, or what is wrong with the call; `None` if there is no such tool.
    fn call(&self, tool: &str, arguments: &Value) -> Option<Result<String, String>>;
}

/// A built-in server.
#[derive(Clone)]
pub struct Builtin(Arc<dyn Tools>);

impl Builtin {
    /// One of the servers.
    #[must_use]
    pub fn new(which: config::Builtin) -> Self {
        match which {
            config::Builtin::Files => Self(Arc::new(files::Files::new())),
            config::Builtin::Web => Self(Arc::new(web::Web)),
        }
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Builtin").field(&self.0.name()).finish()
    }
}

impl<B> Service<Request<B>> for Builtin
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let tools = Arc::clone(&self.0);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            if head.method != Method::POST {
                return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
            }
            let Ok(body) = body.collect().await else { return Ok(empty(StatusCode::BAD_REQUEST)) };
            Ok(answer(&*tools, &body.to_bytes()))
        })
    }
}

fn answer(tools: &dyn Tools, body: &[u8]) -> Response<Full<Bytes>> {
    let answer = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(messages)) => {
            let answers: Vec<_> = messages.iter().filter_map(|message| protocol::answer(tools, message)).collect();
            (!answers.is_empty()).then_some(Value::Array(answers))
        }
        Ok(message) => protocol::answer(tools, &message),
        Err(_) => return empty(StatusCode::BAD_REQUEST),
    };
    let Some(answer) = answer else { return empty(StatusCode::ACCEPTED) };
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
