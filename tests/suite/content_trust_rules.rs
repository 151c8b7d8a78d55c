//! What a session may not do any more.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::message::PlainJsonRpc;
use tower_toolgate::observe::TrustEvent;
use tower_toolgate::store::MemoryTaintStore;
use tower_toolgate::trust::{
    Classifier, ClassifierConfig, DeclaredServer, DelegationTool, Face, PoolTool, RuleAction, ServerTrust, SessionRules,
};

use super::content_trust::*;
use super::support::*;

type Trust = ContentTrustLayer<MemoryTaintStore>;

fn ruled(rules: SessionRules) -> Trust {
    ContentTrustLayer::new(classifier(), MemoryTaintStore::new(100)).with_rules(rules)
}

/// Whether a request of one message passes.
fn passes(layer: &Trust, request: Request<Full<Bytes>>) -> Result<(), String> {
    let exchange = send(layer, request, json(RESULT));
    match exchange.seen {
        Some(_) => Ok(()),
        None => Err(exchange.denial().reason().to_owned()),
    }
}

fn batch(tools: &[&str]) -> Request<Full<Bytes>> {
    let calls: Vec<_> = tools.iter().enumerate().map(|(at, tool)| tool_call(&at.to_string(), tool, "{}")).collect();
    by("ana", post_text(format!("[{}]", calls.join(","))).with_server("kg"))
}

/// What it is, the rules, the tools that are called before, the one that is called then, and whether that passes.
type Case<'a> = (&'a str, &'a SessionRules, &'a [&'a str], &'a str, Result<(), &'a str>);

#[test]
fn every_rule_refuses_what_it_is_about_and_nothing_else() {
    let none = SessionRules::new;
    let sinks = none().with_sinks(["remember", "send_*"], RuleAction::Deny).unwrap();
    let irreversible = none().with_irreversible(["delete_*"]).unwrap();
    let third = none().with_third_leg(["mail"], ["send_*"]).unwrap();
    let sequence = none().with_forbidden_sequence(["account", "limit", "pay"]).unwrap();
    let cases: [Case<'_>; 14] = [
        ("a sink at first", &sinks, &[], "send_a", Ok(())),
        ("a sink after local content", &sinks, &["read"], "send_a", Ok(())),
        ("a sink", &sinks, &["scrape"], "send_a", Err("trust.tainted_sink")),
        ("no sink", &sinks, &["scrape"], "read", Ok(())),
        ("what has been refused marks nothing", &sinks, &["scrape", "send_a"], "read", Ok(())),
        ("for good", &irreversible, &["scrape", "read", "read"], "delete_a", Err("trust.tainted_irreversible")),
        ("for good, at first", &irreversible, &["read"], "delete_a", Ok(())),
        ("two legs", &third, &["scrape"], "send_a", Ok(())),
        ("two other legs", &third, &["mail"], "send_a", Ok(())),
        ("three legs", &third, &["mail", "scrape"], "send_a", Err("trust.third_leg")),
        ("three legs, turned round", &third, &["scrape", "mail"], "send_a", Err("trust.third_leg")),
        ("a sequence", &sequence, &["account", "limit"], "pay", Err("trust.forbidden_sequence")),
        ("a sequence, turned round", &sequence, &["limit", "read", "account"], "pay", Err("trust.forbidden_sequence")),
        ("half of a sequence", &sequence, &["limit", "limit"], "pay", Ok(())),
    ];
    for (name, rules, before, tool, expected) in cases {
        let layer = ruled(rules.clone());
        before.iter().for_each(|tool| drop(passes(&layer, call(tool))));
        assert_eq!(
            passes(&layer, call(tool)).as_ref().map_err(|reason| &**reason),
            expected.as_ref().map_err(|it| *it),
            "{name}"
        );
        // One refused message refuses its batch.
        let all = passes(&layer, batch(&["read", tool]));
        assert_eq!(all.is_ok(), expected.is_ok(), "{name}, in a batch");
    }
}

#[test]
fn a_sequence_is_forbidden_in_one_batch_as_well() {
    let rules = SessionRules::new().with_forbidden_sequence(["account", "limit", "pay"]).unwrap();
    let cases: [(&[&str], &[&str], bool); 5] = [
        (&[], &["account", "limit", "pay"], false),
        (&["limit"], &["account", "pay"], false),
        (&[], &["pay", "account", "limit"], false),
        (&[], &["account", "pay"], true),
        (&[], &["pay", "pay"], true),
    ];
    for (before, together, expected) in cases {
        let layer = ruled(rules.clone());
        before.iter().for_each(|tool| passes(&layer, call(tool)).unwrap());
        assert_eq!(passes(&layer, batch(together)).is_ok(), expected, "{before:?} {together:?}");
    }
    let twice = ruled(SessionRules::new().with_forbidden_sequence(["pay", "pay"]).unwrap());
    assert_eq!(passes(&twice, batch(&["pay"])), Ok(()));
    assert!(passes(&twice, call("pay")).is_err());
    let twice = ruled(SessionRules::new().with_forbidden_sequence(["pay", "pay"]).unwrap());
    assert!(passes(&twice, batch(&["pay", "pay"])).is_err());
}

#[test]
fn what_a_refused_batch_would_have_brought_marks_nothing() {
    let layer = ruled(
        SessionRules::new().with_sinks(["send_*"], RuleAction::Deny).unwrap().with_third_leg(["mail"], ["x"]).unwrap(),
    );
    passes(&layer, call("scrape")).unwrap();
    assert!(passes(&layer, batch(&["mail", "send_a"])).is_err());
    assert_eq!(passes(&layer, call("x")), Ok(()));
}

#[test]
fn methods_are_sinks_as_well() {
    let methods = ["resources/read", "prompts/get", "completion/complete", "resources/subscribe", "logging/setLevel"];
    let layer = ruled(SessionRules::new().with_sinks(methods, RuleAction::Deny).unwrap());
    let requests = || {
        [
            ask("kg", "resources/read", r#"{"uri":"file:///a"}"#),
            ask("kg", "prompts/get", r#"{"name":"a"}"#),
            ask(
                "kg",
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":""}}"#,
            ),
            ask("kg", "resources/subscribe", r#"{"uri":"file:///a"}"#),
            ask("kg", "logging/setLevel", r#"{"level":"info"}"#),
        ]
    };
    requests().into_iter().for_each(|request| assert_eq!(passes(&layer, request), Ok(())));
    passes(&layer, call("scrape")).unwrap();
    for request in requests() {
        assert_eq!(passes(&layer, request), Err("trust.tainted_sink".to_owned()));
    }
    assert_eq!(passes(&layer, ask("kg", "tools/list", "{}")), Ok(()));
}

#[test]
fn a_method_of_no_table_is_a_sink_by_its_name_or_a_pattern() {
    for pattern in ["acme/write", "acme/*", "*"] {
        let layer = ruled(SessionRules::new().with_sinks([pattern], RuleAction::Deny).unwrap());
        assert_eq!(passes(&layer, ask("kg", "acme/write", "{}")), Ok(()));
        passes(&layer, call("scrape")).unwrap();
        assert_eq!(passes(&layer, ask("kg", "acme/write", "{}")), Err("trust.tainted_sink".to_owned()), "{pattern}");
        // The protocol's own goes on.
        assert_eq!(passes(&layer, ask("kg", "tools/list", "{}")), Ok(()), "{pattern}");
        assert_eq!(passes(&layer, ask("kg", "ping", "{}")), Ok(()), "{pattern}");
    }
}

#[test]
fn what_is_flagged_passes_and_is_told_of() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&seen);
    let layer = ruled(SessionRules::new().with_sinks(["send_*"], RuleAction::Flag).unwrap());
    let layer = layer.on_trust(move |event: &TrustEvent<'_>| told.lock().unwrap().push(event.kind.name().to_owned()));
    for tool in ["send_a", "scrape", "send_a", "send_b"] {
        assert_eq!(passes(&layer, call(tool)), Ok(()));
    }
    assert_eq!(*seen.lock().unwrap(), ["marked", "flagged", "flagged"]);
}

#[test]
fn a_sink_without_an_id_is_dropped() {
    let layer =
        ruled(SessionRules::new().with_sinks(["send"], RuleAction::Deny).unwrap()).with_dialect(PlainJsonRpc::new());
    let plain = |body: &str| by("ana", post_text(body.to_owned()).with_server("kg"));
    let notice = r#"{"jsonrpc":"2.0","method":"send"}"#;
    assert_eq!(passes(&layer, plain(notice)), Ok(()));
    assert_eq!(passes(&layer, plain(r#"{"jsonrpc":"2.0","method":"scrape"}"#)), Ok(()));
    send(&layer, plain(notice), json(RESULT)).dropped("a notification", "trust.tainted_sink");
    let exchange = send(&layer, plain(r#"{"jsonrpc":"2.0","id":"a","method":"send","params":[1]}"#), json(RESULT));
    exchange.refused("a request", 403, r#""a""#, 403, "trust.tainted_sink");
    // In MCP no call comes without an id: it reaches nothing, and marks nothing.
    let layer = ruled(SessionRules::new().with_sinks(["send"], RuleAction::Deny).unwrap());
    let notice = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"scrape"}}"#;
    send(&layer, plain(notice), json(RESULT)).dropped("a call", "message.call_without_id");
    assert_eq!(passes(&layer, call("send")), Ok(()));
}

#[test]
fn co_26_co_35_agents_bring_what_their_tools_bring() {
    let tool = DelegationTool::new(Some("kg"), "delegate", "type")
        .with_faces([
            Face::new("local").with_allow_tools(["read"]),
            Face::new("web").with_allow_tools(["read", "web_fetch"]),
        ])
        .with_pool([PoolTool::new("read").with_owner("kg"), PoolTool::new("web_fetch").with_owner("kg")]);
    let server = DeclaredServer::new("kg").with_trust(ServerTrust::Trusted);
    let classifier = Classifier::new(&ClassifierConfig::new().with_server(server).with_delegation(tool)).unwrap();
    for (arguments, expected) in [
        (r#"{"type":"local"}"#, false),
        (r#"{"type":"web"}"#, true),
        (r#"{"type":"other"}"#, true),
        (r#"{"type":7}"#, true),
        (r#"{"type":["local"]}"#, true),
        (r#"{"Type":"local"}"#, true),
        (r#"{"typ\u0065":"l\u006fcal"}"#, false),
        ("{}", true),
        ("null", true),
    ] {
        let store = MemoryTaintStore::new(10);
        let layer = ContentTrustLayer::new(classifier.clone(), store.clone());
        let request = by("ana", post_text(tool_call("1", "delegate", arguments)).with_server("kg"));
        assert!(passes(&layer, request).is_ok(), "{arguments}");
        assert_eq!(is_tainted(&store, "ana"), expected, "{arguments}");
    }
}
