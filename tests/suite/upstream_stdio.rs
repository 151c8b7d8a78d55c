//! One child, many clients.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::ServiceExt;
use tower_toolgate::Principal;
use tower_toolgate::upstream::StdioUpstream;

use super::upstream_support::{
    ask, call, call_with_token, eventually, get, next_event, post, python, send, started, told,
};

#[tokio::test]
async fn two_hundred_clients_each_get_their_own_answer() {
    let upstream = started(python(&[])).await;
    let mut clients = JoinSet::new();
    for client in 0..200 {
        let upstream = upstream.clone();
        clients.spawn(async move {
            // All of them use the same ids, as numbers and as text.
            for (round, id) in [json!(1), json!("1"), json!("\u{e9}\"\\"), json!(-7)].into_iter().enumerate() {
                let payload = json!({"client": client, "round": round, "text": "x".repeat(client * 10)});
                let delay = f64::from((client as u32 * 7919 + round as u32 * 104_729) % 100) / 1000.0;
                let arguments = json!({"payload": payload, "delay": delay});
                let answer = send(&upstream, post(&call(&id, "echo", &arguments))).await;
                assert_eq!((answer.json()["id"].clone(), answer.said()), (id, payload));
                assert_eq!(answer.headers["content-type"], "application/json");
            }
            client
        });
    }
    let served: BTreeSet<_> = clients.join_all().await.into_iter().collect();
    assert_eq!(served.len(), 200);
}

#[tokio::test]
async fn ids_keep_their_text() {
    let upstream = started(python(&[])).await;
    for id in ["7", "0", "-0", "9007199254740993", r#""a""#, r#""\u0061\/""#, r#""""#] {
        let body = format!("{{ \"id\" :\t{id} ,\r\n \"jsonrpc\":\"2.0\",\n\"method\":\"x/unknown\" }}");
        let answer = send(&upstream, post(&body)).await;
        assert!(answer.text.contains(&format!(r#""id": {id},"#)), "{id}: {}", answer.text);
        assert_eq!(answer.json()["error"]["code"], -32601, "the child's own error");
    }
}

#[tokio::test]
async fn the_handshake_is_made_once_and_told_to_everybody() {
    let upstream = started(python(&[]).with_root("file:///srv", Some("srv"))).await;
    for id in [json!("first"), json!(2)] {
        let params = json!({"protocolVersion": "2025-03-26", "capabilities": {"sampling": {}}, "clientInfo": {"name": "c", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
        let answer = send(&upstream, post(&hello)).await;
        assert_eq!(answer.headers.get("mcp-session-id"), None);
        let answer = answer.json();
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&id, &json!("2025-11-25")));
        assert_eq!(answer["result"]["echoed"], json!({"roots": {}}), "what the client can do the child is not told");
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(send(&upstream, post(&done)).await.status, 202);
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert_eq!(send(&upstream, post(&ping)).await.json(), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        for dropped in ["notifications/progress", "notifications/roots/list_changed"] {
            assert_eq!(send(&upstream, post(&json!({"jsonrpc": "2.0", "method": dropped}))).await.status, 202);
        }
        assert_eq!(send(&upstream, post(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}))).await.status, 202);
    }
    let seen = ask(&upstream, "seen", json!({})).await;
    assert_eq!(seen, json!(["initialize", "notifications/initialized", "tools/call"]));
}

#[tokio::test]
async fn a_child_of_the_era_without_handshakes_is_spoken_to_as_it_is() {
    let upstream = started(python(&["modern"])).await;
    let hello = json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {}});
    let answer = send(&upstream, post(&hello)).await.json();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("h"), &json!(-32601)));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let modern = |method: &str, id: &str| {
        let body =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta, "notifications": {}}});
        let mut request = post(&body);
        for (name, value) in [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        request
    };
    let answer = send(&upstream, modern("server/discover", "d")).await.json();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("d"), &json!(-32601)));

    // Two subscriptions at once, one of which outlives the time for an answer.
    let (one, other) = tokio::join!(
        send(&upstream, modern("subscriptions/listen", "one")),
        send(&upstream, modern("subscriptions/listen", "other")),
    );
    for (stream, id) in [(one, "one"), (other, "other")] {
        let events = stream.events();
        let own = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(events.len(), 3, "{events:?}");
        assert_eq!(events[0]["method"], "notifications/subscriptions/acknowledged");
        assert!(events[..2].iter().all(|event| event["params"]["_meta"][own] == id), "{events:?}");
        assert_eq!((&events[2]["id"], &events[2]["result"]["_meta"][own]), (&json!(id), &json!(id)));
    }
    let mut stream = get();
    stream.headers_mut().insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    assert_eq!(send(&upstream, stream).await.status, 405, "this era has no streams by GET");
}

#[tokio::test]
async fn a_child_that_is_not_to_be_greeted_is_not() {
    let upstream = started(python(&[]).with_handshake(false)).await;
    let hello = json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {}});
    let answer = send(&upstream, post(&hello)).await.json();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("h"), &json!(-32601)));
    assert_eq!(ask(&upstream, "seen", json!({})).await, json!(["tools/call"]));
}

#[tokio::test]
async fn a_subscription_outlives_the_time_for_an_answer() {
    let upstream = started(python(&[]).with_timeout(Duration::from_millis(400))).await;
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}}});
    assert_eq!(send(&upstream, post(&listen)).await.events().len(), 3);
}

#[tokio::test]
async fn progress_reaches_only_whose_request_it_is() {
    let upstream = started(python(&[])).await;
    let mut clients = JoinSet::new();
    for client in 0..20 {
        let upstream = upstream.clone();
        clients.spawn(async move {
            let arguments = json!({"steps": 5, "who": client, "pause": 0.005});
            // The same id and the same token, of all clients.
            let answer = send(&upstream, post(&call_with_token(&json!(1), &json!("t"), "progress", &arguments))).await;
            let events = answer.events();
            assert_eq!(events.len(), 6, "{events:?}");
            for (step, event) in events[..5].iter().enumerate() {
                let params = json!({"progress": step, "progressToken": "t", "message": client});
                assert_eq!((&event["method"], &event["params"]), (&json!("notifications/progress"), &params));
            }
            assert_eq!((&events[5]["id"], told(&events[5])), (&json!(1), json!(client)));
        });
    }
    clients.join_all().await;
}

#[tokio::test]
async fn progress_that_nobody_can_read_is_left_out() {
    let upstream = started(python(&[])).await;
    let mut request = post(&call_with_token(&json!(1), &json!(1), "progress", &json!({"steps": 3, "who": "a"})));
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    let answer = send(&upstream, request).await;
    assert_eq!((answer.said(), answer.json()["id"].clone()), (json!("a"), json!(1)));
}

#[tokio::test]
async fn progress_gives_an_answer_more_time() {
    let upstream = started(python(&[]).with_timeout(Duration::from_millis(600))).await;
    let arguments = json!({"steps": 5, "who": "slow", "pause": 0.25});
    let answer = send(&upstream, post(&call_with_token(&json!(1), &json!(1), "progress", &arguments))).await;
    assert_eq!(told(answer.events().last().unwrap()), json!("slow"));
    // And one that stops giving notice has none left.
    let arguments = json!({"steps": 2, "who": "stuck", "pause": 5});
    let answer = send(&upstream, post(&call_with_token(&json!("s"), &json!(1), "progress", &arguments))).await;
    let last = answer.events().pop().unwrap();
    assert_eq!((&last["id"], &last["error"]["data"]["reason"]), (&json!("s"), &json!("upstream.timed_out")));
}

#[tokio::test]
async fn who_goes_away_cancels() {
    let upstream = started(python(&[])).await;
    // While the answer is waited for, and while it is streamed.
    let hang = upstream.clone().oneshot(post(&call(&json!(1), "hang", &json!({}))));
    assert!(tokio::time::timeout(Duration::from_millis(200), hang).await.is_err());
    let arguments = json!({"steps": 100, "who": "a", "pause": 0.1});
    let streaming = post(&call_with_token(&json!(1), &json!(1), "progress", &arguments));
    let mut body = upstream.clone().oneshot(streaming).await.unwrap().into_body();
    next_event(&mut body).await.unwrap();
    drop(body);
    let count = async || ask(&upstream, "cancelled", json!({})).await.as_array().unwrap().len();
    eventually("two are cancelled", || async { count().await == 2 }).await;
}

#[tokio::test]
async fn a_cancellation_names_the_request_of_the_same_principal() {
    let upstream = started(python(&[])).await;
    let of = |body: Value, subject: &'static str| {
        let mut request = post(&body);
        request.extensions_mut().insert(Principal::new("key", subject).unwrap());
        request
    };
    for subject in ["ana", "bob"] {
        let (upstream, request) = (upstream.clone(), of(call(&json!("a"), "hang", &json!({})), subject));
        tokio::spawn(async move { upstream.oneshot(request).await });
    }
    let seen = async || ask(&upstream, "seen", json!({})).await.as_array().unwrap().clone();
    eventually("both hang", || async { seen().await.iter().filter(|method| **method == "tools/call").count() >= 3 })
        .await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "\u{61}"}});
    let escaped = cancel.to_string().replace("\"a\"", r#""\u0061""#);
    let mut request = post(&escaped);
    // His token was renewed meanwhile.
    request.extensions_mut().insert(Principal::new("key", "bob").unwrap().with_epoch("token-2"));
    assert_eq!(send(&upstream, request).await.status, 202);
    // Nobody's, and somebody else's.
    assert_eq!(send(&upstream, post(&cancel)).await.status, 202);
    assert_eq!(send(&upstream, of(cancel, "eve")).await.status, 202);
    let cancelled = ask(&upstream, "cancelled", json!({})).await;
    assert_eq!(cancelled.as_array().unwrap().len(), 1, "{cancelled}");
}

#[tokio::test]
async fn what_the_child_says_to_nobody_reaches_who_listens() {
    let upstream = started(python(&[]).with_events(8)).await;
    let response = upstream.clone().oneshot(get()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut one, mut other) = (response.into_body(), upstream.clone().oneshot(get()).await.unwrap().into_body());
    for method in ["notifications/message", "notifications/tools/list_changed", "notifications/resources/updated"] {
        ask(&upstream, "notify", json!({"method": method, "params": {"uri": "a:b"}})).await;
        for body in [&mut one, &mut other] {
            let event = next_event(body).await.unwrap();
            assert_eq!((&event["method"], &event["params"]["uri"]), (&json!(method), &json!("a:b")));
        }
    }
    // Who does not read is told no more, and the child does not wait for them.
    ask(&upstream, "notify", json!({"method": "notifications/message", "times": 9})).await;
    let mut left = 0;
    while next_event(&mut one).await.is_some() {
        left += 1;
    }
    assert_eq!(left, 8);
    drop(upstream);
    while next_event(&mut other).await.is_some() {}
}

#[tokio::test]
async fn what_the_child_asks_is_answered_from_here() {
    let upstream = started(python(&[]).with_root("file:///srv", Some("srv")).with_root("file:///tmp", None)).await;
    let answer = ask(&upstream, "ask", json!({"method": "roots/list"})).await;
    assert_eq!(answer, json!({"result": {"roots": [{"uri": "file:///srv", "name": "srv"}, {"uri": "file:///tmp"}]}}));
    assert_eq!(ask(&upstream, "ask", json!({"method": "ping"})).await, json!({"result": {}}));
    for method in ["sampling/createMessage", "elicitation/create", "x"] {
        assert_eq!(ask(&upstream, "ask", json!({"method": method})).await["error"]["code"], -32601, "{method}");
    }
    let without = started(python(&[])).await;
    assert_eq!(ask(&without, "ask", json!({"method": "roots/list"})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn requests_that_are_not_sent_on() {
    let upstream = started(python(&[]).with_max_message_bytes(4096)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "x"});
    let rows: [(String, &str); 5] = [
        (json!([ping]).to_string(), "message.batch_not_allowed"),
        ("{".to_owned(), "json.truncated"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#.to_owned(), "json.duplicate_key"),
        ("{}".to_owned(), "message.jsonrpc_version"),
        (call(&json!(1), "echo", &json!({"payload": "x".repeat(5000)})).to_string(), "body.too_large"),
    ];
    for (body, reason) in rows {
        let answer = send(&upstream, post(&body)).await.json();
        let answer = if answer.is_array() { answer[0].clone() } else { answer };
        assert_eq!(answer["error"]["data"]["reason"], reason, "{body:.100}: {answer}");
    }
    for method in ["DELETE", "PUT", "OPTIONS"] {
        let mut request = post(&"");
        *request.method_mut() = method.parse().unwrap();
        let answer = send(&upstream, request).await;
        assert_eq!((answer.status.as_u16(), &answer.headers["allow"]), (405, &"GET, POST".parse().unwrap()));
    }
    let mut blind = get();
    blind.headers_mut().remove("accept");
    assert_eq!(send(&upstream, blind).await.status, 406);
    assert_eq!(
        ask(&upstream, "seen", json!({})).await,
        json!(["initialize", "notifications/initialized", "tools/call"])
    );
}

#[tokio::test]
async fn three_services_of_which_one_is_dead_and_one_says_nothing() {
    let quick = started(python(&[])).await;
    let dead = StdioUpstream::start(tower_toolgate::upstream::StdioConfig::new("/nowhere/to/be/found")).unwrap();
    let mute = StdioUpstream::start(python(&["mute"]).with_timeout(Duration::from_secs(6))).unwrap();
    let waiting =
        tokio::spawn(async move { send(&mute, post(&call(&json!(1), "echo", &json!({"payload": 1})))).await });
    let start = Instant::now();
    for _ in 0..20 {
        let answer = send(&dead, post(&call(&json!(1), "echo", &json!({"payload": 1})))).await;
        assert_eq!((answer.reason(), answer.json()["id"].clone()), (json!("upstream.unreachable"), json!(1)));
        assert_eq!(ask(&quick, "echo", json!({"payload": 2})).await, json!(2));
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(waiting.await.unwrap().reason(), "upstream.timed_out");
}
