//! Servers over HTTP: what they are told, and what of their answers passes.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower::{Layer, ServiceExt};
use tower_toolgate::answer::Denial;
use tower_toolgate::upstream::{HttpConfig, HttpUpstream, Resolution};

use super::support::{With, legal, mcp, post_text};

/// What a server was sent, one text a request.
pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

/// Reads one request, `None` if there is none.
pub(crate) async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).await.ok()?;
        text.push(char::from(byte[0]));
    }
    let length = text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(text + &String::from_utf8(body).unwrap())
}

async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, reply: String, heard: Heard) {
    while let Some(request) = hear(&mut stream).await {
        heard.lock().unwrap().push(request);
        stream.write_all(reply.as_bytes()).await.unwrap();
    }
}

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A server that says the same to everybody.
pub(crate) async fn server(reply: &str) -> (SocketAddr, Heard) {
    let (listener, address) = listener().await;
    let heard = Heard::default();
    let (reply, log) = (reply.to_owned(), Arc::clone(&heard));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, reply.clone(), Arc::clone(&log)));
        }
    });
    (address, heard)
}

pub(crate) fn ok(headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn config(address: SocketAddr) -> HttpConfig {
    HttpConfig::new(&format!("http://{address}/mcp?x=1")).unwrap().with_timeout(Duration::from_secs(10))
}

/// Sends a request through a gate.
async fn send(config: HttpConfig, request: Request<Full<Bytes>>) -> Response<Bytes> {
    let gated = mcp().layer(HttpUpstream::new(config).unwrap());
    let (head, body) = gated.oneshot(request).await.unwrap().into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

fn reason(response: &Response<Bytes>) -> String {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let in_body = body["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned();
    let denial = response.extensions().get::<Denial>().map_or("", Denial::reason);
    assert_eq!(in_body, denial);
    in_body
}

#[tokio::test]
async fn a_request_is_sent_on_without_what_is_the_callers_own() {
    let (address, heard) = server(&ok("mcp-session-id: s\r\n", RESULT)).await;
    let own = config(address).with_header(header::AUTHORIZATION, HeaderValue::from_static("Bearer operator"));
    let request = post_text(legal())
        .with_header("host", "gateway.example")
        .with_header("authorization", "Bearer caller")
        .with_header("proxy-authorization", "Basic caller")
        .with_header("proxy-connection", "keep-alive")
        .with_header("cookie", "a=caller")
        .with_header("origin", "https://page.example")
        .with_header("connection", "keep-alive, x-named")
        .with_header("keep-alive", "timeout=5")
        .with_header("te", "trailers")
        .with_header("expect", "100-continue")
        .with_header("accept-encoding", "gzip")
        .with_header("x-named", "kept")
        .with_header("mcp-session-id", "s");
    let response = send(own, request).await;
    assert_eq!((response.status().as_u16(), &response.body()[..]), (200, RESULT.as_bytes()));
    assert_eq!(response.headers()["mcp-session-id"], "s");
    let heard = heard.lock().unwrap()[0].to_ascii_lowercase();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, legal());
    let mut lines: Vec<_> = head.lines().collect();
    assert_eq!(lines.remove(0), "post /mcp?x=1 http/1.1");
    lines.sort_unstable();
    let host = format!("host: {address}");
    let length = format!("content-length: {}", legal().len());
    let mut expected = vec![
        "accept-encoding: identity",
        "authorization: bearer operator",
        &length,
        "content-type: application/json",
        &host,
        "mcp-session-id: s",
        "x-named: kept",
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn from_a_server_that_is_not_trusted_less_passes() {
    let lines = "set-cookie: a=b\r\nwww-authenticate: Bearer\r\nlocation: http://elsewhere.example\r\nx-other: 1\r\n\
                 access-control-allow-origin: *\r\nproxy-authenticate: Basic\r\nconnection: x-hop\r\nx-hop: 1\r\n";
    let (address, _) = server(&ok(lines, RESULT)).await;
    for (trusted, passes) in [(false, false), (true, true)] {
        let response = send(config(address).with_trust(trusted), post_text(legal())).await;
        for name in ["set-cookie", "www-authenticate", "location"] {
            assert_eq!(response.headers().contains_key(name), passes, "{name}");
        }
        assert_eq!(response.headers()["x-other"], "1");
        for name in ["access-control-allow-origin", "proxy-authenticate", "connection", "x-hop"] {
            assert!(!response.headers().contains_key(name), "{name}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (target, heard) = server(&ok("", RESULT)).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let reply = format!("HTTP/1.1 {status}\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n");
        let (address, _) = server(&reply).await;
        let response = send(config(address), post_text(legal())).await;
        assert_eq!((response.status().as_u16(), &*reason(&response)), (502, "upstream.invalid_answer"));
        assert!(!response.headers().contains_key("location"));
        // What asks for no answer is told of the redirect by a trusted server only.
        let note = || post_text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(send(config(address), note()).await.status(), 502);
        let response = send(config(address).with_trust(true), note()).await;
        assert!(response.status().is_redirection() && response.headers().contains_key("location"));
    }
    assert_eq!(heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_no_answer_does_not_pass() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "x".repeat(3000));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let rows: [(String, &str); 10] = [
        (ok("", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#), "upstream.invalid_answer"),
        (ok("", r#"{"jsonrpc":"2.0","id":"1","result":{}}"#), "upstream.invalid_answer"),
        (ok("", r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#), "upstream.invalid_answer"),
        (ok("", &format!("[{RESULT}]")), "upstream.invalid_answer"),
        (ok("", "<html>"), "upstream.invalid_answer"),
        (ok("", &long), "upstream.too_large"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "upstream.invalid_answer",
        ),
        (format!("{head}content-length: 99\r\n\r\n{{"), "upstream.timed_out"),
        (head.to_owned(), "upstream.timed_out"),
        ("nonsense\r\n\r\n".to_owned(), "upstream.invalid_answer"),
    ];
    for (reply, expected) in rows {
        let (address, _) = server(&reply).await;
        let config = config(address).with_max_answer_bytes(2000).with_timeout(Duration::from_millis(700));
        let response = send(config, post_text(legal())).await;
        assert_eq!(reason(&response), expected, "{reply:.200}");
        assert!(str::from_utf8(response.body()).unwrap().contains(r#""id":1,"#));
    }
    // What a server refuses passes.
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#;
    let length = refusal.len();
    let reply = format!(
        "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{refusal}"
    );
    let (address, _) = server(&reply).await;
    let response = send(config(address), post_text(legal())).await;
    assert_eq!((response.status().as_u16(), &response.body()[..]), (404, refusal.as_bytes()));
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let (gone, address) = listener().await;
    drop(gone);
    assert_eq!(reason(&send(config(address), post_text(legal())).await), "upstream.unreachable");
}

#[tokio::test]
async fn events_pass_as_they_come_and_an_end_is_passed_on() {
    let (listener, address) = listener().await;
    let config = config(address).with_timeout(Duration::from_millis(500));
    let serve = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        hear(&mut stream).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Longer than an answer may take.
        for _ in 0..3 {
            stream.write_all(b"3\r\n:a\n\r\n").await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        // Until the client is gone.
        stream.read(&mut [0]).await.unwrap_or(0)
    });
    let upstream = HttpUpstream::new(config).unwrap();
    let request = Request::get("/mcp").header("accept", "text/event-stream").body(Full::<Bytes>::default()).unwrap();
    let mut body = upstream.oneshot(request).await.unwrap().into_body();
    for _ in 0..3 {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), ":a\n");
    }
    drop(body);
    assert_eq!(serve.await.unwrap(), 0);
}

fn leading_to(addresses: Vec<IpAddr>, calls: &Arc<AtomicUsize>) -> impl Fn(&str) -> Resolution + Send + Sync + 'static {
    let calls = Arc::clone(calls);
    move |_| {
        calls.fetch_add(1, SeqCst);
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    }
}

#[tokio::test]
async fn a_name_leads_to_a_private_address_only_if_it_is_trusted() {
    let (address, heard) = server(&ok("", RESULT)).await;
    for host in ["localhost", "127.1", "2130706433", "0x7f.0.0.1", "a.example"] {
        let calls = Arc::default();
        let named = HttpConfig::new(&format!("http://{host}:{}/", address.port())).unwrap();
        let named = if host == "a.example" {
            named.with_resolver(leading_to(vec![address.ip(), "::ffff:127.0.0.1".parse().unwrap()], &calls))
        } else {
            named
        };
        let response = send(named.clone(), post_text(legal())).await;
        assert_eq!(reason(&response), "upstream.unreachable", "{host}");
        assert_eq!(heard.lock().unwrap().len(), 0, "{host}");
        if host == "a.example" {
            assert_eq!(send(named.with_trust(true), post_text(legal())).await.body(), RESULT);
            assert_eq!(calls.load(SeqCst), 2, "a name is resolved once for a connection");
            heard.lock().unwrap().clear();
        }
    }
    // An address that the operator has written is meant.
    assert_eq!(send(config(address), post_text(legal())).await.body(), RESULT);
}

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from(&include_bytes!("tls/localhost.der")[..]);
    let key = PrivateKeyDer::try_from(&include_bytes!("tls/localhost.key.der")[..]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()))
}

#[tokio::test]
async fn tls_believes_only_who_is_named_and_known() {
    let (listener, address) = listener().await;
    let heard = Heard::default();
    let (log, acceptor) = (Arc::clone(&heard), acceptor());
    let accept = async move |stream: TcpStream, log| {
        if let Ok(stream) = acceptor.accept(stream).await {
            talk(stream, ok("", RESULT), log).await;
        }
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            accept(stream, Arc::clone(&log)).await;
        }
    });
    let calls = Arc::default();
    let to = |name: &str| {
        let config = HttpConfig::new(&format!("https://{name}:{}/", address.port())).unwrap();
        config.with_trust(true).with_resolver(leading_to(vec![address.ip()], &calls))
    };
    let root = include_bytes!("tls/localhost.der");
    assert_eq!(reason(&send(to("localhost"), post_text(legal())).await), "upstream.unreachable", "nobody knows it");
    let other = to("other.example").with_root_certificate(root.to_vec());
    assert_eq!(reason(&send(other, post_text(legal())).await), "upstream.unreachable", "it is another");
    assert_eq!(heard.lock().unwrap().len(), 0);
    let known = to("localhost").with_root_certificate(root.to_vec());
    assert_eq!(send(known, post_text(legal())).await.body(), RESULT);
    assert!(HttpUpstream::new(to("localhost").with_root_certificate(vec![1, 2])).is_err());
}
