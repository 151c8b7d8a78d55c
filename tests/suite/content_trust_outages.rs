//! A store that gives no answer.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower_toolgate::trust::SessionTaint;

use super::content_trust::*;
use super::content_trust_races::{CLAIM, external};
use super::content_trust_stepped::{Running, Stepped};
use super::support::{Step as Part, *};

const UNAVAILABLE: &str = "trust.store_unavailable";
const WITHHELD: &str = "trust.content_withheld";

fn broken() -> Stepped {
    let store = Stepped::open();
    store.fail(true);
    store
}

/// As clients of the streamable transport send it.
fn streamable(request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.with_header("accept", "application/json, text/event-stream")
}

#[test]
fn sd_01_what_cannot_be_marked_is_not_sent() {
    let store = broken();
    for (name, request) in external() {
        let exchange = send(&trust(&store), request, json(RESULT));
        exchange.refused(name, 503, "1", 503, UNAVAILABLE);
        assert!(exchange.header("retry-after").is_some(), "{name}");
    }
    for (name, request) in external() {
        let exchange = send(&trust(&store), streamable(request), json(RESULT));
        exchange.refused(name, 200, "1", 503, UNAVAILABLE);
        assert!(exchange.text().contains("nothing was done"), "{name}: {}", exchange.text());
    }
}

#[test]
fn sd_01_nor_is_a_batch_of_which_one_cannot_be() {
    let batch = format!("[{},{}]", tool_call("1", "read", "{}"), tool_call("2", "scrape", "{}"));
    let exchange = send(&trust(&broken()), by("ana", post_text(batch).with_server("kg")), json(RESULT));
    assert!(exchange.seen.is_none() && exchange.denial().reason() == UNAVAILABLE);
    assert!(exchange.text().contains(r#""id":1"#) && exchange.text().contains(r#""id":2"#), "{}", exchange.text());
}

/// The answer to a call whose mark fails after it was sent.
fn failing_late(request: Request<Full<Bytes>>, answer: Response<Script>) -> (http::response::Parts, String) {
    let store = Stepped::open();
    let mut running = Running::start(&trust(&store), request);
    assert!(running.poll().is_pending());
    store.fail(true);
    running.answer(answer);
    let std::task::Poll::Ready(response) = running.poll() else { panic!("hangs") };
    let (head, body) = response.into_parts();
    (head, String::from_utf8(collect(body).0.concat()).unwrap())
}

fn scripted(media: &str, parts: &[&str]) -> Response<Script> {
    let parts = parts.iter().map(|part| Part::Data(Bytes::copy_from_slice(part.as_bytes())));
    let response = Response::builder().header("content-type", media).header("etag", "\"1\"");
    response.header("x-request-id", "7").body(Script::new(parts)).unwrap()
}

#[test]
fn sd_02_content_that_cannot_be_marked_is_withheld() {
    for (request, status) in [(call("read"), 503), (streamable(call("read")), 200)] {
        let (head, text) = failing_late(request, scripted("application/json", &[CLAIM]));
        assert_eq!(head.status, status);
        assert!(text.contains(WITHHELD) && text.contains(r#""id":1"#) && text.contains("effects"), "{text}");
        assert!(!text.contains("integrity") && !head.headers.contains_key("etag"), "{text}");
        assert_eq!(head.headers.get("content-length").unwrap(), &*text.len().to_string());
        // It may have had effects: nobody is asked to try again.
        assert!(!head.headers.contains_key("retry-after"));
    }
}

#[test]
fn sd_02_an_event_that_cannot_be_marked_ends_the_stream_with_an_error() {
    let event = format!("id: 3\ndata: {CLAIM}\n\n");
    let parts = ["data: {\"a\":1}\n\n", &event, "data: {\"a\":2}\n\n"];
    let (head, text) = failing_late(streamable(call("read")), scripted("text/event-stream", &parts));
    assert_eq!(head.status, 200);
    assert!(text.starts_with("data: {\"a\":1}\n\n") && text.contains(WITHHELD), "{text}");
    assert!(!text.contains("integrity") && !text.contains("{\"a\":2}"), "{text}");
    assert!(text.contains("effects") && text.ends_with("\n\n"), "{text}");
}

#[test]
fn sd_02_on_a_stream_of_nobodys_the_event_is_left_out() {
    let log = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"x\"}}\n\n";
    let news = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let (_, text) = failing_late(listen("web"), scripted("text/event-stream", &[news, log, news]));
    assert_eq!(text, news.repeat(2));
}

#[test]
fn sd_02_a_coded_answer_is_withheld_unread() {
    let mut answer = scripted("application/json", &[CLAIM]);
    answer.headers_mut().insert("content-encoding", "br".parse().unwrap());
    let (head, text) = failing_late(call("read"), answer);
    assert!(text.contains(WITHHELD) && !head.headers.contains_key("content-encoding"), "{text}");
}

#[test]
fn sd_03_a_sink_is_refused_where_nothing_is_known() {
    let exchange = send(&trust(&broken()), call("remember"), json(RESULT));
    exchange.refused("plain", 503, "1", 503, UNAVAILABLE);
    let exchange = send(&trust(&broken()), streamable(call("send_mail")), json(RESULT));
    exchange.refused("streamable", 200, "1", 503, UNAVAILABLE);
}

#[test]
fn sd_04_what_neither_writes_nor_marks_passes_as_in_a_tainted_session() {
    for request in [call("read"), ask("kg", "resources/read", r#"{"uri":"file:///a"}"#), ask("web", "ping", "{}")] {
        let exchange = send(&trust(&broken()), request, json(RESULT));
        let seen = exchange.seen.as_ref().expect("forwarded");
        let session = SessionTaint::of(&seen.head.extensions).unwrap();
        assert!(session.is_tainted() && session.is_assumed());
        assert_eq!(exchange.text(), RESULT);
    }
}

#[test]
fn sd_05_sd_09_a_store_that_comes_back_needs_nothing_else() {
    let store = Stepped::open();
    let layer = trust(&store);
    send(&layer, call("scrape"), json(RESULT));
    store.fail(true);
    send(&layer, call("remember"), json(RESULT)).refused("down", 503, "1", 503, UNAVAILABLE);
    store.fail(false);
    send(&layer, call("remember"), json(RESULT)).refused("back", 403, "1", 403, "trust.tainted_sink");
    assert_eq!(send(&layer, by("bob", call("remember")), json(RESULT)).text(), RESULT);
}
