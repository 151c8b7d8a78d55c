//! What the gate costs a call that passes, in allocations, and a response, in what is held of it.

use std::convert::Infallible;
use std::future::{Future, Ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{Empty, Full};
use tower::{Layer, Service, service_fn};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};

use super::support::{Script, legal, mcp, plain, post, post_text, tool_call};

/// A service that looks at nothing.
#[derive(Clone)]
struct Silent;

impl<B> Service<Request<B>> for Silent {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new(Empty::new())))
    }
}

/// What one call of a service allocates.
fn cost<S, B, R>(mut service: S, request: Request<B>) -> AllocationInfo
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
    R: Body,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut response = None;
    let info = measure(|| {
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut future = pin!(service.call(request));
        while response.is_none() {
            if let Poll::Ready(Ok(answer)) = future.as_mut().poll(&mut cx) {
                response = Some(answer);
            }
        }
    });
    assert!(response.unwrap().status().is_success());
    info
}

/// What a gate adds to one call.
fn added(layer: &ArgumentAllowlistLayer, body: &str) -> AllocationInfo {
    let request = || {
        // Shared before it arrives, as a server's receive buffer is: the first clone of other bytes costs one more.
        let body = Bytes::from(body.to_owned());
        drop(body.clone());
        post_text(body)
    };
    let (gated, bare) = (cost(layer.layer(Silent), request()), cost(Silent, request()));
    assert_eq!(bare.count_total, 0, "the service itself allocates nothing");
    gated
}

/// A call of so many bytes with one argument.
fn sized(length: usize) -> String {
    let call = tool_call("1", "run_query", r#"{"cmd":"ls PAD"}"#);
    call.replace("PAD", &"a".repeat(length + 3 - call.len()))
}

#[test]
fn a_call_costs_few_allocations() {
    let ruled = added(&mcp(), &sized(128));
    let free = added(&mcp(), &tool_call("1", "echo", "{}"));
    let plain = added(&plain(), r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"hello"}}"#);
    for (name, info) in [("ruled, 128 bytes", ruled), ("without a rule", free), ("plain", plain)] {
        println!("{name}: {} allocations, {} bytes, {} at once", info.count_total, info.bytes_total, info.bytes_max);
    }
    assert!(ruled.count_total <= RULED && ruled.bytes_total <= RULED_BYTES, "{ruled:?}");
    assert!(free.count_total <= FREE, "{free:?}");
    assert!(plain.count_total <= PLAIN, "{plain:?}");
}

const RULED: u64 = 6;
const RULED_BYTES: u64 = 1040;
const FREE: u64 = 6;
const PLAIN: u64 = 6;

#[test]
fn a_body_in_one_frame_costs_the_same_whatever_its_size() {
    // In an argument that a rule is about, a shell's words are cut: that is the rule's cost, not the body's.
    let text = |length: usize| tool_call("1", "echo", &format!(r#"{{"text":"{}"}}"#, "a".repeat(length)));
    let (small, large) = (added(&mcp(), &text(128)), added(&mcp(), &text(1 << 20)));
    assert_eq!((small.count_total, small.bytes_total), (large.count_total, large.bytes_total));
}

#[test]
fn a_body_in_several_frames_is_copied_once() {
    const LENGTH: usize = 1 << 20;
    let call = tool_call("1", "echo", &format!(r#"{{"text":"{}"}}"#, "a".repeat(LENGTH)));
    let frames: Vec<_> = call.as_bytes().chunks(1 << 14).map(Bytes::copy_from_slice).collect();
    let length = call.len() as u64;
    let announced = Script::of(frames).with_hint(http_body::SizeHint::with_exact(length));
    let info = cost(mcp().layer(Silent), post(announced));
    assert!(info.bytes_total < length + length / 64, "{info:?} for {length}");
}

#[test]
fn a_second_gate_costs_no_second_reading() {
    let request = || post(Full::<Bytes>::from(sized(128)));
    let one = cost(mcp().layer(Silent), request());
    let two = cost(mcp().layer(mcp().layer(Silent)), request());
    println!("one gate: {} allocations, two: {}", one.count_total, two.count_total);
    assert!(two.count_total <= one.count_total + SECOND, "{one:?} {two:?}");
}

const SECOND: u64 = 0;

/// What a call of so many bytes costs through a gate, and through content trust joined to it, on a server of which the
/// operator says whether it is to be trusted.
#[cfg(feature = "content-trust")]
fn with_trust(server: &str, length: usize) -> (AllocationInfo, AllocationInfo) {
    use tower_toolgate::layer::content_trust::ContentTrustLayer;
    use tower_toolgate::store::MemoryTaintStore;
    use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer, RuleAction, ServerTrust, SessionRules};

    use super::content_trust::by;
    use super::support::With;

    let request = || {
        let body = Bytes::from(sized(length));
        drop(body.clone());
        let mut request = by("ana", post_text(body).with_server(server));
        // With room for one header more, as in a head that came by the network.
        request.headers_mut().reserve(8);
        request
    };
    let files = DeclaredServer::new("files").with_trust(ServerTrust::Trusted);
    let classifier = Classifier::new(&ClassifierConfig::new().with_server(files)).unwrap();
    let rules = SessionRules::new().with_sinks(["remember", "send_*"], RuleAction::Deny).unwrap();
    let both = mcp().join(ContentTrustLayer::new(classifier, MemoryTaintStore::new(10)).with_rules(rules));
    // The first mark makes a row.
    cost(both.layer(Silent), request());
    (cost(mcp().layer(Silent), request()), cost(both.layer(Silent), request()))
}

#[cfg(feature = "content-trust")]
#[test]
fn content_trust_joined_to_a_gate_costs_few_allocations_more() {
    for (server, most) in [("files", VOUCHED_FOR), ("db-1", MARKED)] {
        let (gate, both) = with_trust(server, 128);
        let added = both.count_total - gate.count_total;
        println!("{server}: {added} allocations, {} bytes", both.bytes_total - gate.bytes_total);
        assert!(added <= most, "{server}: {gate:?} {both:?}");
        // What is read twice, or copied, costs more for a larger body.
        let (gate_alone, large) = with_trust(server, 1 << 16);
        assert_eq!(large.count_total - gate_alone.count_total, added, "{server}");
        assert_eq!(large.bytes_total - gate_alone.bytes_total, both.bytes_total - gate.bytes_total, "{server}");
    }
}

/// What is to be done with the response, and what is known of the request.
#[cfg(feature = "content-trust")]
const VOUCHED_FOR: u64 = 2;
/// The cause in words, twice, besides.
#[cfg(feature = "content-trust")]
const MARKED: u64 = 4;

/// A service that answers with a list in several frames.
#[derive(Clone)]
struct Listing(Vec<Bytes>);

impl<B> Service<Request<B>> for Listing {
    type Response = Response<Script>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let response = Response::builder().header("content-type", "application/json");
        std::future::ready(Ok(response.body(Script::of(std::mem::take(&mut self.0))).unwrap()))
    }
}

#[test]
fn layers_that_are_joined_read_a_list_once() {
    let gate = |tool: &str| {
        let role = RoleConfig::new("analyst").with_allow(["echo"]).with_allow([tool]);
        ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
    };
    let entries = format!(r#"{{"name":"echo","description":"{}"}},{{"name":"a"}},{{"name":"b"}}"#, "x".repeat(1 << 20));
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{entries}]}}}}"#);
    let frames: Vec<_> = list.as_bytes().chunks(64 << 10).map(Bytes::copy_from_slice).collect();
    let request = || post_text(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let (a, b) = (gate("a"), gate("b"));
    // Whoever reads several frames copies them together.
    let copied = |info: AllocationInfo| usize::try_from(info.bytes_total).unwrap() / list.len();
    assert_eq!(copied(cost(a.clone().join(b.clone()).layer(Listing(frames.clone())), request())), 1);
    assert_eq!(copied(cost(a.layer(b.layer(Listing(frames.clone()))), request())), 2);
    assert_eq!(copied(cost(a.layer(Listing(frames)), request())), 1);
}

/// A body that says one and the same over and over. Nothing of it exists before it is asked for.
#[derive(Clone)]
struct Repeated {
    units: Bytes,
    period: usize,
    frame: usize,
    length: usize,
    sent: usize,
}

impl Repeated {
    fn new(unit: &str, frame: usize, length: usize) -> Self {
        let units = unit.repeat(frame.div_ceil(unit.len()) + 1).into();
        Self { units, period: unit.len(), frame, length, sent: 0 }
    }
}

impl Body for Repeated {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let start = self.sent % self.period;
        let length = self.frame.min(self.length - self.sent);
        self.sent += length;
        // A copy each, or one that is held would not be seen.
        let frame = || Ok(Frame::data(Bytes::copy_from_slice(&self.units[start..start + length])));
        Poll::Ready((length > 0).then(frame))
    }
}

/// The most that is held at once while a request is answered and its response read to the end.
fn held<S, R>(mut service: S, method: &Method, expected: usize) -> u64
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>, Error = Infallible>,
    R: Body<Data = Bytes, Error = Infallible>,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut length = 0;
    let info = measure(|| {
        let mut request = post_text(if method == Method::POST { legal() } else { String::new() });
        *request.method_mut() = method.clone();
        let Poll::Ready(Ok(response)) = pin!(service.call(request)).poll(&mut cx) else { panic!("no response") };
        let mut body = pin!(response.into_body());
        while let Poll::Ready(Some(Ok(frame))) = body.as_mut().poll_frame(&mut cx) {
            length += frame.data_ref().map_or(0, Bytes::len);
        }
    });
    assert_eq!(length, expected);
    info.bytes_max
}

/// What a gate holds more than there is without it.
fn held_more(media: &'static str, method: &Method, body: &Repeated) -> u64 {
    let response = || Response::builder().header("content-type", media).body(body.clone()).unwrap();
    let bare = held(service_fn(|_| std::future::ready(Ok(response()))), method, body.length);
    let gated = mcp().layer(service_fn(|_| std::future::ready(Ok(response()))));
    held(gated, method, body.length).saturating_sub(bare)
}

const HELD: u64 = 64 << 10;

#[test]
fn a_gibibyte_that_is_not_read_is_not_held() {
    let body = Repeated::new(&"a".repeat(1 << 16), 1 << 16, 1 << 30);
    let held = held_more("application/json", &Method::POST, &body);
    println!("{held} bytes");
    assert!(held < HELD, "{held}");
}

#[test]
fn of_a_stream_that_is_read_an_event_is_held() {
    let (start, end) = ("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"", "\"}\n\n");
    let event = format!("{start}{}{end}", "a".repeat((16 << 10) - start.len() - end.len()));
    for frame in [1 << 10, 16 << 10, 24 << 10, 1 << 16] {
        // The benchmark has a gibibyte.
        let held = held_more("text/event-stream", &Method::GET, &Repeated::new(&event, frame, 16 << 20));
        println!("frames of {frame}: {held} bytes");
        assert!(held < HELD, "{frame}: {held}");
    }
}

#[cfg(feature = "provenance")]
mod tags {
    use http::HeaderValue;
    use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;

    use super::*;

    const LARGE: usize = 10 << 20;

    /// A call in a revision in which blocks have tags of their own.
    fn call(tool: &str) -> Request<Full<Bytes>> {
        let mut request = post_text(tool_call("1", tool, "{}"));
        request.headers_mut().insert("mcp-protocol-version", HeaderValue::from_static("2025-06-18"));
        request
    }

    fn result(blocks: &str) -> Bytes {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{blocks}],"isError":false}}}}"#).into()
    }

    fn text(length: usize) -> Bytes {
        let block = |text: &str| result(&format!(r#"{{"type":"text","text":"{text}"}}"#));
        block(&"a".repeat(length - block("").len()))
    }

    /// What tags and all that is inside of them allocate while a result is read.
    fn tagged(frames: Vec<Bytes>) -> AllocationInfo {
        cost(ProvenanceTagLayer::new().layer(Listing(frames)), call("echo"))
    }

    /// The same bytes in so many frames, each shared already.
    fn framed(body: &Bytes, frames: usize) -> Vec<Bytes> {
        let frames: Vec<_> = body.chunks(body.len().div_ceil(frames)).map(Bytes::copy_from_slice).collect();
        frames.iter().for_each(|frame| drop(frame.clone()));
        frames
    }

    #[test]
    fn a_tag_costs_few_allocations() {
        let gate = cost(mcp().layer(Listing(framed(&text(128), 1))), call("echo"));
        let both = cost(mcp().join(ProvenanceTagLayer::new()).layer(Listing(framed(&text(128), 1))), call("echo"));
        let added = both.count_total - gate.count_total;
        println!("{added} allocations, {} bytes", both.bytes_total - gate.bytes_total);
        assert!(added <= TAG, "{added}");
    }

    const TAG: u64 = 16;

    #[test]
    fn a_large_result_is_copied_where_it_comes_in_several_frames() {
        let body = text(LARGE);
        for (frames, copies) in [(1, 0), (100, 1)] {
            let info = tagged(framed(&body, frames));
            println!("{frames} frames: {info:?}");
            let rest = usize::try_from(info.bytes_total).unwrap() - copies * body.len();
            assert!(rest < 32 << 10, "{frames}: {info:?}");
        }
    }

    #[test]
    fn a_tag_and_a_list_are_received_once() {
        let list = format!(r#"{{"name":"echo","description":"{}"}},{{"name":"hidden"}}"#, "x".repeat(LARGE));
        let list = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{list}]}}}}"#));
        let request = || post_text(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let service = || Listing(framed(&list, 100));
        // Whoever reads several frames copies them together.
        let copied = |info: AllocationInfo| usize::try_from(info.bytes_total).unwrap() / list.len();
        assert_eq!(copied(cost(mcp().join(ProvenanceTagLayer::new()).layer(service()), request())), 1);
        // Both change it: what one of them has written the other reads as one text.
        let both = mcp().join(ProvenanceTagLayer::new().with_descriptions(true)).layer(service());
        assert_eq!(copied(cost(both, request())), 2);
    }

    #[test]
    fn many_blocks_cost_so_many_times_one() {
        let blocks = |count: usize| result(&[r#"{"type":"text","text":"a"}"#].repeat(count).join(","));
        let info = |count: usize| tagged(framed(&blocks(count), 1));
        let (some, many) = (info(1_000), info(10_000));
        println!("1,000 blocks: {some:?}\n10,000 blocks: {many:?}");
        assert!(many.count_total < 11 * some.count_total, "{some:?} {many:?}");
        // Vectors double.
        assert!(many.bytes_total < 16 * some.bytes_total, "{some:?} {many:?}");
    }
}
