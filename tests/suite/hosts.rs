//! The gate in hosts: axum, a plain service, gRPC.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::middleware::{Next, from_fn};
use axum::routing::{get, post};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_toolgate::Role;
use tower_toolgate::answer::Denial;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;

use super::support::{Exchange, Script, Step, exchange, legal, mcp, policy, post as request, through, tool_call};

/// Counts the requests that reach a handler.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    async fn up(self, body: Bytes) -> Bytes {
        self.0.fetch_add(1, Ordering::Relaxed);
        body
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn handler(&self) -> axum::routing::MethodRouter {
        let count = self.clone();
        post(move |body: Bytes| count.up(body))
    }
}

fn to(path: &str, body: String) -> Request<Body> {
    let mut request = request(Body::from(body));
    *request.uri_mut() = path.parse().unwrap();
    request
}

fn denied() -> String {
    tool_call("1", "rm", "{}")
}

async fn send<S, B>(service: S, request: Request<Body>) -> (StatusCode, String)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let response = service.oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

/// Both halves, of one path.
async fn gates(router: &Router, count: &Count, path: &str) {
    let before = count.get();
    assert_eq!(send(router.clone(), to(path, legal())).await, (StatusCode::OK, legal()), "{path}");
    assert_eq!(count.get(), before + 1, "{path}");
    let (status, body) = send(router.clone(), to(path, denied())).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    assert!(body.contains("policy.tool_not_allowed"), "{path}: {body}");
    assert_eq!(count.get(), before + 1, "{path}");
}

#[tokio::test]
async fn routes_before_the_layer_are_gated() {
    let count = Count::default();
    let router = Router::new().route("/a", count.handler()).route("/b", count.handler()).layer(mcp());
    gates(&router, &count, "/a").await;
    gates(&router, &count, "/b").await;
}

#[tokio::test]
async fn th_122_what_is_merged_after_the_layer_is_not_gated_and_a_gate_around_the_router_gates_all() {
    let count = Count::default();
    let extra = || Router::new().route("/extra", count.handler());
    let leaky = Router::new().route("/a", count.handler()).layer(mcp()).merge(extra());
    gates(&leaky, &count, "/a").await;
    let before = count.get();
    assert_eq!(send(leaky, to("/extra", denied())).await.0, StatusCode::OK, "axum's `layer` is about what is there");
    assert_eq!(count.get(), before + 1);

    let router = Router::new().route("/a", count.handler()).merge(extra());
    let tight = mcp().layer(router.clone());
    for path in ["/a", "/extra", "/nowhere"] {
        let before = count.get();
        assert_eq!(send(tight.clone(), to(path, denied())).await.0, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(count.get(), before, "{path}");
    }
    for path in ["/a", "/extra"] {
        assert_eq!(send(tight.clone(), to(path, legal())).await, (StatusCode::OK, legal()), "{path}");
    }
    // The same as a router, to be served or nested.
    let served = Router::new().fallback_service(mcp().layer(router));
    gates(&served, &count, "/a").await;
    gates(&served, &count, "/extra").await;
}

#[tokio::test]
async fn th_123_a_fallback_is_gated_by_layer_and_not_by_route_layer() {
    let count = Count::default();
    let router = || Router::new().route("/a", count.handler()).fallback_service(count.handler());
    gates(&router().layer(mcp()), &count, "/mcp").await;
    gates(&router().layer(mcp()), &count, "/a").await;
    let (status, _) = send(router().route_layer(mcp()), to("/mcp", denied())).await;
    assert_eq!(status, StatusCode::OK, "axum's `route_layer` leaves fallbacks out");
}

#[tokio::test]
async fn th_124_a_nested_router_with_a_fallback_only_is_gated() {
    let count = Count::default();
    let inner = || Router::new().fallback_service(count.handler());
    for (name, router) in [
        ("gate inside", Router::new().nest("/mcp", inner().layer(mcp()))),
        ("gate outside", Router::new().nest("/mcp", inner()).layer(mcp())),
        ("as a service", Router::new().nest_service("/mcp", mcp().layer(inner()))),
        ("both", Router::new().nest("/mcp", inner().layer(mcp())).layer(mcp())),
    ] {
        println!("{name}");
        gates(&router, &count, "/mcp").await;
        gates(&router, &count, "/mcp/deeper").await;
    }
}

#[tokio::test]
async fn a_path_that_axum_reads_otherwise_changes_nothing() {
    let count = Count::default();
    let router = Router::new().route("/mcp", count.handler()).layer(mcp()).fallback(|| async { StatusCode::NOT_FOUND });
    for path in ["/mcp/", "//mcp", "/./mcp", "/%6dcp", "/mcp;x", "/MCP", "/mcp?x=1"] {
        let (status, _) = send(router.clone(), to(path, denied())).await;
        assert!(matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND), "{path}: {status}");
        assert_eq!(count.get(), 0, "{path}");
    }
}

#[tokio::test]
async fn middleware_of_axum_sits_in_the_same_builder() {
    let count = Count::default();
    let inside = from_fn(|request: axum::extract::Request, next: Next| async move { next.run(request).await });
    let stack = ServiceBuilder::new()
        .layer(mcp())
        .map_request(|request: Request<RequestBody<Body>>| request.map(Body::new))
        .layer(inside);
    gates(&Router::new().route("/mcp", count.handler()).layer(stack), &count, "/mcp").await;

    // Authentication goes outside, and sees the denial.
    let outside = from_fn(|mut request: axum::extract::Request, next: Next| async move {
        let role = if request.headers().contains_key("authorization") { "analyst" } else { "x" };
        request.extensions_mut().insert(Role::new(role));
        let mut response = next.run(request).await;
        if let Some(denial) = response.extensions().get::<Denial>() {
            let reason = denial.reason().parse().unwrap();
            response.headers_mut().insert("x-reason", reason);
        }
        response
    });
    let router = Router::new().route("/mcp", count.handler()).layer(ServiceBuilder::new().layer(outside).layer(mcp()));
    let response = router.clone().oneshot(to("/mcp", legal())).await.unwrap();
    assert_eq!(
        (response.status(), response.headers()["x-reason"].as_bytes()),
        (StatusCode::FORBIDDEN, &b"policy.role_unknown"[..])
    );
    let mut request = to("/mcp", legal());
    request.headers_mut().insert("authorization", "Bearer x".parse().unwrap());
    assert_eq!(send(router, request).await.0, StatusCode::OK);
}

const EVENT: &str = "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";

#[tokio::test]
async fn a_stream_of_events_and_its_end_pass_through_axum() {
    let handler = get(|| async { ([("content-type", "text/event-stream")], EVENT) }).delete(|| async {});
    let router = Router::new().route("/mcp", handler).layer(mcp());
    let mut request = to("/mcp", String::new());
    *request.method_mut() = Method::GET;
    assert_eq!(send(router.clone(), request).await, (StatusCode::OK, EVENT.to_owned()));
    let mut request = to("/mcp", String::new());
    *request.method_mut() = Method::DELETE;
    assert_eq!(send(router.clone(), request).await.0, StatusCode::OK);
    let mut request = to("/mcp", String::new());
    *request.method_mut() = Method::HEAD;
    assert_eq!(send(router, request).await.0, StatusCode::METHOD_NOT_ALLOWED, "TH-125: axum would answer it as a GET");
}

#[tokio::test]
async fn a_plain_function_is_a_service() {
    let echo = tower::service_fn(|request: Request<RequestBody<Full<Bytes>>>| async move {
        let body = request.into_body().collect().await?.to_bytes();
        Ok::<_, Infallible>(Response::new(Full::new(body)))
    });
    let service = mcp().layer(echo);
    for (body, status) in [(legal(), StatusCode::OK), (denied(), StatusCode::FORBIDDEN)] {
        let response = service.clone().oneshot(super::support::post_text(body.clone())).await.unwrap();
        assert_eq!(response.status(), status);
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(answer == body, status == StatusCode::OK);
    }
}

fn grpc() -> ArgumentAllowlistLayer {
    ArgumentAllowlistLayer::grpc(policy())
}

fn rpc<B>(path: &str, body: B) -> Request<B> {
    let request = Request::post(path).header("content-type", "application/grpc").extension(Role::new("analyst"));
    request.body(body).unwrap()
}

/// A denial, as gRPC has them.
#[track_caller]
fn is_status(exchange: &Exchange, status: &str, reason: &str) {
    assert!(exchange.seen.is_none());
    assert_eq!((exchange.status(), exchange.text()), (StatusCode::OK, ""));
    assert_eq!((exchange.header("grpc-status"), exchange.header("grpc-message")), (Some(status), Some(reason)));
    assert_eq!(exchange.header("content-type"), Some("application/grpc"));
    assert_eq!(exchange.denial().reason(), reason);
}

#[test]
fn grpc_is_judged_by_its_path() {
    let send = |path: &str| exchange(&grpc(), rpc(path, Full::<Bytes>::from("\0\0\0\0\x01x")));
    for path in ["/echo.Echo/Say", "/echo.Echo/say_it", "/echo.Echo/Say?x=1"] {
        let exchange = send(path);
        let seen = exchange.passed(path);
        assert_eq!((seen.body().as_slice(), seen.head.uri.to_string()), (&b"\0\0\0\0\x01x"[..], path.to_owned()));
    }
    for path in ["/echo.echo/Say", "/Echo/Say", "/x.X/Y", "/search/secret", "/echo/Say"] {
        is_status(&send(path), "7", "policy.tool_not_allowed");
    }
    for path in [
        "/",
        "/echo.Echo",
        "/echo.Echo/",
        "//Say",
        "/echo.Echo//Say",
        "/echo.Echo/Say/",
        "/echo.Echo/Say/x",
        "/echo.Echo/%53ay",
        "/echo.Echo/Say%00",
        "/echo.Echo/../Say",
        "/echo.Echo/..",
        "/./Say",
        "/../x.X/Y",
        "/echo.Echo;x/Say",
        "/echo.Echo/Say;x",
        "/echo.Echo%2FSay",
        "/echo.Echo/Say*",
        "/a/b/c",
        "http://host/",
    ] {
        is_status(&send(path), "3", "http.path_not_canonical");
    }
    is_status(
        &exchange(&grpc(), rpc("/echo.Echo/Say", Full::<Bytes>::default()).map_role("x")),
        "7",
        "policy.role_unknown",
    );
    let layer = grpc().with_server(tower_toolgate::Server::new("mail"));
    is_status(&exchange(&layer, rpc("/echo.Echo/Say", Full::<Bytes>::default())), "7", "policy.server_not_allowed");
    let shadow = grpc().with_insecure_shadow(true);
    exchange(&shadow, rpc("/x.X/Y", Full::<Bytes>::default())).passed("a shadow");
}

trait MapRole {
    fn map_role(self, role: &str) -> Self;
}

impl<B> MapRole for Request<B> {
    fn map_role(mut self, role: &str) -> Self {
        self.extensions_mut().insert(Role::new(role));
        self
    }
}

#[test]
fn what_is_no_grpc_gets_a_status_of_http() {
    let with = |method: &str, types: &[&str]| {
        let mut request = rpc("/echo.Echo/Say", Full::<Bytes>::default());
        *request.method_mut() = method.parse().unwrap();
        request.headers_mut().remove("content-type");
        for value in types {
            request.headers_mut().append("content-type", value.parse().unwrap());
        }
        exchange(&grpc(), request)
    };
    with("POST", &["application/grpc+proto"]).passed("with a message's format");
    for (method, types, status, reason) in [
        ("GET", &["application/grpc"][..], 405, "http.method_not_allowed"),
        ("OPTIONS", &["application/grpc"], 405, "http.method_not_allowed"),
        ("CONNECT", &["application/grpc"], 405, "http.method_not_allowed"),
        ("POST", &[], 415, "http.content_type_missing"),
        ("POST", &["application/json"], 415, "http.content_type_unsupported"),
        ("POST", &["application/grpc", "application/grpc"], 415, "http.content_type_repeated"),
    ] {
        let exchange = with(method, types);
        assert!(exchange.seen.is_none());
        assert_eq!((exchange.status().as_u16(), exchange.text()), (status, ""), "{method} {types:?}");
        assert_eq!(exchange.denial().reason(), reason);
        assert_eq!(exchange.header("allow"), (status == 405).then_some("POST"));
        assert_eq!(exchange.header("grpc-status"), None);
    }
}

#[test]
fn the_body_of_a_grpc_call_is_not_held_back() {
    // The service answers without ever reading: had the gate waited for the body, nothing would have come.
    let (mut service, mut handle) = super::support::gated::<Script, Full<Bytes>>(&grpc());
    assert!(service.poll_ready().is_ready());
    let body = Script::new([Step::Data("one".into()), Step::Stay]);
    let polls = body.polls();
    let mut future = tokio_test::task::spawn(service.call(rpc("/echo.Echo/Say", body)));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((forwarded, send))) = handle.poll_request() else { panic!("not forwarded") };
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    assert!(!forwarded.body().is_end_stream());
    let mut body = Box::pin(forwarded.into_body());
    let std::task::Poll::Ready(Some(Ok(frame))) = tokio_test::task::spawn(body.frame()).poll() else {
        panic!("no frame")
    };
    assert_eq!(frame.into_data().unwrap(), "one");
    assert_eq!(polls.load(Ordering::Relaxed), 1);
    assert!(tokio_test::task::spawn(body.frame()).poll().is_pending());
    send.send_response(Response::new(Full::from("inner")));
    assert!(future.poll().is_ready());

    // Neither does a limit count it, nor do trailers or errors change.
    let trailers = http::HeaderMap::from_iter([(http::HeaderName::from_static("x-t"), "1".parse().unwrap())]);
    let body =
        Script::new([Step::Data(vec![0; 5000].into()), Step::Data("x".into()), Step::Trailers(trailers.clone())]);
    let exchange = exchange(&grpc().with_max_body_bytes(10), rpc("/echo.Echo/Say", body));
    let seen = exchange.passed("a long body");
    assert_eq!((seen.frames.len(), seen.body().len(), &seen.trailers), (2, 5001, &Some(trailers)));
}

#[test]
fn the_shape_of_answers_has_no_say_in_grpc() {
    let layer = grpc().with_response(|_: &Denial| Response::new(Bytes::from("shaped")));
    is_status(&exchange(&layer, rpc("/x.X/Y", Full::<Bytes>::default())), "7", "policy.tool_not_allowed");
    let stack = |mock| grpc().layer(mock);
    let answer = Response::builder().header("grpc-status", "0").body(Full::<Bytes>::from("x")).unwrap();
    let exchange =
        through::<_, RequestBody<Full<Bytes>>, _, _, _>(stack, rpc("/echo.Echo/Say", Full::<Bytes>::default()), answer);
    assert_eq!((exchange.header("grpc-status"), exchange.text()), (Some("0"), "x"));
}
