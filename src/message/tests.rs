use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::json::Arguments;

/// A case, its body, and what is read from it: calls as [`said`] writes them, or the reason of a refusal.
struct Row {
    name: &'static str,
    body: Vec<u8>,
    expected: &'static str,
}

macro_rules! rows {
    ($($name:literal: $body:expr => $expected:expr;)+) => {
        vec![$(Row { name: $name, body: Vec::from($body), expected: $expected }),+]
    };
}

macro_rules! header_rows {
    ($($name:literal: $headers:expr, $body:expr => $expected:expr;)+) => {
        vec![$(($name, $headers.to_vec(), $body, $expected)),+]
    };
}

fn head(headers: &[(&str, &str)]) -> HeaderMap {
    let entry = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    headers.iter().map(entry).fold(HeaderMap::new(), |mut head, (name, value)| {
        head.append(name, value);
        head
    })
}

fn refusal(error: &ReadError) -> String {
    match error {
        ReadError::Json(error) => error.fault().reason().to_owned(),
        ReadError::Message(fault) => fault.reason().to_owned(),
        ReadError::Mirror(mismatch) => format!("{} {}", mismatch.reason(), mismatch.header()),
    }
}

fn is_refusal(reading: &str) -> bool {
    reading.starts_with("json.") || reading.starts_with("message.")
}

fn inspect(body: &[u8], dialect: &dyn Dialect, headers: &[(&str, &str)]) -> Result<Inspection, String> {
    let mirror = Mirror::read(&head(headers)).map_err(|mismatch| refusal(&ReadError::Mirror(mismatch)))?;
    Inspection::read(Bytes::copy_from_slice(body), dialect, &mirror).map_err(|error| refusal(&error))
}

fn reading(body: &[u8], dialect: &dyn Dialect, headers: &[(&str, &str)]) -> String {
    inspect(body, dialect, headers).map_or_else(|reason| reason, |inspection| said(&inspection))
}

fn mcp(body: impl AsRef<[u8]>) -> String {
    reading(body.as_ref(), &Mcp, &[])
}

fn plain(body: impl AsRef<[u8]>) -> String {
    reading(body.as_ref(), &PlainJsonRpc, &[])
}

/// `ID: CALL, CALL` of each message; `-` is no id.
fn said(inspection: &Inspection) -> String {
    let message = |(at, message): (usize, Message<'_>)| {
        assert_eq!(message.position(), at);
        assert_eq!(message.kind() == MessageKind::Notification, message.id().is_none());
        let calls: Vec<_> = message.calls().map(|call| said_call(&call)).collect();
        format!("{}: {}", message.id().unwrap_or("-"), calls.join(", "))
    };
    inspection.messages().enumerate().map(message).collect::<Vec<_>>().join(" + ")
}

fn said_call(call: &Call<'_>) -> String {
    match call {
        Call::Method { method } => format!("method {}", method.escape_debug()),
        Call::Plumbing { method } => format!("plumbing {method}"),
        Call::Prompt { name } => format!("prompt {}", name.escape_debug()),
        Call::Reply => "reply".to_owned(),
        Call::Resource { uri } => format!("resource {}", uri.escape_debug()),
        Call::Task { id, method } => format!("task {} of {method}", id.escape_debug()),
        Call::Tool { name, arguments } => format!("tool {}{}", name.escape_debug(), said_arguments(arguments)),
    }
}

/// Nothing where there are none, `[..]` for positional ones, `(name=value)` for named ones.
fn said_arguments(arguments: &Arguments<'_>) -> String {
    if arguments.is_positional() {
        return "[..]".to_owned();
    }
    if format!("{arguments:?}") == "Absent" {
        return String::new();
    }
    let value = |argument: crate::json::Argument<'_>| {
        let value = match argument.as_str() {
            Some(Ok(text)) => format!("{text:?}"),
            Some(Err(_)) => "lone".to_owned(),
            None => String::from_utf8(argument.raw().to_vec()).unwrap(),
        };
        format!("{}={value}", argument.name().escape_debug())
    };
    format!("({})", arguments.iter().map(value).collect::<Vec<_>>().join(" "))
}

fn check(rows: &[Row], dialect: &dyn Dialect) {
    let wrong = rows.iter().filter_map(|row| {
        let actual = reading(&row.body, dialect, &[]);
        (actual != row.expected).then(|| format!("{}: expected {}, got {actual}", row.name, row.expected))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A message with the id 1 and these members.
fn one(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,{members}}}"#)
}

fn request(method: &str, params: &str) -> String {
    one(&format!(r#""method":"{method}","params":{params}"#))
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

fn call(params: &str) -> String {
    request("tools/call", params)
}

/// A call of the tool `wipe` with one member more in `params`, or none.
fn wipe(more: &str) -> String {
    call(&format!(r#"{{"name":"wipe"{more}}}"#))
}

fn wipe_with(value: &str) -> String {
    wipe(&format!(r#","arguments":{{"a":{value}}}"#))
}

fn wipe_as(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wipe"}}}}"#)
}

/// The same call with a protocol version in its `_meta`, given as JSON.
fn wipe_in(version: &str) -> String {
    wipe(&format!(r#","_meta":{{"io.modelcontextprotocol/protocolVersion":{version}}}"#))
}

fn complete(reference: &str) -> String {
    request("completion/complete", &format!(r#"{{"ref":{reference}}}"#))
}

fn listen(filter: &str) -> String {
    request("subscriptions/listen", &format!(r#"{{"notifications":{filter}}}"#))
}

/// A body with one piece that is no text.
fn bytes(before: &str, piece: &[u8], after: &str) -> Vec<u8> {
    [before.as_bytes(), piece, after.as_bytes()].concat()
}

fn utf16(text: &str, encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(encode).collect()
}

fn batch<T: AsRef<str>>(messages: &[T]) -> String {
    format!("[{}]", messages.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(","))
}

fn pings(count: usize) -> String {
    batch(&(0..count).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect::<Vec<_>>())
}

/// So many members, each behind a comma.
fn many(count: usize) -> String {
    (0..count).map(|n| format!(r#","m{n}":{n}"#)).collect()
}

const TWICE: &str = "json.duplicate_key";
const FOLDED: &str = "message.folded_key";
const CONTROL: &str = "message.control_in_key";

const WIPE: &str = r#""method":"tools/call","params":{"name":"wipe"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
const LOOK: &str = r#""method":"tools/call","params":{"name":"look"}"#;

/// What parsers read differently: names.
fn names() -> Vec<Row> {
    rows! {
        "TH-004 method twice, the call last": one(r#""method":"ping","method":"tools/call","params":{"name":"wipe"}"#)
            => TWICE;
        "TH-004 method twice, the call first": one(r#""method":"tools/call","method":"ping","params":{"name":"wipe"}"#)
            => TWICE;
        "TH-004 method twice, at both ends":
            r#"{"method":"ping","jsonrpc":"2.0","id":1,"params":{"name":"wipe"},"method":"tools/call"}"# => TWICE;
        "method twice, the first of another type": one(r#""method":7,"method":"tools/call","params":{"name":"wipe"}"#)
            => TWICE;
        "TH-004 name twice, last is refused": call(r#"{"name":"look","name":"wipe"}"#) => TWICE;
        "TH-004 name twice, first is refused": call(r#"{"name":"wipe","name":"look"}"#) => TWICE;
        "name twice, last is null": call(r#"{"name":"wipe","name":null}"#) => TWICE;
        "params twice": one(&format!(r#"{LOOK},"params":{{"name":"wipe"}}"#)) => TWICE;
        "params twice, to be merged": one(&format!(r#"{WIPE},"params":{{"arguments":{{"a":"x"}}}}"#)) => TWICE;
        "id twice": format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,{WIPE}}}"#) => TWICE;
        "TH-005 name twice, once escaped": call(r#"{"name":"look","n\u0061me":"wipe"}"#) => TWICE;
        "TH-005 three levels into the arguments": wipe_with(r#"{"b":[{"c":{"cmd":1,"c\u006dd":2}}]}"#) => TWICE;
        "twice in a result": one(r#""result":{"a":1,"a":2}"#) => TWICE;
        "twice in _meta": wipe(r#","_meta":{"x":1,"x":2}"#) => TWICE;
        "TH-001 Method on its own": one(r#""Method":"tools/call","params":{"name":"wipe"}"#) => FOLDED;
        "TH-002 METHOD after method": one(r#""method":"tools/list","METHOD":"tools/call","params":{"name":"wipe"}"#)
            => FOLDED;
        "TH-002 METHOD before method": one(r#""METHOD":"tools/call","method":"tools/list","params":{"name":"wipe"}"#)
            => FOLDED;
        "TH-001 Name": call(r#"{"name":"look","Name":"wipe"}"#) => FOLDED;
        "TH-001 Params": one(&format!(r#"{LOOK},"Params":{{"name":"wipe"}}"#)) => FOLDED;
        "TH-001 ID": one(&format!(r#"{WIPE},"ID":2"#)) => FOLDED;
        "TH-001 params with a long s": one(&format!(r#"{LOOK},"paramſ":{{"name":"wipe"}}"#)) => FOLDED;
        "TH-001 params with an escaped long s": one(&format!(r#"{LOOK},"param\u017f":{{"name":"wipe"}}"#)) => FOLDED;
        "TH-001 task with a Kelvin sign": wipe(r#","tas\u212a":{"ttl":1}"#) => FOLDED;
        "TH-001 Arguments": wipe(r#","Arguments":{}"#) => FOLDED;
        "TH-001 _Meta": wipe(r#","_Meta":{}"#) => FOLDED;
        "TH-001 TASKID": request("tasks/get", r#"{"taskId":"t","TASKID":"u"}"#) => FOLDED;
        "TH-001 in _meta": wipe(r#","_meta":{"io.modelcontextprotocol/ProtocolVersion":"2026-07-28"}"#) => FOLDED;
        "TH-001 in _meta, a Kelvin sign": wipe(r#","_meta":{"progressTo\u212aen":1}"#) => FOLDED;
        "TH-001 in ref": complete(r#"{"type":"ref/prompt","name":"p","Name":"q"}"#) => FOLDED;
        "TH-003 in ref": complete(r#"{"type":"ref/prompt","name":"p","name\u0000":"q"}"#) => FOLDED;
        "TH-001 in a subscription": listen(r#"{"ResourceSubscriptions":["u"]}"#) => FOLDED;
        "TH-003 method and NUL": one(r#""method\u0000":"tools/call","params":{"name":"wipe"}"#) => CONTROL;
        "TH-003 name and NUL": call(r#"{"name":"look","name\u0000":"wipe"}"#) => CONTROL;
        "TH-003 name and DEL": call("{\"name\":\"look\",\"name\x7f\":\"wipe\"}") => CONTROL;
        "TH-003 name and C1": call(r#"{"name":"look","\u0085name":"wipe"}"#) => CONTROL;
        "TH-003 any key of params": wipe(r#","other\u001f":1"#) => CONTROL;
        "TH-003 any key of the envelope": one(&format!(r#"{WIPE},"\n":1"#)) => CONTROL;
        "TH-003 any key of _meta": wipe(r#","_meta":{"a\tb":1}"#) => CONTROL;
        "TH-001 folding is legal in arguments": wipe(r#","arguments":{"name":1,"Name":2,"NAME":3,"name\u0000":4}"#)
            => r"1: tool wipe(name=1 Name=2 NAME=3 name\0=4)";
        "TH-001 and below params": wipe(r#","other":{"Name":1,"name\u0000":2}"#) => "1: tool wipe";
        "names that are only longer": wipe(r#","names":1,"name ":2,"_name":3,"métho":4"#) => "1: tool wipe";
        "another key in the envelope": one(&format!(r#""extra":{{"method":"ping"}},{WIPE}"#)) => "1: tool wipe";
        "__proto__ in the envelope": one(&format!(r#""__proto__":{{{WIPE}}}"#)) => "message.method_missing";
        "__proto__ beside method": one(&format!(r#""method":"ping","__proto__":{{{WIPE}}}"#)) => "1: plumbing ping";
        "__proto__ in params": call(r#"{"name":"look","__proto__":{"name":"wipe"}}"#) => "1: tool look";
        "__proto__ instead of a name": call(r#"{"__proto__":{"name":"wipe"}}"#) => "message.name_missing";
        "escaped keys":
            one(r#""\u006dethod":"tools/call","\u0070arams":{"\u006eame":"wipe","\u0061rguments":{"\u0061":"\u0062"}}"#)
                => r#"1: tool wipe(a="b")"#;
        "escaped method": one(r#""method":"tools\/call","params":{"name":"wipe"}"#) => "1: tool wipe";
        "escaped version": format!(r#"{{"jsonrpc":"\u0032.0","id":1,{WIPE}}}"#) => "1: tool wipe";
        "full width is another letter": call(r#"{"name":"\uff57ipe"}"#) => "1: tool ｗipe";
        "TH-050 method and a space": request("tools/call ", r#"{"name":"wipe"}"#) => "1: method tools/call ";
        "TH-050 method in upper case": request("Tools/Call", r#"{"name":"wipe"}"#) => "1: method Tools/Call";
        "TH-050 method and NUL": request(r"tools/call\u0000", r#"{"name":"wipe"}"#) => r"1: method tools/call\0";
        "NUL in a name": call(r#"{"name":"wipe\u0000"}"#) => r"1: tool wipe\0";
        "TH-008 the magic name of a number": wipe_with(r#"{"$serde_json::private::Number":"1e999"}"#)
            => r#"1: tool wipe(a={"$serde_json::private::Number":"1e999"})"#;
    }
}

/// What parsers read differently: encodings, grammar, numbers.
fn texts() -> Vec<Row> {
    let (before, after) = (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe","x":""#, r#""}}"#);
    let nested = |depth: usize| wipe_with(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let plain = one(WIPE);
    rows! {
        "nothing": "" => "json.empty";
        "white space": " \r\n\t " => "json.empty";
        "UTF-8 mark": format!("\u{FEFF}{plain}") => "json.byte_order_mark";
        "UTF-8 mark after a space": format!(" \u{FEFF}{plain}") => "json.syntax";
        "TH-009 UTF-16 with a mark": utf16(&format!("\u{FEFF}{plain}"), u16::to_le_bytes) => "json.invalid_utf8";
        "TH-009 UTF-16, little": utf16(&plain, u16::to_le_bytes) => "json.syntax";
        "TH-009 UTF-16, big": utf16(&plain, u16::to_be_bytes) => "json.syntax";
        "TH-009 UTF-32": plain.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>() => "json.syntax";
        "half a pair in a name": call(r#"{"name":"wipe\ud800"}"#) => "message.lone_surrogate";
        "half a pair in a method": request(r"tools/call\udc00", r#"{"name":"wipe"}"#) => "message.lone_surrogate";
        "half a pair in a key": wipe(r#","x\udc00":1"#) => "json.lone_surrogate_in_key";
        "half a pair in an argument's key": wipe(r#","arguments":{"\ud83d":1}"#) => "json.lone_surrogate_in_key";
        "half a pair in a value": wipe_with(r#""\ud800""#) => "1: tool wipe(a=lone)";
        "a pair": wipe_with(r#""\ud83d\ude00""#) => r#"1: tool wipe(a="😀")"#;
        "invalid byte": bytes(before, b"\xFF", after) => "json.invalid_utf8";
        "overlong letter": bytes(before, b"\xC1\xA4", after) => "json.invalid_utf8";
        "surrogates as bytes": bytes(before, b"\xED\xA0\xBD\xED\xB8\x80", after) => "json.invalid_utf8";
        "truncated sequence": bytes(before, b"\xE2\x82", after) => "json.invalid_utf8";
        "NaN": wipe_with("NaN") => "json.not_a_number";
        "-Infinity": wipe_with("-Infinity") => "json.not_a_number";
        "NaN as an id": wipe_as("NaN") => "json.not_a_number";
        "letter behind": format!("{plain}x") => "json.trailing_data";
        "NUL behind": format!("{plain}\0") => "json.trailing_data";
        "TH-022 second value": format!("{plain}{}", one(r#""method":"ping""#)) => "json.trailing_data";
        "TH-022 first value harmless": format!("{}{plain}", one(r#""method":"ping""#)) => "json.trailing_data";
        "TH-023 second line": format!("{plain}\n{plain}") => "json.trailing_data";
        "comma at the end": one(&format!("{WIPE},")) => "json.syntax";
        "comment": one(&format!("/* */{WIPE}")) => "json.syntax";
        "single quotes": "{'jsonrpc':'2.0','id':1,'method':'ping'}" => "json.syntax";
        "name without quotes": one(r#"method:"ping""#) => "json.syntax";
        "end is missing": plain[..plain.len() - 1].to_owned() => "json.truncated";
        "form feed before": format!("\x0C{plain}") => "json.syntax";
        "vertical tab before": format!("\x0B{plain}") => "json.syntax";
        "no-break space before": format!("\u{A0}{plain}") => "json.syntax";
        "legal white space": format!(" \r\n\t{}\r\n ", plain.replace(':', "\r\n:\t")) => "1: tool wipe";
        "line feed in a string": wipe_with("\"x\ny\"") => "json.syntax";
        "tab in a string": wipe_with("\"x\ty\"") => "json.syntax";
        "NUL in a string": wipe_with("\"x\0y\"") => "json.syntax";
        "DEL in a string": wipe_with("\"x\x7Fy\"") => r#"1: tool wipe(a="x\u{7f}y")"#;
        "unknown escape": call(r#"{"name":"w\ipe"}"#) => "json.syntax";
        "hexadecimal escape": call(r#"{"name":"\x77ipe"}"#) => "json.syntax";
        "1e400": wipe_with("1e400") => "json.beyond_f64";
        "5000 digits": wipe_with(&"1".repeat(5000)) => "json.beyond_f64";
        "leading zero in an id": wipe_as("01") => "json.syntax";
        "plus": wipe_as("+1") => "json.syntax";
        "point first": wipe_with(".5") => "json.syntax";
        "point last": wipe_with("5.") => "json.syntax";
        "64 arrays": nested(64) => Box::leak(format!("1: tool wipe(a={}{})", "[".repeat(64), "]".repeat(64)).into());
        "125 arrays in three objects": nested(125) => "json.too_deep";
        "TH-026 1000 arrays": nested(1000) => "json.too_deep";
        "TH-026 100,000 arrays": nested(100_000) => "json.too_deep";
        "TH-026 arrays outside": "[".repeat(40_000) => "json.too_deep";
        "TH-026 objects outside": r#"{"a":"#.repeat(40_000) => "json.too_deep";
    }
}

/// Ids, envelopes and forms.
fn envelopes() -> Vec<Row> {
    let reply = |rest: &str| format!(r#"{{"jsonrpc":"2.0",{rest}}}"#);
    rows! {
        "TH-024 2^53+1": wipe_as("9007199254740993") => "9007199254740993: tool wipe";
        "i64::MIN": wipe_as("-9223372036854775808") => "-9223372036854775808: tool wipe";
        "2^63": wipe_as("9223372036854775808") => "9223372036854775808: tool wipe";
        "u64::MAX": wipe_as("18446744073709551615") => "18446744073709551615: tool wipe";
        "-0": wipe_as("-0") => "-0: tool wipe";
        "2^64": wipe_as("18446744073709551616") => "message.id_out_of_range";
        "below i64::MIN": wipe_as("-9223372036854775809") => "message.id_out_of_range";
        "TH-024 1.0": wipe_as("1.0") => "message.id_fraction";
        "TH-024 1e0": wipe_as("1e0") => "message.id_fraction";
        "TH-024 1.5": wipe_as("1.5") => "message.id_fraction";
        "TH-024 1e300": wipe_as("1e300") => "message.id_fraction";
        "TH-024 1e400": wipe_as("1e400") => "json.beyond_f64";
        "TH-041 null": wipe_as("null") => "message.id_null";
        "TH-041 true": wipe_as("true") => "message.id_boolean";
        "TH-041 object": wipe_as("{}") => "message.id_object";
        "TH-041 array": wipe_as("[1]") => "message.id_array";
        "half a pair": wipe_as(r#""\ud800""#) => "message.id_lone_surrogate";
        "string": wipe_as(r#""a b\u0063\"""#) => r#""a b\u0063\"": tool wipe"#;
        "empty string": wipe_as(r#""""#) => r#""": tool wipe"#;
        "version missing": format!(r#"{{"id":1,{WIPE}}}"#) => "message.jsonrpc_version";
        "version 1.0": format!(r#"{{"jsonrpc":"1.0","id":1,{WIPE}}}"#) => "message.jsonrpc_version";
        "version as a number": format!(r#"{{"jsonrpc":2.0,"id":1,{WIPE}}}"#) => "message.jsonrpc_version";
        "half a pair in the version": r#"{"jsonrpc":"2.0\ud800","method":"ping"}"# => "message.jsonrpc_version";
        "neither method nor result": one(r#""params":{}"#) => "message.method_missing";
        "method is null": one(r#""method":null"#) => "message.method_not_string";
        "method is an array": one(r#""method":["tools/call"]"#) => "message.method_not_string";
        "empty method": request("", "{}") => "1: method ";
        "TH-046 method with result": one(&format!(r#""result":{{}},{WIPE}"#)) => "message.method_with_result";
        "TH-046 method with error": one(&format!(r#"{WIPE},"error":{{}}"#)) => "message.method_with_result";
        "TH-046 method with null as a result": one(&format!(r#"{WIPE},"result":null"#)) => "message.method_with_result";
        "TH-045 result": one(r#""result":{}"#) => "1: reply";
        "TH-045 null as a result": one(r#""result":null"#) => "1: reply";
        "TH-046 error": one(r#""error":{"code":-1,"message":"declined"}"#) => "1: reply";
        "TH-046 answer to an elicitation": one(r#""result":{"action":"accept","content":{"name":"wipe","Name":"x"}}"#)
            => "1: reply";
        "TH-047 result with error": one(r#""result":{},"error":{}"#) => "message.result_with_error";
        "1000 members": format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{}}}"#, many(997)) => "1: plumbing ping";
        "1001 members": format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{}}}"#, many(998)) => "message.too_many_members";
        "1001 members of params": request("ping", &format!(r#"{{"x":1{}}}"#, many(1000))) => "message.too_many_members";
        "1001 members of _meta": request("ping", &format!(r#"{{"_meta":{{"x":1{}}}}}"#, many(1000)))
            => "message.too_many_members";
        "result with params": reply(r#""id":1,"result":{},"params":{}"#) => "message.reply_with_params";
        "result with positional params": reply(r#""id":1,"result":{},"params":[]"#) => "message.reply_with_params";
        "result without id": reply(r#""result":{}"#) => "message.reply_without_id";
        "error with id null": reply(r#""id":null,"error":{}"#) => "message.id_null";
        "result with id 1.0": reply(r#""id":1.0,"result":{}"#) => "message.id_fraction";
        "scalar": "7" => "message.not_an_object";
        "string with a call in it": r#""{\"method\":\"tools/call\"}""# => "message.not_an_object";
        "null": "null" => "message.not_an_object";
        "params as an array": call(r#"["wipe",{}]"#) => "message.positional_params";
        "params as a string": call(r#""{\"name\":\"wipe\"}""#) => "message.params_not_structured";
        "params as a number": call("1") => "message.params_not_structured";
        "_meta as an array": wipe(r#","_meta":[]"#) => "message.meta_not_object";
        "_meta as a string": wipe(r#","_meta":"2026-07-28""#) => "message.meta_not_object";
        "_meta null": wipe(r#","_meta":null"#) => "1: tool wipe";
        "version in _meta as a number": wipe_in("20260728") => "message.version_not_string";
        "version in _meta as null": wipe_in("null") => "message.version_not_string";
        "half a pair in the version in _meta": wipe_in(r#""\ud800""#) => "message.version_not_string";
    }
}

/// What MCP's methods need.
fn methods() -> Vec<Row> {
    rows! {
        "AA-62 call without params": one(r#""method":"tools/call""#) => "message.name_missing";
        "AA-62 call with null as params": call("null") => "message.name_missing";
        "call without a name": call(r#"{"arguments":{"name":"wipe"}}"#) => "message.name_missing";
        "name in _meta only": call(r#"{"_meta":{"name":"wipe"}}"#) => "message.name_missing";
        "name as an array": call(r#"{"name":["wipe"]}"#) => "message.name_not_string";
        "name as null": call(r#"{"name":null}"#) => "message.name_not_string";
        "empty name": call(r#"{"name":""}"#) => "message.name_empty";
        "name with spaces": call(r#"{"name":" wipe "}"#) => "1: tool  wipe ";
        "arguments absent": wipe("") => "1: tool wipe";
        "arguments null": wipe(r#","arguments":null"#) => "1: tool wipe";
        "arguments empty": wipe(r#","arguments":{}"#) => "1: tool wipe()";
        "arguments as an array": wipe(r#","arguments":["x"]"#) => "message.arguments_not_object";
        "arguments as a string": wipe(r#","arguments":"{\"a\":1}""#) => "message.arguments_not_object";
        "arguments as false": wipe(r#","arguments":false"#) => "message.arguments_not_object";
        "arguments within arguments": wipe(r#","arguments":{"arguments":{"b":1},"name":"look","_meta":{}}"#)
            => r#"1: tool wipe(arguments={"b":1} name="look" _meta={})"#;
        "_meta after arguments": wipe(r#","arguments":{"a":1},"_meta":{"b":2},"task":{"ttl":1}"#)
            => "1: tool wipe(a=1)";
        "_meta before name": call(r#"{"_meta":{"b":2},"arguments":{"a":"x","b":[1, 2]},"name":"wipe"}"#)
            => r#"1: tool wipe(a="x" b=[1, 2])"#;
        "AA-67 members of a retry": wipe(r#","inputResponses":{"a":{}},"requestState":"s""#) => "1: tool wipe";
        "AA-64 call as a notification": notification("tools/call", r#"{"name":"wipe"}"#) => "message.call_without_id";
        "TH-044 read as a notification": notification("resources/read", r#"{"uri":"u"}"#) => "message.call_without_id";
        "ping as a notification": notification("ping", "{}") => "message.call_without_id";
        "unknown method as a notification": notification("x/y", "{}") => "message.call_without_id";
        "TH-042 with an id": request("notifications/initialized", "{}") => "message.notification_with_id";
        "TH-042 unknown, with an id": request("notifications/x", "{}") => "message.notification_with_id";
        "TH-042 misnamed call": request("notifications/../tools/call", r#"{"name":"wipe"}"#)
            => "message.notification_with_id";
        "TH-042 the same without an id": notification("notifications/../tools/call", r#"{"name":"wipe"}"#)
            => "-: method notifications/../tools/call";
        "TH-043 unknown notification": notification("notifications/x", "{}") => "-: method notifications/x";
        "notification by an escaped name": notification(r"\u006eotifications\/cancelled", "{}")
            => "-: plumbing notifications/cancelled";
        "a server's, with an id": request("notifications/message", "{}") => "message.notification_with_id";
        "unknown method": request("tools/callx", r#"{"name":"wipe"}"#) => "1: method tools/callx";
        "prompt": request("prompts/get", r#"{"name":"p","arguments":{"a":"b"}}"#) => "1: prompt p";
        "prompt as a number": request("prompts/get", r#"{"name":1}"#) => "message.name_not_string";
        "prompt, arguments as an array": request("prompts/get", r#"{"arguments":[]}"#)
            => "message.arguments_not_object";
        "resource": request("resources/read", r#"{"uri":"file:///a\u002fb","name":"x"}"#) => "1: resource file:///a/b";
        "resource by name": request("resources/read", r#"{"name":"u"}"#) => "message.name_missing";
        "resource as an object": request("resources/subscribe", r#"{"uri":{}}"#) => "message.name_not_string";
        "empty resource": request("resources/unsubscribe", r#"{"uri":""}"#) => "message.name_empty";
        "half a pair in a uri": request("resources/read", r#"{"uri":"file:\ud83d"}"#) => "message.lone_surrogate";
        "task": request("tasks/result", r#"{"taskId":"t"}"#) => "1: task t of tasks/result";
        "task as a number": request("tasks/get", r#"{"taskId":1}"#) => "message.name_not_string";
        "completion of a prompt": complete(r#"{"type":"ref/prompt","name":"p","uri":"u"}"#) => "1: prompt p";
        "completion of a resource": complete(r#"{"uri":"u","name":"p","type":"ref\/resource"}"#) => "1: resource u";
        "completion by escaped names": complete(r#"{"\u0074ype":"ref/prompt","n\u0061me":"\u0070"}"#) => "1: prompt p";
        "completion without ref": request("completion/complete", r#"{"name":"p"}"#) => "message.reference_unknown";
        "ref as a string": complete(r#""ref/prompt""#) => "message.reference_unknown";
        "ref as an array": complete(r#"["ref/prompt","p"]"#) => "message.reference_unknown";
        "ref without a type": complete(r#"{"name":"p"}"#) => "message.reference_unknown";
        "ref of another type": complete(r#"{"type":"ref/tool","name":"p"}"#) => "message.reference_unknown";
        "ref with half a pair as a type": complete(r#"{"type":"\ud800","name":"p"}"#) => "message.reference_unknown";
        "ref without the name of its type": complete(r#"{"type":"ref/prompt","uri":"u"}"#) => "message.name_missing";
        "ref with an empty uri": complete(r#"{"type":"ref/resource","uri":""}"#) => "message.name_empty";
        "half a pair in a ref": complete(r#"{"type":"ref/prompt","name":"\ud800"}"#) => "message.lone_surrogate";
        "subscription":
            listen(r#"{"resourceSubscriptions":["a","\u0062"],"toolsListChanged":true,"taskIds":["t","u"]}"#)
                => "1: resource a, resource b, task t of subscriptions/listen, task u of subscriptions/listen";
        "subscription to lists":
            listen(r#"{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":false}"#)
                => "1: plumbing subscriptions/listen";
        "subscription to nothing": listen("{}") => "1: plumbing subscriptions/listen";
        "subscription to no resource": listen(r#"{"resourceSubscriptions":[]}"#) => "1: plumbing subscriptions/listen";
        "unknown filter beside a uri": listen(r#"{"resourceSubscriptions":["secret:x"],"x":1}"#)
            => "1: resource secret:x, method subscriptions/listen";
        "unknown filter beside a malformed one": listen(r#"{"x":1,"resourceSubscriptions":7}"#)
            => "message.subscription_malformed";
        "101 uris": listen(&format!(r#"{{"resourceSubscriptions":[{}"a:b"]}}"#, r#""a:b","#.repeat(100)))
            => "message.too_many_targets";
        "100 uris and a task": listen(&format!(r#"{{"resourceSubscriptions":[{}"a:b"],"taskIds":["t"]}}"#, r#""a:b","#.repeat(99)))
            => "message.too_many_targets";
        "unknown filter": listen(r#"{"logs":true}"#) => "1: method subscriptions/listen";
        "subscription without filters": request("subscriptions/listen", "{}") => "message.subscription_malformed";
        "filters as an array": listen(r#"["a"]"#) => "message.subscription_malformed";
        "filters as null": listen("null") => "message.subscription_malformed";
        "uris as a string": listen(r#"{"resourceSubscriptions":"a"}"#) => "message.subscription_malformed";
        "uri as a number": listen(r#"{"resourceSubscriptions":["a",1]}"#) => "message.name_not_string";
        "uri as an array": listen(r#"{"resourceSubscriptions":[["a"]]}"#) => "message.name_not_string";
        "task ids as null": listen(r#"{"taskIds":null}"#) => "message.subscription_malformed";
    }
}

/// Batches, without headers.
fn batches() -> Vec<Row> {
    let two = |one: &str, other: &str| batch(&[wipe_as(one), wipe_as(other)]);
    let result = |id: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned();
    let initialize = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#.to_owned();
    rows! {
        "TH-035 one element": batch(&[wipe("")]) => "1: tool wipe";
        "TH-034 two elements": batch(&[ping.clone(), wipe_with("1")]) => "7: plumbing ping + 1: tool wipe(a=1)";
        "TH-034 white space": format!("\r\n\t [ {ping} , {} ] \n", wipe("")) => "7: plumbing ping + 1: tool wipe";
        "arguments of one": batch(&[wipe_as("2"), wipe_with("1"), wipe_as("3")])
            => "2: tool wipe + 1: tool wipe(a=1) + 3: tool wipe";
        "notifications beside requests":
            batch(&[notification("notifications/x", "{}"), ping.clone(), notification("notifications/cancelled", "{}")])
                => "-: method notifications/x + 7: plumbing ping + -: plumbing notifications/cancelled";
        "answers": batch(&[result(1), result(2)]) => "1: reply + 2: reply";
        "TH-039 empty": "[]" => "message.batch_empty";
        "TH-039 nested": format!("[[{ping}]]") => "message.not_an_object";
        "TH-039 number": format!("[{ping},7]") => "message.not_an_object";
        "TH-039 null": format!("[{ping},null]") => "message.not_an_object";
        "TH-039 string": format!(r#"["ping",{ping}]"#) => "message.not_an_object";
        "an envelope as an array": r#"["2.0",1,"tools/call",{"name":"wipe"}]"# => "message.not_an_object";
        "one bad element": batch(&[ping.clone(), wipe_as("null")]) => "message.id_null";
        "one element without an id": batch(&[ping.clone(), notification("tools/call", r#"{"name":"wipe"}"#)])
            => "message.batch_call_without_id";
        "a name folded in one element": batch(&[ping.clone(), call(r#"{"name":"look","NAME":"wipe"}"#)]) => FOLDED;
        "comma at the end": format!("[{ping},]") => "json.syntax";
        "end is missing": format!("[{ping}") => "json.truncated";
        "second batch": format!("[{ping}][{}]", wipe("")) => "json.trailing_data";
        "TH-037 initialize and a call": batch(&[initialize.clone(), wipe("")]) => "message.batch_initialize";
        "TH-037 initialize last": batch(&[wipe(""), initialize.replace("initialize", r"initi\u0061lize")])
            => "message.batch_initialize";
        "a request after answers": batch(&[result(1), result(2), ping.clone()]) => "message.batch_mixed";
        "answers and a notification": batch(&[result(1), notification("notifications/x", "{}")])
            => "message.batch_mixed";
        "claim of 2025-03-26": batch(&[wipe_in(r#""2025-03-26""#), ping.clone()]) => "1: tool wipe + 7: plumbing ping";
        "claim of 2025-06-18": batch(&[wipe_in(r#""2025-06-18""#), ping.clone()]) => "message.batch_not_allowed";
        "claim of 2026-07-28": batch(&[ping.clone(), wipe_in(r#""2026-07-28""#)]) => "message.batch_not_allowed";
        "claim of no date": batch(&[ping.clone(), wipe_in(r#""2025-03-26 ""#)]) => "message.batch_not_allowed";
        "claim as a number": batch(&[ping, wipe_in("1")]) => "message.version_not_string";
        "same integers": two("1", "1") => "message.duplicate_id";
        "TH-049 integer and string": two("1", r#""1""#) => r#"1: tool wipe + "1": tool wipe"#;
        "same strings, one escaped": two(r#""a""#, r#""\u0061""#) => "message.duplicate_id";
        "same strings, escaped in two ways": two(r#""\/\u0022""#, r#""\u002f\"""#) => "message.duplicate_id";
        "an escaped backslash": two(r#""\\u0061""#, r#""\u0061""#) => r#""\\u0061": tool wipe + "\u0061": tool wipe"#;
        "zero and its negative": two("0", "-0") => "message.duplicate_id";
        "zero and a string": two("-0", r#""-0""#) => r#"-0: tool wipe + "-0": tool wipe"#;
        "answers with one id": batch(&[result(1), result(1)]) => "message.duplicate_id";
        "TH-038 101 elements": pings(101) => "message.batch_too_long";
        "TH-038 10,000 elements": pings(10_000) => "message.batch_too_long";
    }
}

/// Plain JSON-RPC.
fn plain_rows() -> Vec<Row> {
    let p = |method: &str, params: &str| request(method, params);
    rows! {
        "method is the tool": p("wipe", r#"{"a":"x","b":2}"#) => r#"1: tool wipe(a="x" b=2)"#;
        "no params": one(r#""method":"wipe""#) => "1: tool wipe";
        "null as params": p("wipe", "null") => "1: tool wipe";
        "empty params": p("wipe", "{}") => "1: tool wipe()";
        "positional params": p("wipe", r#"[1,"x"]"#) => "1: tool wipe[..]";
        "params as a string": p("wipe", r#""x""#) => "message.params_not_structured";
        "notification": notification("wipe", r#"{"a":1}"#) => "-: tool wipe(a=1)";
        "named like a notification of MCP": p("notifications/x", "{}") => "1: tool notifications/x()";
        "named like a call of MCP": call(r#"{"name":"wipe","arguments":{"a":1}}"#)
            => r#"1: tool tools/call(name="wipe" arguments={"a":1})"#;
        "names that MCP refuses": p("m", r#"{"name":1,"Name":2,"name\u0000":3,"_META":4,"_meta":5,"arguments":[]}"#)
            => r"1: tool m(name=1 Name=2 name\0=3 _META=4 _meta=5 arguments=[])";
        "a claim of MCP means nothing": p("m", r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}"#)
            => r#"1: tool m(_meta={"io.modelcontextprotocol/protocolVersion":1})"#;
        "escaped method": p(r"w\u0069pe\n", "{}") => r"1: tool wipe\n()";
        "empty method": p("", "{}") => "message.name_empty";
        "half a pair in a method": p(r"\ud800", "{}") => "message.lone_surrogate";
        "TH-002 METHOD": one(r#""method":"look","METHOD":"wipe""#) => FOLDED;
        "TH-003 in the envelope": one(r#""method":"look","method\u0000":"wipe""#) => CONTROL;
        "argument twice": p("m", r#"{"a":1,"\u0061":2}"#) => TWICE;
        "result": one(r#""result":1"#) => "message.method_missing";
        "method with result": one(r#""method":"m","result":1"#) => "message.method_with_result";
        "id null": r#"{"jsonrpc":"2.0","id":null,"method":"m"}"# => "message.id_null";
        "batch": batch(&[p("a", "[1]"), notification("b", r#"{"c":2}"#)]) => "1: tool a[..] + -: tool b(c=2)";
        "batch with initialize": batch(&[p("initialize", "{}"), notification("b", "{}")])
            => "1: tool initialize() + -: tool b()";
        "batch of one id": batch(&[p("a", "{}"), p("b", "{}")]) => "message.duplicate_id";
        "empty batch": "[]" => "message.batch_empty";
        "batch with an answer": batch(&[p("a", "{}"), one(r#""result":1"#)]) => "message.method_missing";
        "nested batch": "[[]]" => "message.not_an_object";
        "101 elements": pings(101) => "message.batch_too_long";
    }
}

fn mcp_rows() -> Vec<Row> {
    [names(), texts(), envelopes(), methods(), batches()].into_iter().flatten().collect()
}

#[test]
fn decision_2_names_are_read_in_one_way_or_not_at_all() {
    check(&names(), &Mcp);
}

#[test]
fn decision_2_no_reserved_name_is_folded() {
    let envelope = "error id jsonrpc method params result";
    let params = "_meta argument arguments capabilities clientInfo context cursor inputResponses level name \
        notifications progress progressToken protocolVersion reason ref requestId requestState status task taskId uri";
    let meta = "progressToken io.modelcontextprotocol/clientCapabilities io.modelcontextprotocol/clientInfo \
        io.modelcontextprotocol/protocolVersion";
    is_not_folded(envelope, |key| one(&format!(r#""method":"ping","{key}":1"#)));
    is_not_folded(params, |key| request("ping", &format!(r#"{{"{key}":1}}"#)));
    is_not_folded(meta, |key| request("ping", &format!(r#"{{"_meta":{{"{key}":1}}}}"#)));
}

fn is_not_folded(names: &str, body: impl Fn(&str) -> String) {
    for name in names.split_whitespace() {
        assert_eq!(mcp(body(&name.to_uppercase())), FOLDED, "{name}");
        assert_eq!(mcp(body(&format!(r"{name}\u0000"))), CONTROL, "{name}");
    }
}

#[test]
fn decision_2_texts_are_read_in_one_way_or_not_at_all() {
    check(&texts(), &Mcp);
}

#[test]
fn decision_2_envelopes_are_exact() {
    check(&envelopes(), &Mcp);
}

#[test]
fn decision_6_methods_of_mcp_name_what_they_ask_for() {
    check(&methods(), &Mcp);
}

#[test]
fn decision_4_batches_are_read_like_single_messages() {
    check(&batches(), &Mcp);
    let (one, other) = (inspect(pings(100).as_bytes(), &Mcp, &[]), inspect(pings(100).as_bytes(), &PlainJsonRpc, &[]));
    assert_eq!((one.unwrap().messages().len(), other.unwrap().messages().len()), (100, 100));
}

#[test]
fn decision_2_plain_methods_are_tools() {
    check(&plain_rows(), &PlainJsonRpc);
}

#[test]
fn decision_2_every_fault_of_a_text_or_envelope_is_one_of_a_batch_element_too() {
    let single = |row: &&Row| row.body.first() == Some(&b'{') && !row.body.contains(&b'\0');
    for row in [names(), envelopes(), methods()].iter().flatten().filter(single) {
        let expected = if is_refusal(row.expected) {
            row.expected.to_owned()
        } else {
            format!("{} + \"other\": plumbing ping", row.expected)
        };
        let replies = row.expected.ends_with("reply");
        let body = bytes("[", &row.body, r#",{"jsonrpc":"2.0","id":"other","method":"ping"}]"#);
        let expected = if replies { "message.batch_mixed".to_owned() } else { expected };
        let expected = expected.replace("message.call_without_id", "message.batch_call_without_id");
        assert_eq!(mcp(&body), expected, "{}", row.name);
    }
}

type Header = (&'static str, &'static str);

/// A case, its headers, its body, and what is read from both.
fn header_rows() -> Vec<(&'static str, Vec<Header>, String, &'static str)> {
    const VERSION: Header = ("mcp-protocol-version", "2026-07-28");
    const CALL: Header = ("mcp-method", "tools/call");
    const NAME: Header = ("mcp-name", "wipe");
    let now = || wipe_in(r#""2026-07-28""#);
    let tool = |name: &str| call(&format!(r#"{{"name":"{name}"}}"#));
    let initialize = || request("initialize", r#"{"protocolVersion":"2025-11-25"}"#);
    let cancelled = || notification("notifications/cancelled", r#"{"requestId":1}"#);
    let read = |params| request("resources/read", params);
    let list = || request("tools/list", "{}");
    let two = || batch(&[wipe(""), cancelled()]);
    let reply = || one(r#""result":{}"#);
    let version = |value| ("mcp-protocol-version", value);
    let method = |value| ("mcp-method", value);
    let name = |value| ("mcp-name", value);
    let bad_version = "header.contradicts mcp-protocol-version";
    let bad_method = "header.contradicts mcp-method";
    let bad_name = "header.contradicts mcp-name";
    header_rows! {
        "no headers": [], wipe("") => "Legacy 1: tool wipe";
        "all headers": [VERSION, CALL, NAME], now() => "Modern 1: tool wipe";
        "no claim": [VERSION, CALL, NAME], wipe("") => "Modern 1: tool wipe";
        "names in another case": [VERSION, ("MCP-METHOD", "tools/call"), ("Mcp-NAME", "wipe")], now()
            => "Modern 1: tool wipe";
        "version missing": [CALL, NAME], now() => "header.missing mcp-protocol-version";
        "version missing, future claim": [CALL, NAME], wipe_in(r#""2031-01-01""#)
            => "header.missing mcp-protocol-version";
        "version missing, old claim": [], wipe_in(r#""2025-11-25""#) => "Legacy 1: tool wipe";
        "version contradicts": [version("2025-11-25"), CALL, NAME], now() => bad_version;
        "version contradicts an old claim": [VERSION, CALL, NAME], wipe_in(r#""2025-11-25""#) => bad_version;
        "version in outer blanks": [version(" 2026-07-28\t"), CALL, NAME], now() => "Modern 1: tool wipe";
        "version as a list": [version("2026-07-28, 2026-07-28"), CALL, NAME], now() => bad_version;
        "version in base64": [version("=?base64?MjAyNi0wNy0yOA==?="), CALL, NAME], now() => bad_version;
        "unknown version": [version("2031-01-01"), CALL, NAME], wipe_in(r#""2031-01-01""#) => "Modern 1: tool wipe";
        "no date": [version("latest"), CALL, NAME], wipe("") => "Modern 1: tool wipe";
        "no date, without a method": [version("latest")], wipe("") => "header.missing mcp-method";
        "no date of ten bytes": [version("2025-03-2x")], wipe("") => "header.missing mcp-method";
        "list without a claim": [version("2025-03-26, 2025-11-25")], wipe("") => "header.missing mcp-method";
        "empty version": [version("")], wipe("") => "header.missing mcp-method";
        "version in other bytes": [version("2026-07-28é"), CALL, NAME], now()
            => "header.undecodable mcp-protocol-version";
        "old version needs no other": [version("2025-11-25")], wipe("") => "Legacy 1: tool wipe";
        "TH-028 version twice": [VERSION, VERSION, CALL, NAME], now() => "header.repeated mcp-protocol-version";
        "method missing": [VERSION, NAME], now() => "header.missing mcp-method";
        "TH-030 method contradicts": [VERSION, method("tools/list"), NAME], now() => bad_method;
        "TH-030 in the old era as well": [method("tools/list")], wipe("") => bad_method;
        "method agrees in the old era": [CALL], wipe("") => "Legacy 1: tool wipe";
        "method in another case": [VERSION, method("Tools/Call"), NAME], now() => bad_method;
        "method in outer blanks": [VERSION, method("\t tools/call "), NAME], now() => "Modern 1: tool wipe";
        "TH-028 method as a list": [VERSION, method("tools/call, tools/call"), NAME], now() => bad_method;
        "method in base64": [VERSION, method("=?base64?dG9vbHMvY2FsbA==?="), NAME], now() => bad_method;
        "empty method": [VERSION, method(""), NAME], now() => bad_method;
        "method in other bytes": [VERSION, method("tools/cäll"), NAME], now() => "header.undecodable mcp-method";
        "TH-028 two methods": [VERSION, method("tools/list"), CALL, NAME], now() => "header.repeated mcp-method";
        "TH-028 one method twice": [VERSION, CALL, CALL, NAME], now() => "header.repeated mcp-method";
        "TH-029 initialize contradicts": [CALL], initialize() => bad_method;
        "TH-029 initialize contradicts by name": [NAME], initialize() => bad_name;
        "TH-029 initialize without headers": [], initialize() => "Legacy 1: plumbing initialize";
        "name missing": [VERSION, CALL], now() => "header.missing mcp-name";
        "TH-027 AA-68 name contradicts": [VERSION, CALL, name("look")], now() => bad_name;
        "TH-027 in the old era as well": [name("look")], wipe("") => bad_name;
        "TH-027 name is that of an argument": [CALL, name("x")], wipe(r#","arguments":{"name":"x"}"#) => bad_name;
        "TH-027 name is the uri of a call": [CALL, name("x")], wipe(r#","uri":"x""#) => bad_name;
        "name in another case": [VERSION, CALL, name("Wipe")], now() => bad_name;
        "name in outer blanks": [VERSION, CALL, name(" \twipe ")], now() => "Modern 1: tool wipe";
        "name of the body in outer blanks": [CALL, name(" wipe ")], tool(" wipe ") => bad_name;
        "the same in base64": [CALL, name("=?base64?IHdpcGUg?=")], tool(" wipe ") => "Legacy 1: tool  wipe ";
        "TH-028 name as a list": [VERSION, CALL, name("wipe,wipe")], now() => bad_name;
        "TH-028 two names": [VERSION, CALL, NAME, name("look")], now() => "header.repeated mcp-name";
        "name in base64": [VERSION, CALL, name("=?base64?d2lwZQ==?=")], now() => "Modern 1: tool wipe";
        "another name in base64": [VERSION, CALL, name("=?base64?bG9vaw==?=")], now() => bad_name;
        "base64 without padding": [VERSION, CALL, name("=?base64?d2lwZQ?=")], now() => bad_name;
        "base64 with other last bits": [VERSION, CALL, name("=?base64?d2lwZR==?=")], now() => bad_name;
        "base64 by another name": [VERSION, CALL, name("=?BASE64?d2lwZQ==?=")], now() => bad_name;
        "a name that looks like base64": [CALL, name("=?base64?d2lwZQ==?=")], tool("=?base64?d2lwZQ==?=") => bad_name;
        "a name beyond ASCII in base64": [CALL, name("=?base64?w6k=?=")], tool(r"\u00e9") => "Legacy 1: tool é";
        "a name beyond ASCII as it is": [CALL, name("é")], tool("é") => "header.undecodable mcp-name";
        "an escaped name": [VERSION, CALL, NAME], tool(r"w\u0069pe") => "Modern 1: tool wipe";
        "uri": [VERSION, method("resources/read"), name("a:b")], read(r#"{"uri":"a:b"}"#) => "Modern 1: resource a:b";
        "uri missing": [VERSION, method("resources/read")], read(r#"{"uri":"a:b"}"#) => "header.missing mcp-name";
        "name instead of the uri": [VERSION, method("resources/read"), name("n")], read(r#"{"name":"n","uri":"a:b"}"#)
            => bad_name;
        "task": [VERSION, method("tasks/get"), name("t")], request("tasks/get", r#"{"taskId":"t"}"#)
            => "Modern 1: task t of tasks/get";
        "name instead of the task":
            [VERSION, method("tasks/get"), NAME], request("tasks/get", r#"{"taskId":"t","name":"wipe"}"#) => bad_name;
        "name where none is mirrored": [VERSION, method("tools/list"), NAME], list() => bad_name;
        "no name where none is mirrored": [VERSION, method("tools/list")], list() => "Modern 1: plumbing tools/list";
        "notification with the version only": [VERSION], cancelled() => "Modern -: plumbing notifications/cancelled";
        "notification contradicts": [VERSION, CALL], cancelled() => bad_method;
        "batch": [version("2025-03-26")], two() => "Legacy 1: tool wipe + -: plumbing notifications/cancelled";
        "batch of 2024-11-05": [version("2024-11-05")], two()
            => "Legacy 1: tool wipe + -: plumbing notifications/cancelled";
        "batch of 2025-06-18": [version("2025-06-18")], two() => "message.batch_not_allowed";
        "batch of no date": [version("x")], two() => "message.batch_not_allowed";
        "batch of a list": [version("2025-03-26, 2025-03-26")], two() => "message.batch_not_allowed";
        "batch of other bytes": [version("2025-03-26é")], two() => "header.undecodable mcp-protocol-version";
        "other bytes and no claim": [version("2025-11-25é")], request("ping", "{}") => "header.undecodable mcp-protocol-version";
        "batch of one with its method": [CALL], batch(&[wipe("")]) => bad_method;
        "an element that claims another revision": [version("2025-03-26")],
            batch(&[wipe_in(r#""2024-11-05""#), r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#.to_owned()]) => bad_version;
        "name beside the uri that is judged": [("mcp-name", "public")],
            request("resources/subscribe", r#"{"uri":"secret:x","name":"public"}"#) => bad_name;
        "the uri that is judged": [("mcp-name", "secret:x")],
            request("resources/subscribe", r#"{"uri":"secret:x","name":"public"}"#) => "Legacy 1: resource secret:x";
        "a method that the revision no longer has": [VERSION, ("mcp-method", "resources/subscribe")],
            request("resources/subscribe", &format!(r#"{{"uri":"a:b",{META}}}"#)) => "Modern 1: method resources/subscribe, resource a:b";
        "a method that the revision no longer has, without its uri": [VERSION, ("mcp-method", "resources/subscribe")],
            request("resources/subscribe", &format!("{{{META}}}")) => "Modern 1: method resources/subscribe";
        "plumbing that the revision no longer has": [VERSION, ("mcp-method", "ping")],
            request("ping", &format!("{{{META}}}")) => "Modern 1: plumbing ping";
        "batch of one, newer": [version("2025-06-18")], batch(&[wipe("")]) => "message.batch_not_allowed";
        "empty batch, newer": [VERSION], "[]".to_owned() => "message.batch_not_allowed";
        "a method for a batch": [CALL], two() => bad_method;
        "a name for a batch": [NAME], two() => bad_name;
        "TH-045 answer": [version("2025-11-25")], reply() => "Legacy 1: reply";
        "answer in the modern era": [VERSION], reply() => "message.reply_in_modern_era";
        "answer with a method": [CALL], reply() => bad_method;
        "one parameter": [VERSION, CALL, NAME, ("mcp-param-zone", "a, b")], now() => "Modern 1: tool wipe";
        "TH-028 a parameter twice": [("Mcp-Param-Region", "eu"), ("mcp-param-region", "us")], now()
            => "header.repeated mcp-param-";
    }
}

#[test]
fn decision_2_headers_say_what_the_body_says() {
    for (name, headers, body, expected) in header_rows() {
        let era = |inspection: &Inspection| format!("{:?} {}", inspection.era(), said(inspection));
        let actual =
            inspect(body.as_bytes(), &Mcp, &headers).map_or_else(|reason| reason, |inspection| era(&inspection));
        assert_eq!(actual, expected, "{name}");
    }
}

#[test]
fn headers_mean_nothing_to_plain_json_rpc() {
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "other"), ("mcp-name", "other")];
    let inspection = inspect(batch(&[wipe("")]).as_bytes(), &PlainJsonRpc, &headers).unwrap();
    assert_eq!(inspection.era(), Era::Legacy);
    assert_eq!(said(&inspection), r#"1: tool tools/call(name="wipe")"#);
}

#[test]
fn every_fault_has_a_case() {
    let mut cases: Vec<&str> = mcp_rows().iter().chain(&plain_rows()).map(|row| row.expected).collect();
    cases.extend(header_rows().iter().map(|row| row.3));
    for fault in Fault::ALL {
        assert!(cases.contains(&fault.reason()), "{fault:?}");
    }
    for reason in ["header.contradicts", "header.missing", "header.repeated", "header.undecodable"] {
        for header in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
            assert!(cases.contains(&&*format!("{reason} {header}")), "{reason} {header}");
        }
    }
}

/// Every order of the items.
fn permutations(items: &[&str]) -> Vec<Vec<String>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |at: usize| {
        let (first, mut rest) = (items[at].to_owned(), items.to_vec());
        rest.remove(at);
        permutations(&rest).into_iter().map(move |tail| [vec![first.clone()], tail].concat())
    };
    (0..items.len()).flat_map(with_first).collect()
}

fn objects(members: &[&str]) -> impl Iterator<Item = String> {
    permutations(members).into_iter().map(|members| format!("{{{}}}", members.join(" , ")))
}

#[test]
fn the_order_of_members_changes_nothing() {
    let params = r#""params":{"arguments":{"a":"x"},"name":"wipe"}"#;
    let envelope = [r#""jsonrpc":"2.0""#, r#""id":"i""#, r#""method":"tools/call""#, params, r#""x":{"id":2}"#];
    assert_eq!(objects(&envelope).count(), 120);
    for body in objects(&envelope) {
        assert_eq!(mcp(&body), r#""i": tool wipe(a="x")"#, "{body}");
        assert_eq!(plain(&body), r#""i": tool tools/call(arguments={"a":"x"} name="wipe")"#, "{body}");
    }
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","name":"look"}"#;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "wipe")];
    for params in objects(&[r#""name":"wipe""#, r#""arguments":{"a":"x","name":"look"}"#, meta, r#""task":{"ttl":1}"#])
    {
        let inspection = inspect(call(&params).as_bytes(), &Mcp, &headers).unwrap();
        assert_eq!(said(&inspection), r#"1: tool wipe(a="x" name="look")"#, "{params}");
        assert_eq!(inspection.era(), Era::Modern);
    }
    for body in objects(&[r#""jsonrpc":"2.0""#, r#""id":1"#, r#""result":{}"#, r#""error":1"#]) {
        assert_eq!(mcp(&body), "message.result_with_error", "{body}");
    }
}

/// Proper `params` of a method, and the call that it is judged as.
fn proper(row: &MethodRow) -> (&'static str, String) {
    let method = row.method;
    match row.judged {
        Judged::ByCompletionReference => (r#"{"ref":{"type":"ref/prompt","name":"p"}}"#, "prompt p".to_owned()),
        Judged::ByMethods => (r#"{"name":"n","taskId":"t"}"#, format!("method {method}")),
        Judged::ByPrompt => (r#"{"name":"n"}"#, "prompt n".to_owned()),
        Judged::ByResource => (r#"{"uri":"u"}"#, "resource u".to_owned()),
        Judged::BySubscription => (r#"{"notifications":{"resourceSubscriptions":["u"]}}"#, "resource u".to_owned()),
        Judged::ByTask => (r#"{"taskId":"t"}"#, format!("task t of {method}")),
        Judged::ByTool => (r#"{"name":"n","arguments":{"a":1}}"#, "tool n(a=1)".to_owned()),
        Judged::Plumbing => ("{}", format!("plumbing {method}")),
    }
}

#[test]
fn decision_6_every_method_of_the_table_is_the_call_that_the_table_says() {
    for row in method_table() {
        let (params, expected) = proper(row);
        let (asked, told) = (request(row.method, params), notification(row.method, params));
        let expected = if row.method.starts_with("notifications/") {
            assert_eq!(mcp(&asked), "message.notification_with_id", "{}", row.method);
            assert_eq!(mcp(&told), format!("-: {expected}"));
            continue;
        } else {
            assert_eq!(mcp(&told), "message.call_without_id", "{}", row.method);
            format!("1: {expected}")
        };
        assert_eq!(mcp(&asked), expected);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", row.method)];
        if let Some(member) = row.mirrored {
            assert_eq!(reading(asked.as_bytes(), &Mcp, &headers), "header.missing mcp-name");
            headers.push(("mcp-name", &member[..1]));
        }
        assert_eq!(reading(asked.as_bytes(), &Mcp, &headers), expected);
    }
}

#[test]
fn decision_3_an_inspection_belongs_to_its_bytes() {
    let (body, copy) = (Bytes::from(wipe("")), Bytes::from(wipe("")));
    let inspection = Inspection::read(body.clone(), &Mcp, &Mirror::default()).unwrap();
    assert_eq!(inspection.bytes().as_ptr(), body.as_ptr());
    assert!(inspection.is_of(&body) && inspection.clone().is_of(&body.slice(..)));
    assert!(!inspection.is_of(&copy) && !inspection.is_of(&body.slice(1..)));
    assert!(!inspection.is_of(&body.slice(..body.len() - 1)));
    assert!(!inspection.is_batch());
    assert!(inspect(b"[]", &PlainJsonRpc, &[]).is_err());
    assert!(inspect(batch(&[wipe("")]).as_bytes(), &Mcp, &[]).unwrap().is_batch());
}

#[test]
fn what_is_written_of_an_inspection_holds_no_values() {
    let inspection = inspect(wipe_with(r#""secret""#).as_bytes(), &Mcp, &[]).unwrap();
    let message = inspection.messages().next().unwrap();
    for written in [format!("{inspection:?}"), format!("{message:?}")] {
        assert!(written.contains("wipe") && !written.contains("secret"), "{written}");
    }
}

/// A dialect that asks for whatever it was told.
#[derive(Debug)]
struct Asks(Target);

impl Dialect for Asks {
    fn rules(&self) -> DialectRules {
        DialectRules { batches: Batches::Refuse, ..DialectRules::PLAIN }
    }

    fn target(&self, _: &Message<'_>) -> Result<Target, Fault> {
        Ok(self.0.clone())
    }
}

#[test]
fn several_targets_are_as_many_calls() {
    let tool = |name: &str| Target::Tool { name: name.to_owned().into(), arguments: ToolArguments::Params };
    let body = request("m", r#"{"a":1}"#);
    let asked = |targets: Vec<Target>| reading(body.as_bytes(), &Asks(Target::Several(targets)), &[]);
    assert_eq!(asked(vec![tool("x"), Target::Plumbing, tool("y")]), "1: tool x(a=1), plumbing m, tool y(a=1)");
    assert_eq!(asked(vec![]), "1: method m");
    assert_eq!(asked(vec![Target::Several(vec![Target::Plumbing])]), "1: method m");
    let absent = Asks(Target::Tool { name: "x".to_owned().into(), arguments: ToolArguments::Absent });
    assert_eq!(reading(body.as_bytes(), &absent, &[]), "1: tool x");
    assert_eq!(reading(b"[]", &absent, &[]), "message.batch_not_allowed");
}

/// Refused bodies that are no JSON to anyone, or no object, or have two ids: no id of theirs is believed.
const UNSALVAGED: &[&str] = &[
    "UTF-8 mark",
    "UTF-8 mark after a space",
    "form feed before",
    "vertical tab before",
    "no-break space before",
    "id twice",
];

#[test]
fn the_id_of_a_refused_body_is_found() {
    let (mut by_another_reader, mut broken) = (0, 0);
    for row in mcp_rows().iter().chain(&plain_rows()).filter(|row| is_refusal(row.expected)) {
        let salvaged = IdSalvage::of(&row.body);
        if UNSALVAGED.contains(&row.name) || row.body.first() == Some(&b'[') {
            assert_eq!(salvaged, None, "{}", row.name);
        } else if let Some(expected) = only_id(&row.body) {
            assert_eq!(salvaged, expected, "{}", row.name);
            by_another_reader += 1;
        } else if row.body.trim_ascii().starts_with(br#"{"jsonrpc":"2.0","id":1,"#) {
            assert_eq!(salvaged.as_deref(), Some("1"), "{}", row.name);
            broken += 1;
        }
    }
    assert!(by_another_reader > 80 && broken > 20, "{by_another_reader} {broken}");
}

/// The one valid id of a body that is JSON to another reader.
fn only_id(body: &[u8]) -> Option<Option<String>> {
    struct Members(Vec<(String, Value)>);
    impl<'de> serde::Deserialize<'de> for Members {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Members(Vec::new()))
        }
    }
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Members;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(mut self, mut map: A) -> Result<Members, A::Error> {
            while let Some(member) = map.next_entry()? {
                self.0.push(member);
            }
            Ok(self)
        }
    }
    let Members(members) = serde_json::from_slice(body).ok()?;
    str::from_utf8(body).ok()?;
    let ids: Vec<_> = members.iter().filter(|(name, _)| name == "id").map(|(_, id)| id).collect();
    let valid = |id: &Value| id.is_i64() || id.is_u64() || id.is_string();
    Some(matches!(ids[..], [id] if valid(id)).then(|| ids[0].to_string()))
}

/// Text with quotes, backslashes and control characters more often than chance would have them.
fn arbitrary_text(least: usize) -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec!['"', '\\', '/', '\0', '\n', '\u{7f}', '\u{85}', 'ſ', 'K', '😀', 'a']);
    prop::collection::vec(prop_oneof![special, any::<char>()], least..12).prop_map(|text| text.into_iter().collect())
}

fn arbitrary_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        arbitrary_text(0).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(arbitrary_text(0), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn arbitrary_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        arbitrary_text(0).prop_map(Value::from)
    ]
}

/// A valid call: its body, members in any order, and what it says.
#[derive(Clone, Debug)]
struct Spoken {
    body: String,
    id: Value,
    name: String,
    arguments: Vec<(String, Value)>,
}

fn arbitrary_call() -> impl Strategy<Value = Spoken> {
    let arguments = prop::collection::hash_map(arbitrary_text(0), arbitrary_value(), 0..30);
    let orders = (Just(vec![0, 1, 2, 3]).prop_shuffle(), Just(vec![0, 1]).prop_shuffle());
    (arbitrary_id(), arbitrary_text(1), arguments, orders).prop_map(|(id, name, arguments, (outer, inner))| {
        let text = |text: &String| serde_json::to_string(text).unwrap();
        let arguments: Vec<_> = arguments.into_iter().collect();
        let members: Vec<_> = arguments.iter().map(|(name, value)| format!("{}:{value}", text(name))).collect();
        let params = [format!("\"name\":{}", text(&name)), format!("\"arguments\":{{{}}}", members.join(","))];
        let params = format!("\"params\":{{{}}}", inner.iter().map(|at| &*params[*at]).collect::<Vec<_>>().join(","));
        let envelope =
            [r#""jsonrpc":"2.0""#.to_owned(), format!("\"id\":{id}"), r#""method":"tools/call""#.to_owned(), params];
        let body = format!("{{{}}}", outer.iter().map(|at| &*envelope[*at]).collect::<Vec<_>>().join(","));
        Spoken { body, id, name, arguments }
    })
}

/// Pieces that come near to a message.
fn arbitrary_pieces() -> impl Strategy<Value = Vec<u8>> {
    const TEXTS: &str = r#"{ } [ ] , : " \ \u \ud83d \ude00 0061 0 1 - .5 e9 null true fals NaN "id" "id":1
        "jsonrpc":"2.0" "method": "tools/call" "params":{ "name": "arguments":{ "_meta":{ "result": "ref":{
        "a": {"jsonrpc":"2.0","id": {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x" "#;
    const BYTES: [&[u8]; 8] = [b" ", b"\r\n", b"\0", b"\xFF", b"\xC3", b"\xA9", b"\xEF\xBB\xBF", b"\xED\xA0\x80"];
    let pieces: Vec<_> = TEXTS.split_whitespace().map(str::as_bytes).chain(BYTES).collect();
    prop::collection::vec(prop::sample::select(pieces), 0..60).prop_map(|pieces| {
        let mut bytes = pieces.concat();
        bytes.truncate(200);
        bytes
    })
}

fn never_panics(body: &[u8]) {
    const HEADERS: &[(&str, &str)] =
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "x")];
    let dialects: [&dyn Dialect; 2] = [&Mcp, &PlainJsonRpc];
    for (dialect, headers) in dialects.into_iter().flat_map(|dialect| [(dialect, &[][..]), (dialect, HEADERS)]) {
        if let Ok(inspection) = inspect(body, dialect, headers) {
            assert!(!said(&inspection).is_empty() && !format!("{inspection:?}").is_empty());
            assert!(serde_json::from_slice::<Value>(body).is_ok() || body.contains(&b'\\'), "{body:?}");
        }
    }
    if let Some(id) = IdSalvage::of(body) {
        assert_eq!(mcp(wipe_as(&id)), format!("{id}: tool wipe"));
    }
}

proptest! {
    #[test]
    fn calls_are_read_as_they_were_written(spoken in arbitrary_call()) {
        let inspection = inspect(spoken.body.as_bytes(), &Mcp, &[]).unwrap();
        let message = inspection.messages().next().unwrap();
        prop_assert_eq!(message.id(), Some(&*spoken.id.to_string()));
        let calls: Vec<_> = message.calls().collect();
        let [Call::Tool { name, arguments }] = &calls[..] else { panic!("{calls:?}") };
        prop_assert_eq!(name, &spoken.name);
        prop_assert_eq!(arguments.iter().count(), spoken.arguments.len());
        for (argument, (name, value)) in arguments.iter().zip(&spoken.arguments) {
            prop_assert_eq!(&argument.name(), name);
            let text = argument.as_str().map(Result::unwrap);
            prop_assert_eq!(text.as_deref(), value.as_str());
            prop_assert_eq!(&serde_json::from_slice::<Value>(argument.raw()).unwrap(), value);
            prop_assert_eq!(arguments.get(name).unwrap().raw(), argument.raw());
        }
    }

    #[test]
    fn a_changed_byte_never_changes_the_reading_alone(
        spoken in arbitrary_call(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\{}[],: 0u"[..])],
    ) {
        let mut body = spoken.body.into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        never_panics(&body);
        let Ok(inspection) = inspect(&body, &Mcp, &[]) else { return Ok(()) };
        // What serde_json refuses and we accept is half a surrogate pair in a value.
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return Ok(()) };
        let message = inspection.messages().next().unwrap();
        prop_assert_eq!(Some(&*message.method().unwrap()), value["method"].as_str());
        let id: Value = serde_json::from_str(message.id().unwrap()).unwrap();
        prop_assert_eq!(&id, &value["id"]);
        if let Some(Call::Tool { name, arguments }) = message.calls().next() {
            prop_assert_eq!(Some(&*name), value["params"]["name"].as_str());
            let expected = value["params"]["arguments"].as_object();
            prop_assert_eq!(arguments.iter().count(), expected.map_or(0, serde_json::Map::len));
            for argument in arguments.iter() {
                let raw: Value = serde_json::from_slice(argument.raw()).unwrap();
                prop_assert_eq!(expected.and_then(|expected| expected.get(&*argument.name())), Some(&raw));
            }
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(body in arbitrary_pieces()) {
        never_panics(&body);
    }

    #[test]
    fn pieces_in_an_envelope_cause_no_panic(pieces in arbitrary_pieces()) {
        let before = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"#;
        never_panics(&bytes(before, &pieces, "}}}"));
    }
}

/// A dialect of somebody else's, which names what is nested.
#[derive(Debug)]
struct Skills;

impl Dialect for Skills {
    fn rules(&self) -> DialectRules {
        DialectRules::PLAIN
    }

    fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
        let inner = message.params().get("message").and_then(|inner| inner.members()).ok_or(Fault::NameMissing)?;
        let inner = inner.map_err(|_| Fault::NameMissing)?;
        let skill = inner.into_iter().find(|member| member.name() == "skill").ok_or(Fault::NameMissing)?;
        Ok(Target::Tool { name: skill.try_into()?, arguments: ToolArguments::Nested })
    }
}

#[test]
fn a_name_from_a_nested_value_is_the_one_that_stands_there() {
    let body = r#"{"a":"____look","jsonrpc":"2.0","id":1,"method":"send","params":{"message":{"skill":"wipe"}}}"#;
    let inspection = inspect(body.as_bytes(), &Skills, &[]).unwrap();
    let calls: Vec<_> = inspection.messages().flat_map(|message| message.calls()).collect();
    let [Call::Tool { name, arguments }] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(name, "wipe");
    // What was not read has no names, and so satisfies no rule.
    assert!(arguments.is_positional());
}
