//! Bodies and heads of somebody who means harm: what passes is what every parser reads, and nothing panics.

use http::Method;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use serde_json::Value;
use tower_toolgate::answer::Denial;

use super::support::{Exchange, Script, With, exchange, legal, mcp, plain, post, post_text, tool_call};

/// The members of an object, from keys that somebody may take for others and values that matter.
fn members(keys: &'static [&'static str], values: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((select(keys), values), 0..5).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

fn params() -> impl Strategy<Value = String> {
    let arguments = members(
        &["cmd", "CMD", r"\u0063md", "cmd ", "host", "x"],
        select(&[r#""ls""#, r#""rm""#, "1", "[\"rm\"]", "null", r#""ls\u0000""#][..]).prop_map(str::to_owned),
    );
    let value = prop_oneof![
        3 => select(&[r#""run_query""#, r#""rm""#, r#""echo""#, r#""\u0072m""#, "null", "1"][..]).prop_map(str::to_owned),
        2 => arguments,
    ];
    members(
        &["name", "name", "arguments", "arguments", "Name", r"n\u0061me", "nam\u{435}", "NAME", "_meta", "uri"],
        value,
    )
}

fn envelope() -> impl Strategy<Value = String> {
    let keys =
        &["method", "params", "id", "Method", "PARAMS", "param\u{17f}", r"\u0069d", "result", "extra", "method "];
    let value = prop_oneof![
        3 => select(&[r#""tools/call""#, r#""ping""#, r#""tools/list""#, "1", "null", "{}"][..]).prop_map(str::to_owned),
        3 => params(),
    ];
    (vec((select(&keys[..]), value), 0..4), any::<bool>()).prop_map(|(members, whole)| {
        let mut text = r#"{"jsonrpc":"2.0""#.to_owned();
        if whole {
            text += r#","id":1"#;
        }
        for (key, value) in members {
            text += &format!(",\"{key}\":{value}");
        }
        text + "}"
    })
}

fn likely() -> impl Strategy<Value = String> {
    params().prop_map(|params| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#))
}

/// All values that a parser which ignores case would take for this member's.
fn loosely<'a>(object: &'a Value, name: &str) -> Vec<&'a Value> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(key, _)| key.trim().to_lowercase() == name).map(|(_, value)| value).collect()
}

/// What a lenient server would run is what the policy permits.
fn is_permitted(message: &Value) -> bool {
    loosely(message, "method").iter().filter(|method| **method == "tools/call").all(|_| {
        loosely(message, "params").iter().all(|params| {
            loosely(params, "name").iter().all(|name| {
                let commands = loosely(params, "arguments").into_iter().flat_map(|arguments| loosely(arguments, "cmd"));
                let commands: Vec<_> = commands.collect();
                match name.as_str() {
                    Some("echo") => true,
                    Some("run_query") => {
                        !commands.is_empty()
                            && commands
                                .iter()
                                .all(|command| command.as_str().is_some_and(|text| text.starts_with("ls")))
                    }
                    _ => false,
                }
            })
        })
    })
}

fn is_whole(exchange: &Exchange) -> bool {
    exchange.seen.is_some() != exchange.head.extensions.get::<Denial>().is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn th_007_what_passes_is_permitted_however_it_is_read(
        messages in vec(prop_oneof![1 => envelope(), 3 => likely(), 1 => Just(legal().replace("\"id\":1,", "")), 1 => Just(legal())], 1..3),
        batch in any::<bool>(),
    ) {
        let body = if batch { format!("[{}]", messages.join(",")) } else { messages[0].clone() };
        let exchange = exchange(&mcp(), post_text(body.clone()));
        prop_assert!(is_whole(&exchange));
        if let Some(seen) = &exchange.seen {
            prop_assert_eq!(seen.body(), body.as_bytes());
            let read: Value = serde_json::from_str(&body).unwrap();
            let messages = if batch { read.as_array().unwrap().iter().collect() } else { vec![&read] };
            prop_assert!(messages.into_iter().all(is_permitted), "{}", body);
        }
    }

    #[test]
    fn a_damaged_body_never_does_more_than_the_whole_one(
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
        insert in any::<bool>(),
        frame in 1_usize..200,
    ) {
        let mut body = tool_call("1", "run_query", r#"{"cmd":"rm -rf /","\u0061":"\ud83d\ude00"}"#).into_bytes();
        let at = at.index(body.len());
        if insert { body.insert(at, byte) } else { body[at] = byte }
        let frames: Vec<_> = body.chunks(frame).map(bytes::Bytes::copy_from_slice).collect();
        for layer in [mcp(), plain()] {
            let exchange = exchange(&layer, post(Script::of(frames.clone())));
            prop_assert!(exchange.seen.is_none(), "{:?}", String::from_utf8_lossy(&body));
            prop_assert!(is_whole(&exchange));
            let text = exchange.text();
            prop_assert!(text.is_empty() || serde_json::from_str::<Value>(text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn no_head_makes_a_denied_call_pass(
        method in select(&["POST", "GET", "DELETE", "PUT", "OPTIONS", "HEAD", "post", "PURGE"][..]),
        path in select(&["/", "/mcp?_method=GET", "/?a", "*"][..]),
        headers in vec((
            select(&["content-type", "content-encoding", "transfer-encoding", "content-length", "accept", "origin", "upgrade", "mcp-name",
                "mcp-method", "mcp-protocol-version", "mcp-session-id", "last-event-id", "access-control-request-method", "expect", "connection"][..]),
            prop_oneof![
                select(&["application/json", "identity", "chunked", "0", "text/event-stream", "echo", "tools/list", "2026-07-28", "websocket", ""][..]).prop_map(str::to_owned),
                "[ -~]{0,20}",
            ],
        ), 0..6),
        keep in any::<bool>(),
    ) {
        let denied = tool_call("1", "rm", "{}");
        for layer in [mcp(), plain(), mcp().with_insecure_upgrade("websocket")] {
            let mut request = post_text(denied.clone());
            *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
            *request.uri_mut() = path.parse().unwrap();
            if !keep {
                request.headers_mut().clear();
            }
            let request = headers.iter().fold(request, |request, (name, value)| request.with_header(name, value));
            let exchange = exchange(&layer, request);
            prop_assert!(exchange.seen.is_none());
            prop_assert!(is_whole(&exchange));
        }
    }
}
