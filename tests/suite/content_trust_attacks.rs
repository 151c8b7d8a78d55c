//! Answers that are not what they say they are, or not all there.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::http::RequestBody;
use tower_toolgate::store::MemoryTaintStore;
use tower_toolgate::trust::{SessionTaint, Verdict};

use super::content_trust::*;
use super::content_trust_races::CLAIM;
use super::support::{Step as Part, *};

const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"foreign"}}"#;

fn answer(status: u16, media: Option<&str>, body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status).body(Full::from(body.to_owned())).unwrap();
    if let Some(media) = media {
        response.headers_mut().insert("content-type", media.parse().unwrap());
    }
    response
}

/// Whether the client has the body, and whether the session is marked.
fn got(request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>, body: &str) -> (bool, bool) {
    let store = MemoryTaintStore::new(10);
    let exchange = send(&trust(&store), request, answer);
    let got = !body.is_empty() && exchange.text() == body;
    assert!(got || body.is_empty() || !exchange.text().contains("foreign"), "{}", exchange.text());
    (got, is_tainted(&store, "ana"))
}

/// What is not said to be a message, or in a way that not everybody reads.
const MEDIA: &[Option<&str>] = &[
    None,
    Some("text/plain"),
    Some("application/octet-stream"),
    Some("application/json; charset=iso-8859-1"),
    Some("text/event-stream; charset=iso-8859-1"),
    Some("application/json, text/event-stream"),
    Some("application/json-rpc"),
    Some("application/vnd.api+json"),
    Some("TEXT/HTML"),
];

#[test]
fn what_is_said_to_be_something_else_is_looked_at_all_the_same() {
    let event = |message: &str| format!("data: {message}\n\n");
    for media in MEDIA {
        for text in [CLAIM.to_owned(), event(CLAIM)] {
            assert_eq!(got(call("read"), answer(200, *media, &text), &text), (true, true), "{media:?} {text}");
        }
        for text in [LOG.to_owned(), event(LOG)] {
            let ping = ask("web", "ping", "{}");
            assert_eq!(got(ping, answer(200, *media, &text), &text), (true, true), "{media:?} {text}");
        }
        for text in ["", "Accepted", RESULT] {
            let expected = (!text.is_empty(), false);
            assert_eq!(got(call("read"), answer(202, *media, text), text), expected, "{media:?} {text}");
            assert_eq!(got(ask("web", "ping", "{}"), answer(202, *media, text), text), expected, "{media:?} {text}");
        }
    }
}

#[test]
fn a_stream_that_is_not_said_to_be_one_is_not_handed_on() {
    for media in MEDIA {
        for text in [LOG.to_owned(), format!("data: {LOG}\n\n")] {
            assert_eq!(got(listen("web"), answer(200, *media, &text), &text), (false, false), "{media:?} {text}");
        }
        assert_eq!(got(listen("web"), answer(405, *media, "no {stream}"), "no {stream}"), (true, false), "{media:?}");
    }
    let refusal = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Method not allowed."},"id":null}"#;
    assert_eq!(got(listen("web"), answer(405, Some("application/json"), refusal), refusal), (true, false));
}

#[test]
fn whatever_its_status_an_answer_is_looked_at() {
    for status in [201, 206, 301, 400, 401, 404, 429, 500, 503] {
        let store = MemoryTaintStore::new(10);
        let exchange = send(&trust(&store), call("read"), answer(status, Some("application/json"), CLAIM));
        assert_eq!((exchange.status().as_u16(), exchange.text()), (status, CLAIM));
        assert!(is_tainted(&store, "ana"), "{status}");
    }
    let exchange = send(&trust(&MemoryTaintStore::new(10)), call("read"), answer(101, None, LOG));
    assert_eq!(exchange.denial().reason(), "upstream.switched_protocols");
}

#[test]
fn an_event_that_is_too_long_is_not_handed_on() {
    let long = format!("data: {}\n\ndata: {{\"a\":1}}\n\n", LOG.replace("foreign", &"foreign".repeat(40)));
    for (request, goes_on) in [(listen("web"), true), (ask("web", "ping", "{}"), false), (call("read"), false)] {
        let store = MemoryTaintStore::new(10);
        let layer = trust(&store).with_max_list_bytes(100);
        let exchange = send(&layer, request, events(long.clone()));
        assert!(!exchange.text().contains("foreign"), "{}", exchange.text());
        assert_eq!(exchange.text().contains("\"a\":1"), goes_on, "{}", exchange.text());
    }
}

#[test]
fn an_event_without_its_end_and_trailers_come_through() {
    let trailers = HeaderMap::from_iter([("x-checksum".parse().unwrap(), "1".parse().unwrap())]);
    for (text, expected) in [(format!("data: {LOG}"), true), ("data: {\"method\":\"ping\"}".to_owned(), false)] {
        let store = MemoryTaintStore::new(10);
        let parts = text.as_bytes().chunks(7).map(|part| Part::Data(Bytes::copy_from_slice(part)));
        let body = Script::new(parts);
        let response = Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
        let request = listen("web").with_header("last-event-id", "7");
        assert!(sent_through(&store, request, response).contains(&text));
        assert_eq!(is_tainted(&store, "ana"), expected, "{text}");
    }
    let store = MemoryTaintStore::new(10);
    let body = Script::new([Part::Data(CLAIM.into()), Part::Trailers(trailers)]);
    let response = Response::builder().header("content-type", "application/json").body(body).unwrap();
    assert_eq!(sent_through(&store, call("read"), response), CLAIM);
    assert!(is_tainted(&store, "ana"));
}

fn sent_through(store: &MemoryTaintStore, request: Request<Full<Bytes>>, response: Response<Script>) -> String {
    send(&trust(store), request, response).text().to_owned()
}

#[test]
fn ct_55_the_server_of_the_layer_counts_and_not_what_is_said_elsewhere() {
    let store = MemoryTaintStore::new(10);
    let layer = trust(&store).with_server(tower_toolgate::Server::new("web"));
    send(&layer, call("read"), json(RESULT));
    assert!(is_tainted(&store, "ana"), "the extension says kg");
    let named = by("bob", post_text(tool_call("1", "mcp__kg__read", "{}")).with_server("web"));
    send(&trust(&store), named, json(RESULT));
    assert!(is_tainted(&store, "bob"), "the name says kg");
}

#[test]
fn a_batch_is_marked_by_one_of_its_calls_wherever_it_is() {
    for tools in [["read", "scrape"], ["scrape", "read"]] {
        let store = MemoryTaintStore::new(10);
        let calls: Vec<_> = tools.iter().enumerate().map(|(at, tool)| tool_call(&at.to_string(), tool, "{}")).collect();
        let batch = by("ana", post_text(format!("[{}]", calls.join(","))).with_server("kg"));
        let exchange = send(&trust(&store), batch, json(RESULT));
        assert!(Verdict::of(&exchange.seen.unwrap().head.extensions).unwrap().pollutes());
        assert!(is_tainted(&store, "ana"), "{tools:?}");
    }
}

#[test]
fn what_is_known_survives_a_chain_further_in() {
    type Thrice = RequestBody<RequestBody<RequestBody<Full<Bytes>>>>;
    let store = MemoryTaintStore::new(10);
    let role = tower_toolgate::policy::RoleConfig::new("analyst").with_servers(["*"]).with_allow(["read"]);
    let policy = tower_toolgate::policy::PolicyConfig::new().with_role(role);
    let gate = || {
        let policy = tower_toolgate::policy::Policy::new(&policy).unwrap();
        tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer::new(policy)
    };
    let chain = gate().join(gate());
    let stack = |mock| trust(&store).layer(chain.layer(mock));
    let exchange = through::<_, Thrice, _, _, _>(stack, call("read"), json(RESULT));
    let extensions = exchange.seen.unwrap().head.extensions;
    assert!(SessionTaint::of(&extensions).is_some() && Verdict::of(&extensions).is_some());
}
