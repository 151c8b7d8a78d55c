//! What the tests share: a policy, requests, bodies that follow a script, and one exchange with a gate.

use std::collections::VecDeque;
use std::error::Error;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use pin_project_lite::pin_project;
use tokio_test::task;
use tower::{Layer, Service};
use tower_test::mock;
use tower_toolgate::answer::Denial;
use tower_toolgate::http::{RequestBody, ResponseBody};
use tower_toolgate::layer::argument_allowlist::{ArgumentAllowlistLayer, ArgumentAllowlistService};
use tower_toolgate::message::{Inspection, PlainJsonRpc};
use tower_toolgate::policy::Policy;
use tower_toolgate::{Role, Server};

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

const POLICY: &str = r#"
    global_deny = ["*_drop_*"]

    [[roles]]
    name = "analyst"
    servers = ["files", "db-*"]
    allow = ["echo", "run_query", "search_*", "db_drop_all", "echo.Echo/*"]
    deny = ["search_secret"]
    resources = ["file:///a/*"]
    prompts = ["greet"]
    methods = ["tasks/list"]

    [[roles.argument_allowlists]]
    tool = "run_query"
    argument = "cmd"
    allowed = ["ls", "cat"]
    required = true
    deny_unknown_arguments = true

    [[roles]]
    name = "operator"
    servers = ["*"]
    allow = ["deploy", "connect"]
    hosts = ["dev-*"]
    resources = ["file:///b/*"]
"#;

pub(crate) fn policy() -> Policy {
    Policy::new(&toml::from_str(POLICY).unwrap()).unwrap()
}

/// A gate for MCP.
pub(crate) fn mcp() -> ArgumentAllowlistLayer {
    ArgumentAllowlistLayer::new(policy())
}

/// A gate for JSON-RPC without a protocol on top.
pub(crate) fn plain() -> ArgumentAllowlistLayer {
    mcp().with_dialect(PlainJsonRpc::new())
}

/// A call of a tool of MCP.
pub(crate) fn tool_call(id: &str, tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

/// A call that the analyst may make.
pub(crate) fn legal() -> String {
    tool_call("1", "echo", r#"{"text":"hello"}"#)
}

pub(crate) fn post<B>(body: B) -> Request<B> {
    let mut request = Request::post("/mcp").header(header::CONTENT_TYPE, "application/json").body(body).unwrap();
    request.extensions_mut().insert(Role::new("analyst"));
    request
}

pub(crate) fn post_text(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    post(Full::new(body.into()))
}

/// Changes a request in passing.
pub(crate) trait With: Sized {
    fn with_header(self, name: &'static str, value: &str) -> Self;
    fn with_role(self, role: &str) -> Self;
    fn with_server(self, server: &str) -> Self;
}

impl<B> With for Request<B> {
    fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers_mut().append(name, value.parse().unwrap());
        self
    }

    fn with_role(mut self, role: &str) -> Self {
        self.extensions_mut().insert(Role::new(role));
        self
    }

    fn with_server(mut self, server: &str) -> Self {
        self.extensions_mut().insert(Server::new(server));
        self
    }
}

/// What a client got, and what the inner service saw.
pub(crate) struct Exchange {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Bytes,
    pub(crate) seen: Option<Seen>,
}

/// A request that reached the inner service.
pub(crate) struct Seen {
    pub(crate) head: Parts,
    pub(crate) hint: SizeHint,
    pub(crate) frames: Vec<Bytes>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Seen {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.frames.concat()
    }

    pub(crate) fn inspection(&self) -> &Inspection {
        Inspection::of(&self.head.extensions).expect("an inspection")
    }
}

impl Exchange {
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn denial(&self) -> &Denial {
        self.head.extensions.get().expect("a denial in the response's extensions")
    }

    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.head.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The inner service saw the request, and answered it.
    #[track_caller]
    pub(crate) fn passed(&self, name: &str) -> &Seen {
        assert_eq!((self.status(), self.text()), (StatusCode::OK, INNER), "{name}");
        assert!(self.head.extensions.get::<Denial>().is_none(), "{name}");
        self.seen.as_ref().unwrap_or_else(|| panic!("{name}: nothing was forwarded"))
    }

    /// The inner service saw nothing, and the client got a JSON-RPC error for this id.
    #[track_caller]
    pub(crate) fn refused(&self, name: &str, status: u16, id: &str, code: i32, reason: &str) {
        assert!(self.seen.is_none(), "{name}: forwarded");
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":""#);
        let end = format!(r#""data":{{"reason":"{reason}""#);
        let text = self.text();
        assert!(text.starts_with(&start) && text.contains(&end), "{name}: {text}");
        serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(self.status().as_u16(), status, "{name}");
        assert_eq!(self.header(header::CONTENT_TYPE), Some("application/json"), "{name}");
        assert_eq!(self.header(header::CONTENT_LENGTH), Some(&*text.len().to_string()), "{name}");
        assert_eq!(self.denial().reason(), reason, "{name}");
    }

    /// The inner service saw nothing, and the client is told that there is nothing to be told.
    #[track_caller]
    pub(crate) fn dropped(&self, name: &str, reason: &str) {
        assert!(self.seen.is_none(), "{name}: forwarded");
        assert_eq!((self.status(), self.text()), (StatusCode::ACCEPTED, ""), "{name}");
        assert_eq!(self.header(header::CONTENT_TYPE), None, "{name}");
        assert_eq!(self.denial().reason(), reason, "{name}");
    }
}

pub(crate) fn collect<B>(body: B) -> (Vec<Bytes>, Option<HeaderMap>)
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = Box::pin(body);
    let (mut frames, mut trailers) = (Vec::new(), None);
    loop {
        let Poll::Ready(frame) = task::spawn(body.frame()).poll() else { panic!("a body that stays pending") };
        let Some(frame) = frame else { return (frames, trailers) };
        match frame.map_err(Into::into).unwrap().into_data() {
            Ok(data) => frames.push(data),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
}

/// What an inner service answers: a stream of events without any, which is an answer to everything.
const INNER: &str = ": inner\n\n";

/// The answer of an inner service.
pub(crate) fn answer_of_inner<R: From<&'static str>>() -> Response<R> {
    Response::builder().header(header::CONTENT_TYPE, "text/event-stream").body(INNER.into()).unwrap()
}

/// Sends one request through a gate whose inner service answers so.
pub(crate) fn exchange<B>(layer: &ArgumentAllowlistLayer, request: Request<B>) -> Exchange
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    answered(layer, request, answer_of_inner::<Full<Bytes>>())
}

/// Sends one request through a gate whose inner service gives this answer.
pub(crate) fn answered<B, R>(layer: &ArgumentAllowlistLayer, request: Request<B>, answer: Response<R>) -> Exchange
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    through(|mock| layer.layer(mock), request, answer)
}

type Mock<B, R> = mock::Mock<Request<RequestBody<B>>, Response<R>>;
pub(crate) type Gated<B, R> = ArgumentAllowlistService<Mock<B, R>>;

pub(crate) fn through<B, I, R, S, O>(
    stack: impl FnOnce(mock::Mock<Request<I>, Response<R>>) -> S,
    request: Request<B>,
    answer: Response<R>,
) -> Exchange
where
    S: Service<Request<B>, Response = Response<O>, Error: std::fmt::Debug>,
    I: Body<Data = Bytes, Error: Into<BoxError>>,
    R: Send + 'static,
    O: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let mut answer = Some(answer);
    let served = served(stack, request, |_| Ok(answer.take().expect("one request")));
    let Served { head, body, mut seen } = served;
    Exchange { head, body, seen: seen.pop() }
}

/// What a client got, and all that the inner service saw.
pub(crate) struct Served {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Bytes,
    pub(crate) seen: Vec<Seen>,
}

/// Sends one request, whatever the inner service is asked for its sake.
pub(crate) fn served<B, I, R, S, O>(
    stack: impl FnOnce(mock::Mock<Request<I>, Response<R>>) -> S,
    request: Request<B>,
    mut serve: impl FnMut(&Seen) -> Result<Response<R>, BoxError>,
) -> Served
where
    S: Service<Request<B>, Response = Response<O>, Error: std::fmt::Debug>,
    I: Body<Data = Bytes, Error: Into<BoxError>>,
    R: Send + 'static,
    O: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (mock, mut handle) = mock::pair();
    // This clone keeps the handle pending when the stack is gone.
    let alive = mock.clone();
    let mut service = mock::Spawn::new(stack(mock));
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(request));
    let mut all = Vec::new();
    let response = loop {
        if let Poll::Ready(response) = future.poll() {
            break response.unwrap();
        }
        match handle.poll_request() {
            Poll::Ready(Some((request, send))) => {
                let (head, body): (Parts, I) = request.into_parts();
                let hint = body.size_hint();
                let (frames, trailers) = collect(body);
                let seen = Seen { head, hint, frames, trailers };
                match serve(&seen) {
                    Ok(answer) => send.send_response(answer),
                    Err(error) => send.send_error(error),
                }
                all.push(seen);
            }
            Poll::Ready(None) => panic!("the inner service is gone"),
            Poll::Pending if future.is_woken() => {}
            Poll::Pending => panic!("nobody will go on"),
        }
    };
    assert!(handle.poll_request().is_pending(), "no request, and no other one, reached the inner service");
    drop(alive);
    let (head, body) = response.into_parts();
    let body = collect(body).0.concat().into();
    Served { head, body, seen: all }
}

/// A gate around a mock, driven by hand.
pub(crate) fn gated<B, R>(layer: &ArgumentAllowlistLayer) -> (mock::Spawn<Gated<B, R>>, Handle<B, R>)
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: Body<Data = Bytes> + Send + 'static,
{
    mock::spawn_layer(layer.clone())
}

pub(crate) type Handle<B, R> = mock::Handle<Request<RequestBody<B>>, Response<R>>;
pub(crate) type Answer<R> = Response<ResponseBody<R>>;

/// One step of a body.
pub(crate) enum Step {
    Data(Bytes),
    Fail(BoxError),
    /// Pending once, and woken at once.
    Later,
    /// Pending for good.
    Stay,
    Trailers(HeaderMap),
}

pin_project! {
    /// A body that follows a script, and is as hard to move as a body may be.
    pub(crate) struct Script {
        steps: VecDeque<Step>,
        hint: SizeHint,
        polls: Arc<AtomicUsize>,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let (hint, polls) = (SizeHint::new(), Arc::default());
        Self { steps: steps.into_iter().collect(), hint, polls, pinned: PhantomPinned }
    }

    pub(crate) fn of(frames: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        Self::new(frames.into_iter().map(|frame| Step::Data(frame.into())))
    }

    pub(crate) fn with_hint(mut self, hint: SizeHint) -> Self {
        self.hint = hint;
        self
    }

    /// How often it was polled; how long its clone lives beside this one tells whether the body does.
    pub(crate) fn polls(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.polls)
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        this.polls.fetch_add(1, Ordering::Relaxed);
        match this.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Data(data)) => {
                if let Some(left) = this.hint.exact() {
                    *this.hint = SizeHint::with_exact(left.saturating_sub(data.len() as u64));
                }
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Step::Fail(error)) => Poll::Ready(Some(Err(error))),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Later) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Stay) => {
                this.steps.push_front(Step::Stay);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}
