//! Sessions belong to who was given them, through the gateway.

use crate::support::{Gateway, Setup, Upstream, call, result};
use crate::wire::Request;

/// A server that gives everybody one and the same session.
fn upstream() -> Upstream {
    let body = result("1");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: shared\r\ncontent-length";
    Upstream::saying(format!("{head}: {}\r\n\r\n{body}", body.len()).into_bytes())
}

fn in_session(gateway: &Gateway, method: &'static str, id: &str, key: &str) -> u16 {
    let request = match method {
        "POST" => Request::post("/mcp/a", call("1", "echo")),
        method => Request::new(method, "/mcp/a"),
    };
    let request = request.streamable().with("mcp-session-id", id);
    gateway.send(&request.set("authorization", &format!("Bearer {key}"))).status()
}

#[test]
fn sk_07_th_067_th_070_a_session_is_of_one_principal() {
    let upstream = upstream();
    let setup = Setup::of(upstream.address);
    let gateway = setup.start();
    let given = gateway.send(&Request::post("/mcp/a", call("1", "echo"))).header("mcp-session-id").unwrap().to_owned();
    let before = upstream.seen().len();
    for method in ["POST", "GET", "DELETE"] {
        for id in [&given, "shared", "v1.x", &given[..given.len() - 1]] {
            let status = in_session(&gateway, method, id, "k-user-2");
            assert_eq!(status, 404, "{method} {id}");
        }
        assert_eq!(in_session(&gateway, method, "shared", "k-user"), 404, "{method}");
    }
    assert_eq!(upstream.seen().len(), before, "none of these was forwarded");
    assert_eq!(in_session(&gateway, "POST", &given, "k-user"), 200);
    assert_eq!(upstream.seen().last().unwrap().header("mcp-session-id"), Some("shared"));
    // With the key that the configuration has, another gateway knows it too.
    assert_eq!(in_session(&setup.start(), "POST", &given, "k-user"), 200);
    let other = setup.text().replace("a key of at least", "another key of at least");
    assert_eq!(in_session(&Gateway::start(&other), "POST", &given, "k-user"), 404);
}
