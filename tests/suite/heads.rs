//! What a head must be, for both dialects, and what a client is told where it is not.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use tower_toolgate::Role;
use tower_toolgate::http::HeadFault;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;

use super::support::{Exchange, answered, exchange, legal, mcp, plain, post_text};

type Headers = &'static [(&'static str, &'static [u8])];

/// A head, and what is wrong with it; a method of `None` is a POST with a legal call and no other Content-Type.
struct Case {
    name: &'static str,
    method: &'static str,
    uri: &'static str,
    headers: Headers,
    body: bool,
    mcp: Option<HeadFault>,
    plain: Option<HeadFault>,
}

const JSON: (&str, &[u8]) = ("content-type", b"application/json");

/// A POST that both dialects treat alike.
const fn post(name: &'static str, headers: Headers, fault: Option<HeadFault>) -> Case {
    Case { name, method: "POST", uri: "/", headers, body: true, mcp: fault, plain: fault }
}

const fn bare(name: &'static str, method: &'static str, headers: Headers, fault: Option<HeadFault>) -> Case {
    Case { name, method, uri: "/", headers, body: false, mcp: fault, plain: fault }
}

impl Case {
    const fn at(mut self, uri: &'static str) -> Self {
        self.uri = uri;
        self
    }

    const fn with_body(mut self) -> Self {
        self.body = true;
        self
    }

    const fn plain(mut self, fault: Option<HeadFault>) -> Self {
        self.plain = fault;
        self
    }

    fn send(&self, layer: &ArgumentAllowlistLayer, call: &str) -> (Bytes, Exchange) {
        let body = if self.body { Bytes::copy_from_slice(call.as_bytes()) } else { Bytes::new() };
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::from_bytes(self.method.as_bytes()).unwrap();
        *request.uri_mut() = self.uri.parse().unwrap();
        for (name, value) in self.headers {
            request.headers_mut().append(*name, header::HeaderValue::from_bytes(value).unwrap());
        }
        request.extensions_mut().insert(Role::new("analyst"));
        (body, exchange(layer, request))
    }

    fn check(&self, dialect: &str, layer: &ArgumentAllowlistLayer, call: &str, fault: Option<HeadFault>) {
        let name = format!("{dialect}: {}", self.name);
        let (body, exchange) = self.send(layer, call);
        let Some(fault) = fault else {
            let seen = exchange.passed(&name);
            assert_eq!(seen.body(), body, "{name}");
            assert_eq!((seen.head.method.as_str(), seen.head.uri.to_string().as_str()), (self.method, self.uri));
            // What a stream brings is to be read, and so must not be compressed.
            let added =
                usize::from(self.method == "GET" && !self.headers.iter().any(|(name, _)| *name == "accept-encoding"));
            assert_eq!(seen.head.headers.len(), self.headers.len() + added, "{name}");
            return;
        };
        exchange.refused(&name, fault.status().as_u16(), "null", fault.status().as_u16().into(), fault.reason());
        let methods = if dialect == "mcp" { "DELETE, GET, OPTIONS, POST" } else { "OPTIONS, POST" };
        let allow = (fault == HeadFault::MethodNotAllowed).then_some(methods);
        assert_eq!(exchange.header(header::ALLOW), allow, "{name}");
    }
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    use HeadFault::{
        BodyNotAllowed, CharsetUnsupported, ContentCoding, ContentTypeMissing, ContentTypeRepeated,
        ContentTypeUnsupported, MethodNotAllowed, MethodOverride, TransferCoding, Upgrade,
    };
    vec![
        post("a plain post", &[JSON], None),
        post("TH-010 another case", &[("content-type", b"Application/JSON")], None),
        post("a charset", &[("content-type", b"application/json; charset=utf-8")], None),
        post("a charset in another case", &[("content-type", b"application/json;Charset=UTF-8")], None),
        post("a quoted charset", &[("content-type", b"application/json; charset=\"utf-8\"")], None),
        post("another parameter", &[("content-type", b"application/json; profile=x")], None),
        post("an empty parameter", &[("content-type", b"application/json ; ; charset=utf-8;")], None),
        post("JSON-RPC's own type", &[("content-type", b"application/json-rpc")], Some(ContentTypeUnsupported)).plain(None),
        post("JSON-RPC's own type, in capitals", &[("content-type", b"APPLICATION/JSON-RPC")], Some(ContentTypeUnsupported)).plain(None),
        post("TH-011 no type", &[], Some(ContentTypeMissing)),
        post("TH-011 text", &[("content-type", b"text/plain")], Some(ContentTypeUnsupported)),
        post("an empty type", &[("content-type", b"")], Some(ContentTypeUnsupported)),
        post("a longer type", &[("content-type", b"application/jsonx")], Some(ContentTypeUnsupported)),
        post("a structured suffix", &[("content-type", b"application/vnd.x+json")], Some(ContentTypeUnsupported)),
        post("a wildcard", &[("content-type", b"*/*")], Some(ContentTypeUnsupported)),
        post("a form", &[("content-type", b"application/x-www-form-urlencoded")], Some(ContentTypeUnsupported)),
        post("bytes that are no text", &[("content-type", b"application/json\xff")], Some(ContentTypeUnsupported)),
        post("a parameter without a value", &[("content-type", b"application/json; charset")], Some(ContentTypeUnsupported)),
        post("the type twice", &[JSON, JSON], Some(ContentTypeRepeated)),
        post("two types", &[JSON, ("content-type", b"text/plain")], Some(ContentTypeRepeated)),
        post("two types in one line", &[("content-type", b"application/json, text/plain")], Some(ContentTypeUnsupported)),
        post("one type twice in one line", &[("content-type", b"application/json,application/json")], Some(ContentTypeUnsupported)),
        post("TH-009 UTF-16", &[("content-type", b"application/json; charset=utf-16")], Some(CharsetUnsupported)),
        post("Latin 1", &[("content-type", b"application/json; charset=iso-8859-1")], Some(CharsetUnsupported)),
        post("an alias of UTF-8", &[("content-type", b"application/json; charset=utf8")], Some(CharsetUnsupported)),
        post("two charsets", &[("content-type", b"application/json; charset=utf-8; charset=utf-16")], Some(CharsetUnsupported)),
        post("half a quoted charset", &[("content-type", b"application/json; charset=\"utf-8")], Some(ContentTypeUnsupported)),
        post("an extended charset", &[("content-type", b"application/json; charset*=utf-16''x")], Some(CharsetUnsupported)),
        post("a charset with blanks", &[("content-type", b"application/json; charset = utf-16")], Some(ContentTypeUnsupported)),
        post("a charset in a charset", &[("content-type", b"application/json; charset=utf-8, text/plain")], Some(ContentTypeUnsupported)),
        post("a list behind a parameter", &[("content-type", b"application/json; a=b, text/plain")], Some(ContentTypeUnsupported)),
        post("a list in a quoted parameter", &[("content-type", b"application/json; a=\"b, text/plain\"")], Some(ContentTypeUnsupported)),
        post("a parameter without a name", &[("content-type", b"application/json;=x")], Some(ContentTypeUnsupported)),
        post("a parameter's name with a blank", &[("content-type", b"application/json; a b=c")], Some(ContentTypeUnsupported)),
        post("a parameter without a value", &[("content-type", b"application/json;a")], Some(ContentTypeUnsupported)),
        post("a charset behind a quoted semicolon", &[("content-type", b"application/json; x=\"a;charset=utf-16\"")], Some(ContentTypeUnsupported)),
        post("no coding", &[JSON, ("content-encoding", b"identity")], None),
        post("no coding, in capitals", &[JSON, ("content-encoding", b"Identity")], None),
        post("TH-013 gzip", &[JSON, ("content-encoding", b"gzip")], Some(ContentCoding)),
        post("TH-014 GZip", &[JSON, ("content-encoding", b"GZip")], Some(ContentCoding)),
        post("TH-014 gzip and none", &[JSON, ("content-encoding", b"gzip, identity")], Some(ContentCoding)),
        post("TH-014 none twice", &[JSON, ("content-encoding", b"identity, identity")], Some(ContentCoding)),
        post("TH-014 none in two lines", &[JSON, ("content-encoding", b"identity"), ("content-encoding", b"identity")], Some(ContentCoding)),
        post("TH-014 none, then gzip in two lines", &[JSON, ("content-encoding", b"identity"), ("content-encoding", b"gzip")], Some(ContentCoding)),
        post("TH-014 brotli", &[JSON, ("content-encoding", b"br")], Some(ContentCoding)),
        post("an empty coding", &[JSON, ("content-encoding", b"")], Some(ContentCoding)),
        post("chunked", &[JSON, ("transfer-encoding", b"chunked")], None),
        post("chunked, in capitals", &[JSON, ("transfer-encoding", b"Chunked")], None),
        post("TH-016 gzip, chunked", &[JSON, ("transfer-encoding", b"gzip, chunked")], Some(TransferCoding)),
        post("TH-033 two lines", &[JSON, ("transfer-encoding", b"chunked"), ("transfer-encoding", b"identity")], Some(TransferCoding)),
        post("TH-033 chunked twice", &[JSON, ("transfer-encoding", b"chunked"), ("transfer-encoding", b"chunked")], Some(TransferCoding)),
        post("identity as a transfer coding", &[JSON, ("transfer-encoding", b"identity")], Some(TransferCoding)),
        post("a vertical tab before chunked", &[JSON, ("transfer-encoding", b"\xa0chunked")], Some(TransferCoding)),
        post("TH-032 x-http-method-override", &[JSON, ("x-http-method-override", b"DELETE")], Some(MethodOverride)),
        post("TH-032 x-http-method", &[JSON, ("x-http-method", b"PUT")], Some(MethodOverride)),
        post("TH-032 x-method-override", &[JSON, ("x-method-override", b"")], Some(MethodOverride)),
        post("TH-032 the same method", &[JSON, ("x-http-method-override", b"POST")], Some(MethodOverride)),
        post("TH-032 _method", &[JSON], Some(MethodOverride)).at("/?_method=DELETE"),
        post("TH-032 _method among others", &[JSON], Some(MethodOverride)).at("/?a=1&_METHOD=put&b=2"),
        post("TH-032 _method without a value", &[JSON], Some(MethodOverride)).at("/?_method"),
        post("another query", &[JSON], None).at("/?x_method=1&method=_method"),
        bare("TH-032 a GET that overrides", "GET", &[("x-http-method-override", b"POST")], Some(MethodOverride)),
        bare("TH-032 a preflight that overrides", "OPTIONS", &[("origin", b"https://a"), ("access-control-request-method", b"POST"), ("x-http-method", b"POST")], Some(MethodOverride)),
        bare("TH-031 PUT", "PUT", &[JSON], Some(MethodNotAllowed)).with_body(),
        bare("TH-031 PATCH", "PATCH", &[JSON], Some(MethodNotAllowed)).with_body(),
        bare("TH-125 HEAD", "HEAD", &[], Some(MethodNotAllowed)),
        bare("QUERY", "QUERY", &[JSON], Some(MethodNotAllowed)).with_body(),
        bare("TRACE", "TRACE", &[], Some(MethodNotAllowed)),
        bare("CONNECT", "CONNECT", &[], Some(MethodNotAllowed)),
        bare("post in small letters", "post", &[JSON], Some(MethodNotAllowed)).with_body(),
        bare("get in small letters", "get", &[], Some(MethodNotAllowed)),
        bare("GET", "GET", &[("accept", b"text/event-stream")], None).plain(Some(MethodNotAllowed)),
        bare("DELETE", "DELETE", &[("mcp-session-id", b"s")], None).plain(Some(MethodNotAllowed)),
        bare("GET with a call", "GET", &[JSON], Some(BodyNotAllowed)).with_body().plain(Some(MethodNotAllowed)),
        bare("TH-031 DELETE with a call", "DELETE", &[JSON], Some(BodyNotAllowed)).with_body().plain(Some(MethodNotAllowed)),
        bare("a preflight", "OPTIONS", &[("origin", b"https://a"), ("access-control-request-method", b"POST")], None),
        bare("TH-127 a preflight with a call", "OPTIONS", &[("origin", b"https://a"), ("access-control-request-method", b"POST")], Some(BodyNotAllowed)).with_body(),
        bare("TH-127 OPTIONS without an origin", "OPTIONS", &[("access-control-request-method", b"POST")], Some(MethodNotAllowed)),
        bare("TH-127 OPTIONS with an origin only", "OPTIONS", &[("origin", b"https://a")], Some(MethodNotAllowed)),
        bare("TH-127 OPTIONS with a call", "OPTIONS", &[("origin", b"https://a"), JSON], Some(MethodNotAllowed)).with_body(),
        post("an upgrade", &[JSON, ("upgrade", b"h2c")], Some(Upgrade)),
        post("an upgrade to nothing", &[JSON, ("upgrade", b"")], Some(Upgrade)),
        bare("an upgrade of a GET", "GET", &[("upgrade", b"websocket")], Some(Upgrade)),
        bare("an upgrade of a preflight", "OPTIONS", &[("origin", b"https://a"), ("access-control-request-method", b"POST"), ("upgrade", b"websocket")], Some(Upgrade)),
        post("Connection alone is no upgrade", &[JSON, ("connection", b"upgrade")], None),
    ]
}

const PLAIN_CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"hello"}}"#;

#[test]
fn aa_61_every_head_is_judged_before_its_body() {
    for case in cases() {
        case.check("mcp", &mcp(), &legal(), case.mcp);
        case.check("plain", &plain(), PLAIN_CALL, case.plain);
    }
}

#[test]
fn the_table_has_every_fault() {
    let faults: std::collections::HashSet<_> = cases().into_iter().filter_map(|case| case.mcp).collect();
    // The eleventh is gRPC's: see `hosts`.
    assert_eq!(faults.len(), 10);
}

#[test]
fn a_refused_head_is_answered_without_touching_the_body() {
    let body = super::support::Script::new([super::support::Step::Stay]);
    let polls = body.polls();
    let mut request = super::support::post(body);
    request.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    exchange(&mcp(), request).refused("text", 415, "null", 415, "http.content_type_unsupported");
    assert_eq!(polls.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[test]
fn a_streamable_client_gets_the_status_too_where_no_id_was_read() {
    let request = post_text(legal());
    let (mut head, body) = request.into_parts();
    head.headers.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
    head.headers.insert(header::ACCEPT, "application/json, text/event-stream".parse().unwrap());
    let exchange = exchange(&mcp(), Request::from_parts(head, body));
    exchange.refused("gzip", 415, "null", 415, "http.content_coding");
    assert!(exchange.denial().is_streamable());
}

#[test]
fn an_upgrade_passes_by_name_only() {
    let layer = mcp().with_insecure_upgrade("websocket");
    let get = |upgrades: &[&str]| {
        let mut request = Request::get("/").body(Full::<Bytes>::default()).unwrap();
        request.extensions_mut().insert(Role::new("analyst"));
        for upgrade in upgrades {
            request.headers_mut().append(header::UPGRADE, upgrade.parse().unwrap());
        }
        request
    };
    for upgrades in [&["websocket"][..], &["WebSocket"], &["websocket, websocket"], &["websocket", "websocket"], &[]] {
        exchange(&layer, get(upgrades)).passed(&format!("{upgrades:?}"));
    }
    for upgrades in [&["h2c"][..], &["websocket, h2c"], &["websocket", "h2c"], &["websocket/13"], &[""]] {
        let exchange = exchange(&layer, get(upgrades));
        exchange.refused(&format!("{upgrades:?}"), 400, "null", 400, "http.upgrade");
    }
    exchange(&mcp(), get(&["websocket"])).refused("none by default", 400, "null", 400, "http.upgrade");
}

#[test]
fn a_switch_of_protocols_that_nobody_allowed_ends_at_the_gate() {
    let switch = || {
        let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS).header("upgrade", "websocket");
        response.header("set-cookie", "a=b").body(Full::from("inner")).unwrap()
    };
    let refused = answered(&mcp(), post_text(legal()), switch());
    assert!(refused.seen.is_some());
    assert_eq!(refused.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(refused.denial().reason(), "upstream.switched_protocols");
    assert_eq!((refused.header("upgrade"), refused.header("set-cookie")), (None, None));
    assert!(!refused.text().contains("inner"));

    let request = {
        let (mut head, body) = post_text(legal()).into_parts();
        head.headers.insert(header::UPGRADE, "websocket".parse().unwrap());
        Request::from_parts(head, body)
    };
    let allowed = answered(&mcp().with_insecure_upgrade("websocket"), request, switch());
    assert_eq!((allowed.status(), allowed.header("upgrade")), (StatusCode::SWITCHING_PROTOCOLS, Some("websocket")));

    let grpc =
        Request::post("/echo.Echo/Say").header("content-type", "application/grpc").extension(Role::new("analyst"));
    let grpc = answered(
        &ArgumentAllowlistLayer::grpc(super::support::policy()),
        grpc.body(Full::<Bytes>::default()).unwrap(),
        switch(),
    );
    assert_eq!(grpc.status(), StatusCode::OK);
    assert_eq!(
        (grpc.header("grpc-status"), grpc.header("grpc-message")),
        (Some("7"), Some("upstream.switched_protocols"))
    );
}
