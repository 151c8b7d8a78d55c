//! A gate and content trust together, stacked and joined.

use std::convert::Infallible;
use std::future::Ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tower::{Layer, Service};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::message::Inspection;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
use tower_toolgate::store::MemoryTaintStore;
use tower_toolgate::trust::{SessionTaint, Verdict};

use super::content_trust::*;
use super::content_trust_races::CLAIM;
use super::support::*;

fn gate() -> ArgumentAllowlistLayer {
    let role = RoleConfig::new("analyst").with_servers(["*"]).with_allow(["read", "scrape", "remember"]);
    ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
}

type Twice = RequestBody<RequestBody<Full<Bytes>>>;

/// How two layers stand to each other.
#[derive(Clone, Copy, Debug)]
enum Stand {
    Joined,
    JoinedTrustFirst,
    Stacked,
    StackedTrustFirst,
}

const ALL: [Stand; 4] = [Stand::Joined, Stand::JoinedTrustFirst, Stand::Stacked, Stand::StackedTrustFirst];

fn sent<R>(stand: Stand, store: &MemoryTaintStore, request: Request<Full<Bytes>>, answer: Response<R>) -> Exchange
where
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    by_layers(stand, &gate(), &trust(store), request, answer)
}

fn by_layers<R>(
    stand: Stand,
    gate: &ArgumentAllowlistLayer,
    trust: &ContentTrustLayer<MemoryTaintStore>,
    request: Request<Full<Bytes>>,
    answer: Response<R>,
) -> Exchange
where
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (gate, trust) = (gate.clone(), trust.clone());
    match stand {
        Stand::Joined => through::<_, Twice, _, _, _>(|mock| gate.join(trust).layer(mock), request, answer),
        Stand::JoinedTrustFirst => through::<_, Twice, _, _, _>(|mock| trust.join(gate).layer(mock), request, answer),
        Stand::Stacked => through::<_, Twice, _, _, _>(|mock| gate.layer(trust.layer(mock)), request, answer),
        Stand::StackedTrustFirst => through::<_, Twice, _, _, _>(|mock| trust.layer(gate.layer(mock)), request, answer),
    }
}

#[test]
fn however_they_stand_they_do_the_same() {
    for stand in ALL {
        let store = MemoryTaintStore::new(10);
        let is_sent = |tool| sent(stand, &store, call(tool), json(RESULT)).seen.is_some();
        assert!(is_sent("read") && is_sent("remember") && !is_sent("other"), "{stand:?}");
        let store = MemoryTaintStore::new(10);
        assert_eq!(sent(stand, &store, call("read"), json(CLAIM)).text(), CLAIM, "{stand:?}");
        let refused = sent(stand, &store, call("remember"), json(RESULT));
        refused.refused(&format!("{stand:?}"), 403, "1", 403, "trust.tainted_sink");
    }
}

#[test]
fn a_list_is_cut_down_and_learned_from_in_json_and_in_streams() {
    let entry = |name: &str| format!(r#"{{"name":"{name}","annotations":{{"openWorldHint":true}}}}"#);
    let list = |entries: &[&str]| {
        let entries: Vec<_> = entries.iter().map(|name| entry(name)).collect();
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, entries.join(","))
    };
    let dense = |text: &str| text.replace(' ', "");
    let (all, some) = (list(&["read", "secret"]), list(&["read"]));
    for stand in ALL {
        for stream in [false, true] {
            let store = MemoryTaintStore::new(10);
            let layer = trust(&store);
            let event = |list: &str| format!("data: {list}\n\n");
            let answer = if stream { events(event(&all)) } else { json(&all) };
            let exchange = by_layers(stand, &gate(), &layer, ask("kg", "tools/list", "{}"), answer);
            let expected = if stream { event(&some) } else { some.clone() };
            assert_eq!(dense(exchange.text()), dense(&expected), "{stand:?}, {stream}");
            let length = exchange.header("content-length").map(|length| length.parse::<usize>().unwrap());
            assert!(length.is_none_or(|length| length == exchange.body.len()), "{stand:?}, {stream}");
            assert!(!is_tainted(&store, "ana"), "{stand:?}, {stream}: a list marks nothing");
            by_layers(stand, &gate(), &layer, call("read"), json(RESULT));
            assert!(is_tainted(&store, "ana"), "{stand:?}, {stream}: it has said that its world is open");
        }
    }
}

#[test]
fn what_is_to_be_looked_at_comes_uncoded_however_they_stand() {
    for stand in ALL {
        for request in [call("read"), ask("web", "ping", "{}"), ask("kg", "tools/list", "{}"), listen("web")] {
            let request = request.with_header("accept-encoding", "gzip");
            let exchange = sent(stand, &MemoryTaintStore::new(10), request, json(RESULT));
            assert_eq!(exchange.seen.unwrap().head.headers["accept-encoding"], "identity", "{stand:?}");
        }
    }
}

#[test]
fn a_stream_of_nobodys_is_looked_at_however_they_stand() {
    let log = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"x\"}}\n\n";
    let news = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    for stand in ALL {
        for (text, expected) in [(log, true), (news, false)] {
            let store = MemoryTaintStore::new(10);
            assert_eq!(sent(stand, &store, listen("web"), events(text)).text(), text, "{stand:?}");
            assert_eq!(is_tainted(&store, "ana"), expected, "{stand:?}: {text}");
        }
    }
}

#[test]
fn what_is_known_is_with_the_request_in_one_insertion() {
    for stand in ALL {
        for (tool, expected) in [("read", false), ("scrape", true)] {
            let request = call(tool);
            let before = request.extensions().len();
            let exchange = sent(stand, &MemoryTaintStore::new(10), request, json(RESULT));
            let extensions = &exchange.seen.as_ref().unwrap().head.extensions;
            assert_eq!(extensions.len(), before + 1, "{stand:?}");
            assert_eq!(Verdict::of(extensions).unwrap().pollutes(), expected, "{stand:?}");
            assert!(!SessionTaint::of(extensions).unwrap().is_tainted(), "{stand:?}");
            assert_eq!(Inspection::of(extensions).unwrap().messages().count(), 1, "{stand:?}");
        }
    }
}

#[test]
fn a_gate_that_only_watches_does_not_keep_trust_from_refusing() {
    for stand in ALL {
        let (store, gate) = (MemoryTaintStore::new(10), gate().with_insecure_shadow(true));
        let layer = trust(&store);
        by_layers(stand, &gate, &layer, call("scrape"), json(RESULT));
        let refused = by_layers(stand, &gate, &layer, call("remember"), json(RESULT));
        assert!(refused.seen.is_none() && refused.denial().reason() == "trust.tainted_sink", "{stand:?}");
    }
}

#[test]
fn two_trust_layers_each_have_their_say() {
    let stores = [MemoryTaintStore::new(10), MemoryTaintStore::new(10)];
    for joined in [false, true] {
        let twice = |request| {
            let (outer, inner) = (trust(&stores[0]), trust(&stores[1]));
            if joined {
                through::<_, Twice, _, _, _>(|mock| outer.join(inner).layer(mock), request, json(CLAIM))
            } else {
                through::<_, Twice, _, _, _>(|mock| outer.layer(inner.layer(mock)), request, json(CLAIM))
            }
        };
        let who = if joined { "ana" } else { "bob" };
        assert_eq!(twice(by(who, call("read"))).text(), CLAIM);
        assert!(stores.iter().all(|store| is_tainted(store, who)), "{joined}");
        assert!(twice(by(who, call("remember"))).seen.is_none());
    }
}

/// A service that keeps nothing but the length of what came.
#[derive(Clone)]
struct Silent(Arc<Mutex<usize>>);

impl<B: Body> Service<Request<B>> for Silent {
    type Response = Response<http_body_util::Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        *self.0.lock().unwrap() = usize::try_from(request.body().size_hint().exact().unwrap()).unwrap();
        std::future::ready(Ok(Response::new(http_body_util::Empty::new())))
    }
}

/// The bytes that are allocated for one call of so many bytes.
fn bytes_for<L>(layer: &L, length: usize) -> u64
where
    L: Layer<Silent, Service: Service<Request<Full<Bytes>>, Error = Infallible>>,
{
    let seen = Arc::default();
    let mut service = layer.layer(Silent(Arc::clone(&seen)));
    let body = Bytes::from(tool_call("1", "read", &format!(r#"{{"text":"{}"}}"#, "a".repeat(length))));
    drop(body.clone());
    let (sent, request) = (body.len(), by("ana", post_text(body).with_server("kg")));
    let info = measure(|| {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        assert!(pin!(service.call(request)).poll(&mut cx).is_ready());
    });
    assert_eq!(*seen.lock().unwrap(), sent);
    info.bytes_total
}

use std::future::Future as _;

#[test]
fn a_body_is_read_once_however_they_stand() {
    let store = MemoryTaintStore::new(10);
    let (gate, trust) = (gate(), trust(&store));
    let both = gate.clone().join(trust.clone());
    for layer in [&trust as &dyn Costs, &both] {
        assert_eq!(layer.cost(1 << 7), layer.cost(1 << 20), "nothing is copied");
    }
    // A second reading would allocate for the names of what is open once more.
    let (one, two, joined) = (gate.cost(128), trust.cost(128), both.cost(128));
    println!("gate: {one}, trust: {two}, joined: {joined}");
    assert!(joined < one + two, "{one} {two} {joined}");
}

/// What a layer costs.
trait Costs {
    fn cost(&self, length: usize) -> u64;
}

impl<L: Layer<Silent, Service: Service<Request<Full<Bytes>>, Error = Infallible>>> Costs for L {
    fn cost(&self, length: usize) -> u64 {
        bytes_for(self, length)
    }
}
