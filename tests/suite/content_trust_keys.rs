//! Whose memory it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderName, Method, Request};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::binding::{Binder, BindingKey};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::binding::BindingLayer;
use tower_toolgate::layer::content_trust::{ContentTrustLayer, ConversationSource};
use tower_toolgate::store::{MemoryTaintStore, TaintKey, TaintStore, Visit};
use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer, ServerTrust, SessionTaint};
use tower_toolgate::{HonestHost, Principal, Server};

use super::content_trust::*;
use super::support::*;

type Trust = ContentTrustLayer<MemoryTaintStore>;

const CONVERSATION: HeaderName = HeaderName::from_static("x-openai-session");

fn named(layer: Trust) -> Trust {
    layer
        .with_conversation(ConversationSource::SessionId)
        .with_conversation(ConversationSource::Header(CONVERSATION))
        .with_conversation(ConversationSource::Meta("openai/session".into()))
}

fn whose(principal: Principal, tool: &str) -> Request<Full<Bytes>> {
    let mut request = call(tool);
    request.extensions_mut().insert(principal);
    request
}

fn honest(mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.extensions_mut().insert(HonestHost::default());
    request
}

/// A call that names its conversation in `_meta`.
fn in_meta(tool: &str, conversations: &[&str]) -> Request<Full<Bytes>> {
    let calls = conversations.iter().enumerate().map(|(at, name)| {
        let params = format!(r#"{{"name":"{tool}","_meta":{{"openai/session":{name}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{at},"method":"tools/call","params":{params}}}"#)
    });
    let calls = calls.collect::<Vec<_>>().join(",");
    let body = if conversations.len() == 1 { calls } else { format!("[{calls}]") };
    honest(by("ana", post_text(body).with_server("kg")))
}

fn is_sent(layer: &Trust, request: Request<Full<Bytes>>) -> bool {
    send(layer, request, json(RESULT)).seen.is_some()
}

#[test]
fn sk_01_sk_02_nobody_is_somebody_else() {
    let base = || Principal::new("oauth", "ana").unwrap();
    let others = [
        base().with_tenant("t"),
        base().with_issuer("i"),
        base().with_epoch("e"),
        Principal::new("key", "ana").unwrap(),
        Principal::new("oauth", "Ana").unwrap(),
        Principal::new("oauth", "ana ").unwrap(),
    ];
    for conversation in [None, Some("c")] {
        let layer = named(trust(&MemoryTaintStore::new(100)));
        let with = |principal: &Principal, tool| match conversation {
            None => whose(principal.clone(), tool),
            Some(name) => honest(whose(principal.clone(), tool)).with_header("x-openai-session", name),
        };
        assert!(is_sent(&layer, with(&base(), "scrape")) && !is_sent(&layer, with(&base(), "remember")));
        for other in &others {
            assert!(is_sent(&layer, with(other, "remember")), "{other:?}");
        }
    }
}

#[test]
fn sk_03_nobody_has_a_blank_name_and_all_who_have_none_are_one() {
    assert!(["", " ", "\t"].iter().all(|blank| Principal::new("key", *blank).is_err()));
    let layer = trust(&MemoryTaintStore::new(100));
    let nobody = |tool| post_text(tool_call("1", tool, "{}")).with_server("kg");
    assert!(is_sent(&layer, nobody("scrape")) && !is_sent(&layer, nobody("remember")));
    assert!(is_sent(&layer, call("remember")));
}

#[test]
fn sk_04_sk_05_names_of_conversations_launder_nothing_by_themselves() {
    let layer = named(trust(&MemoryTaintStore::new(100)));
    let in_ = |name: &str, tool| call(tool).with_header("x-openai-session", name);
    // Nobody has said that this host is honest.
    assert!(is_sent(&layer, in_("a", "scrape")));
    for name in ["a", "b", ""] {
        assert!(!is_sent(&layer, in_(name, "remember")), "{name}");
    }
    // Nor does a host that is honest wash what came before, or came without a name.
    assert!(!is_sent(&layer, honest(in_("c", "remember"))));
}

#[test]
fn sk_06_conversations_of_an_honest_host_do_not_touch_each_other() {
    let by_header = |name: &str, tool: &str| honest(call(tool)).with_header("x-openai-session", name);
    let by_meta = |name: &str, tool: &str| in_meta(tool, &[&format!("{name:?}")]);
    for request in [&by_header as &dyn Fn(&str, &str) -> _, &by_meta] {
        let layer = named(trust(&MemoryTaintStore::new(100)));
        assert!(is_sent(&layer, request("a", "scrape")));
        assert!(!is_sent(&layer, request("a", "remember")));
        assert!(is_sent(&layer, request("b", "remember")) && is_sent(&layer, call("remember")));
        // What comes without a name is of all conversations.
        assert!(is_sent(&layer, honest(call("scrape"))) && !is_sent(&layer, request("b", "remember")));
    }
    // What a header and `_meta` say alike is one conversation.
    let layer = named(trust(&MemoryTaintStore::new(100)));
    assert!(is_sent(&layer, by_header("a", "scrape")) && !is_sent(&layer, by_meta("a", "remember")));
}

#[test]
fn sk_10_what_names_a_conversation_is_one_thing() {
    let layer = named(trust(&MemoryTaintStore::new(100)));
    let twice = |name: &'static str| honest(call("read")).with_header(name, "a").with_header(name, "a");
    let long = "a".repeat(1025);
    for (case, request) in [
        ("a header twice", twice("x-openai-session")),
        ("empty", honest(call("read")).with_header("x-openai-session", "")),
        ("long", honest(call("read")).with_header("x-openai-session", &long)),
        ("a header and a member", in_meta("read", &[r#""a""#]).with_header("x-openai-session", "b")),
        ("members", in_meta("read", &[r#""a""#, r#""b""#])),
        ("a number", in_meta("read", &["7"])),
        ("null", in_meta("read", &["null"])),
        ("a surrogate", in_meta("read", &[r#""\ud800""#])),
    ] {
        let exchange = send(&layer, request, json(RESULT));
        assert!(exchange.seen.is_none(), "{case}");
        assert_eq!(
            (exchange.status().as_u16(), exchange.denial().reason()),
            (400, "trust.conversation_ambiguous"),
            "{case}"
        );
    }
    // This one is refused by everybody.
    assert!(!is_sent(&layer, twice("mcp-session-id")));
    for request in [
        in_meta("read", &[r#""a""#]).with_header("x-openai-session", "a"),
        in_meta("read", &[r#""a""#, r#""\u0061""#]),
        twice_ignored(),
    ] {
        assert!(is_sent(&layer, request));
    }
}

/// Nobody reads what a host that is not honest says.
fn twice_ignored() -> Request<Full<Bytes>> {
    call("read").with_header("x-openai-session", "a").with_header("x-openai-session", "b")
}

#[test]
fn sk_13_ct_59_nothing_on_the_wire_lowers_it() {
    let layer = trust(&MemoryTaintStore::new(100));
    assert!(is_sent(&layer, call("scrape")));
    let mut delete = listen("kg").with_header("mcp-session-id", "1");
    *delete.method_mut() = Method::DELETE;
    let notice =
        |method: &str| by("ana", post_text(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)).with_server("kg"));
    let clean = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":false},"ifc":{"integrity":"trusted"}}}}"#;
    for request in [
        delete,
        listen("kg"),
        notice("notifications/cancelled"),
        notice("notifications/initialized"),
        ask("kg", "initialize", "{}").with_header("mcp-session-id", "1"),
        call("read"),
        call("remember"),
        post_text("{").with_server("kg"),
    ] {
        let case = format!("{request:?}");
        send(&layer, request, json(clean));
        send(&layer, call("remember"), json(RESULT)).refused(&case, 403, "1", 403, "trust.tainted_sink");
    }
}

#[test]
fn sk_16_ct_60_the_first_cause_is_kept() {
    let store = MemoryTaintStore::new(100);
    let layer = trust(&store).with_clock(|| 7);
    for tool in ["scrape", "web_fetch", "web_search"] {
        assert!(is_sent(&layer, call(tool)));
    }
    let key = TaintKey::of(&Principal::new("key", "ana").unwrap());
    let known = store.visit(Visit::read(key, 0)).into_inner().unwrap().before;
    assert_eq!((known.marks, known.first, known.last), (3, 7, 7));
    assert_eq!(known.cause.unwrap().as_str(), "configured untrusted tool 'scrape'");
}

#[test]
fn sk_17_what_is_trusted_later_was_not_before() {
    let store = MemoryTaintStore::new(100);
    assert!(is_sent(&trust(&store), call("scrape")));
    let server = DeclaredServer::new("kg").with_trust(ServerTrust::Trusted);
    let trusting = Classifier::new(&ClassifierConfig::new().with_server(server)).unwrap();
    let rules = tower_toolgate::trust::SessionRules::new();
    let rules = rules.with_sinks(["remember"], tower_toolgate::trust::RuleAction::Deny).unwrap();
    let layer = ContentTrustLayer::new(trusting, store.clone()).with_rules(rules.clone());
    assert!(is_sent(&layer, by("bob", call("scrape"))) && is_sent(&layer, by("bob", call("remember"))));
    assert!(!is_sent(&layer, call("remember")));
    let distrusting = Classifier::new(&ClassifierConfig::new()).unwrap();
    let layer = ContentTrustLayer::new(distrusting, store.clone()).with_rules(rules);
    assert!(is_sent(&layer, by("bob", call("read"))) && !is_sent(&layer, by("bob", call("remember"))));
}

#[test]
fn a_session_is_clean_once_the_window_has_passed_without_anything_new() {
    let now = Arc::new(AtomicU64::new(100));
    let clock = Arc::clone(&now);
    let layer = trust(&MemoryTaintStore::new(100)).with_clock(move || clock.load(Ordering::Relaxed));
    let layer = layer.with_window(Duration::from_secs(10)).unwrap();
    let may_write = |at: u64| {
        now.store(at, Ordering::Relaxed);
        is_sent(&layer, call("remember"))
    };
    assert!(may_write(100) && is_sent(&layer, call("scrape")));
    assert!(!may_write(105) && is_sent(&layer, call("scrape")));
    assert!(!may_write(111) && !may_write(115) && may_write(116));
    // A clock that goes back washes nothing.
    assert!(!may_write(99));
}

#[test]
fn no_window_is_shorter_than_it_says() {
    let now = Arc::new(AtomicU64::new(100));
    let clock = Arc::clone(&now);
    let layer = trust(&MemoryTaintStore::new(100)).with_clock(move || clock.load(Ordering::Relaxed));
    let layer = layer.with_window(Duration::from_millis(1900)).unwrap();
    assert!(is_sent(&layer, call("scrape")));
    now.store(102, Ordering::Relaxed);
    assert!(!is_sent(&layer, call("remember")), "the first second may have begun just before");
    now.store(103, Ordering::Relaxed);
    assert!(is_sent(&layer, call("remember")));
}

#[test]
fn many_sessions_at_once_are_told_apart() {
    let layer = trust(&MemoryTaintStore::new(10_000));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let layer = &layer;
            scope.spawn(move || {
                for at in 0..50 {
                    let who = format!("{thread}-{at}");
                    let tool = if at % 2 == 0 { "scrape" } else { "read" };
                    assert!(is_sent(layer, by(&who, call(tool))));
                    assert_eq!(is_sent(layer, by(&who, call("remember"))), at % 2 == 1, "{who}");
                }
            });
        }
    });
}

/// A call in a session of the transport that was minted at a time, through a layer that verifies it.
fn in_session(layer: &Trust, id: &str, minted: SystemTime, tool: &str) -> Exchange {
    let key = BindingKey::new([7; 32]).unwrap();
    let request = honest(call(tool));
    let principal = request.extensions().get::<Principal>().cloned();
    let bound = Binder::new(&key, Some("kg"), principal.as_ref()).bind_session(id, minted).unwrap();
    let request = request.with_header("mcp-session-id", &bound);
    let binding = BindingLayer::new(key).with_server(Server::new("kg"));
    through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(
        |mock| binding.join(layer.clone()).layer(mock),
        request,
        json(RESULT),
    )
}

#[test]
fn sk_06_sk_07_sessions_of_the_transport_count_where_they_are_verified() {
    let layer = named(trust(&MemoryTaintStore::new(100)));
    let sent = |id, tool| in_session(&layer, id, SystemTime::now(), tool).seen.is_some();
    assert!(sent("a", "scrape") && !sent("a", "remember") && sent("b", "remember"));
    // Anybody can make up an id that nobody verifies: it is of the whole principal.
    let made_up = |id: &str, tool| is_sent(&layer, honest(call(tool)).with_header("mcp-session-id", id));
    assert!(made_up("c", "remember") && made_up("c", "scrape") && !made_up("d", "remember"));
    assert!(!sent("b", "remember"));
}

#[test]
fn sk_18_a_session_from_before_the_start_of_a_memory_that_forgets_is_taken_for_marked() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let layer = named(trust(&MemoryTaintStore::new(100))).with_clock(move || now);
    let minted = |seconds: i64, tool: &str| {
        let minted = UNIX_EPOCH + Duration::from_secs(now.checked_add_signed(seconds).unwrap());
        in_session(&layer, &seconds.to_string(), minted, tool)
    };
    assert!(minted(0, "remember").seen.is_some());
    assert_eq!(minted(-60, "remember").denial().reason(), "trust.tainted_sink");
    // All else passes, as in a session that has received everything.
    let exchange = minted(-60, "read");
    let session = SessionTaint::of(&exchange.seen.as_ref().unwrap().head.extensions).unwrap();
    assert!(session.is_tainted() && session.is_assumed());
    // Principals start clean.
    assert!(is_sent(&layer, call("remember")));
}
