//! Both forms of answers, and what is around them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use serde_json::Value;
use tokio_test::task;
use tower::Layer;
use tower_test::mock;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::provenance::{Confidentiality, LabelTrust, Provenance, ToolLabel, ToolLabels};
use tower_toolgate::store::MemoryTaintStore;

use super::content_trust::{ask, call, events, is_tainted, json, listen, trust, typed};
use super::content_trust_races::CLAIM;
use super::content_trust_stepped::Stepped;
use super::provenance::{KEY, result, tags};
use super::provenance_carriers::{fencing, marked, send};
use super::support::*;

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
const INVALID: &str = "upstream.invalid_answer";

/// A message with the tag of a result that is external.
fn tagged(message: &str) -> String {
    let tag = r#"{"v":1,"origin":"external","class":"external","rule":"operator","server":"kg","tool":"read"}"#;
    message.replace(r#""content":[]"#, &format!(r#""content":[],"_meta":{{"{KEY}":{tag}}}"#))
}

fn external() -> ProvenanceTagLayer {
    tags(Provenance::External)
}

#[test]
fn ss_01_and_ss_11_both_forms_are_marked_whatever_case_they_are_in() {
    for media in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON;CHARSET=\"UTF-8\""] {
        assert_eq!(send(&external(), call("read"), typed(media, RESULT)).text(), tagged(RESULT), "{media}");
    }
    for media in ["text/event-stream", "Text/Event-Stream; charset=UTF-8"] {
        let exchange = send(&external(), call("read"), typed(media, format!("data: {RESULT}\n\n")));
        assert_eq!(exchange.text(), format!("data: {}\n\n", tagged(RESULT)), "{media}");
    }
    for media in ["text/plain", "application/json; charset=utf-16", "text/html"] {
        let exchange = send(&external(), call("read"), typed(media, RESULT));
        assert_eq!(exchange.denial().reason(), INVALID, "{media}");
    }
}

#[test]
fn ss_02_what_is_around_the_data_stays() {
    let (first, last) = RESULT.split_at(RESULT.find(r#""result""#).unwrap());
    for (sent, wanted) in [
        (
            format!(": hi\n\nid: 7\nevent: message\nretry: 5\ndata: {RESULT}\n\n"),
            format!(": hi\n\nid: 7\nevent: message\nretry: 5\ndata: {}\n\n", tagged(RESULT)),
        ),
        (": keep\n\n: keep\r\n\r\n".into(), ": keep\n\n: keep\r\n\r\n".into()),
        ("id: 7\nretry: 5\n\n".into(), "id: 7\nretry: 5\n\n".into()),
    ] {
        assert_eq!(send(&external(), call("read"), events(sent)).text(), wanted);
    }
    for sent in [
        format!("id: 7\nevent: message\ndata: {first}\ndata: {last}\n\n"),
        format!("id: 7\r\nevent: message\r\ndata:{RESULT}\r\n\r\n"),
        format!("id: 7\revent: message\rdata:{RESULT}\r\r"),
    ] {
        let exchange = send(&external(), call("read"), events(sent.clone()));
        let text = exchange.text();
        assert!(text.starts_with("id: 7") && text.contains("event: message"), "{text:?}");
        let data: Vec<_> =
            text.lines().flat_map(|line| line.split('\r')).filter_map(|line| line.strip_prefix("data:")).collect();
        let got: Value = serde_json::from_str(&data.join("\n")).unwrap();
        assert_eq!(got["result"]["_meta"][KEY]["origin"], "external", "{text:?}");
    }
}

#[test]
fn ss_02_events_may_be_cut_anywhere() {
    let text = format!(": hi\n\nid: 7\ndata: {RESULT}\n\n");
    let whole = format!(": hi\n\nid: 7\ndata: {}\n\n", tagged(RESULT));
    for size in [1, 2, 7] {
        let frames = text.as_bytes().chunks(size).map(Bytes::copy_from_slice);
        let answer = Response::builder().header("content-type", "text/event-stream").body(Script::of(frames)).unwrap();
        let exchange =
            through::<_, RequestBody<Full<Bytes>>, _, _, _>(|mock| external().layer(mock), call("read"), answer);
        assert_eq!(exchange.text(), whole, "{size}");
    }
}

type Once = mock::Mock<http::Request<RequestBody<Full<Bytes>>>, Response<Script>>;
type Twice = RequestBody<RequestBody<Full<Bytes>>>;
type Mock = mock::Mock<http::Request<Twice>, Response<Script>>;

#[test]
fn ss_03_no_event_goes_before_the_session_is_marked() {
    let store = Stepped::new();
    let (mock, mut handle): (Mock, _) = mock::pair();
    let _alive = mock.clone();
    let mut service = mock::Spawn::new(trust(&store).join(tags(Provenance::Internal)).layer(mock));
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(Box::pin(service.call(call("read"))));
    store.let_pass(1);
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, answer))) = handle.poll_request() else { panic!("not forwarded") };
    let script = Script::of([format!("data: {CLAIM}\n\n")]);
    answer.send_response(Response::builder().header("content-type", "text/event-stream").body(script).unwrap());
    let Poll::Ready(Ok(response)) = future.poll() else { panic!("the head waits") };
    let mut body = Box::pin(response.into_body());
    let mut next = || {
        let polled = Pin::as_mut(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        polled.map(|frame| frame.unwrap().unwrap().into_data().unwrap())
    };
    assert!(next().is_pending() && next().is_pending() && !is_tainted(&store.memory, "ana"));
    store.let_pass(usize::MAX);
    let Poll::Ready(event) = next() else { panic!("no event") };
    assert!(is_tainted(&store.memory, "ana"));
    assert!(str::from_utf8(&event).unwrap().contains(r#""origin":"external""#), "{event:?}");
}

#[test]
fn ss_03_joined_or_stacked_the_verdict_is_what_is_written() {
    for (tool, origin, rule) in [("read", "internal", "server"), ("scrape", "external", "untrusted_tool")] {
        let store = MemoryTaintStore::new(10);
        let tags = ProvenanceTagLayer::new;
        let joined =
            through::<_, Twice, _, _, _>(|mock| trust(&store).join(tags()).layer(mock), call(tool), json(RESULT));
        let stacked =
            through::<_, Twice, _, _, _>(|mock| trust(&store).layer(tags().layer(mock)), call(tool), json(RESULT));
        for exchange in [joined, stacked] {
            let got: Value = serde_json::from_slice(&exchange.body).unwrap();
            let tag = &got["result"]["_meta"][KEY];
            assert_eq!((tag["origin"].as_str(), tag["rule"].as_str()), (Some(origin), Some(rule)), "{tool}");
            assert!(tag["session_tainted"].is_boolean(), "{tool}");
        }
    }
}

#[test]
fn ss_04_what_is_said_of_the_bytes_is_true_or_gone() {
    let digests = ["etag", "digest", "content-md5", "content-digest", "repr-digest"];
    for (text, media) in [(RESULT.to_owned(), "application/json"), (format!("data: {RESULT}\n\n"), "text/event-stream")]
    {
        let mut answer = typed(media, text.clone());
        answer.headers_mut().insert("content-length", text.len().into());
        for name in digests {
            answer.headers_mut().insert(name, "\"x\"".parse().unwrap());
        }
        let exchange = send(&external(), call("read"), answer);
        for name in digests {
            assert_eq!(exchange.header(name), None, "{media}: {name}");
        }
        let length = exchange.header("content-length");
        assert!(length.is_none_or(|length| length == exchange.body.len().to_string()), "{media}");
    }
    let pong = result("{}");
    let mut answer = json(&pong);
    answer.headers_mut().insert("etag", "\"x\"".parse().unwrap());
    assert_eq!(send(&external(), ask("kg", "ping", "{}"), answer).header("etag"), Some("\"x\""), "nothing has changed");
}

#[test]
fn ss_05_coded_bodies_are_refused_and_not_asked_for() {
    for media in ["application/json", "text/event-stream"] {
        for request in [call("read"), listen("kg")] {
            let mut answer = typed(media, &b"\x1f\x8b\x08"[..]);
            answer.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            let exchange = send(&external(), request.with_header("accept-encoding", "gzip, br"), answer);
            assert_eq!(exchange.denial().reason(), INVALID, "{media}");
            let seen = exchange.seen.as_ref().unwrap();
            let asked: Vec<_> = seen.head.headers.get_all("accept-encoding").iter().collect();
            assert_eq!(asked, ["identity"], "{media}");
        }
    }
}

#[test]
fn ss_06_what_is_too_long_is_an_error() {
    let layer = external().with_max_list_bytes(100);
    let long = result(&format!(r#"{{"content":[],"a":"{}"}}"#, "x".repeat(100)));
    let exchange = send(&layer, call("read"), json(&long));
    assert_eq!(exchange.denial().reason(), "upstream.too_large");
    let stream = send(&layer, call("read"), events(format!("data: {long}\n\n")));
    for exchange in [exchange, stream] {
        assert!(
            !exchange.text().contains("xx") && exchange.text().contains(r#""id":1,"error""#),
            "{}",
            exchange.text()
        );
    }
}

#[test]
fn ss_07_and_ss_08_what_cannot_be_told_is_withheld() {
    for (name, message, withheld) in [
        ("SS-07 half a message", r#"{"jsonrpc":"2.0","id":1,"result":{"secret":1"#, true),
        ("SS-07 a text", "secret {", true),
        ("SS-07 two", r#"{"id":1,"result":{}} {"secret":1}"#, true),
        ("SS-07 a mark of order", "\u{feff}{\"id\":1,\"result\":{\"secret\":1}}", true),
        ("SS-08 another id", r#"{"jsonrpc":"2.0","id":2,"result":{"secret":1}}"#, true),
        ("SS-08 another error", r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"secret"}}"#, true),
        ("SS-08 a string", r#"{"jsonrpc":"2.0","id":"1","result":{"secret":1}}"#, true),
        ("SS-08 after its result", r#"{"result":{"secret":1},"id":2}"#, true),
        ("SS-08 an object", r#"{"id":{"a":1},"result":{"secret":1}}"#, true),
        ("SS-08 the same by value", r#"{"jsonrpc":"2.0","id":1.0,"result":{"secret":1}}"#, false),
        ("SS-08 the same, last", r#"{"result":{"secret":1},"id":1}"#, false),
        ("a result and an error", r#"{"id":1,"result":{"secret":1},"error":{"code":1}}"#, true),
        ("an array", r#"{"id":1,"result":["secret"]}"#, true),
    ] {
        let answer = send(&external(), call("read"), json(message));
        let stream = send(&external(), call("read"), events(format!("id: 7\ndata: {message}\n\n")));
        for exchange in [&answer, &stream] {
            let text = exchange.text();
            assert_eq!(text.contains("secret"), !withheld, "{name}: {text}");
            assert_eq!(text.contains(r#""id":1,"error""#), withheld, "{name}: {text}");
            assert_eq!(text.contains(KEY), !withheld, "{name}: {text}");
        }
        if withheld {
            assert_eq!(answer.denial().reason(), INVALID, "{name}");
        }
    }
}

#[test]
fn ss_09_what_comes_before_the_answer_is_marked_by_itself() {
    let said = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    let exchange = send(&external(), call("read"), events(format!("data: {said}\n\ndata: {RESULT}\n\n")));
    let messages: Vec<Value> = exchange
        .text()
        .split("\n\n")
        .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
        .collect();
    assert_eq!(messages[0]["params"]["_meta"][KEY]["origin"], "external");
    assert_eq!(messages[1]["result"]["_meta"][KEY]["tool"], "read");
}

#[test]
fn ss_10_streams_of_nobodys_and_replays_are_marked() {
    let message = r#"{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"x"}]}}"#;
    for request in [listen("kg"), listen("kg").with_header("last-event-id", "7")] {
        let exchange = send(&fencing(), request, events(format!("id: 8\ndata: {message}\n\n")));
        let got: Value = serde_json::from_str(exchange.text().strip_prefix("id: 8\ndata: ").unwrap()).unwrap();
        assert_eq!(got["result"]["_meta"][KEY]["origin"], "external");
        assert!(got["result"]["content"][0]["text"].as_str().unwrap().starts_with("<<EXT"));
    }
}

#[test]
fn ss_12_answers_of_a_batch_are_marked_each_by_its_tool() {
    let labels = ToolLabels::new([
        ("inside", ToolLabel::new().with_confidentiality(Confidentiality::Internal)),
        ("outside", ToolLabel::new().with_trust(LabelTrust::Untrusted)),
    ]);
    let layer = ProvenanceTagLayer::new().with_labels(labels.unwrap());
    let batch = || {
        let calls = [tool_call("1", "inside", "{}"), tool_call("\"b\"", "outside", "{}")].join(",");
        post_text(format!("[{calls}]")).with_server("kg")
    };
    let (one, two) = (RESULT.to_owned(), RESULT.replace("\"id\":1", "\"id\":\"b\""));
    let got = marked(&layer, batch, &format!("[{two},{one}]"));
    for (at, origin, tool) in [(0, "external", "outside"), (1, "internal", "inside")] {
        let tag = &got[at]["result"]["_meta"][KEY];
        assert_eq!((tag["origin"].as_str(), tag["tool"].as_str()), (Some(origin), Some(tool)), "{got}");
    }
    let stranger = RESULT.replace("\"id\":1", "\"id\":3");
    let exchange = send(&layer, batch(), json(&format!("[{one},{stranger}]")));
    assert_eq!(exchange.denial().reason(), INVALID);
}

#[test]
fn ss_13_an_event_goes_on_before_the_next_one_exists() {
    let (mock, mut handle): (Once, _) = mock::pair();
    let _alive = mock.clone();
    let mut service = mock::Spawn::new(external().layer(mock));
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(Box::pin(service.call(call("read"))));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, answer))) = handle.poll_request() else { panic!("not forwarded") };
    let said = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    let script = Script::new([Step::Data(format!("data: {said}\n\n").into()), Step::Stay]);
    let polls = script.polls();
    answer.send_response(Response::builder().header("content-type", "text/event-stream").body(script).unwrap());
    let Poll::Ready(Ok(response)) = future.poll() else { panic!("the head waits") };
    assert_eq!(polls.load(std::sync::atomic::Ordering::Relaxed), 0, "nobody has asked yet");
    let mut body = Box::pin(response.into_body());
    let mut next = || Pin::as_mut(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Some(Ok(frame))) = next() else { panic!("no event") };
    assert!(str::from_utf8(&frame.into_data().unwrap()).unwrap().contains(KEY));
    assert!(next().is_pending());
}

#[test]
fn ss_14_answers_without_a_body_are_left_alone() {
    for status in [StatusCode::ACCEPTED, StatusCode::NO_CONTENT] {
        let mut answer = Response::new(Full::new(Bytes::new()));
        *answer.status_mut() = status;
        let notice = post_text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).with_server("kg");
        let exchange = send(&external(), notice, answer);
        assert_eq!((exchange.status(), exchange.text()), (status, ""));
    }
}
