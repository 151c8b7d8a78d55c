//! Bodies and heads that no honest client sends: each is refused, its sender learns of it, and nothing is forwarded.

use crate::support::{Gateway, Setup, Upstream, call};
use crate::wire::{Message, Request};

/// What became of a refused body.
struct Case {
    name: &'static str,
    body: Vec<u8>,
    /// The request's id where it could be read, else null.
    id: &'static str,
    status: u16,
    code: i32,
    reason: &'static str,
}

fn bad(name: &'static str, body: impl Into<Vec<u8>>, id: &'static str, reason: &'static str) -> Case {
    let code = match reason {
        "json.duplicate_key" | "json.too_deep" | "json.beyond_f64" | "json.lone_surrogate_in_key" => -32600,
        reason if reason.starts_with("json.") => -32700,
        _ => -32600,
    };
    Case { name, body: body.into(), id, status: 400, code, reason }
}

fn check(gateway: &Gateway, case: &Case, request: &Request) {
    let plain = gateway.send(request);
    assert_eq!(plain.status(), case.status, "{}: {plain}", case.name);
    assert_told(&plain, case);
    let streamable = gateway.send(&request.clone().streamable());
    // In band where somebody waits for the id, else by the status.
    let status = if case.id == "null" { case.status } else { 200 };
    assert_eq!(streamable.status(), status, "{}: {streamable}", case.name);
    assert_told(&streamable, case);
}

fn assert_told(answer: &Message, case: &Case) {
    let told = answer.json();
    assert_eq!(told["jsonrpc"], "2.0", "{}", case.name);
    assert_eq!(told["id"].to_string(), case.id, "{}: {answer}", case.name);
    assert_eq!(told["error"]["code"], case.code, "{}: {answer}", case.name);
    assert_eq!(answer.reason(), case.reason, "{}: {answer}", case.name);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

fn refused(cases: &[Case]) {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for case in cases {
        check(&gateway, case, &Request::post("/mcp/a", case.body.clone()));
        gateway.assert_forwarded_nothing(&upstream);
    }
}

fn utf_16(text: &str, little: bool, mark: bool) -> Vec<u8> {
    let units = mark.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
    units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

#[test]
fn what_is_no_json() {
    let echo = call("7", "echo");
    refused(&[
        bad("nothing", "", "null", "json.empty"),
        bad("white space", " \r\n", "null", "json.empty"),
        bad("text", "hello", "null", "json.syntax"),
        bad("cut short", &echo[..echo.len() - 1], "7", "json.truncated"),
        bad("two values", format!("{echo}{echo}"), "7", "json.trailing_data"),
        bad("two lines", format!("{echo}\n{echo}"), "7", "json.trailing_data"),
        bad("a comma at the end", echo.replace("{}}}", "{},}}"), "7", "json.syntax"),
        bad("a comment", echo.replace("\"params\"", "/* */\"params\""), "7", "json.syntax"),
        bad("single quotes", echo.replace('"', "'"), "null", "json.syntax"),
        bad("NaN", echo.replace("{}", "{\"n\":NaN}"), "7", "json.not_a_number"),
        bad("beyond f64", echo.replace("{}", "{\"n\":1e400}"), "7", "json.beyond_f64"),
        bad("a byte order mark", [b"\xEF\xBB\xBF", echo.as_bytes()].concat(), "null", "json.byte_order_mark"),
        bad("a form feed", format!("\u{c}{echo}"), "null", "json.syntax"),
        bad("a no-break space", format!("\u{a0}{echo}"), "null", "json.syntax"),
        bad(
            "latin-1",
            echo.replace("{}", "{\"s\":\"X\"}")
                .replace('X', "~")
                .into_bytes()
                .iter()
                .map(|byte| if *byte == b'~' { 0xE9 } else { *byte })
                .collect::<Vec<u8>>(),
            "7",
            "json.invalid_utf8",
        ),
        bad("an overlong slash", [echo.as_bytes(), b"\xC0\xAF"].concat(), "7", "json.invalid_utf8"),
        bad("a raw line break in a string", echo.replace("echo", "ec\nho"), "7", "json.syntax"),
        bad("a NUL at the end", format!("{echo}\0"), "7", "json.trailing_data"),
    ]);
}

#[test]
fn utf_16_and_32_with_and_without_a_mark() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let echo = call("7", "echo");
    let utf_32: Vec<u8> = echo.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    let bodies = [(true, true), (true, false), (false, true), (false, false)]
        .map(|(little, mark)| utf_16(&echo, little, mark))
        .into_iter()
        .chain([utf_32]);
    for body in bodies {
        for request in [Request::post("/mcp/a", body.clone()), Request::post("/mcp/a", body).streamable()] {
            let answer = gateway.send(&request);
            assert_eq!((answer.status(), &*answer.id()), (400, "null"), "{answer}");
            assert!(answer.reason().starts_with("json."), "{answer}");
        }
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn keys_that_parsers_read_differently() {
    let echo = call("7", "echo");
    let with = |from: &str, to: &str| echo.replace(from, to);
    refused(&[
        bad(
            "a tool named twice",
            with("\"name\":\"echo\"", "\"name\":\"echo\",\"name\":\"other\""),
            "7",
            "json.duplicate_key",
        ),
        bad(
            "by an escape",
            with("\"name\":\"echo\"", "\"name\":\"echo\",\"n\\u0061me\":\"other\""),
            "7",
            "json.duplicate_key",
        ),
        bad("a method named twice", with("\"params\"", "\"method\":\"ping\",\"params\""), "7", "json.duplicate_key"),
        bad("params twice", with("\"params\"", "\"params\":{},\"params\""), "7", "json.duplicate_key"),
        bad("deep in an argument", with("{}", "{\"a\":[{\"b\":1,\"b\":2}]}"), "7", "json.duplicate_key"),
        bad("an id twice", with("\"method\"", "\"id\":8,\"method\""), "null", "json.duplicate_key"),
        bad("Method", with("\"params\"", "\"Method\":\"ping\",\"params\""), "7", "message.folded_key"),
        bad("PARAMS", with("\"params\"", "\"PARAMS\":{},\"params\""), "7", "message.folded_key"),
        bad("Name", with("\"name\":\"echo\"", "\"name\":\"echo\",\"Name\":\"other\""), "7", "message.folded_key"),
        bad("long s", with("\"params\"", "\"param\u{17f}\":{},\"params\""), "7", "message.folded_key"),
        bad("argumentS", with("\"name\"", "\"argument\\u017f\":{},\"name\""), "7", "message.folded_key"),
        bad("Kelvin", with("\"name\"", "\"ta\u{17f}\u{212a}\":{},\"name\""), "7", "message.folded_key"),
        bad(
            "a NUL in a key",
            with("\"params\"", "\"method\\u0000\":\"ping\",\"params\""),
            "7",
            "message.control_in_key",
        ),
        bad("a lone surrogate", with("\"name\":\"echo\"", "\"name\":\"ec\\ud800ho\""), "7", "message.lone_surrogate"),
        bad("in a key", with("{}", "{\"\\udc00\":1}"), "7", "json.lone_surrogate_in_key"),
    ]);
}

#[test]
fn what_is_no_message() {
    let echo = call("7", "echo");
    let with = |from: &str, to: &str| echo.replace(from, to);
    refused(&[
        bad("a scalar", "7", "null", "message.not_an_object"),
        bad("an empty object", "{}", "null", "message.jsonrpc_version"),
        bad("an empty batch", "[]", "null", "message.batch_empty"),
        bad("nested batches", format!("[[{echo}]]"), "null", "message.not_an_object"),
        bad("a batch with a scalar", format!("[{echo},1]"), "null", "message.not_an_object"),
        bad("an id twice in a batch", format!("[{echo},{echo}]"), "null", "message.duplicate_id"),
        bad("version 1", with("\"2.0\"", "\"1.0\""), "7", "message.jsonrpc_version"),
        bad("version as number", with("\"2.0\"", "2.0"), "7", "message.jsonrpc_version"),
        bad("a method and a result", with("\"params\"", "\"result\":{},\"params\""), "7", "message.method_with_result"),
        bad("a method and an error", with("\"params\"", "\"error\":{},\"params\""), "7", "message.method_with_result"),
        bad("an id that is null", call("null", "echo"), "null", "message.id_null"),
        bad("a fraction", call("1.0", "echo"), "null", "message.id_fraction"),
        bad("an exponent", call("1e0", "echo"), "null", "message.id_fraction"),
        bad("an object as id", call("{\"id\":1}", "echo"), "null", "message.id_object"),
        bad("an array as id", call("[1]", "echo"), "null", "message.id_array"),
        bad("a boolean as id", call("true", "echo"), "null", "message.id_boolean"),
        bad(
            "positional params",
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["echo",{}]}"#,
            "7",
            "message.positional_params",
        ),
        bad("an array as arguments", with("{}", "[]"), "7", "message.arguments_not_object"),
        bad("text as arguments", with("{}", "\"{}\""), "7", "message.arguments_not_object"),
        bad("no name", with("\"name\"", "\"tool\""), "7", "message.name_missing"),
        bad("an array as name", with("\"echo\"", "[\"echo\"]"), "7", "message.name_not_string"),
    ]);
}

#[test]
fn ten_thousand_open_containers() {
    let echo = call("7", "echo");
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        refused(&[
            bad("in an argument", echo.replace("{}", &format!("{{\"a\":{deep}}}")), "7", "json.too_deep"),
            bad("beside params", echo.replace("\"params\"", &format!("\"x\":{deep},\"params\"")), "7", "json.too_deep"),
            bad("never closed", echo.replace("{}", &open.repeat(10_000)), "7", "json.too_deep"),
        ]);
    }
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&Request::post("/mcp/a", "[".repeat(10_000)).streamable());
    assert_eq!((answer.status(), &*answer.id()), (400, "null"), "{answer}");
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn a_batch_of_ten_thousand() {
    let batch: Vec<_> = (0..10_000).map(|id| call(&id.to_string(), "echo")).collect();
    let hundred_and_one = format!("[{}]", batch[..101].join(","));
    refused(&[
        bad("10,000", format!("[{}]", batch.join(",")), "null", "message.batch_too_long"),
        bad("101", hundred_and_one, "null", "message.batch_too_long"),
    ]);
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&Request::post("/mcp/a", format!("[{}]", batch[..100].join(","))));
    assert_eq!((answer.status(), answer.json().as_array().unwrap().len()), (200, 100), "as many as may be");
}

#[test]
fn media_types_that_somebody_reads_as_something_else() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for (value, reason) in [
        ("text/plain", "http.content_type_unsupported"),
        ("application/x-www-form-urlencoded", "http.content_type_unsupported"),
        ("application/jsonx", "http.content_type_unsupported"),
        ("application/json, text/plain", "http.content_type_unsupported"),
        ("application/json-rpc", "http.content_type_unsupported"),
        ("application/problem+json", "http.content_type_unsupported"),
        ("text/json", "http.content_type_unsupported"),
        ("", "http.content_type_unsupported"),
        ("application/json; charset=utf-16le", "http.charset_unsupported"),
        ("application/json; charset=utf-7", "http.charset_unsupported"),
        ("application/json; charset=utf-8; charset=utf-7", "http.charset_unsupported"),
        ("application/json; CHARSET*=utf-7", "http.charset_unsupported"),
    ] {
        let case = Case { status: 415, code: 415, ..bad("media type", call("7", "echo"), "null", reason) };
        check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).set("content-type", value));
    }
    let case = Case { status: 415, code: 415, ..bad("none", call("7", "echo"), "null", "http.content_type_missing") };
    check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).without("content-type"));
    let case = Case { reason: "http.content_type_repeated", ..case };
    check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).with("content-type", "application/json"));
    gateway.assert_forwarded_nothing(&upstream);
    for value in ["APPLICATION/JSON", "application/json;charset=UTF-8", "application/json ; charset=\"utf-8\""] {
        assert_eq!(gateway.send(&Request::post("/mcp/a", call("7", "echo")).set("content-type", value)).status(), 200);
    }
}

#[test]
fn codings_that_hide_what_is_said() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    // A gzip member that holds `{}`, stored.
    let gzip = [
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 2, 0, 0xfd, 0xff][..],
        b"{}",
        &[0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0],
    ];
    for coding in ["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "GZIP", "", "none"] {
        for body in [gzip.concat(), call("7", "echo").into_bytes()] {
            let case = Case { status: 415, code: 415, ..bad("coding", body, "null", "http.content_coding") };
            check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).with("content-encoding", coding));
        }
    }
    let twice = Request::post("/mcp/a", call("7", "echo")).with("content-encoding", "identity");
    assert_eq!(gateway.send(&twice.clone().with("content-encoding", "gzip")).status(), 415);
    gateway.assert_forwarded_nothing(&upstream);
    assert_eq!(gateway.send(&twice).status(), 200);
}

#[test]
fn th_032_methods_that_are_overridden() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let case = bad("override", call("7", "echo"), "null", "http.method_override");
    let case = Case { code: 400, ..case };
    for name in ["x-http-method-override", "X-HTTP-Method", "x-method-override"] {
        for value in ["DELETE", "GET", "POST", ""] {
            check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).with(name, value));
        }
    }
    for target in ["/mcp/a?_method=DELETE", "/mcp/a?x=1&_METHOD=put"] {
        check(&gateway, &case, &Request::post(target, case.body.clone()));
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn th_031_methods_that_carry_no_call() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for method in ["PUT", "PATCH", "TRACE", "PROPFIND", "QUERY", "post", "POSTS"] {
        let answer = gateway.send(&Request::post("/mcp/a", call("7", "echo")).method(method).streamable());
        assert_eq!((answer.status(), &*answer.id()), (405, "null"), "{method}: {answer}");
        assert_eq!(answer.header("allow"), Some("DELETE, GET, OPTIONS, POST"), "{method}");
        assert!(!answer.text().contains("k-user"), "{method} says nothing back");
    }
    for method in ["GET", "DELETE"] {
        let case = Case { code: 400, ..bad("a body", call("7", "echo"), "null", "http.body_not_allowed") };
        check(&gateway, &case, &Request::post("/mcp/a", case.body.clone()).method(method));
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn th_125_head_has_no_body_and_reaches_nobody() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let mut connection = gateway.connect();
    connection.send(Request::new("HEAD", "/mcp/a").bytes());
    let answer = connection.receive_for("HEAD").unwrap();
    assert_eq!((answer.status(), answer.header("allow")), (405, Some("DELETE, GET, OPTIONS, POST")));
    // What follows on the connection is the next answer, not a body.
    connection.send(Request::post("/mcp/a", call("8", "echo")).with("x-witness", "1").bytes());
    assert_eq!(connection.receive().unwrap().id(), "8");
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn upgrades_and_tunnels_are_refused() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for protocol in ["websocket", "TLS/1.0", "foo, websocket", "h2c, websocket"] {
        for request in [Request::post("/mcp/a", call("7", "echo")), Request::new("GET", "/mcp/a")] {
            let answer = gateway.send(&request.with("connection", "upgrade").with("upgrade", protocol));
            assert_eq!((answer.status(), &*answer.reason()), (400, "http.upgrade"), "{protocol}");
        }
    }
    let target = upstream.address.to_string();
    let tunnel = gateway.send(&Request::new("CONNECT", &target));
    assert!(tunnel.status() >= 400, "{tunnel}");
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn the_offer_of_javas_client_is_ignored() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let offer = Request::post("/mcp/a", call("7", "echo")).with("connection", "Upgrade, HTTP2-Settings");
    let offer = offer.with("upgrade", "h2c").with("http2-settings", "AAMAAABk");
    assert_eq!(gateway.send(&offer).status(), 200);
    for name in ["upgrade", "http2-settings"] {
        assert!(upstream.only().all(name).is_empty(), "{name}");
    }
}
