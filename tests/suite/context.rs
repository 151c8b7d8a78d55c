//! Two gates in one stack: what the inner one takes over, and what makes it look again.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body_util::{BodyExt, Full};
use tower::util::{MapRequestLayer, ServiceExt};
use tower::{Layer, ServiceBuilder};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::message::{Dialect, DialectRules, Fault, Inspection, Mcp, Message, Target};
use tower_toolgate::observe::DecisionEvent;

use super::support::{Exchange, With, answer_of_inner, legal, mcp, plain, post, post_text, through, tool_call};

type Text = Full<Bytes>;

/// Where the inspection's bytes and messages are, of each decision.
type Places = Arc<Mutex<Vec<(usize, usize)>>>;

fn place(extensions: &http::Extensions) -> (usize, usize) {
    let inspection = Inspection::of(extensions).expect("an inspection");
    let message = inspection.messages().next().expect("a message");
    // A name without escapes is borrowed from the bytes; the context that is shared is one value in memory.
    (std::ptr::from_ref(inspection).addr(), message.id().unwrap().as_ptr().addr())
}

fn watched(layer: ArgumentAllowlistLayer) -> (ArgumentAllowlistLayer, Places) {
    let places = Places::default();
    let log = Arc::clone(&places);
    let layer = layer
        .on_decision(move |event: &DecisionEvent<'_>| log.lock().unwrap().push(place(&event.head.unwrap().extensions)));
    (layer, places)
}

/// Two gates with a change between them.
fn stacked(
    outer: &ArgumentAllowlistLayer,
    change: impl Fn(Parts, Bytes) -> (Parts, Bytes) + Clone,
    inner: &ArgumentAllowlistLayer,
    request: Request<Text>,
) -> Exchange {
    let between = MapRequestLayer::new(move |request: Request<RequestBody<Text>>| {
        let (head, body) = request.into_parts();
        let body = tokio_test::block_on(body.collect()).unwrap().to_bytes();
        let (head, body) = change(head, body);
        Request::from_parts(head, Full::new(body))
    });
    let stack = |mock| outer.layer(between.layer(inner.layer(mock)));
    through::<_, RequestBody<Text>, _, _, _>(stack, request, answer_of_inner::<Text>())
}

#[test]
fn the_inner_gate_takes_over_what_the_outer_one_has_read() {
    let ((outer, one), (inner, two)) = (watched(mcp()), watched(mcp()));
    let body = Bytes::from(legal());
    let stack = |mock| outer.layer(inner.layer(mock));
    let exchange = through::<_, RequestBody<RequestBody<Text>>, _, _, _>(
        stack,
        post_text(body.clone()),
        answer_of_inner::<Text>(),
    );
    let seen = exchange.passed("two gates");
    assert_eq!(seen.frames[0].as_ptr(), body.as_ptr());
    assert_eq!(*one.lock().unwrap(), *two.lock().unwrap());
    assert_eq!(*one.lock().unwrap(), [place(&seen.head.extensions)]);
    assert_eq!(seen.head.extensions.len(), 2, "the role and the context: one insertion");
}

#[test]
fn the_inner_gate_decides_by_its_own_policy() {
    let strict = ArgumentAllowlistLayer::new(
        tower_toolgate::policy::Policy::new(&toml::from_str("[[roles]]\nname = \"analyst\"").unwrap()).unwrap(),
    );
    let exchange = stacked(&mcp(), |head, body| (head, body), &strict, post_text(legal()));
    exchange.refused("the inner one", 403, "1", 403, "policy.tool_not_allowed");
}

#[test]
fn what_was_changed_between_two_gates_is_read_again() {
    type Change = fn(Parts, Bytes) -> (Parts, Bytes);
    let bad = || tool_call("1", "rm", "{}");
    let nothing: Change = |head, body| (head, body);
    let cases: [(&str, Change, Option<&str>); 12] = [
        ("nothing", nothing, None),
        ("the body", |head, _| (head, tool_call("1", "rm", "{}").into()), Some("policy.tool_not_allowed")),
        (
            "the body, to one as long",
            |head, _| (head, legal().replace("echo", "evil").into()),
            Some("policy.tool_not_allowed"),
        ),
        ("a copy of the body", |head, body| (head, Bytes::copy_from_slice(&body)), None),
        ("less of the body", |head, body| (head, body.slice(..body.len() - 1)), Some("json.truncated")),
        (
            "the path",
            |mut head, body| {
                head.uri = "/other".parse().unwrap();
                (head, body)
            },
            None,
        ),
        (
            "the method",
            |mut head, body| {
                head.method = http::Method::PUT;
                (head, body)
            },
            Some("http.method_not_allowed"),
        ),
        (
            "Mcp-Name",
            |mut head, body| {
                head.headers.insert("mcp-name", "rm".parse().unwrap());
                (head, body)
            },
            Some("header.contradicts"),
        ),
        (
            "Mcp-Method",
            |mut head, body| {
                head.headers.insert("mcp-method", "ping".parse().unwrap());
                (head, body)
            },
            Some("header.contradicts"),
        ),
        (
            "a second Mcp-Name",
            |mut head, body| {
                for _ in 0..2 {
                    head.headers.append("mcp-name", "echo".parse().unwrap());
                }
                (head, body)
            },
            Some("header.repeated"),
        ),
        (
            "the version",
            |mut head, body| {
                head.headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
                (head, body)
            },
            Some("header.missing"),
        ),
        (
            "the role",
            |mut head, body| {
                head.extensions.insert(tower_toolgate::Role::new("x"));
                (head, body)
            },
            Some("policy.role_unknown"),
        ),
    ];
    for (name, change, denied) in cases {
        let ((outer, one), (inner, two)) = (watched(mcp()), watched(mcp()));
        let inner = if denied.is_none() { inner } else { mcp() };
        let exchange = stacked(&outer, change, &inner, post_text(legal()));
        match denied {
            None => {
                assert_eq!(exchange.passed(name).body(), legal().into_bytes(), "{name}");
                let reused = one.lock().unwrap()[0].0 == two.lock().unwrap()[0].0;
                assert_eq!(reused, name == "nothing", "{name}");
            }
            Some(reason) => {
                assert!(exchange.seen.is_none(), "{name}: forwarded");
                assert_eq!(exchange.denial().reason(), reason, "{name}");
            }
        }
    }
    // The other way round: a gate that let nothing pass has no say about what another request says.
    let shadow = mcp().with_insecure_shadow(true);
    let exchange = stacked(&shadow, |head, _| (head, legal().into()), &mcp(), post_text(bad()));
    assert_eq!(exchange.passed("made good").body(), legal().into_bytes());
}

#[test]
fn what_was_read_again_is_what_the_service_sees() {
    let replaced = |head, _| (head, Bytes::from(tool_call("9", "search_x", "{}")));
    let exchange = stacked(&mcp(), replaced, &mcp(), post_text(legal()));
    let seen = exchange.passed("replaced");
    let inspection = seen.inspection();
    assert_eq!(inspection.messages().next().unwrap().id(), Some("9"));
    assert_eq!(inspection.bytes().as_ptr(), seen.frames[0].as_ptr());
}

#[test]
fn another_dialect_reads_for_itself() {
    #[derive(Debug)]
    struct Stateful(bool);
    impl Dialect for Stateful {
        fn rules(&self) -> DialectRules {
            Mcp::new().rules()
        }

        fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
            if self.0 { Ok(Target::Method) } else { Mcp::new().target(message) }
        }
    }
    let same = |head, body| (head, body);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    stacked(&mcp(), same, &mcp().with_dialect(Mcp::new()), post_text(call)).passed("two values of one dialect");
    let exchange = stacked(&mcp(), same, &plain(), post_text(call));
    exchange.refused("plain inside", 403, "1", 403, "policy.tool_not_allowed");
    let exchange = stacked(&plain(), same, &mcp(), post_text(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#));
    exchange.refused("plain outside", 403, "1", 403, "policy.method_not_allowed");

    let (lenient, strict) = (mcp().with_dialect(Stateful(false)), mcp().with_dialect(Stateful(true)));
    let exchange = stacked(&lenient, same, &strict, post_text(call));
    exchange.refused("two of one type, with state", 403, "1", 403, "policy.method_not_allowed");
    let (outer, one) = watched(lenient.clone());
    let (inner, two) = watched(lenient);
    stacked(&outer, same, &inner, post_text(call)).passed("one dialect, twice");
    assert_eq!(*one.lock().unwrap(), *two.lock().unwrap());
}

#[tokio::test]
async fn axum_s_boxes_between_two_gates_cost_no_second_reading() {
    let ((outer, one), (inner, two)) = (watched(mcp()), watched(mcp()));
    let body = Bytes::from(legal());
    let pointer = body.as_ptr().addr();
    let service = |request: axum::extract::Request| async move {
        let (head, body) = request.into_parts();
        let (context, _) = place(&head.extensions);
        let body = body.collect().await.unwrap().to_bytes();
        format!("{context} {}", body.as_ptr().addr())
    };
    let router = Router::new().fallback(service).layer(inner).layer(outer);
    let response = router.oneshot(post(Body::from(body))).await.unwrap();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let (one, two) = (one.lock().unwrap(), two.lock().unwrap());
    assert_eq!(*one, *two);
    assert_eq!(text, format!("{} {pointer}", one[0].0));
}

#[tokio::test]
async fn a_body_that_axum_s_middleware_replaces_is_judged_by_the_inner_gate() {
    let replace =
        axum::middleware::from_fn(|request: axum::extract::Request, next: axum::middleware::Next| async move {
            let (head, _) = request.into_parts();
            next.run(Request::from_parts(head, Body::from(tool_call("1", "rm", "{}")))).await
        });
    let called = Arc::new(Mutex::new(0));
    let count = Arc::clone(&called);
    let router = Router::new().fallback(move || async move { *count.lock().unwrap() += 1 });
    let router = router.layer(mcp()).layer(replace).layer(mcp());
    let response = router.oneshot(post(Body::from(legal()))).await.unwrap();
    assert_eq!(response.status(), 403);
    assert_eq!(*called.lock().unwrap(), 0);
}

#[test]
fn one_builder_holds_two_gates() {
    let stack = |mock| ServiceBuilder::new().layer(mcp()).layer(mcp().with_max_body_bytes(10)).service(mock);
    let request = post_text(legal()).with_header("accept", "application/json");
    let exchange = through::<_, RequestBody<RequestBody<Text>>, _, _, _>(stack, request, answer_of_inner::<Text>());
    exchange.refused("the inner limit", 413, "1", 413, "body.too_large");
}
