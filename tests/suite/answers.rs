//! What a client is told, in each shape, and that nobody is told a value.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_oneof, proptest};
use tower_toolgate::answer::{
    AlwaysForbidden, AlwaysInBand, AsToolError, AsUnknown, Denial, DenialKind, Negotiate, RequestScope,
    RespondToDenial, Subject,
};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::message::Era;
use tower_toolgate::policy::Denied;

use super::support::{Exchange, With, exchange, mcp, post_text, tool_call};

const DENIED: &str = r#"{"name":"run_query","arguments":{"cmd":"rm -rf /"}}"#;
const ERROR: &str = r#"{"code":403,"message":"value of argument 'cmd' is not in the allowlist for tool 'run_query'","data":{"reason":"policy.argument_value","tool":"run_query","argument":"cmd"}}"#;

fn call(params: &str) -> Request<Full<Bytes>> {
    post_text(format!(r#"{{"jsonrpc":"2.0","id":"x-1","method":"tools/call","params":{params}}}"#))
}

fn modern() -> Request<Full<Bytes>> {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"#;
    let request = call(&DENIED.replacen('{', meta, 1)).with_header("mcp-protocol-version", "2026-07-28");
    request.with_header("mcp-method", "tools/call").with_header("mcp-name", "run_query")
}

fn message(id: &str, member: &str, value: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{value}}}"#)
}

fn shaped(shape: impl RespondToDenial) -> ArgumentAllowlistLayer {
    mcp().with_response(shape)
}

#[track_caller]
fn is(exchange: &Exchange, status: u16, body: &str) {
    assert!(exchange.seen.is_none());
    assert_eq!((exchange.status().as_u16(), exchange.text()), (status, body));
    assert_eq!(exchange.header(header::CONTENT_LENGTH), Some(&*body.len().to_string()));
    assert_eq!(exchange.header(header::CONTENT_TYPE), Some("application/json"));
    assert_eq!(exchange.denial().id(), Some("\"x-1\""));
    serde_json::from_str::<serde_json::Value>(body).unwrap();
}

#[test]
fn a_streamable_client_is_told_in_band() {
    let accept = |value: &str| call(DENIED).with_header("accept", value);
    for (name, request, status) in [
        ("no Accept", call(DENIED), 403),
        ("JSON only", accept("application/json"), 403),
        ("anything", accept("*/*"), 403),
        ("any text", accept("text/*"), 403),
        ("a longer name", accept("text/event-streams"), 403),
        ("a parameter of another type", accept("application/json;x=text/event-stream"), 403),
        ("events", accept("text/event-stream"), 200),
        ("both", accept("application/json, text/event-stream"), 200),
        ("both, without a blank", accept("application/json,text/event-stream"), 200),
        ("in any case", accept("Text/Event-Stream"), 200),
        ("with a quality", accept("application/json, text/event-stream;q=0.5"), 200),
        ("with a blank before the quality", accept("text/event-stream ; q=0.5, */*"), 200),
        ("in two lines", accept("application/json").with_header("accept", "text/event-stream"), 200),
        ("a header of the protocol", call(DENIED).with_header("mcp-protocol-version", "2025-06-18"), 200),
        ("a modern message", modern(), 200),
    ] {
        let exchange = exchange(&mcp(), request);
        assert_eq!(exchange.denial().is_streamable(), status == 200, "{name}");
        is(&exchange, status, &message("\"x-1\"", "error", ERROR));
    }
}

#[test]
fn every_shape_says_what_its_name_says() {
    let error = message("\"x-1\"", "error", ERROR);
    let text = r#"[{"type":"text","text":"value of argument 'cmd' is not in the allowlist for tool 'run_query'"}]"#;
    let legacy = message("\"x-1\"", "result", &format!(r#"{{"content":{text},"isError":true}}"#));
    let complete =
        message("\"x-1\"", "result", &format!(r#"{{"resultType":"complete","content":{text},"isError":true}}"#));
    let unknown = message("\"x-1\"", "error", r#"{"code":-32602,"message":"Unknown tool: run_query"}"#);
    let scope = || RequestScope::new("mcp:run", "https://a/.well-known/oauth-protected-resource").unwrap();
    let streamable = || call(DENIED).with_header("accept", "text/event-stream");

    is(&exchange(&shaped(Negotiate), call(DENIED)), 403, &error);
    is(&exchange(&shaped(Negotiate), streamable()), 200, &error);
    is(&exchange(&shaped(AlwaysForbidden), call(DENIED)), 403, &error);
    is(&exchange(&shaped(AlwaysForbidden), streamable()), 403, &error);
    is(&exchange(&shaped(AlwaysForbidden), modern()), 403, &error);
    is(&exchange(&shaped(AlwaysInBand), call(DENIED)), 200, &error);
    is(&exchange(&shaped(AlwaysInBand), streamable()), 200, &error);
    is(&exchange(&shaped(AsToolError), call(DENIED)), 200, &legacy);
    is(&exchange(&shaped(AsToolError), modern()), 200, &complete);
    is(&exchange(&shaped(AsUnknown), call(DENIED)), 200, &unknown);
    is(&exchange(&shaped(AsUnknown), modern()), 200, &unknown);
    let challenged = exchange(&shaped(scope()), streamable());
    is(&challenged, 403, &error);
    let challenge = r#"Bearer error="insufficient_scope", scope="mcp:run", resource_metadata="https://a/.well-known/oauth-protected-resource""#;
    assert_eq!(challenged.header(header::WWW_AUTHENTICATE), Some(challenge));
    assert_eq!(exchange(&shaped(Negotiate), call(DENIED)).header(header::WWW_AUTHENTICATE), None);
    for (scope, url) in [("a\"b", "https://a"), ("a", "https://a\\"), ("a\r\nx: y", "https://a"), ("é", "https://a")] {
        assert!(RequestScope::new(scope, url).is_err(), "{scope:?} {url:?}");
    }
}

#[test]
fn a_masked_thing_looks_like_one_that_is_not_there() {
    let ask = |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"x-1","method":"{method}","params":{params}}}"#);
        exchange(&shaped(AsUnknown), post_text(body))
    };
    for (method, params, code, text) in [
        ("tools/call", r#"{"name":"a\"b"}"#, -32602, r#"Unknown tool: a\"b"#),
        ("prompts/get", r#"{"name":"p"}"#, -32602, "Unknown prompt: p"),
        ("resources/read", r#"{"uri":"x://y"}"#, -32002, "Resource not found: x://y"),
        ("skills/list", "{}", -32601, "Method not found"),
        ("tasks/get", r#"{"taskId":"t"}"#, -32601, "Method not found"),
    ] {
        is(
            &ask(method, params),
            200,
            &message("\"x-1\"", "error", &format!(r#"{{"code":{code},"message":"{text}"}}"#)),
        );
    }
}

#[test]
fn whatever_is_malformed_is_told_alike_by_every_shape() {
    let shapes: [(&str, ArgumentAllowlistLayer); 6] = [
        ("negotiate", shaped(Negotiate)),
        ("forbidden", shaped(AlwaysForbidden)),
        ("in band", shaped(AlwaysInBand)),
        ("tool error", shaped(AsToolError)),
        ("unknown", shaped(AsUnknown)),
        ("scope", shaped(RequestScope::new("a", "https://a").unwrap())),
    ];
    for (name, layer) in shapes {
        let twice = r#"{"name":"echo","name":"echo"}"#;
        exchange(&layer, call(twice)).refused(name, 400, "\"x-1\"", -32600, "json.duplicate_key");
        let streamable = call(twice).with_header("accept", "text/event-stream");
        exchange(&layer, streamable).refused(name, 200, "\"x-1\"", -32600, "json.duplicate_key");
        exchange(&layer, post_text("{")).refused(name, 400, "null", -32700, "json.truncated");
        exchange(&layer, call(DENIED).with_header("mcp-name", "x")).refused(
            name,
            400,
            "\"x-1\"",
            -32020,
            "header.contradicts",
        );
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        exchange(&layer, post_text(note)).dropped(name, "policy.method_not_allowed");
    }
}

#[test]
fn a_closure_is_a_shape_and_the_denial_is_there_all_the_same() {
    let layer = shaped(|denial: &Denial| {
        let mut response = Response::new(Bytes::from(denial.reason()));
        *response.status_mut() = http::StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(header::ALLOW, "POST".parse().unwrap());
        response.extensions_mut().insert(5_u8);
        response
    });
    let exchange = exchange(&layer, call(DENIED));
    assert_eq!((exchange.status().as_u16(), exchange.text()), (405, "policy.argument_value"));
    assert_eq!((exchange.header(header::ALLOW), exchange.head.extensions.get()), (Some("POST"), Some(&5_u8)));
    let denial = exchange.denial();
    assert_eq!(*denial.subject(), Subject::Tool("run_query".into()));
    assert_eq!(*denial.kind(), DenialKind::Policy(Denied::ArgumentValue { argument: "cmd".into() }));
    assert_eq!((denial.argument(), denial.code(), denial.era()), (Some("cmd"), 403, Era::Legacy));
    assert_eq!(denial.to_string(), "value of argument 'cmd' is not in the allowlist for tool 'run_query'");
}

#[test]
fn lone_surrogates_in_ruled_values_are_the_caller_s_mistake() {
    let params = r#"{"name":"run_query","arguments":{"cmd":"ls \ud800"}}"#;
    exchange(&mcp(), call(params)).refused("surrogate", 400, "\"x-1\"", -32600, "policy.argument_not_unicode");
}

#[test]
fn long_names_are_cut() {
    for (length, cut) in [(128, false), (129, true), (100_000, true)] {
        for letter in ["a", "é", "\u{1F600}"] {
            let name = letter.repeat(length);
            let exchange = exchange(&mcp(), post_text(tool_call("1", &name, "{}")));
            let told = if cut { format!("{}…", letter.repeat(128)) } else { name };
            assert_eq!(*exchange.denial().subject(), Subject::Tool(told.clone().into()));
            assert!(exchange.text().contains(&format!(r#""tool":"{told}""#)));
            assert!(exchange.text().contains(&format!("tool '{told}' is")));
        }
    }
    let argument = format!(r#"{{"cmd":"ls","{}":1}}"#, r"\u0001".repeat(5000));
    let exchange = exchange(&mcp(), post_text(tool_call("1", "run_query", &argument)));
    assert_eq!(exchange.denial().argument().map(|name| name.chars().count()), Some(129));
    assert!(exchange.body.len() < 3000, "{}", exchange.body.len());
    let uri = format!("x://{}", "a".repeat(5000));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#);
    assert!(self::exchange(&mcp(), post_text(body)).body.len() < 500);
}

/// A value that nothing else in a message has, as JSON and as text.
fn value() -> impl Strategy<Value = (String, &'static str)> {
    let secret = "[A-Z]{12}";
    prop_oneof![
        secret.prop_map(|text| (format!("\"{text}\""), "string")),
        secret.prop_map(|text| (format!("[\"{text}\"]"), "array")),
        secret.prop_map(|text| (format!("{{\"{text}\":\"{text}\"}}"), "object")),
        (100_000_000_u64..).prop_map(|number| (number.to_string(), "number")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn aa_66_no_value_is_told_to_anybody(
        (json, kind) in value(),
        argument in prop_oneof!["cmd", "host", "other", "CMD"],
        tool in prop_oneof!["run_query", "connect", "echo", "rm"],
        role in prop_oneof!["analyst", "operator"],
        batch in any::<bool>(),
    ) {
        let secret: String = json.chars().filter(char::is_ascii_alphanumeric).take(9).collect();
        let body = tool_call("1", &tool, &format!(r#"{{"{argument}":{json}}}"#));
        let body = if batch { format!("[{body}]") } else { body };
        let told = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let log = std::sync::Arc::clone(&told);
        let layer = mcp().on_decision(move |event: &tower_toolgate::observe::DecisionEvent<'_>| {
            *log.lock().unwrap() += &format!("{event:?} {:#?}", event.message);
        });
        for layer in [layer.clone(), layer.clone().with_response(AsToolError), layer.with_response(AsUnknown)] {
            let exchange = exchange(&layer, post_text(body.clone()).with_role(&role));
            prop_assert!(!exchange.text().contains(&secret), "{}", exchange.text());
            prop_assert!(!format!("{:?}", exchange.head).contains(&secret), "{:?}", exchange.head);
            match (exchange.head.extensions.get::<Denial>(), &exchange.seen) {
                (Some(denial), None) => {
                    let text = format!("{denial:?} {denial}");
                    prop_assert!(!text.contains(&secret), "{}", text);
                },
                (None, Some(seen)) => {
                    let text = format!("{:?} {:?}", seen.inspection(), seen.head);
                    prop_assert!(!text.contains(&secret), "{}", text);
                },
                _ => panic!("neither denied nor passed"),
            }
        }
        let told = told.lock().unwrap();
        prop_assert!(told.contains(&*tool) && !told.contains(&secret), "{} of kind {kind}", told);
    }
}
