//! Clients that go away at every point: what they have seen is marked, and what was sent as well.

use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio_test::task;

use super::content_trust::*;
use super::content_trust_races::{CLAIM, external};
use super::content_trust_stepped::{Running, Stepped, next};
use super::support::{Step as Part, *};

/// A request, what comes back, and what a client must not see unmarked.
struct Case {
    name: &'static str,
    request: fn() -> Request<Full<Bytes>>,
    media: &'static str,
    parts: Vec<String>,
    /// It is marked before it is sent.
    is_static: bool,
    /// Where this is seen it is marked.
    content: &'static str,
}

const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"foreign"}}"#;
const FIRST: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":7}\n\n";

fn cases() -> Vec<Case> {
    let events = |content: &str| vec![FIRST.to_owned(), format!("data: {content}\n\n"), FIRST.to_owned()];
    let halves = |text: &str| <[_; 2]>::from(text.split_at(9)).map(str::to_owned).to_vec();
    let case =
        |name, request, media, parts, is_static, content| Case { name, request, media, parts, is_static, content };
    let (json, stream) = ("application/json", "text/event-stream");
    vec![
        case("an external call", || call("scrape"), json, halves(RESULT), true, "result"),
        case("an external call's stream", || call("scrape"), stream, events(LOG), true, "foreign"),
        case("a claim in JSON", || call("read"), json, halves(CLAIM), false, "integrity"),
        case("a claim in an event", || call("read"), stream, events(CLAIM), false, "integrity"),
        case("a stream of a foreign server", || listen("web"), stream, events(LOG), false, "foreign"),
        case("plumbing", || ask("web", "ping", "{}"), stream, events(LOG), false, "foreign"),
        case("a list", || ask("web", "tools/list", "{}"), stream, events(LOG), false, "foreign"),
        case("a sink", || call("remember"), json, halves(CLAIM), false, "integrity"),
    ]
}

/// What a client has seen when it goes away after so many steps, and whether all steps were taken.
fn run(case: &Case, store: &Stepped, steps: usize) -> (bool, String, bool) {
    let mut running = Running::start(&trust(store), (case.request)());
    let (mut dispatched, mut answered, mut body, mut seen) = (false, false, None, String::new());
    for _ in 0..steps {
        if let Some(body) = &mut body {
            match next(body) {
                Poll::Ready(Some(frame)) => seen.push_str(str::from_utf8(&frame).unwrap()),
                Poll::Ready(None) => return (dispatched, seen, true),
                Poll::Pending if body.is_woken() => {}
                Poll::Pending => store.let_pass(1),
            }
        } else if let Poll::Ready(response) = running.poll() {
            body = Some(task::spawn(Box::pin(response.into_body())));
        } else if !answered && running.is_dispatched() {
            (dispatched, answered) = (true, true);
            let parts = case.parts.iter().flat_map(|part| [Part::Later, Part::Data(part.clone().into())]);
            let response = Response::builder().header("content-type", case.media);
            running.answer(response.body(Script::new(parts)).unwrap());
        } else if !running.future.is_woken() {
            store.let_pass(1);
        }
        dispatched |= running.is_dispatched();
    }
    (dispatched, seen, false)
}

#[test]
fn rc_05_whoever_goes_away_leaves_nothing_unmarked() {
    for case in cases() {
        for steps in 0.. {
            assert!(steps < 100, "{}: hangs", case.name);
            let store = Stepped::new();
            let (dispatched, seen, ended) = run(&case, &store, steps);
            let marked = is_tainted(&store.memory, "ana");
            assert!(marked || !(dispatched && case.is_static), "{} after {steps}: sent", case.name);
            assert!(marked || !seen.contains(case.content), "{} after {steps}: {seen}", case.name);
            if ended {
                assert_eq!(seen, case.parts.concat(), "{}", case.name);
                assert!(marked && steps > 5, "{}", case.name);
                break;
            }
        }
    }
}

#[test]
fn rc_05_content_that_was_never_delivered_needs_no_mark() {
    let store = Stepped::new();
    store.let_pass(1);
    let mut running = Running::start(&trust(&store), call("read"));
    assert!(running.poll().is_pending());
    running.answer(json(CLAIM));
    assert!(running.poll().is_pending());
    drop(running);
    store.let_pass(usize::MAX);
    assert!(!is_tainted(&store.memory, "ana"));
    for (name, request) in external() {
        let store = Stepped::new();
        let mut running = Running::<Full<Bytes>>::start(&trust(&store), request);
        assert!(running.poll().is_pending(), "{name}");
        drop(running);
        assert!(!is_tainted(&store.memory, "ana"), "{name}");
    }
}
