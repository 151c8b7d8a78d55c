//! Who may call what, as far as HTTP has a part in it: roles, servers, batches, notifications, mirrored headers.

use http::Request;
use http_body_util::Full;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::message::Era;
use tower_toolgate::{Role, Roles, Server};

use super::support::{With, exchange, legal, mcp, plain, post_text, tool_call};

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

fn message(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

fn head(method: &str) -> Request<Full<bytes::Bytes>> {
    let mut request = Request::new(Full::default());
    *request.method_mut() = method.parse().unwrap();
    request
}

#[test]
fn aa_65_roles_come_from_the_head_and_nowhere_else() {
    let none = || {
        let mut request = post_text(legal());
        request.extensions_mut().clear();
        request
    };
    let with = |change: fn(&mut http::Extensions)| {
        let mut request = none();
        change(request.extensions_mut());
        request
    };
    let by_header = mcp().with_roles(|head: &http::request::Parts| match head.headers.get("x-verified-role") {
        Some(role) => Roles::from(Role::new(role.to_str().unwrap_or_default())),
        None => Roles::NONE,
    });
    let claims = || none().with_header("x-toolgate-role", "analyst").with_header("x-role", "analyst");
    let cases: [(&str, &ArgumentAllowlistLayer, _, Option<&str>); 13] = [
        ("a role", &mcp(), with(|it| drop(it.insert(Role::new("analyst")))), None),
        ("roles", &mcp(), with(|it| drop(it.insert(Roles::from_iter(["operator", "analyst"])))), None),
        ("an unknown role beside", &mcp(), with(|it| drop(it.insert(Roles::from_iter(["x", "analyst"])))), None),
        ("no role", &mcp(), none(), Some("policy.role_missing")),
        ("no role of several", &mcp(), with(|it| drop(it.insert(Roles::NONE))), Some("policy.role_missing")),
        ("an empty list", &mcp(), with(|it| drop(it.insert(Roles::from_iter([""; 0])))), Some("policy.role_missing")),
        ("an unknown role", &mcp(), none().with_role("root"), Some("policy.role_unknown")),
        ("another case", &mcp(), none().with_role("Analyst"), Some("policy.role_unknown")),
        ("an empty name", &mcp(), none().with_role(""), Some("policy.role_unknown")),
        ("a header that nobody verified", &mcp(), claims(), Some("policy.role_missing")),
        ("a closure", &by_header, none().with_header("x-verified-role", "analyst"), None),
        ("a closure without an answer", &by_header, none(), Some("policy.role_missing")),
        ("a closure, not the extensions", &by_header, none().with_role("analyst"), Some("policy.role_missing")),
    ];
    for (name, layer, request, denied) in cases {
        let exchange = exchange(layer, request);
        match denied {
            None => assert_eq!(exchange.passed(name).body(), legal().into_bytes(), "{name}"),
            Some(reason) => exchange.refused(name, 403, "1", 403, reason),
        }
    }
    let mut both = none().with_role("analyst");
    both.extensions_mut().insert(Roles::NONE);
    exchange(&mcp(), both).refused("several win over one", 403, "1", 403, "policy.role_missing");
}

#[test]
fn the_server_is_the_gate_s_or_the_route_s() {
    let fixed = |id: &str| mcp().with_server(Server::new(id));
    let cases = [
        ("none is named", mcp(), None, true),
        ("fixed", fixed("files"), None, true),
        ("fixed, by a glob", fixed("db-7"), None, true),
        ("fixed, another one", fixed("mail"), None, false),
        ("by the route", mcp(), Some("files"), true),
        ("by the route, another one", mcp(), Some("mail"), false),
        ("an empty one", mcp(), Some(""), false),
        ("another case", mcp(), Some("Files"), false),
        ("the gate's wins", fixed("mail"), Some("files"), false),
        ("the gate's wins, the other way", fixed("files"), Some("mail"), true),
    ];
    for (name, layer, server, passes) in cases {
        let request = |body: String| {
            let request = post_text(body);
            if let Some(server) = server { request.with_server(server) } else { request }
        };
        for body in [legal(), message("1", "ping", "{}")] {
            let exchange = exchange(&layer, request(body));
            if passes {
                exchange.passed(name);
            } else {
                exchange.refused(name, 403, "1", 403, "policy.server_not_allowed");
            }
        }
    }
}

#[test]
fn roles_never_add_up() {
    let uris = |uris: &[&str]| {
        let uris: Vec<_> = uris.iter().map(|uri| format!("\"{uri}\"")).collect();
        let filter = format!(r#"{{"resourceSubscriptions":[{}]}}"#, uris.join(","));
        message("1", "subscriptions/listen", &format!(r#"{{"notifications":{filter}}}"#))
    };
    let (a, b) = ("file:///a/1", "file:///b/1");
    let read = |uri: &str| message("1", "resources/read", &format!(r#"{{"uri":"{uri}"}}"#));
    let cases = [
        ("one role reads its own", read(a), &["analyst"][..], None),
        ("two roles, each its own", read(b), &["analyst", "operator"], None),
        ("one role, one URI", uris(&[a]), &["analyst"], None),
        ("one role, two URIs of its own", uris(&[a, "file:///a/2"]), &["analyst"], None),
        ("one role, two URIs", uris(&[a, b]), &["analyst"], Some("policy.resource_not_allowed")),
        ("two roles, two URIs", uris(&[a, b]), &["analyst", "operator"], Some("policy.resource_not_allowed")),
        ("two roles, the other way", uris(&[b, a]), &["operator", "analyst"], Some("policy.resource_not_allowed")),
        (
            "a tool and another's host",
            tool_call("1", "connect", r#"{"host":"prod-1"}"#),
            &["analyst", "operator"],
            Some("policy.host_not_allowed"),
        ),
        ("a tool and its host", tool_call("1", "connect", r#"{"host":"dev-1"}"#), &["analyst", "operator"], None),
    ];
    for (name, body, roles, denied) in cases {
        let mut request = post_text(body.clone());
        request.extensions_mut().insert(Roles::from_iter(roles.iter().copied()));
        let exchange = exchange(&mcp(), request);
        match denied {
            None => assert_eq!(exchange.passed(name).body(), body.into_bytes(), "{name}"),
            Some(reason) => exchange.refused(name, 403, "1", 403, reason),
        }
    }
}

#[test]
fn aa_56_what_is_denied_is_answered_with_its_reason() {
    let call = |tool, arguments| tool_call("1", tool, arguments);
    for (name, body, reason) in [
        ("AA-59 globally denied", call("db_drop_all", "{}"), "policy.tool_globally_denied"),
        ("denied to the role", call("search_secret", "{}"), "policy.tool_denied"),
        ("not named", call("rm", "{}"), "policy.tool_not_allowed"),
        ("TH-050 another case", call("Echo", "{}"), "policy.tool_not_allowed"),
        ("a value", call("run_query", r#"{"cmd":"rm -rf /"}"#), "policy.argument_value"),
        ("a required argument", call("run_query", "{}"), "policy.argument_required"),
        ("null arguments", call("run_query", "null"), "policy.argument_required"),
        ("an unknown argument first", call("run_query", r#"{"x":1,"cmd":"rm"}"#), "policy.argument_unknown"),
        (
            "TH-001 another case of an argument",
            call("run_query", r#"{"cmd":"ls","CMD":"rm"}"#),
            "policy.argument_ambiguous",
        ),
        ("a number", call("run_query", r#"{"cmd":1}"#), "policy.argument_not_string"),
        ("a resource", message("1", "resources/read", r#"{"uri":"file:///c"}"#), "policy.resource_not_allowed"),
        ("dot segments", message("1", "resources/read", r#"{"uri":"file:///a/../c"}"#), "policy.uri_not_canonical"),
        ("a prompt", message("1", "prompts/get", r#"{"name":"x"}"#), "policy.prompt_not_allowed"),
        (
            "a completion",
            message("1", "completion/complete", r#"{"ref":{"type":"ref/prompt","name":"x"}}"#),
            "policy.prompt_not_allowed",
        ),
        ("TH-051 a task", message("1", "tasks/result", r#"{"taskId":"t"}"#), "policy.task_not_allowed"),
        ("TH-050 a space", message("1", "tools/call ", r#"{"name":"echo"}"#), "policy.method_not_allowed"),
        ("TH-050 capitals", message("1", "Tools/Call", r#"{"name":"echo"}"#), "policy.method_not_allowed"),
    ] {
        exchange(&mcp(), post_text(body)).refused(name, 403, "1", 403, reason);
    }
}

#[test]
fn aa_62_what_cannot_be_read_is_refused_whoever_asks() {
    let call = |params: &str| message("1", "tools/call", params);
    for (name, body, code, reason) in [
        ("AA-61 no JSON", "cmd=ls".to_owned(), -32700, "json.syntax"),
        ("AA-62 no params", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.into(), -32600, "message.name_missing"),
        ("AA-63 a key twice", call(r#"{"name":"echo","name":"rm"}"#), -32600, "json.duplicate_key"),
        (
            "TH-004 the method twice",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#.into(),
            -32600,
            "json.duplicate_key",
        ),
        (
            "TH-005 a key twice, deep and escaped",
            call(r#"{"name":"echo","arguments":{"a":[{"n":1,"\u006e":2}]}}"#),
            -32600,
            "json.duplicate_key",
        ),
        ("TH-001 Name", call(r#"{"name":"echo","Name":"rm"}"#), -32600, "message.folded_key"),
        (
            "TH-001 a long s",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","paramſ":{}}"#.into(),
            -32600,
            "message.folded_key",
        ),
        (
            "TH-002 METHOD",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}"#.into(),
            -32600,
            "message.folded_key",
        ),
        ("TH-003 NUL", call(r#"{"name":"echo","name\u0000":"rm"}"#), -32600, "message.control_in_key"),
        (
            "TH-046 a method with a result",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#.into(),
            -32600,
            "message.method_with_result",
        ),
        ("positional params", call(r#"["echo"]"#), -32600, "message.positional_params"),
        (
            "TH-042 a notification with an id",
            message("1", "notifications/../tools/call", "{}"),
            -32600,
            "message.notification_with_id",
        ),
    ] {
        let id = if code == -32700 { "null" } else { "1" };
        exchange(&mcp(), post_text(body.clone())).refused(name, 400, id, code, reason);
        let streamable = post_text(body).with_header("accept", "text/event-stream");
        let status = if id == "1" { 200 } else { 400 };
        exchange(&mcp(), streamable).refused(name, status, id, code, reason);
    }
    // Bytes that only look like JSON in another encoding.
    for (name, body, reason) in [
        ("TH-009 UTF-16", legal().encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(), "json.syntax"),
        ("a byte order mark", [b"\xef\xbb\xbf", legal().as_bytes()].concat(), "json.byte_order_mark"),
        (
            "no UTF-8",
            legal()
                .replace("hello", "\u{1}")
                .replace('\u{1}', "?")
                .bytes()
                .map(|byte| if byte == b'?' { 0xff } else { byte })
                .collect(),
            "json.invalid_utf8",
        ),
    ] {
        let exchange = exchange(&mcp(), post_text(body));
        assert!(exchange.seen.is_none(), "{name}");
        assert_eq!((exchange.status().as_u16(), exchange.denial().reason()), (400, reason), "{name}");
    }
}

#[test]
fn plumbing_and_replies_pass_for_a_known_role_only() {
    for (name, body, id) in [
        ("ping", message("1", "ping", "{}"), Some("1")),
        ("initialize", message("1", "initialize", r#"{"protocolVersion":"2025-11-25"}"#), Some("1")),
        ("TH-043 a notification", notification("notifications/cancelled", r#"{"requestId":1}"#), None),
        ("TH-045 a reply", r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#.to_owned(), None),
        ("an error", r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#.to_owned(), None),
        ("replies", r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#.to_owned(), None),
    ] {
        let passed = exchange(&mcp(), post_text(body.clone()));
        assert_eq!(passed.passed(name).body(), body.as_bytes(), "{name}");
        let refused = exchange(&mcp(), post_text(body).with_role("x"));
        match id {
            Some(id) => refused.refused(name, 403, id, 403, "policy.role_unknown"),
            None => refused.dropped(name, "policy.role_unknown"),
        }
    }
}

#[test]
fn aa_64_what_asks_for_no_answer_gets_none_and_does_nothing() {
    for (name, body, reason) in [
        ("TH-040 a call without an id", notification("tools/call", r#"{"name":"echo"}"#), "message.call_without_id"),
        ("of a denied tool", notification("tools/call", r#"{"name":"rm"}"#), "message.call_without_id"),
        (
            "TH-044 another request",
            notification("resources/read", r#"{"uri":"file:///a/1"}"#),
            "message.call_without_id",
        ),
        ("TH-043 an unknown notification", notification("notifications/x", "{}"), "policy.method_not_allowed"),
        ("TH-042 one that climbs", notification("notifications/../tools/call", "{}"), "policy.method_not_allowed"),
        ("a server's", notification("notifications/message", "{}"), "policy.method_not_allowed"),
    ] {
        exchange(&mcp(), post_text(body.clone())).dropped(name, reason);
        exchange(&mcp(), post_text(body).with_header("accept", "text/event-stream")).dropped(name, reason);
    }
    let plain_call = |tool: &str| format!(r#"{{"jsonrpc":"2.0","method":"{tool}"}}"#);
    exchange(&plain(), post_text(plain_call("echo"))).passed("plain, permitted");
    exchange(&plain(), post_text(plain_call("rm"))).dropped("plain, denied", "policy.tool_not_allowed");
}

#[test]
fn a_request_without_a_body_needs_a_known_role_and_server() {
    for method in ["GET", "DELETE"] {
        for (name, request, denied) in [
            ("known", head(method).with_role("analyst"), None),
            ("known, on its server", head(method).with_role("analyst").with_server("files"), None),
            ("nobody", head(method), Some("policy.role_missing")),
            ("unknown", head(method).with_role("x"), Some("policy.role_unknown")),
            (
                "another server",
                head(method).with_role("analyst").with_server("mail"),
                Some("policy.server_not_allowed"),
            ),
        ] {
            // Streams are opened by clients that read events; no id is known, and so the status tells.
            let exchange = exchange(&mcp(), request.with_header("accept", "text/event-stream"));
            match denied {
                None => assert!(exchange.passed(name).frames.is_empty()),
                Some(reason) => exchange.refused(name, 403, "null", 403, reason),
            }
        }
    }
    let preflight =
        head("OPTIONS").with_header("origin", "https://a").with_header("access-control-request-method", "POST");
    exchange(&mcp(), preflight).passed("a preflight has no identity");
}

#[test]
fn aa_60_one_denied_message_refuses_the_batch() {
    let ok = |id: &str| tool_call(id, "echo", "{}");
    let no = |id: &str| tool_call(id, "rm", "{}");
    let error = |id: &str, own: bool| {
        let denied = r#"{"code":403,"message":"tool 'rm' is not permitted","data":{"reason":"policy.tool_not_allowed","tool":"rm"}}"#;
        let other =
            r#"{"code":403,"message":"another message of the batch was refused","data":{"reason":"batch.refused"}}"#;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, if own { denied } else { other })
    };
    let note = notification("notifications/cancelled", r#"{"requestId":1}"#);
    for (name, batch, answers) in [
        ("TH-035 alone", vec![no("1")], vec![("1", true)]),
        ("TH-034 the last", vec![ok("1"), ok("\"b\""), no("3")], vec![("1", false), ("\"b\"", false), ("3", true)]),
        ("the first", vec![no("1"), ok("2")], vec![("1", true), ("2", false)]),
        ("two of them", vec![ok("0"), no("1"), no("2")], vec![("0", false), ("1", true), ("2", false)]),
        ("beside a notification", vec![note.clone(), no("1")], vec![("1", true)]),
    ] {
        let body = format!(" [{}]", batch.join(" ,\n"));
        let expected: Vec<_> = answers.iter().map(|(id, own)| error(id, *own)).collect();
        let expected = format!("[{}]", expected.join(","));
        for (accept, status) in [("application/json", 403), ("application/json, text/event-stream", 200)] {
            let exchange = exchange(&mcp(), post_text(body.clone()).with_header("accept", accept));
            assert!(exchange.seen.is_none(), "{name}");
            assert_eq!((exchange.status().as_u16(), exchange.text()), (status, &*expected), "{name}");
            assert_eq!(exchange.header("content-length"), Some(&*expected.len().to_string()), "{name}");
        }
    }
    let denied = notification("notifications/x", "{}");
    exchange(&mcp(), post_text(format!("[{note},{denied}]")))
        .dropped("notifications only", "policy.method_not_allowed");
    let exchange = exchange(&mcp(), post_text(format!("[{},{denied}]", ok("1"))));
    assert_eq!(exchange.text(), format!("[{}]", error("1", false)));
}

#[test]
fn a_legal_batch_passes_untouched() {
    let body = format!("\n[ {} ,{}\t]\n", tool_call("1", "echo", "{}"), notification("notifications/cancelled", "{}"));
    assert_eq!(exchange(&mcp(), post_text(body.clone())).passed("a batch").body(), body.as_bytes());
    let old = post_text(body.clone()).with_header("mcp-protocol-version", "2025-03-26");
    exchange(&mcp(), old).passed("of its revision");
    let new = post_text(body).with_header("mcp-protocol-version", "2025-06-18");
    exchange(&mcp(), new).refused("of another one", 400, "null", -32600, "message.batch_not_allowed");
    let body = r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}]"#;
    exchange(&plain(), post_text(body)).passed("plain");
    for (name, body, reason) in [
        ("TH-039 empty", "[]", "message.batch_empty"),
        ("TH-039 nested", "[[]]", "message.not_an_object"),
        ("TH-039 a scalar", "[1]", "message.not_an_object"),
        ("TH-037 initialize", r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#, "message.batch_initialize"),
    ] {
        exchange(&mcp(), post_text(body)).refused(name, 400, "null", -32600, reason);
    }
}

#[test]
fn aa_68_a_header_that_contradicts_the_body_is_refused_before_any_policy() {
    let modern = tool_call("1", "echo", "{}").replace(r#""arguments""#, &format!(r#"{MODERN},"arguments""#));
    let version = ("mcp-protocol-version", "2026-07-28");
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "echo"));
    for (case, body, headers, reason) in [
        ("TH-027 another name", legal(), vec![("mcp-name", "safe")], "header.contradicts"),
        (
            "TH-027 a denied name behind a permitted one",
            tool_call("1", "rm", "{}"),
            vec![("mcp-name", "echo")],
            "header.contradicts",
        ),
        ("TH-029 another method", legal(), vec![("mcp-method", "tools/list")], "header.contradicts"),
        ("TH-028 two methods", legal(), vec![method, method], "header.repeated"),
        ("TH-028 two names", legal(), vec![name, ("mcp-name", "rm")], "header.repeated"),
        ("TH-028 two names in one line", legal(), vec![("mcp-name", "echo, echo")], "header.contradicts"),
        ("two versions", legal(), vec![version, version], "header.repeated"),
        ("two parameters", legal(), vec![("mcp-param-x", "1"), ("mcp-param-x", "2")], "header.repeated"),
        ("TH-030 no version", modern.clone(), vec![method, name], "header.missing"),
        ("TH-030 no method", modern.clone(), vec![version, name], "header.missing"),
        ("TH-030 no name", modern.clone(), vec![version, method], "header.missing"),
        (
            "TH-030 another version",
            modern.clone(),
            vec![("mcp-protocol-version", "2025-11-25"), method, name],
            "header.contradicts",
        ),
    ] {
        // Even the client that reads everything in band, and even of a role that may do nothing.
        for role in ["analyst", "nobody"] {
            let request = post_text(body.clone()).with_role(role).with_header("accept", "text/event-stream");
            let request = headers.iter().fold(request, |request, (name, value)| request.with_header(name, value));
            exchange(&mcp(), request).refused(case, 400, "1", -32020, reason);
        }
    }
    let request =
        [version, method, name].iter().fold(post_text(modern.clone()), |it, (name, value)| it.with_header(name, value));
    let exchange = exchange(&mcp(), request);
    let seen = exchange.passed("modern");
    assert_eq!((seen.body(), seen.inspection().era()), (modern.into_bytes(), Era::Modern));
}

#[test]
fn a_shadow_lets_pass_what_a_policy_denies_and_nothing_else() {
    let shadow = mcp().with_insecure_shadow(true);
    let rm = tool_call("1", "rm", "{}");
    for (name, request) in [
        ("a denied tool", post_text(rm.clone())),
        ("an unknown role", post_text(legal()).with_role("x")),
        ("a batch", post_text(format!("[{rm},{}]", tool_call("2", "echo", "{}")))),
        ("a stream", head("GET")),
    ] {
        exchange(&shadow, request).passed(name);
    }
    exchange(&mcp().with_insecure_shadow(false), post_text(rm.clone())).refused(
        "off",
        403,
        "1",
        403,
        "policy.tool_not_allowed",
    );
    for (name, request, reason) in [
        ("no JSON", post_text("{"), "json.truncated"),
        ("a key twice", post_text(rm.replace(r#""id""#, r#""id":1,"id""#)), "json.duplicate_key"),
        (
            "a call without an id",
            post_text(notification("tools/call", r#"{"name":"echo"}"#)),
            "message.call_without_id",
        ),
        ("a head", head("PUT"), "http.method_not_allowed"),
        ("a header", post_text(legal()).with_header("mcp-name", "x"), "header.contradicts"),
    ] {
        let exchange = exchange(&shadow, request);
        assert!(exchange.seen.is_none(), "{name}");
        assert_eq!(exchange.denial().reason(), reason, "{name}");
    }
}

#[test]
fn th_024_ids_are_echoed_byte_for_byte() {
    for id in [
        "1",
        "-0",
        "0",
        "-7",
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        r#""a""#,
        r#""""#,
        r#""1""#,
        r#""\u0061\/\n\"""#,
        r#""\ud83d\ude00 é""#,
        "\"\u{2028}\"",
    ] {
        exchange(&mcp(), post_text(tool_call(id, "rm", "{}"))).refused(id, 403, id, 403, "policy.tool_not_allowed");
        let batch = exchange(&mcp(), post_text(format!("[{}]", tool_call(id, "rm", "{}"))));
        assert!(batch.text().starts_with(&format!(r#"[{{"jsonrpc":"2.0","id":{id},"#)), "{id}");
        exchange(&mcp(), post_text(tool_call(id, "echo", "{}"))).passed(id);
    }
    for (id, reason) in [
        ("1.0", "message.id_fraction"),
        ("1e0", "message.id_fraction"),
        ("1e300", "message.id_fraction"),
        ("1.5", "message.id_fraction"),
        ("18446744073709551616", "message.id_out_of_range"),
        ("null", "message.id_null"),
        ("true", "message.id_boolean"),
        ("[]", "message.id_array"),
        ("{}", "message.id_object"),
        (r#""\ud800""#, "message.id_lone_surrogate"),
        ("1e400", "json.beyond_f64"),
    ] {
        exchange(&mcp(), post_text(tool_call(id, "echo", "{}"))).refused(id, 400, "null", -32600, reason);
    }
    let twice = format!("[{},{}]", tool_call("\"a\"", "echo", "{}"), tool_call(r#""\u0061""#, "echo", "{}"));
    exchange(&mcp(), post_text(twice)).refused("twice", 400, "null", -32600, "message.duplicate_id");
    let types = format!("[{},{}]", tool_call("1", "echo", "{}"), tool_call("\"1\"", "echo", "{}"));
    exchange(&mcp(), post_text(types)).passed("TH-049 two types");
}
