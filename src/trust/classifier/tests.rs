use proptest::prelude::*;

use super::*;
use crate::trust::ToolContentOrigin::{Execution, External, Local};
use crate::trust::{Claims, ContentTrustConfig, Face, PoolTool};

// === building ===

fn lists(servers: &[&str], untrusted: &[&str], trusted: &[&str]) -> ContentTrustConfig {
    let [servers, untrusted, trusted] = [servers, untrusted, trusted].map(|list| list.iter().copied());
    ContentTrustConfig::new(servers, untrusted, trusted).unwrap()
}

fn compile(config: &ClassifierConfig) -> Classifier {
    Classifier::new(config).unwrap_or_else(|error| panic!("{error}"))
}

/// Two servers, so that names alone trust nothing.
fn among(lists: ContentTrustConfig) -> ClassifierConfig {
    let config = ClassifierConfig::new().with_content_trust(lists);
    config.with_server(DeclaredServer::new("kg")).with_server(DeclaredServer::new("evil"))
}

fn declared(id: &str, trust: ServerTrust) -> DeclaredServer {
    DeclaredServer::new(id).with_trust(trust)
}

type Ruling = (ToolContentOrigin, Step);

fn ruling(verdict: &Verdict<'_>) -> Ruling {
    (verdict.class(), verdict.step())
}

const UNKNOWN: Ruling = (External, Step::Unknown);
const WEB: Ruling = (External, Step::BuiltinWeb);
const UNTRUSTED: Ruling = (External, Step::UntrustedTool);
const TRUSTED: Ruling = (Local, Step::TrustedTool);
const TRUSTED_SERVER: Ruling = (Local, Step::Server);

// === lists ===

#[test]
fn ct_23_to_ct_55_as_layers_classify() {
    let kg = || lists(&["kg"], &[], &[]);
    for (row, lists, owner, tool, expected) in [
        ("CT-23", lists(&[], &[], &[]), None, "web_search", WEB),
        ("CT-23", lists(&[], &[], &[]), Some("kg"), "http_request", WEB),
        ("CT-24", lists(&[], &[], &["web_fetch", "mcp__kg__web_fetch"]), Some("kg"), "web_fetch", WEB),
        ("CT-25", lists(&[], &["fetch"], &[]), None, "fetch", WEB),
        ("CT-26", kg(), None, "Web_Fetch", UNKNOWN),
        ("CT-26", kg(), None, "web-fetch", UNKNOWN),
        ("CT-26", kg(), None, "WebFetch", UNKNOWN),
        ("CT-26", kg(), None, "webfetch", UNKNOWN),
        ("CT-26", kg(), None, "fetch_url", UNKNOWN),
        ("CT-26", kg(), None, "http_get", UNKNOWN),
        ("CT-26", kg(), None, "web_fetch ", UNKNOWN),
        ("CT-27", kg(), Some("kg"), "web_fetch", WEB),
        ("CT-27", kg(), Some("kg"), "mcp__kg__web_fetch", WEB),
        ("CT-27", kg(), Some("kg"), "inner__web_fetch", WEB),
        ("CT-27", kg(), Some("kg"), "inner___web_fetch", WEB),
        ("CT-27", kg(), Some("kg"), "inner____fetch", WEB),
        ("CT-27 the longest", kg(), Some("kg"), "a_long_prefix__http_request", WEB),
        ("CT-27 of another script", kg(), Some("kg"), "üüüüüüüüüü__fetch", WEB),
        ("CT-27 another word", kg(), Some("kg"), "prefetch", TRUSTED_SERVER),
        ("CT-27 one underscore", kg(), Some("kg"), "x_fetch", TRUSTED_SERVER),
        ("CT-27 not the end", kg(), Some("kg"), "fetch__x", TRUSTED_SERVER),
        ("CT-28", lists(&["kg"], &["scrape_page"], &[]), Some("kg"), "scrape_page", UNTRUSTED),
        ("CT-28 looks qualified", lists(&["kg"], &["page"], &[]), Some("kg"), "mcp__kg__page", UNTRUSTED),
        ("CT-29", lists(&["kg"], &["mcp__kg__query"], &[]), Some("kg"), "query", UNTRUSTED),
        ("CT-29 looks qualified", lists(&["kg"], &["mcp__kg__query"], &[]), Some("kg"), "mcp__kg__query", UNTRUSTED),
        ("CT-29 short", lists(&["kg"], &["kg__query"], &[]), Some("kg"), "query", UNTRUSTED),
        ("CT-29 another's", lists(&["kg"], &["mcp__evil__query"], &[]), Some("kg"), "query", TRUSTED_SERVER),
        ("CT-30", lists(&[], &[], &["mcp__evil__probe"]), Some("evil"), "probe", TRUSTED),
        ("CT-30 by another", lists(&[], &[], &["mcp__evil__probe"]), Some("kg"), "probe", UNKNOWN),
        ("CT-30 only looks so", lists(&[], &[], &["mcp__evil__probe"]), Some("kg"), "mcp__evil__probe", UNKNOWN),
        ("CT-30 without a route", lists(&[], &[], &["mcp__evil__probe"]), None, "mcp__evil__probe", UNKNOWN),
        ("CT-30 looks so twice", lists(&[], &[], &["mcp__evil__probe"]), Some("evil"), "mcp__evil__probe", UNKNOWN),
        ("CT-31", lists(&[], &["mcp__kg__x"], &["mcp__kg__x"]), Some("kg"), "x", UNTRUSTED),
        ("CT-32", lists(&[], &[], &["probe"]), Some("evil"), "mcp__evil__probe", UNKNOWN),
        ("CT-32", lists(&[], &[], &["probe"]), Some("evil"), "probe", UNKNOWN),
        ("CT-33", kg(), Some("kg"), "query", TRUSTED_SERVER),
        ("CT-34", kg(), Some("other"), "search", UNKNOWN),
        ("CT-35", lists(&[], &[], &[]), Some("kg"), "t", UNKNOWN),
        ("CT-36", kg(), Some("kg2"), "x", UNKNOWN),
        ("CT-36", kg(), Some("KG"), "x", UNKNOWN),
        ("CT-37", kg(), None, "mcp__kg", UNKNOWN),
        ("CT-38", kg(), None, "mcp__", UNKNOWN),
        ("CT-38", kg(), None, "mcp____x", UNKNOWN),
        ("CT-39", lists(&[], &[], &["mcp__kg__b__c"]), Some("kg"), "b__c", TRUSTED),
        ("CT-39", lists(&[], &[], &["mcp__kg___c"]), Some("kg"), "_c", TRUSTED),
        ("CT-39", lists(&[], &[], &["mcp__kg___c"]), Some("kg_"), "c", UNKNOWN),
        ("CT-40", kg(), Some("kg__srv"), "t", UNKNOWN),
        ("CT-40", kg(), None, "mcp__kg__srv__t", UNKNOWN),
        ("CT-41", kg(), None, "mcp_kg_query", UNKNOWN),
        ("CT-41", kg(), None, "MCP__kg__x", UNKNOWN),
        ("CT-41", kg(), None, " mcp__kg__x", UNKNOWN),
        ("CT-42", kg(), None, "shell", UNKNOWN),
        ("CT-43", kg(), Some("kg"), "", (External, Step::Nameless)),
        ("CT-44", lists(&["*"], &[], &[]), Some("kg"), "y", UNKNOWN),
        ("CT-44", lists(&["kg"], &["web_*"], &[]), Some("kg"), "web_x", TRUSTED_SERVER),
        ("CT-45", lists(&[], &[], &[]), Some("scraper"), "scrape_page", UNKNOWN),
        ("CT-46", kg(), Some("kg"), "query", TRUSTED_SERVER),
        ("CT-47", kg(), Some("kg"), "mcp__evil__query", TRUSTED_SERVER),
        ("CT-48 CT-55", kg(), Some("evil"), "mcp__kg__query", UNKNOWN),
        ("CT-49", kg(), Some("kg"), "web_search", WEB),
        ("CT-50", lists(&[], &[], &["mcp__scraper__scrape_page"]), Some("scraper"), "scrape_page", TRUSTED),
        ("CT-51", lists(&["kg"], &["query"], &[]), Some("kg"), "query", UNTRUSTED),
        ("CT-52 CT-55", kg(), None, "mcp__kg__query", UNKNOWN),
        ("CT-54", kg(), Some(""), "x", UNKNOWN),
        ("CO-20 other case", lists(&[], &[], &["mcp__kg__Ask"]), Some("kg"), "ask", UNKNOWN),
        ("CO-20 another server", lists(&[], &[], &["mcp__KG__ask"]), Some("kg"), "ask", UNKNOWN),
    ] {
        let classifier = compile(&among(lists));
        assert_eq!(ruling(&classifier.classify(owner, tool)), expected, "{row} {owner:?} {tool:?}");
    }
}

#[test]
fn ct_32_a_plain_name_is_trusted_only_where_it_can_mean_one_tool() {
    let config = |servers: &[&str]| {
        let config = ClassifierConfig::new().with_content_trust(lists(&[], &[], &["probe"]));
        compile(&servers.iter().fold(config, |config, id| config.with_server(DeclaredServer::new(*id))))
    };
    for (servers, owner, expected) in [
        (&[][..], None, TRUSTED),
        (&[], Some("kg"), UNKNOWN),
        (&["kg"], None, TRUSTED),
        (&["kg"], Some("kg"), TRUSTED),
        (&["kg"], Some("evil"), UNKNOWN),
        (&["kg", "evil"], None, UNKNOWN),
        (&["kg", "evil"], Some("kg"), UNKNOWN),
    ] {
        assert_eq!(ruling(&config(servers).classify(owner, "probe")), expected, "{servers:?} {owner:?}");
        assert_eq!(ruling(&config(servers).classify(owner, "mcp__kg__probe")), UNKNOWN, "{servers:?} {owner:?}");
    }
}

// === steps ===

/// Each step, with all later ones saying otherwise.
fn steps() -> ClassifierConfig {
    let trusted = ["mcp__kg__web_fetch", "mcp__kg__bad", "mcp__sand__good"];
    let origin = |owner, tool, origin| DeclaredTool::new(Some(owner), tool, origin);
    ClassifierConfig::new()
        .with_content_trust(lists(&["kg", "own_sand"], &["web_fetch", "mcp__kg__bad"], &trusted))
        .with_server(DeclaredServer::new("kg"))
        .with_server(declared("sand", ServerTrust::Sandboxed))
        .with_server(declared("out", ServerTrust::Untrusted))
        .with_server(declared("in", ServerTrust::Trusted))
        .with_server(DeclaredServer::own("own"))
        .with_server(DeclaredServer::own("own_out").with_trust(ServerTrust::Untrusted))
        .with_server(DeclaredServer::own("own_sand").with_trust(ServerTrust::Sandboxed))
        .with_server(DeclaredServer::new("new"))
        .with_content_origin(origin("kg", "web_fetch", Local))
        .with_content_origin(origin("kg", "bad", Local))
        .with_content_origin(origin("sand", "good", External))
        .with_content_origin(origin("sand", "run", Execution))
        .with_content_origin(origin("kg", "ask", External))
        .with_content_origin(origin("out", "local", Local))
        .with_content_origin(DeclaredTool::new(None, "mine", "local"))
}

#[test]
fn cc_01_to_cc_07_each_step_decides_before_the_next() {
    let classifier = compile(&steps());
    for (row, owner, tool, expected) in [
        ("CC-01", Some("kg"), "web_fetch", WEB),
        ("CC-01 unqualified", Some("kg"), "a__web_fetch", WEB),
        ("CC-02", Some("kg"), "bad", UNTRUSTED),
        ("CC-03", Some("sand"), "good", TRUSTED),
        ("CC-04", Some("sand"), "run", (Execution, Step::ToolOrigin)),
        ("CC-04", Some("kg"), "ask", (External, Step::ToolOrigin)),
        ("CC-04 CO-07", Some("out"), "local", (Local, Step::ToolOrigin)),
        ("CC-04 no server", None, "mine", (Local, Step::ToolOrigin)),
        ("CC-04 not the server's", Some("out"), "mine", (External, Step::Server)),
        ("CC-05 listed", Some("kg"), "other", TRUSTED_SERVER),
        ("CC-05 trusted", Some("in"), "other", TRUSTED_SERVER),
        ("CC-05 sandboxed", Some("sand"), "other", (External, Step::Server)),
        ("CC-05 untrusted", Some("out"), "other", (External, Step::Server)),
        ("CC-05 before CC-06", Some("own_out"), "other", (External, Step::Server)),
        ("CC-05 listed and sandboxed", Some("own_sand"), "other", (External, Step::Server)),
        ("CC-06", Some("own"), "other", (Local, Step::Own)),
        ("CC-07", Some("new"), "other", UNKNOWN),
        ("CC-07", Some("stranger"), "other", UNKNOWN),
        ("CC-07", None, "other", UNKNOWN),
    ] {
        assert_eq!(ruling(&classifier.classify(owner, tool)), expected, "{row} {owner:?} {tool}");
    }
    for (owner, expected) in [
        (Some("kg"), TRUSTED_SERVER),
        (Some("sand"), (External, Step::Server)),
        (Some("own"), (Local, Step::Own)),
        (Some("new"), UNKNOWN),
        (None, UNKNOWN),
    ] {
        assert_eq!(ruling(&classifier.classify_server(owner)), expected, "no tool {owner:?}");
    }
}

#[test]
fn cc_08_co_19_what_a_server_says_only_raises() {
    let classifier = compile(&steps());
    let (local, run, out) = (("own", "x"), ("sand", "run"), ("out", "x"));
    for (row, (owner, tool), claims, expected) in [
        ("nothing", local, Claims::NONE, (Local, Step::Own)),
        ("open", local, Claims::OPEN_WORLD, (External, Step::ClaimOpenWorld)),
        ("untrusted", local, Claims::UNTRUSTED, (External, Step::ClaimUntrusted)),
        ("integrity", local, Claims::INTEGRITY_UNTRUSTED, (External, Step::ClaimIntegrity)),
        ("two", local, Claims::OPEN_WORLD | Claims::INTEGRITY_UNTRUSTED, (External, Step::ClaimIntegrity)),
        ("execution", run, Claims::OPEN_WORLD, (External, Step::ClaimOpenWorld)),
        ("already", out, Claims::UNTRUSTED, (External, Step::Server)),
    ] {
        let verdict = classifier.classify(Some(owner), tool).raise(claims);
        assert_eq!(ruling(&verdict), expected, "{row}");
        assert_eq!(ruling(&verdict.clone().raise(Claims::NONE)), expected, "{row}");
    }
}

#[test]
fn co_21_to_co_23_pollution_follows_the_deployment() {
    for strict in [false, true] {
        let classifier = compile(&steps().with_exec_is_external(strict));
        let pollutes = |owner, tool| classifier.classify(Some(owner), tool).pollutes();
        assert_eq!((pollutes("own", "x"), pollutes("out", "x"), pollutes("sand", "run")), (false, true, strict));
    }
}

// === delegation ===

#[test]
fn cc_08_co_26_to_co_46_a_started_agent_raises() {
    let read = || PoolTool::new("read").with_owner("own");
    let local = |row: PoolTool| row.with_content_origin(Local);
    for (row, strict, pool, external) in [
        ("CO-30", false, vec![], false),
        ("CO-32", false, vec![read()], false),
        ("CO-32 of a tool declared", false, vec![PoolTool::new("mine")], false),
        ("CO-43", false, vec![read(), PoolTool::new("web_fetch")], true),
        ("CO-43 by alias", false, vec![read().with_alias("web_fetch")], true),
        ("CO-43 not overridable", false, vec![local(PoolTool::new("fetch").with_owner("own"))], true),
        ("untrusted by alias", false, vec![local(read().with_alias("mcp__kg__bad"))], true),
        ("declared by alias", false, vec![PoolTool::new("x").with_owner("kg").with_alias("ask")], true),
        ("declared twice", false, vec![local(PoolTool::new("ask").with_owner("kg"))], true),
        ("CO-44", false, vec![PoolTool::new("mcp__x__y")], true),
        ("CO-44 of a server", false, vec![PoolTool::new("y").with_owner("new")], true),
        ("CO-45", false, vec![local(PoolTool::new("mcp__x__y"))], false),
        ("CO-46", false, vec![PoolTool::new("run").with_owner("sand")], false),
        ("CO-46 strict", true, vec![PoolTool::new("run").with_owner("sand")], true),
        ("this same tool", false, vec![PoolTool::new("delegate").with_owner("own")], false),
        ("another such tool", false, vec![PoolTool::new("spawn").with_owner("own")], true),
        ("another, declared", false, vec![local(PoolTool::new("spawn").with_owner("own"))], false),
    ] {
        let delegate = DelegationTool::new(Some("own"), "delegate", "type").with_faces([Face::new("a")]);
        let config = steps().with_exec_is_external(strict).with_delegation(delegate.with_pool(pool));
        let classifier = compile(&config.with_delegation(DelegationTool::new(Some("own"), "spawn", "kind")));
        let step = |kind| classifier.classify_call(Some("own"), "delegate", kind).step();
        assert_eq!(step(Some("a")), if external { Step::Delegated } else { Step::Own }, "{row}");
        assert_eq!((step(None), step(Some("b"))), (Step::Delegated, Step::Delegated), "CO-26 CO-28 {row}");
        assert_eq!(classifier.classify(Some("own"), "delegate").step(), Step::Delegated, "{row}");
        assert_eq!(classifier.classify_call(Some("own"), "spawn", Some("a")).step(), Step::Delegated, "CO-27 CO-29");
        assert_eq!(classifier.classify_call(Some("own"), "other", None).step(), Step::Own);
        assert_eq!(classifier.classify_call(Some("kg"), "delegate", None).step(), Step::Server);
        assert_eq!(classifier.delegation_argument(Some("own"), "delegate"), Some("type"));
        assert_eq!(classifier.delegation_argument(None, "delegate"), None);
    }
}

#[test]
fn cc_08_a_child_that_reaches_nothing_makes_nothing_better() {
    let delegate = DelegationTool::new(Some("out"), "delegate", "type").with_faces([Face::new("a")]).with_pool([]);
    let classifier = compile(&steps().with_delegation(delegate));
    assert_eq!(ruling(&classifier.classify_call(Some("out"), "delegate", Some("a"))), (External, Step::Server));
}

// === words ===

#[test]
fn ct_23_to_ct_45_causes_are_in_words() {
    let classifier = compile(&steps());
    let cause = |owner, tool| classifier.classify(owner, tool).cause().as_str().to_owned();
    for (owner, tool, expected) in [
        (None, "web_fetch", "web tool 'web_fetch'"),
        (Some("kg"), "bad", "configured untrusted tool 'bad'"),
        (Some("sand"), "good", "configured trusted tool 'good'"),
        (Some("sand"), "run", "MCP server 'sand' (tool 'run') declared execution"),
        (Some("other"), "mcp__other__search", "MCP server 'other' (tool 'mcp__other__search')"),
        (Some("out"), "x", "MCP server 'out' (tool 'x')"),
        (None, "x", "tool 'x'"),
    ] {
        assert_eq!(cause(owner, tool), expected);
    }
    let raised = |claims| classifier.classify(Some("own"), "x").raise(claims).cause().as_str().to_owned();
    assert_eq!(raised(Claims::UNTRUSTED), "MCP server 'own' (tool 'x') says that it is untrusted");
    assert_eq!(classifier.classify_server(Some("out")).cause().as_str(), "MCP server 'out'");
    assert_eq!(classifier.classify_server(None).cause().as_str(), "unknown server");
    let long = "ü".repeat(1 << 20);
    assert!(cause(Some("out"), &long).len() <= crate::trust::Cause::MAX_BYTES);
}

#[test]
fn cc_11_steps_have_stable_names() {
    let names = [
        (Step::Nameless, "nameless"),
        (Step::BuiltinWeb, "builtin_web"),
        (Step::UntrustedTool, "untrusted_tool"),
        (Step::TrustedTool, "trusted_tool"),
        (Step::ToolOrigin, "tool_origin"),
        (Step::Server, "server"),
        (Step::Own, "own"),
        (Step::Unknown, "unknown"),
        (Step::Delegated, "delegated"),
        (Step::ClaimUntrusted, "claim_untrusted"),
        (Step::ClaimIntegrity, "claim_integrity"),
        (Step::ClaimOpenWorld, "claim_open_world"),
    ];
    assert!(names.is_sorted());
    for (step, name) in names {
        assert_eq!(step.to_string(), name);
    }
}

#[test]
fn a_verdict_outlives_its_request_and_says_whose_tool_it_is() {
    let classifier = compile(&steps());
    let owned = {
        let (owner, tool) = ("own".to_owned(), "x".to_owned());
        classifier.classify(Some(&owner), &tool).into_owned()
    };
    assert_eq!((owned.owner(), owned.tool()), (Some("own"), Some("x")));
    assert_eq!(owned, classifier.classify(Some("own"), "x"));
    assert_eq!(classifier.classify_server(Some("own")).tool(), None);
}

#[test]
fn a_verdict_allocates_nothing() {
    let classifier = compile(&steps());
    let long = "_".repeat(1 << 20);
    let counted = allocation_counter::measure(|| {
        for (owner, tool) in [(Some("kg"), "a__web_fetch"), (Some("out"), "x"), (None, "x"), (Some("own"), &*long)] {
            let verdict = classifier.clone().classify(owner, tool).raise(Claims::OPEN_WORLD).pollutes();
            assert!(verdict);
        }
    });
    assert_eq!(counted.count_total, 0);
}

// === mistakes and doubts ===

#[test]
fn ct_40_th_078_cc_04_mistakes_are_told_with_their_place() {
    let config = ClassifierConfig::new;
    let server = |id: &str| config().with_server(DeclaredServer::new("kg")).with_server(DeclaredServer::new(id));
    let origin = |owner, tool: &str, origin: &str| config().with_content_origin(DeclaredTool::new(owner, tool, origin));
    let delegate =
        |owner, tool: &str, argument: &str| config().with_delegation(DelegationTool::new(owner, tool, argument));
    let listed = |id| config().with_content_trust(lists(&["kg", id], &[], &[]));
    let again = |config: ClassifierConfig| {
        let (tools, delegations) = (config.content_origins.clone(), config.delegations.clone());
        let config = tools.into_iter().fold(config, ClassifierConfig::with_content_origin);
        delegations.into_iter().fold(config, ClassifierConfig::with_delegation)
    };
    let ambiguous = |id: &str| format!("server id {id:?} must not hold `__`, nor begin or end with `_`");
    let origins = |name: &str| format!("{name:?} is no content origin: one of external, execution, local");
    for (row, config, place, problem) in [
        ("CT-40", server("my__srv"), "servers[1].id", ambiguous("my__srv")),
        ("TH-078", server("acme_"), "servers[1].id", ambiguous("acme_")),
        ("TH-078", server("_acme"), "servers[1].id", ambiguous("_acme")),
        ("TH-078", server("_"), "servers[1].id", ambiguous("_")),
        ("CT-40", listed("my__srv"), "content_trust.trusted_mcp_servers[1]", ambiguous("my__srv")),
        ("CT-40", origin(Some("a__b"), "t", "local"), "content_origins[0].owner", ambiguous("a__b")),
        ("CT-40", delegate(Some("a_"), "t", "x"), "delegations[0].owner", ambiguous("a_")),
        ("blank", server(" "), "servers[1].id", "must not be blank".to_owned()),
        ("control", server("a\u{7}"), "servers[1].id", "control character in \"a\\u{7}\"".to_owned()),
        ("twice", server("kg"), "servers[1].id", "second server \"kg\"".to_owned()),
        ("CC-04", origin(Some("a"), "t", "External"), "content_origins[0].content_origin", origins("External")),
        ("CC-04", origin(None, "t", ""), "content_origins[0].content_origin", origins("")),
        ("no tool", origin(None, "", "local"), "content_origins[0].tool", "must not be blank".to_owned()),
        (
            "twice",
            again(origin(Some("a"), "t", "local")),
            "content_origins[1].tool",
            "second entry for tool \"t\"".to_owned(),
        ),
        ("twice", again(delegate(None, "t", "x")), "delegations[1].tool", "second entry for tool \"t\"".to_owned()),
        ("no argument", delegate(None, "t", ""), "delegations[0].argument", "must not be blank".to_owned()),
    ] {
        let error = Classifier::new(&config).unwrap_err();
        assert_eq!((error.place(), error.problem().to_string()), (place, problem), "{row}");
        assert!(error.to_string().starts_with(place));
    }
}

#[test]
fn ct_17_ct_24_ct_40_ct_44_doubts_are_told_with_their_place() {
    const SERVERS: &str = "content_trust.trusted_mcp_servers[0]";
    const UNTRUSTED_TOOLS: &str = "content_trust.untrusted_tools[0]";
    const TRUSTED_TOOLS: &str = "content_trust.trusted_tools[0]";
    let server = |id| among(lists(&[id], &[], &[]));
    let untrusted = |tool| among(lists(&[], &[tool], &[]));
    let trusted = |tool| among(lists(&[], &[], &[tool]));
    let text = str::to_owned;
    for (row, config, place, kind) in [
        (
            "CT-17",
            among(lists(&[], &["mcp__kg__x"], &["mcp__kg__x"])),
            TRUSTED_TOOLS,
            LintKind::Contradicts(text("mcp__kg__x")),
        ),
        ("CT-24", trusted("mcp__kg__fetch"), TRUSTED_TOOLS, LintKind::WebTool(text("mcp__kg__fetch"))),
        ("CT-24", trusted("fetch"), TRUSTED_TOOLS, LintKind::WebTool(text("fetch"))),
        ("CT-32", trusted("probe"), TRUSTED_TOOLS, LintKind::BareAmongServers(text("probe"))),
        ("CT-36", server("KG"), SERVERS, LintKind::Resembles(text("KG"))),
        ("CT-36", trusted("mcp__Evil__x"), TRUSTED_TOOLS, LintKind::Resembles(text("Evil"))),
        ("CT-36", server("kg2"), SERVERS, LintKind::UnknownServer(text("kg2"))),
        ("unknown", untrusted("mcp__kg2__x"), UNTRUSTED_TOOLS, LintKind::UnknownServer(text("kg2"))),
        ("CT-37", trusted("mcp__kg"), TRUSTED_TOOLS, LintKind::Incomplete(text("mcp__kg"))),
        ("TH-078", trusted("mcp___kg__x"), TRUSTED_TOOLS, LintKind::Incomplete(text("mcp___kg__x"))),
        ("CT-44", server("k*"), SERVERS, LintKind::Glob(text("k*"))),
        ("CT-44", untrusted("web_*"), UNTRUSTED_TOOLS, LintKind::Glob(text("web_*"))),
        ("CT-44", trusted("mcp__kg__*"), TRUSTED_TOOLS, LintKind::Glob(text("mcp__kg__*"))),
        (
            "two servers",
            among(lists(&[], &[], &[])).with_server(DeclaredServer::new("KG")),
            "servers[2].id",
            LintKind::Resembles(text("KG")),
        ),
        (
            "distrust",
            server("out").with_server(declared("out", ServerTrust::Untrusted)),
            SERVERS,
            LintKind::DistrustWins(text("out")),
        ),
        (
            "unknown",
            among(lists(&[], &[], &[])).with_content_origin(DeclaredTool::new(Some("x"), "t", Local)),
            "content_origins[0].owner",
            LintKind::UnknownServer(text("x")),
        ),
        (
            "unknown",
            among(lists(&[], &[], &[])).with_delegation(DelegationTool::new(Some("x"), "t", "a")),
            "delegations[0].owner",
            LintKind::UnknownServer(text("x")),
        ),
    ] {
        let classifier = compile(&config);
        let found = Vec::from_iter(classifier.lints().iter().map(|lint| (lint.place(), lint.kind())));
        assert_eq!(found, [(place, &kind)], "{row}");
        assert_eq!(classifier.lints()[0].to_string(), format!("{place}: {kind}"));
    }
}

#[test]
fn what_is_plain_raises_no_doubt() {
    for config in [
        ClassifierConfig::new(),
        ClassifierConfig::new().with_content_trust(lists(&["kg"], &["a"], &["b", "mcp__x__y"])),
        among(lists(&["kg"], &["a", "mcp__evil__x"], &["mcp__kg__y"])),
        ClassifierConfig::new().with_content_trust(lists(&[], &[], &["b"])).with_server(DeclaredServer::new("kg")),
        ClassifierConfig::new()
            .with_content_trust(lists(&["kg"], &[], &[]))
            .with_server(declared("kg", ServerTrust::Trusted)),
    ] {
        assert_eq!(compile(&config).lints(), []);
    }
}

#[test]
fn a_configuration_survives_serde() {
    let face = Face::new("a").with_allow_tools(["read"]);
    let config = steps().with_exec_is_external(true).with_delegation(
        DelegationTool::new(Some("own"), "delegate", "type").with_faces([face]).with_pool([PoolTool::new("read")]),
    );
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<ClassifierConfig>(&json).unwrap(), config);
    let toml = "exec_is_external = true\n[content_trust]\ntrusted_mcp_servers = ['kg']\n\
        [[servers]]\nid = 'kg'\ntrust = 'sandboxed'\n[[content_origins]]\nowner = 'kg'\ntool = 't'\n\
        content_origin = 'x'";
    let config: ClassifierConfig = toml::from_str(toml).unwrap();
    assert_eq!(config.servers, [declared("kg", ServerTrust::Sandboxed)]);
    assert_eq!(Classifier::new(&config).unwrap_err().place(), "content_origins[0].content_origin");
    for typo in ["strict = true", "[[servers]]\nid = 'a'\ntrust = 'Trusted'", "[[servers]]\nid = 'a'\nbuiltin = true"] {
        assert!(toml::from_str::<ClassifierConfig>(typo).is_err(), "{typo}");
    }
}

// === properties ===

const SERVER_IDS: &[&str] = &["kg", "evil", "own", "x"];
const TOOLS: &[&str] =
    &["fetch", "query", "run", "mcp__kg__query", "mcp__evil__run", "kg__query", "a__fetch", "mcp__kg"];

fn some_of(names: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(names, 0..=names.len()).prop_shuffle()
}

prop_compose! {
    fn configs()(
        trusted_servers in some_of(SERVER_IDS),
        untrusted in some_of(TOOLS),
        trusted in some_of(TOOLS),
        servers in some_of(SERVER_IDS),
        kinds in prop::collection::vec(0..5_u8, 4),
        origins in prop::sample::subsequence(vec![("kg", "query"), ("own", "run"), ("evil", "run"), ("x", "x")], 0..4),
        origin in prop::sample::select(vec![Local, Execution, External]),
        strict: bool,
    ) -> ClassifierConfig {
        let server = |(id, kind): (&str, u8)| match kind {
            0 => DeclaredServer::new(id),
            1 => DeclaredServer::own(id),
            2 => declared(id, ServerTrust::Trusted),
            3 => declared(id, ServerTrust::Untrusted),
            _ => DeclaredServer::own(id).with_trust(ServerTrust::Sandboxed),
        };
        let lists = lists(&trusted_servers, &untrusted, &trusted);
        let config = ClassifierConfig::new().with_content_trust(lists).with_exec_is_external(strict);
        let servers = servers.into_iter().zip(kinds).map(server);
        let config = servers.fold(config, ClassifierConfig::with_server);
        let tools = origins.into_iter().map(|(owner, tool)| DeclaredTool::new(Some(owner), tool, origin));
        tools.fold(config, ClassifierConfig::with_content_origin)
    }
}

fn routes() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(SERVER_IDS))
}

fn tools() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TOOLS)
}

fn reversed(config: &ClassifierConfig) -> ClassifierConfig {
    let mut config = config.clone();
    let lists = &config.content_trust;
    let [servers, untrusted, trusted] =
        [lists.trusted_mcp_servers(), lists.untrusted_tools(), lists.trusted_tools()].map(|list| list.iter().rev());
    config.content_trust = ContentTrustConfig::new(servers, untrusted, trusted).unwrap();
    config.servers.reverse();
    config.content_origins.reverse();
    config
}

proptest! {
    #[test]
    fn cc_09_claims_never_lower(
        config in configs(),
        owner in routes(),
        tool in tools(),
        bits in prop::collection::vec(0..3_usize, 0..5),
    ) {
        let classifier = compile(&config);
        let all = [Claims::OPEN_WORLD, Claims::UNTRUSTED, Claims::INTEGRITY_UNTRUSTED];
        for verdict in [classifier.classify(owner, tool), classifier.classify_server(owner)] {
            let mut raised = verdict.clone();
            for bit in &bits {
                let next = raised.clone().raise(all[*bit]);
                prop_assert!(next.class() >= raised.class() && next.pollutes() >= raised.pollutes());
                raised = next;
            }
            let joined = bits.iter().fold(Claims::NONE, |claims, bit| claims | all[*bit]);
            prop_assert_eq!(verdict.raise(joined).class(), raised.class());
        }
    }

    #[test]
    fn cc_10_order_says_nothing(config in configs(), owner in routes(), tool in tools()) {
        let (one, other) = (compile(&config), compile(&reversed(&config)));
        prop_assert_eq!(one.classify(owner, tool), other.classify(owner, tool));
        prop_assert_eq!(one.classify_server(owner), other.classify_server(owner));
    }

    #[test]
    fn cc_11_a_verdict_is_a_function_of_configuration_route_and_name(
        config in configs(),
        owner in routes(),
        tool in tools(),
    ) {
        let (one, other) = (compile(&config), compile(&config));
        let verdict = one.classify(owner, tool);
        for (owner, tool) in [(Some("evil"), "query"), (None, "fetch")] {
            let _ = one.classify(owner, tool).raise(Claims::UNTRUSTED);
        }
        prop_assert_eq!(&one.classify(owner, tool), &verdict);
        prop_assert_eq!(other.classify(owner, tool), verdict);
    }

    #[test]
    fn cc_01_to_cc_07_agree_with_the_textbook(config in configs(), owner in routes(), tool in tools()) {
        prop_assert_eq!(ruling(&compile(&config).classify(owner, tool)), reference(&config, owner, tool));
    }

    #[test]
    fn ct_55_a_name_never_stands_for_a_route(config in configs(), tool in "[a-z_]{0,6}") {
        let classifier = compile(&config);
        let named = format!("mcp__kg__{tool}");
        let verdict = classifier.classify(Some("stranger"), &named);
        prop_assert_eq!(verdict.class(), External);
    }
}

/// The steps as they are written down.
fn reference(config: &ClassifierConfig, owner: Option<&str>, tool: &str) -> Ruling {
    let lists = &config.content_trust;
    let parts = || (0..=tool.len()).filter(|at| *at == 0 || tool[..*at].ends_with("__")).map(|at| &tool[at..]);
    let qualified = owner.map(|owner| format!("mcp__{owner}__{tool}"));
    let is_qualified = |entry: &String| Some(entry) == qualified.as_ref();
    if parts().any(|part| crate::trust::config::WEB_TOOLS.contains(&part)) {
        return WEB;
    }
    let short = |entry: &String| is_qualified(&format!("mcp__{entry}"));
    if lists
        .untrusted_tools()
        .iter()
        .any(|entry| parts().any(|part| part == entry) || is_qualified(entry) || short(entry))
    {
        return UNTRUSTED;
    }
    let alone = config.servers.len() < 2 && owner.is_none_or(|owner| config.servers.iter().any(|one| one.id == owner));
    let bare = |entry: &String| alone && entry == tool && !entry.starts_with("mcp__");
    if lists.trusted_tools().iter().any(|entry| is_qualified(entry) || bare(entry)) {
        return TRUSTED;
    }
    if let Some(declared) = config.content_origins.iter().find(|it| it.owner.as_deref() == owner && it.tool == tool) {
        return (ToolContentOrigin::from_name(&declared.content_origin).unwrap(), Step::ToolOrigin);
    }
    let Some(owner) = owner else { return UNKNOWN };
    let server = config.servers.iter().find(|server| server.id == owner);
    let listed = lists.trusted_mcp_servers().iter().any(|id| id == owner);
    match server.and_then(|server| server.trust) {
        Some(ServerTrust::Untrusted | ServerTrust::Sandboxed) => (External, Step::Server),
        Some(ServerTrust::Trusted) => TRUSTED_SERVER,
        None if listed => TRUSTED_SERVER,
        None if server.is_some_and(|server| server.own) => (Local, Step::Own),
        None => UNKNOWN,
    }
}
