//! Whose taint it is, what makes it and what ends it: a row each of the tracker that this memory was made after.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use bytes::Bytes;
use http::{HeaderName, Request, Response};
use http_body_util::Full;
use tower_toolgate::layer::content_trust::{ContentTrustLayer, ConversationSource};
use tower_toolgate::observe::TrustEvent;
use tower_toolgate::store::{
    Clearance, FileTaintStore, MemoryTaintStore, PrincipalKey, TaintKey, TaintRegistry, TaintStore, Visit,
};
use tower_toolgate::trust::{
    Cause, Claims, Classifier, ClassifierConfig, ContentTrustConfig, DeclaredServer, Facts, RuleAction, ServerTrust,
    SessionRules, SessionTaint, Step, Taint, ToolContentOrigin, Verdict,
};
use tower_toolgate::{HonestHost, Principal};

use super::content_trust::*;
use super::content_trust_stepped::{Running, Stepped};
use super::support::{Step as Part, *};

const CONVERSATION: HeaderName = HeaderName::from_static("x-conversation");

/// A layer in front of an honest host, with a clock that goes on by a second with each look.
fn hosted<T: TaintStore>(store: &T) -> ContentTrustLayer<T> {
    let clock = AtomicU64::new(100);
    let layer = trust(store).with_clock(move || clock.fetch_add(1, Ordering::Relaxed));
    layer.with_conversation(ConversationSource::Header(CONVERSATION))
}

fn honest(mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.extensions_mut().insert(HonestHost::default());
    request
}

/// A call of ana's in a conversation.
fn in_(name: &str, tool: &str) -> Request<Full<Bytes>> {
    honest(call(tool)).with_header("x-conversation", name)
}

fn is_sent<T: TaintStore>(layer: &ContentTrustLayer<T>, request: Request<Full<Bytes>>) -> bool {
    send(layer, request, json(RESULT)).seen.is_some()
}

/// The same where a store takes its time.
fn is_sent_in_time<T: TaintStore>(layer: &ContentTrustLayer<T>, request: Request<Full<Bytes>>) -> bool {
    let mut running = Running::<Full<Bytes>>::start(layer, request);
    while running.poll().is_pending() && !running.is_dispatched() {
        std::thread::yield_now();
    }
    running.is_dispatched()
}

/// What a gate knew of the session of a call that it let through.
fn known(exchange: &Exchange) -> Taint {
    SessionTaint::of(&exchange.seen.as_ref().expect("a call that passes").head.extensions).unwrap().taint().clone()
}

fn ana() -> TaintKey {
    TaintKey::of(&Principal::new("key", "ana").unwrap())
}

fn inspect<T: TaintRegistry>(store: &T, key: TaintKey) -> Taint {
    tokio_test::block_on(store.inspect(key)).unwrap()
}

fn clear<T: TaintRegistry>(store: &T, key: TaintKey) -> Taint {
    tokio_test::block_on(store.clear(key, Clearance::new("olga", "read by hand").unwrap())).unwrap()
}

/// What an observer was told: what has happened, to whom, and whether it was clean before.
type Told = Arc<Mutex<Vec<(&'static str, TaintKey, Option<bool>)>>>;

fn told<T: TaintStore>(layer: ContentTrustLayer<T>) -> (ContentTrustLayer<T>, Told) {
    let told = Told::default();
    let to = Arc::clone(&told);
    let layer = layer.on_trust(move |event: &TrustEvent<'_>| {
        to.lock().unwrap().push((event.kind.name(), event.key, event.known.map(Taint::is_clean)));
    });
    (layer, told)
}

fn result(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[]{members}}}}}"#)
}

const TRUSTED: &str = r#","_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":false},"ifc":{"integrity":"trusted"}},"annotations":{"openWorldHint":false,"readOnlyHint":true}"#;
const UNTRUSTED: &str = r#","_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}"#;

#[test]
fn ct_62_what_has_no_conversation_is_of_all_of_them_at_once() {
    let store = MemoryTaintStore::new(100);
    let layer = hosted(&store);
    assert!(is_sent(&layer, in_("a", "remember")));
    assert!(is_sent(&layer, honest(call("scrape"))));
    assert!(!is_sent(&layer, honest(call("remember"))));
    // The next conversation is not the only one that has it: nobody knows for which one the content was.
    for name in ["a", "b", "c"] {
        assert!(!is_sent(&layer, in_(name, "remember")), "{name}");
        assert_eq!(known(&send(&layer, in_(name, "read"), json(RESULT))).facts, Facts::OUTSIDE, "{name}");
    }
    // It moves nowhere: what is of the principal stays there.
    let page = tokio_test::block_on(store.list(None, 10)).unwrap();
    assert_eq!(page.entries.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [ana()]);
}

#[test]
fn ct_63_of_what_came_without_a_conversation_the_first_cause_is_kept() {
    // Whoever looks into it wants to know what it began with; the original tells the last before the session.
    for (tools, cause) in [
        (["web_fetch", "scrape"], "web tool 'web_fetch'"),
        (["scrape", "web_fetch"], "configured untrusted tool 'scrape'"),
    ] {
        let store = MemoryTaintStore::new(100);
        let layer = hosted(&store);
        tools.iter().for_each(|tool| assert!(is_sent(&layer, honest(call(tool)))));
        let known = known(&send(&layer, in_("a", "read"), json(RESULT)));
        assert_eq!(known.cause, Some(Cause::new(cause)));
        assert!(known.first < known.last && known.marks == 2, "{known:?}");
        // Nor does a conversation of its own make another of it.
        assert!(is_sent(&layer, in_("a", "web_search")));
        assert_eq!(known_in(&layer, "a").cause, Some(Cause::new(cause)));
    }
    // Within a second there is no first: the same one is told wherever the marks are joined.
    for tools in [["web_fetch", "scrape"], ["scrape", "web_fetch"]] {
        let store = MemoryTaintStore::new(100);
        let layer = trust(&store).with_clock(|| 7);
        tools.iter().for_each(|tool| assert!(is_sent(&layer, call(tool))));
        assert_eq!(inspect(&store, ana()).cause, Some(Cause::new("configured untrusted tool 'scrape'")), "{tools:?}");
    }
}

fn known_in<T: TaintStore>(layer: &ContentTrustLayer<T>, name: &str) -> Taint {
    known(&send(layer, in_(name, "read"), json(RESULT)))
}

#[test]
fn ct_64_a_new_conversation_is_clean_and_the_old_one_is_not_forgotten() {
    let store = MemoryTaintStore::new(100);
    let (layer, told) = told(hosted(&store));
    assert!(is_sent(&layer, in_("a", "scrape")));
    let a = told.lock().unwrap()[0].1;
    assert!(a.conversation.is_some() && a.principal == ana().principal);
    assert!(known_in(&layer, "b").is_clean() && is_sent(&layer, in_("b", "remember")));
    let old = inspect(&store, a);
    assert_eq!((old.facts, old.cause), (Facts::OUTSIDE, Some(Cause::new("configured untrusted tool 'scrape'"))));
    assert!(!is_sent(&layer, in_("a", "remember")));
    assert!(inspect(&store, ana()).is_clean());
}

#[test]
fn ct_64_a_new_login_is_clean_and_the_old_one_is_not_forgotten() {
    let store = MemoryTaintStore::new(100);
    let layer = trust(&store);
    let login = |epoch: &str| Principal::new("key", "ana").unwrap().with_epoch(epoch);
    let by = |epoch: &str, tool: &str| {
        let mut request = call(tool);
        request.extensions_mut().insert(login(epoch));
        request
    };
    assert!(is_sent(&layer, by("1", "scrape")) && is_sent(&layer, by("2", "remember")));
    assert!(!is_sent(&layer, by("1", "remember")));
    assert_eq!(inspect(&store, TaintKey::of(&login("1"))).facts, Facts::OUTSIDE);
}

#[test]
fn ct_65_a_change_of_conversation_is_no_event() {
    // There is no session that an identity is in, from which it could change: conversations stand side by side.
    let (layer, told) = told(hosted(&MemoryTaintStore::new(100)));
    assert!(is_sent(&layer, in_("a", "scrape")));
    for name in ["b", "b", "a", "a", "c"] {
        assert!(is_sent(&layer, in_(name, "read")));
    }
    let told = told.lock().unwrap();
    assert_eq!(told.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), ["marked"]);
}

#[test]
fn ct_66_what_is_cleared_is_clean_and_counts_anew() {
    let store = MemoryTaintStore::new(100);
    let (layer, told) = told(hosted(&store));
    // Of a conversation, and without one.
    assert!(is_sent(&layer, in_("a", "scrape")) && is_sent(&layer, honest(call("scrape"))));
    let a = told.lock().unwrap()[0].1;
    let was = clear(&store, ana());
    // Whoever clears is told what was, with all conversations: the memory itself keeps no history.
    assert_eq!((was.facts, was.cause), (Facts::OUTSIDE, Some(Cause::new("configured untrusted tool 'scrape'"))));
    assert!(inspect(&store, ana()).is_clean() && inspect(&store, a).is_clean());
    assert!(is_sent(&layer, in_("a", "remember")) && is_sent(&layer, honest(call("remember"))));
    assert!(is_sent(&layer, in_("a", "web_fetch")));
    let anew = inspect(&store, a);
    assert_eq!((anew.marks, anew.cause.as_ref()), (1, Some(&Cause::new("web tool 'web_fetch'"))));
    assert!(anew.first > was.last && !is_sent(&layer, in_("a", "remember")));
    // One conversation alone.
    assert!(is_sent(&layer, in_("b", "scrape")));
    assert_eq!(clear(&store, a).marks, 1);
    assert!(is_sent(&layer, in_("a", "remember")) && !is_sent(&layer, in_("b", "remember")));
}

#[test]
fn ct_66_who_has_cleared_and_why_is_written_down() {
    let path = journal();
    let store = FileTaintStore::open(&path, 100).unwrap();
    assert!(is_sent_in_time(&trust(&store), call("scrape")));
    clear(&store, ana());
    drop(store);
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    for word in ["olga", "read by hand", "configured untrusted tool 'scrape'"] {
        assert!(text.contains(word), "{word}");
    }
    assert!(is_sent(&trust(&FileTaintStore::open(&path, 100).unwrap()), call("remember")));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ct_67_each_mark_is_told_with_what_was_before() {
    // The original tells of the first alone; here that is the one of a session that was clean.
    let store = MemoryTaintStore::new(100);
    let (layer, told) = told(hosted(&store));
    for _ in 0..2 {
        assert!(is_sent(&layer, call("scrape")) && is_sent(&layer, call("scrape")));
        clear(&store, ana());
    }
    let told = told.lock().unwrap();
    let expected = [true, false, true, false].map(|clean| ("marked", ana(), Some(clean)));
    assert_eq!(*told, expected);
}

#[test]
fn ct_68_th_130_what_is_said_of_content_raises_it_and_never_lowers_it() {
    let nothing = String::new();
    // Whether the server is trusted, what the answer says, and whether the session is marked then.
    for (name, said, of_trusted) in [
        ("untrusted", UNTRUSTED.to_owned(), true),
        ("integrity", r#","_meta":{"ifc":{"integrity":"untrusted"}}"#.to_owned(), true),
        ("open world", r#","annotations":{"openWorldHint":true}"#.to_owned(), true),
        ("trusted", TRUSTED.to_owned(), false),
        ("a word that nobody knows", r#","_meta":{"ifc":{"integrity":"fine"}}"#.to_owned(), false),
        ("nothing", nothing, false),
    ] {
        for (server, expected) in [("kg", of_trusted), ("web", true)] {
            let store = MemoryTaintStore::new(10);
            let layer = trust(&store);
            let request = || ask(server, "tools/call", r#"{"name":"read"}"#);
            send(&layer, request(), json(&result(&said)));
            assert_eq!(is_tainted(&store, "ana"), expected, "{server}, {name}");
            // Nor does it wash a session that is marked.
            assert!(is_sent(&layer, by("bob", call("scrape"))));
            send(&layer, by("bob", request()), json(&result(&said)));
            assert!(!is_sent(&layer, by("bob", call("remember"))), "{server}, {name}");
        }
    }
}

#[test]
fn ct_68_what_a_client_says_of_its_session_is_not_read() {
    // The original believes a peer that declares itself; clients are not believed, and servers only to their disadvantage.
    for declared in ["clean", "tainted", ""] {
        let layer = trust(&MemoryTaintStore::new(10));
        let meta = format!(r#"{{"name":"TOOL","_meta":{{"x-toolgate-session":"{declared}"{UNTRUSTED_MEMBERS}}}}}"#);
        let ask =
            |tool| ask("kg", "tools/call", &meta.replace("TOOL", tool)).with_header("x-toolgate-session", declared);
        assert!(is_sent(&layer, ask("read")) && is_sent(&layer, ask("remember")), "{declared}");
        assert!(is_sent(&layer, ask("scrape")) && !is_sent(&layer, ask("remember")), "{declared}");
    }
}

const UNTRUSTED_MEMBERS: &str =
    r#","io.modelcontextprotocol/trust-annotations":{"untrusted":true},"ifc":{"integrity":"untrusted"}"#;

#[test]
fn th_130_a_list_of_tools_lowers_nothing() {
    let tool = r#"{"name":"look","annotations":{"openWorldHint":false,"readOnlyHint":true},"_meta":{"ifc":{"integrity":"trusted"}}}"#;
    let store = MemoryTaintStore::new(10);
    let layer = trust(&store);
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tool}]}}}}"#);
    send(&layer, ask("web", "tools/list", "{}"), json(&list));
    assert!(!is_tainted(&store, "ana"));
    send(&layer, ask("web", "tools/call", r#"{"name":"look"}"#), json(&result(TRUSTED)));
    assert!(is_tainted(&store, "ana"));
}

#[test]
fn th_131_nobody_says_in_a_message_who_they_are() {
    let names = r#""principal":"bob","subject":"bob","tenant":"t","io.modelcontextprotocol/principal":{"subject":"bob"},"io.modelcontextprotocol/clientInfo":{"name":"bob","version":"1"}"#;
    let as_bob = |tool: &str| {
        let params = format!(r#"{{"name":"{tool}","_meta":{{{names}}}}}"#);
        ask("kg", "tools/call", &params).with_header("x-toolgate-subject", "bob").with_header("x-user", "bob")
    };
    let store = MemoryTaintStore::new(10);
    let layer = trust(&store);
    assert!(is_sent(&layer, as_bob("scrape")));
    assert!(is_tainted(&store, "ana") && !is_tainted(&store, "bob"));
    assert!(!is_sent(&layer, as_bob("remember")) && is_sent(&layer, by("bob", call("remember"))));
}

#[test]
fn th_132_claims_are_joined_whatever_their_order() {
    let all = [Claims::OPEN_WORLD, Claims::UNTRUSTED, Claims::INTEGRITY_UNTRUSTED];
    let sets: Vec<_> = (0..8).map(|bits| join(all.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1))).collect();
    for origin in ["local", "execution", "external"] {
        let classes = ClassifierConfig::new();
        let tool = tower_toolgate::trust::DeclaredTool::new(Some("kg"), "t", origin);
        let classifier = Classifier::new(&classes.with_content_origin(tool)).unwrap();
        let verdict = || classifier.classify(Some("kg"), "t");
        for (one, other) in sets.iter().flat_map(|one| sets.iter().map(move |other| (*one, *other))) {
            let both = verdict().raise(one | other).class();
            assert_eq!(verdict().raise(one).raise(other).class(), both, "{origin} {one:?} {other:?}");
            assert_eq!(verdict().raise(other).raise(one).class(), both, "{origin} {one:?} {other:?}");
            assert!(both >= verdict().raise(one).class() && verdict().raise(one).class() >= verdict().class());
        }
    }
    let answers = [TRUSTED, "", UNTRUSTED];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let store = MemoryTaintStore::new(10);
        let layer = trust(&store);
        let mut expected = false;
        for at in order {
            send(&layer, call("read"), json(&result(answers[at])));
            expected |= at == 2;
            assert_eq!(is_tainted(&store, "ana"), expected, "{order:?}");
        }
    }
}

fn join<'a>(claims: impl Iterator<Item = (usize, &'a Claims)>) -> Claims {
    claims.fold(Claims::NONE, |all, (_, claim)| all | *claim)
}

#[test]
fn th_133_what_nobody_has_listed_is_not_trusted() {
    let lists = ContentTrustConfig::new(["kg"], [], ["mcp__shop__price"]).unwrap();
    let classes = ClassifierConfig::new()
        .with_content_trust(lists)
        .with_server(DeclaredServer::new("kg"))
        .with_server(DeclaredServer::new("shop"));
    let classifier = Classifier::new(&classes).unwrap();
    for (server, tool, expected) in [
        (Some("kg"), "query", false),
        (Some("shop"), "price", false),
        (Some("shop"), "prices", true),
        (Some("shop"), "Price", true),
        (Some("shop"), "query", true),
        (Some("shop"), "mcp__kg__query", true),
        (Some("KG"), "query", true),
        (Some("other"), "price", true),
        (None, "price", true),
        (None, "query", true),
    ] {
        let store = MemoryTaintStore::new(10);
        let layer = ContentTrustLayer::new(classifier.clone(), store.clone());
        let request = by("ana", post_text(tool_call("1", tool, "{}")));
        assert!(is_sent(&layer, server.iter().fold(request, |request, server| request.with_server(server))));
        assert_eq!(is_tainted(&store, "ana"), expected, "{server:?} {tool}");
    }
}

#[test]
fn th_141_pv_27_what_is_trusted_erases_nothing() {
    // The original's ledger is per key, and a trusted value replaces the other; a session has read both.
    let lists = ContentTrustConfig::new([], ["scrape"], ["mcp__web__clock"]).unwrap();
    let classes = ClassifierConfig::new()
        .with_content_trust(lists)
        .with_server(DeclaredServer::new("kg").with_trust(ServerTrust::Trusted))
        .with_server(DeclaredServer::new("web"));
    let store = MemoryTaintStore::new(10);
    let rules = SessionRules::new().with_sinks(["remember"], RuleAction::Deny).unwrap();
    let layer = ContentTrustLayer::new(Classifier::new(&classes).unwrap(), store.clone()).with_rules(rules);
    assert!(is_sent(&layer, by("ana", post_text(tool_call("1", "scrape", r#"{"key":"k"}"#)).with_server("kg"))));
    let before = inspect(&store, ana());
    for (server, tool) in [("kg", "write"), ("kg", "scrape_not"), ("web", "clock")] {
        let overwrite = by("ana", post_text(tool_call("1", tool, r#"{"key":"k"}"#)).with_server(server));
        assert!(send(&layer, overwrite, json(&result(TRUSTED))).seen.is_some());
    }
    assert_eq!(inspect(&store, ana()), before);
    assert!(!is_sent(&layer, call("remember")));
    // Nor is there another way down in the store but to clear.
    let visit = Visit { cause: Some(Cause::new("trusted")), ..Visit::read(ana(), u64::MAX) };
    assert_eq!(tokio_test::block_on(store.visit(visit)).unwrap().before, before);
    assert_eq!(inspect(&store, ana()), before);
}

#[test]
fn th_142_a_label_comes_out_of_the_registry_as_it_went_in() {
    let (store, conversation) =
        (MemoryTaintStore::new(100), tower_toolgate::store::ConversationKey::from_bytes([7; 16]));
    let labels = [Facts::OUTSIDE, Facts::PRIVATE, Facts::OUTSIDE | Facts::PRIVATE, Facts::step(13).unwrap()];
    for (at, facts) in (1..).zip(labels) {
        let principal = TaintKey { principal: PrincipalKey::from_bytes([at; 16]), conversation: None };
        for key in [principal, principal.with_conversation(conversation)] {
            let cause = Cause::new(&format!("cause {at}\n\u{2028}"));
            tokio_test::block_on(store.visit(Visit::mark(key, facts, cause.clone(), u64::from(at)))).unwrap();
            let label = inspect(&store, key);
            assert_eq!(label, Taint::mark(facts, u64::from(at), Some(cause)));
            assert_eq!(Facts::from_bits(label.facts.bits()), facts);
        }
    }
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = tokio_test::block_on(store.list(after, 3)).unwrap();
        listed.extend(page.entries);
        let Some(next) = page.next else { break };
        // As a link has it.
        after = Some(tower_toolgate::store::Cursor::new(next.as_str()));
    }
    assert_eq!(listed.len(), 2 * labels.len());
    listed.iter().for_each(|(key, label)| assert_eq!(inspect(&store, *key), *label));
}

#[test]
fn th_146_a_tool_that_is_named_like_one_of_the_web_is_one() {
    let lists = ContentTrustConfig::new(["kg"], [], ["mcp__kg__web_search", "web_search"]).unwrap();
    let server = DeclaredServer::own("kg").with_trust(ServerTrust::Trusted);
    let classes = ClassifierConfig::new().with_content_trust(lists).with_server(server);
    let classifier = Classifier::new(&classes).unwrap();
    for (tool, step) in [
        ("web_search", Step::BuiltinWeb),
        ("kg__web_search", Step::BuiltinWeb),
        ("mcp__kg__web_fetch", Step::BuiltinWeb),
        // Another name is another tool, and its server's.
        ("web_search_history", Step::Server),
        ("Web_Search", Step::Server),
    ] {
        let store = MemoryTaintStore::new(10);
        let layer = ContentTrustLayer::new(classifier.clone(), store.clone());
        let exchange = send(&layer, call(tool), json(RESULT));
        let verdict = Verdict::of(&exchange.seen.unwrap().head.extensions).unwrap().clone();
        assert_eq!((verdict.step(), verdict.pollutes()), (step, step == Step::BuiltinWeb), "{tool}");
        assert_eq!(is_tainted(&store, "ana"), step == Step::BuiltinWeb, "{tool}");
    }
}

#[test]
fn pv_26_whatever_a_call_is_about_the_session_is_marked() {
    // The original's ledger is per key of a state; what a model has read it may write under any.
    let layer = trust(&MemoryTaintStore::new(10));
    let about = |tool: &str, key: &str| {
        let arguments = format!(r#"{{"key":"{key}"}}"#);
        by("ana", post_text(tool_call("1", tool, &arguments)).with_server("kg"))
    };
    assert!(is_sent(&layer, about("remember", "a")) && is_sent(&layer, about("scrape", "a")));
    for key in ["a", "b", ""] {
        assert!(!is_sent(&layer, about("remember", key)), "{key}");
    }
}

#[test]
fn pv_28_no_tenant_has_what_another_has_received() {
    let base = || Principal::new("key", "ana").unwrap();
    let tenants =
        [base(), base().with_tenant(""), base().with_tenant("None"), base().with_tenant("t"), base().with_tenant("T")];
    for tainted in &tenants {
        let layer = trust(&MemoryTaintStore::new(100));
        let by = |principal: &Principal, tool: &str| {
            let mut request = call(tool);
            request.extensions_mut().insert(principal.clone());
            request
        };
        assert!(is_sent(&layer, by(tainted, "scrape")));
        for other in &tenants {
            assert_eq!(is_sent(&layer, by(other, "remember")), other != tainted, "{tainted:?} {other:?}");
        }
    }
}

#[test]
fn pv_29_what_fails_marks_as_well() {
    // The original records what has succeeded; an error has text too, and a call that is lost may have been answered.
    let answers = [
        (200, result(r#","isError":true"#)),
        (200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#.to_owned()),
        (400, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#.to_owned()),
        (500, "oops".to_owned()),
        (503, String::new()),
    ];
    for (status, body) in answers {
        let store = MemoryTaintStore::new(10);
        let answer = Response::builder().status(status).header("content-type", "application/json");
        let exchange = send(&trust(&store), call("scrape"), answer.body(Full::<Bytes>::from(body.clone())).unwrap());
        assert_eq!(exchange.status().as_u16(), status);
        assert!(is_tainted(&store, "ana"), "{status} {body}");
    }
}

#[test]
fn pv_29_so_does_what_nobody_waits_for() {
    for answers in [false, true] {
        let store = Stepped::open();
        let mut running = Running::start(&trust(&store), call("scrape"));
        assert!(running.poll().is_pending() && running.is_dispatched());
        if answers {
            running.answer(Response::new(Script::new([Part::Stay])));
            assert!(running.poll().is_ready());
        }
        drop(running);
        assert!(is_tainted(&store.memory, "ana"), "{answers}");
    }
}

#[test]
fn pv_30_what_comes_from_a_cache_marks_again() {
    // The original takes a value from a cache for known; here it may reach a session that was cleared meanwhile.
    for (request, said) in [("scrape", ""), ("read", UNTRUSTED)] {
        let store = MemoryTaintStore::new(10);
        let layer = trust(&store);
        let cached = || {
            let answer = Response::builder().header("content-type", "application/json").header("age", "60");
            answer.header("x-cache", "HIT").body(Full::<Bytes>::from(result(said))).unwrap()
        };
        for time in 0..3 {
            assert!(!is_tainted(&store, "ana"), "{request} {time}");
            send(&layer, call(request), cached());
            assert!(is_tainted(&store, "ana"), "{request} {time}");
            assert!(!is_sent(&layer, call("remember")), "{request} {time}");
            clear(&store, ana());
        }
    }
}

/// A journal that no other test has.
fn journal() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("toolgate-rows-{}-{count}", std::process::id()))
}

#[test]
fn pv_31_a_file_remembers_over_a_restart() {
    let path = journal();
    let store = FileTaintStore::open(&path, 100).unwrap();
    assert!(is_sent_in_time(&trust(&store), call("scrape")));
    let before = inspect(&store, ana());
    drop(store);
    let store = FileTaintStore::open(&path, 100).unwrap();
    assert_eq!(inspect(&store, ana()).facts, before.facts);
    assert_eq!(inspect(&store, ana()).cause, before.cause);
    assert!(!is_sent(&trust(&store), call("remember")) && is_sent(&trust(&store), by("bob", call("remember"))));
    // What forgets says so.
    assert!(!store.forgets_at_restart() && MemoryTaintStore::new(1).forgets_at_restart());
    drop(store);
    std::fs::remove_file(path).unwrap();
}

/// How many of some calls at once pass that both write and bring content from outside.
fn passing<T: TaintStore>(store: &T, calls: usize) -> usize {
    let lists = ContentTrustConfig::new([], ["send_news"], []).unwrap();
    let server = DeclaredServer::new("kg").with_trust(ServerTrust::Trusted);
    let classes = ClassifierConfig::new().with_content_trust(lists).with_server(server);
    let rules = SessionRules::new().with_sinks(["send_*"], RuleAction::Deny).unwrap();
    let layer = ContentTrustLayer::new(Classifier::new(&classes).unwrap(), store.clone()).with_rules(rules);
    let (barrier, passed) = (Barrier::new(calls), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..calls {
            scope.spawn(|| {
                barrier.wait();
                let passes = is_sent_in_time(&layer, call("send_news"));
                passed.fetch_add(usize::from(passes), Ordering::Relaxed);
            });
        }
    });
    passed.into_inner()
}

#[test]
fn pv_32_to_decide_and_to_write_is_one_step() {
    let path = journal();
    let file = FileTaintStore::open(&path, 100).unwrap();
    for _ in 0..20 {
        assert_eq!(passing(&MemoryTaintStore::new(100), 8), 1);
        assert_eq!(passing(&file, 8), 1);
        clear(&file, ana());
    }
    drop(file);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn pv_33_where_nothing_is_said_everything_is_external() {
    // In the original an empty table makes every check pass.
    let classifier = Classifier::new(&ClassifierConfig::new()).unwrap();
    for owner in [None, Some("kg"), Some("")] {
        for tool in ["read", "", "mcp__kg__read"] {
            assert_eq!(classifier.classify(owner, tool).class(), ToolContentOrigin::External, "{owner:?} {tool}");
        }
        assert_eq!(classifier.classify_server(owner).class(), ToolContentOrigin::External, "{owner:?}");
    }
    let store = MemoryTaintStore::new(10);
    let rules = SessionRules::new().with_sinks(["remember"], RuleAction::Deny).unwrap();
    let layer = ContentTrustLayer::new(classifier, store.clone()).with_rules(rules);
    assert!(is_sent(&layer, call("read")) && is_tainted(&store, "ana") && !is_sent(&layer, call("remember")));
}
