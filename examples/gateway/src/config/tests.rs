#![allow(clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)]

use std::time::Duration;

use tower_toolgate::policy::{ArgumentAllowlist, PolicyConfig, RoleConfig};
use tower_toolgate::provenance::{Confidentiality, FenceMode, MediaPolicy, StructuredContent};
use tower_toolgate::server::{CapabilityClass, DataSensitivity, McpTransport, McpTrustLevel, ServerEntry};
use tower_toolgate::trust::{DelegationTool, Face, PoolTool, ToolContentOrigin};

use super::nearest::nearest;
use super::schema::{Field, Kind, ROOT};
use super::*;

/// The example of the gateway's documentation.
const EXAMPLE: &str = r#"
[gateway]
listen = "127.0.0.1:8970"
max_body_bytes = 4194304
denial = "negotiate"          # http-403 | json-rpc-error | tool-error | masked
shadow = false                # judge and record, deny nothing

[[gateway.api_keys]]          # Authorization: Bearer KEY; no key or a wrong one: 401
key = "k-analyst"
subject = "ana"
roles = ["analyst"]

[policy]
global_deny = ["*_drop_*"]
[[policy.roles]]
name = "analyst"
servers = ["*"]               # required when there are several
allow = ["run_query", "search_*", "echo"]
deny = []
hosts = ["*"]
resources = []                # globs over uris
prompts = []
methods = []                  # beyond the protocol's own plumbing
[[policy.roles.argument_allowlists]]
tool = "run_query"
argument = "cmd"
allowed = ["ls", "cat"]
required = true
deny_unknown_arguments = true

[content_trust]
trusted_mcp_servers = ["files"]
untrusted_tools = []
trusted_tools = []
exec_is_external = false
sinks = ["remember", "send_*"]
on_tainted_sink = "deny"      # or "flag"
window = "forever"            # or "12h"
conversation = []             # e.g. ["mcp-session-id"]
[content_trust.store]
kind = "memory"               # forgets at a restart
capacity = 100000

[provenance]
fence = "off"                 # delimit | datamark | base64
structured_content = "tag"    # strip | fence_leaves | text_only
media = "pass"                # notice | drop
descriptions = false          # mark lists and instructions, too

[[mcp.servers]]
id = "everything"
transport = { http = { url = "http://127.0.0.1:3001/mcp" } }
timeout = "30s"
trust_level = "untrusted"     # trusted | untrusted | sandboxed
tool_allowlist = ["echo"]
"#;

/// Every key there is, each with a value that is right.
const EVERYTHING: &str = r#"
[gateway]
listen = "[::1]:0"
max_body_bytes = 1
body_timeout = "500ms"
denial = "http-403"
shadow = true
allowed_hosts = ["gateway.example", "gateway.example:8970", "[::1]:8970"]
allowed_origins = ["https://app.example", "http://localhost:5173"]
binding_key = "b1nding-0123456789-0123456789-0123456789"
previous_binding_keys = ["b0und-0123456789-0123456789-0123456789"]
[[gateway.api_keys]]
key = "k-1"
subject = "ana"
roles = ["a"]
[gateway.admin]
listen = "[::1]:0"
key = "k-admin"
[policy]
global_deny = ["x"]
[[policy.roles]]
name = "a"
description = "for people"
servers = ["one", "t*"]
allow = ["x"]
deny = ["x"]
hosts = ["x"]
resources = ["x"]
prompts = ["x"]
methods = ["x"]
[[policy.roles.argument_allowlists]]
tool = "x"
argument = "y"
allowed = ["z"]
required = true
deny_unknown_arguments = true
reject_control_chars = true
[content_trust]
trusted_mcp_servers = ["files"]
untrusted_tools = ["x"]
trusted_tools = ["x"]
exec_is_external = true
sinks = ["x"]
on_tainted_sink = "flag"
irreversible = ["x"]
private_reads = ["x"]
egress = ["x"]
forbidden_sequences = [["x", "y"]]
window = "12h"
conversation = ["mcp-session-id"]
[[content_trust.delegation]]
server = "two"
tool = "x"
argument = "y"
faces = [{ name = "reader", allow_tools = ["x"], deny_tools = ["x"], can_redelegate = true }]
pool = [{ name = "x", aliases = ["y"], server = "elsewhere", content_origin = "execution" }]
[content_trust.store]
kind = "redis"
url = "redis://:p4ssw0rd@127.0.0.1:6379/0"
capacity = 1
timeout = "200ms"
[provenance]
fence = "delimit"
structured_content = "fence_leaves"
key = "com.example/origin"
header = "x-origin"
trust_annotations = true
ifc = true
media = "drop"
descriptions = true
link_schemes = ["https"]
signing_key = "s1gned-0123456789-0123456789-0123456789"
previous_signing_keys = ["s0gned-0123456789-0123456789-0123456789"]
labels = { "x.y" = { capability = "net_send", trust = "untrusted", sink = true, confidentiality = "secret", declassifier = true, min_confidential = "internal", actions = "block" } }
[mcp.pins]
file = "toolgate.lock"
servers = ["one"]
[[mcp.servers]]
id = "one"
transport = { stdio = { command = "server", args = ["-v"], env = { "TOKEN" = "t0ken" } } }
timeout = "2m"
trust_level = "sandboxed"
tool_allowlist = []
allow_untrusted_without_allowlist = true
expected_tools = ["x"]
roots = [{ uri = "file:///srv", name = "srv" }]
tool_metadata = { "x.y" = { data_sensitivity = "high", capabilities = ["network"], flagged_parameters = [{ path = "/a", pattern_name = "b" }] } }
elicitation_enabled = true
elicitation_timeout_secs = 5
env_isolation = false
media_passthrough = true
[[mcp.servers]]
id = "two"
transport = { http = { url = "http://127.0.0.1:3001/mcp" } }
timeout = "30s"
[[mcp.servers]]
id = "three"
transport = { builtin = "web" }
"#;

const POLICY: &str = "\n[policy]\nroles = [{ name = 'a' }]\n";
const SERVERS: &str = "\n[[mcp.servers]]\nid = 's'\ntransport = { builtin = 'files' }\n";

/// A name, a text, and what is wrong with it: `LINE:COLUMN PLACE: MESSAGE`.
type Case<'c> = (&'c str, &'c str, &'c [&'c str]);

fn shown(problem: &Problem) -> String {
    let number = |number: Option<usize>| number.map_or("-".to_owned(), |number| number.to_string());
    let Problem { place, line, column, message } = problem;
    format!("{}:{} {place}: {message}", number(*line), number(*column))
}

/// `after` follows each text, so that what a text does not say is right.
#[track_caller]
fn check(cases: &[Case<'_>], after: &str) {
    for (name, text, expected) in cases {
        let found = match Config::parse(&format!("{text}{after}")) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(shown).collect(),
        };
        assert_eq!(found, *expected, "{name}");
    }
}

#[track_caller]
fn parse(text: &str) -> Parsed {
    Config::parse(text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

#[test]
fn reads_the_documented_example() {
    let Config { gateway, policy, content_trust, provenance, mcp } = parse(EXAMPLE).config;
    assert_eq!(gateway.listen.to_string(), "127.0.0.1:8970");
    assert_eq!(gateway.max_body_bytes, 4_194_304);
    assert_eq!(gateway.denial, DenialShape::Negotiate);
    assert_eq!(gateway.api_keys[0].key.expose(), "k-analyst");
    assert_eq!(policy.roles[0].argument_allowlists[0].allowed, ["ls", "cat"]);
    let content_trust = content_trust.unwrap();
    assert_eq!(content_trust.window, Window::Forever);
    assert_eq!(content_trust.on_tainted_sink, OnTaintedSink::Deny);
    assert!(matches!(content_trust.store, StoreConfig { store: Store::Memory, capacity: 100_000, .. }));
    assert_eq!(provenance.unwrap().structured_content, StructuredContent::Tag);
    let [server] = mcp.servers.as_slice() else { panic!("{mcp:?}") };
    let transport = McpTransport::http("http://127.0.0.1:3001/mcp").unwrap();
    let entry = ServerEntry::new("everything", transport, Duration::from_secs(30)).with_tool_allowlist(["echo"]);
    assert_eq!((&server.entry, server.builtin, server.level_is_written), (&entry, None, true));
}

/// The configuration on the gateway's page.
#[test]
fn reads_the_example_of_the_page() {
    let page = include_str!("../../README.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let Config { mcp, policy, .. } = parse(example).config;
    let ids: Vec<_> = mcp.servers.iter().map(|server| server.entry.id.as_str()).collect();
    assert_eq!((ids.as_slice(), policy.roles.len()), (["files", "web"].as_slice(), 1));
}

#[test]
fn reads_every_key() {
    let Config { gateway, content_trust, provenance, mcp, .. } = parse(EVERYTHING).config;
    assert_eq!(gateway.body_timeout, Duration::from_millis(500));
    assert_eq!(gateway.denial, DenialShape::Http403);
    let content_trust = content_trust.unwrap();
    assert_eq!(content_trust.window, Window::For(Duration::from_secs(12 * 60 * 60)));
    let Store::Redis { url } = content_trust.store.store else { panic!("{content_trust:?}") };
    assert_eq!(url.expose(), "redis://:p4ssw0rd@127.0.0.1:6379/0");
    let provenance = provenance.unwrap();
    assert_eq!((provenance.fence, provenance.media), (FenceMode::Delimit, MediaPolicy::Drop));
    assert_eq!(
        (provenance.key.as_deref(), provenance.header.as_deref()),
        (Some("com.example/origin"), Some("x-origin"))
    );
    assert_eq!(provenance.labels["x.y"].min_confidential, Some(Confidentiality::Internal));
    assert_eq!(provenance.previous_signing_keys.len(), 1);
    let server = &mcp.servers[0];
    let transport = McpTransport::stdio("server").with_args(["-v"]).with_env("TOKEN", "t0ken");
    assert_eq!(server.entry.transport, transport);
    let meta = &server.entry.tool_metadata["x.y"];
    assert_eq!(
        (meta.data_sensitivity, meta.capabilities.as_slice()),
        (DataSensitivity::High, [CapabilityClass::Network].as_slice())
    );
    assert_eq!(meta.flagged_parameters[0].path, "/a");
    assert_eq!(server.entry.roots[0].uri, "file:///srv");
    assert_eq!((server.entry.elicitation_timeout_secs, server.entry.env_isolation), (5, Some(false)));
    assert_eq!(mcp.servers[2].builtin, Some(Builtin::Web));
    let pins = mcp.pins.unwrap();
    assert_eq!((pins.file.to_str(), pins.servers.as_slice()), (Some("toolgate.lock"), ["one".to_owned()].as_slice()));
}

#[test]
fn fills_in_defaults() {
    let Config { gateway, policy, content_trust, provenance, mcp } = parse(&format!("{POLICY}{SERVERS}")).config;
    assert_eq!(gateway.listen.to_string(), "127.0.0.1:8970");
    assert_eq!(gateway.max_body_bytes, 4_194_304);
    assert_eq!(gateway.body_timeout, Duration::from_secs(30));
    assert!(!gateway.shadow && gateway.api_keys.is_empty());
    assert!(content_trust.is_none() && provenance.is_none());
    assert_eq!(policy.roles[0].servers, ["*"], "the only server");
    let ServerConfig { entry, builtin, level_is_written } = &mcp.servers[0];
    assert_eq!((builtin, level_is_written), (&Some(Builtin::Files), &false));
    assert_eq!(entry.trust_level, McpTrustLevel::Trusted, "a builtin is the gateway's own");
    assert_eq!((entry.timeout, entry.elicitation_timeout_secs), (Duration::from_secs(30), 120));
    assert_eq!(entry.tool_allowlist, None);
    assert!(mcp.pins.is_none());
}

#[test]
fn an_empty_list_of_servers_is_not_filled() {
    let policy = parse(&format!("[policy]\nroles = [{{ name = 'a', servers = [] }}]\n{SERVERS}")).config.policy;
    assert!(policy.roles[0].servers.is_empty());
}

/// Misspells every key of the schema in a text that has every key.
#[test]
fn names_the_nearest_key_at_every_level() {
    let parsed = parse(EVERYTHING);
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let mut tried = 0;
    for path in all_keys() {
        let (line, _) = parsed.places.locate(&path).unwrap_or_else(|| panic!("{path}"));
        let key = path.rsplit('.').next().unwrap();
        let misspelt = format!("{key}x");
        let mut text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let at = position_of(&text[line - 1], key);
        text[line - 1].insert(at + key.len(), 'x');
        let problems = Config::parse(&text.join("\n")).unwrap_err();
        let message = format!("unknown key `{misspelt}`, did you mean `{key}`?");
        let found = problems.iter().find(|problem| problem.message == message);
        let found = found.unwrap_or_else(|| panic!("{path}: {problems:#?}"));
        assert_eq!((found.place.as_str(), found.line), (format!("{path}x").as_str(), Some(line)));
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
}

/// Paths in `EVERYTHING` of all keys that stand on a line of their own or in an inline table.
fn all_keys() -> Vec<String> {
    let mut keys = Vec::new();
    add_keys("", ROOT, &mut keys);
    // Tables whose names stand in several headers, and the other ways to reach a server.
    let headers = ["gateway", "policy", "content_trust", "provenance", "mcp"];
    let elsewhere = ["gateway.admin", "gateway.api_keys", "policy.roles", "policy.roles[0].argument_allowlists"];
    let elsewhere = elsewhere.into_iter().chain([
        "mcp.pins",
        "mcp.servers",
        "content_trust.store",
        "content_trust.store.path",
        "content_trust.delegation",
    ]);
    let skip: Vec<_> = headers.into_iter().chain(elsewhere).collect();
    keys.retain(|key| !skip.contains(&key.as_str()) && !key.contains("transport.http") && !key.contains("builtin"));
    keys
}

fn add_keys(path: &str, fields: &[Field], keys: &mut Vec<String>) {
    for field in fields {
        let path = member(path, field.name);
        keys.push(path.clone());
        match &field.kind {
            Kind::Table(fields) | Kind::OneOf(fields) => add_keys(&path, fields, keys),
            Kind::List(_, Kind::Table(fields)) => {
                add_keys(&places::element(&path, 0), fields, keys);
            }
            Kind::Map(_, Kind::Table(fields)) => {
                add_keys(&member(&path, "x.y"), fields, keys);
            }
            _ => {}
        }
    }
}

/// The key itself, not a longer one that ends with it.
fn position_of(line: &str, key: &str) -> usize {
    let is_whole = |at: &usize| !line[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    line.match_indices(&format!("{key} =")).map(|(at, _)| at).find(is_whole).unwrap_or_else(|| panic!("{line}, {key}"))
}

#[test]
fn refuses_unknown_keys() {
    let cases: &[Case<'_>] = &[
        ("top level", "[gatway]\nshadow = true\n", &["1:2 gatway: unknown key `gatway`, did you mean `gateway`?"]),
        ("top level, required", "[polcy]\nroles = []\n", &["1:2 polcy: unknown key `polcy`, did you mean `policy`?"]),
        (
            "none near",
            "[gateway]\ncolour = 1\n",
            &["2:1 gateway.colour: unknown key `colour`, known are `listen`, `max_body_bytes`, `body_timeout`, \
               `denial`, `shadow`, `api_keys`, `allowed_hosts`, `allowed_origins`, `admin`, `binding_key`, `previous_binding_keys`"],
        ),
        (
            "hyphens and capitals",
            "[gateway]\nMax-Body-Bytes = 1\n",
            &["2:1 gateway.Max-Body-Bytes: unknown key `Max-Body-Bytes`, did you mean `max_body_bytes`?"],
        ),
        (
            "quoted",
            "[gateway]\n\"a.b\" = 1\n",
            &["2:1 gateway.\"a.b\": unknown key `a.b`, known are `listen`, `max_body_bytes`, `body_timeout`, \
               `denial`, `shadow`, `api_keys`, `allowed_hosts`, `allowed_origins`, `admin`, `binding_key`, `previous_binding_keys`"],
        ),
        (
            "two of one meaning",
            "[gateway]\nshadow = true\nshadows = 1\n",
            &["3:1 gateway.shadows: unknown key `shadows`, did you mean `shadow`?"],
        ),
        (
            "with a wrong value",
            "[gateway]\nshadows = 1\n",
            &[
                "2:1 gateway.shadows: unknown key `shadows`, did you mean `shadow`?",
                "2:11 gateway.shadow: expected true or false, found an integer",
            ],
        ),
        ("dotted", "gateway.shadows = true\n", &["1:9 gateway.shadows: unknown key `shadows`, did you mean `shadow`?"]),
    ];
    for case in cases {
        let after = if case.1.starts_with("[polcy]") { SERVERS.to_owned() } else { format!("{POLICY}{SERVERS}") };
        check(&[*case], &after);
    }
}

#[test]
fn displays_as_a_line_of_text() {
    let text = "[policy]\n[[policy.roles]]\nname = 'a'\nalow = ['x']\n";
    let problems = Config::parse(&format!("{text}{SERVERS}")).unwrap_err();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!(problem.to_string(), "line 4, policy.roles[0].alow: unknown key `alow`, did you mean `allow`?");
    assert_eq!(Problem::new("mcp", "missing key `mcp`").to_string(), "mcp: missing key `mcp`");
    assert_eq!(Problem::new("", "wrong").at(Some((3, 1))).to_string(), "line 3: wrong");
    assert_eq!(Problem::new("", "wrong").to_string(), "wrong");
}

#[test]
fn refuses_what_is_not_toml() {
    let cases: &[Case<'_>] = &[
        (
            "no value",
            "[gateway]\nshadow =\n",
            &["2:9 : not valid TOML: string values must be quoted, expected literal string"],
        ),
        ("duplicate key", "[gateway]\nshadow = true\nshadow = true\n", &["3:1 : duplicate key `shadow`"]),
        ("duplicate quoted key", "[gateway]\nshadow = true\n'shadow' = 1\n", &["3:1 : duplicate key `'shadow'`"]),
        ("duplicate table", "[gateway]\n[gateway]\n", &["2:2 : duplicate key `gateway`"]),
        (
            "duplicate in an inline table",
            "gateway = { shadow = true, shadow = false }\n",
            &["1:28 : duplicate key `shadow`"],
        ),
        ("duplicate by dots", "gateway.shadow = true\n[gateway]\nshadow = true\n", &["2:2 : duplicate key `gateway`"]),
        (
            "unquoted secret",
            "[[gateway.api_keys]]\nkey = k-s3cret\n",
            &["2:7 : not valid TOML: string values must be quoted, expected literal string"],
        ),
    ];
    check(cases, &format!("{POLICY}{SERVERS}"));
}

#[test]
fn counts_lines_and_columns() {
    let text = "# é\n[gateway]\nallowed_hosts = [\n  'é/',\n  'ok', '/'\n]\nshadow = 1\n";
    let expected: &[&str] = &[
        "4:3 gateway.allowed_hosts[0]: `é/` is no host, such as `gateway.example` or `gateway.example:8970`",
        "5:9 gateway.allowed_hosts[1]: `/` is no host, such as `gateway.example` or `gateway.example:8970`",
        "7:10 gateway.shadow: expected true or false, found an integer",
    ];
    let expected = [expected[0].to_owned(), expected[1].replace("[1]", "[2]"), expected[2].to_owned()];
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let crlf = text.replace('\n', "\r\n");
    let bom = format!("\u{feff}{text}");
    let cases = [("LF", text, &*expected), ("CRLF", crlf.as_str(), &*expected), ("BOM", bom.as_str(), &*expected)];
    check(&cases, &format!("{POLICY}{SERVERS}"));
    check(
        &[(
            "BOM on its line",
            "\u{feff}x = 1\n",
            &["1:1 x: unknown key `x`, known are `gateway`, `policy`, \
        `content_trust`, `provenance`, `mcp`"],
        )],
        &format!("{POLICY}{SERVERS}"),
    );
    check(
        &[(
            "after a wide letter",
            "gateway = { denial = 'é', shadow = 1 }\n",
            &[
                "1:22 gateway.denial: unknown value `é`, known are `negotiate`, `http-403`, `json-rpc-error`, `tool-error`, `masked`",
                "1:36 gateway.shadow: expected true or false, found an integer",
            ],
        )],
        &format!("{POLICY}{SERVERS}"),
    );
}

#[test]
fn refuses_wrong_types() {
    let cases: &[Case<'_>] = &[
        ("table", "gateway = 1\n", &["1:11 gateway: expected a table, found an integer"]),
        ("string", "[gateway]\nlisten = 8970\n", &["2:10 gateway.listen: expected a string, found an integer"]),
        (
            "integer",
            "[gateway]\nmax_body_bytes = 1.5\n",
            &["2:18 gateway.max_body_bytes: expected an integer, found a float"],
        ),
        (
            "array",
            "[gateway]\nallowed_hosts = 'x'\n",
            &["2:17 gateway.allowed_hosts: expected an array, found a string"],
        ),
        (
            "element",
            "[gateway]\nallowed_hosts = ['x', []]\n",
            &["2:23 gateway.allowed_hosts[1]: expected a string, found an array"],
        ),
        ("word", "[gateway]\ndenial = true\n", &["2:10 gateway.denial: expected a string, found a boolean"]),
        (
            "secret",
            "[[gateway.api_keys]]\nkey = 1234\nsubject = 'x'\nroles = ['a']\n",
            &["2:7 gateway.api_keys[0].key: expected a string, found an integer"],
        ),
        (
            "element of an array of tables",
            "[gateway]\napi_keys = [1]\n",
            &["2:13 gateway.api_keys[0]: expected a table, found an integer"],
        ),
    ];
    check(cases, &format!("{POLICY}{SERVERS}"));
    let cases: &[Case<'_>] = &[
        ("roles", "[policy]\nroles = 'a'\n", &["2:9 policy.roles: expected an array, found a string"]),
        ("role", "[policy]\nroles = ['a']\n", &["2:10 policy.roles[0]: expected a table, found a string"]),
        (
            "rule",
            "[policy]\nroles = [{ name = 'a', argument_allowlists = [{ tool = 't', argument = 1 }] }]\n",
            &["2:72 policy.roles[0].argument_allowlists[0].argument: expected a string, found an integer"],
        ),
    ];
    let key = "[[gateway.api_keys]]\nkey = 'k'\nsubject = 's'\nroles = ['a']\n";
    check(cases, &format!("{key}{SERVERS}"));
}

#[test]
fn refuses_what_is_missing() {
    check(&[("everything", "", &["-:- policy: missing key `policy`", "-:- mcp: missing key `mcp`"])], "");
    check(&[("servers", "[mcp]\n", &["1:1 mcp.servers: missing key `servers`"])], POLICY);
    check(&[("a server", "mcp = { servers = [] }\n", &["1:19 mcp.servers: must not be empty"])], POLICY);
    check(
        &[(
            "a server's keys",
            "[[mcp.servers]]\n",
            &["1:1 mcp.servers[0].id: missing key `id`", "1:1 mcp.servers[0].transport: missing key `transport`"],
        )],
        POLICY,
    );
    let cases: &[Case<'_>] = &[(
        "an api key's keys",
        "[[gateway.api_keys]]\n",
        &[
            "1:1 gateway.api_keys[0].key: missing key `key`",
            "1:1 gateway.api_keys[0].subject: missing key `subject`",
            "1:1 gateway.api_keys[0].roles: missing key `roles`",
        ],
    )];
    check(cases, &format!("{POLICY}{SERVERS}"));
    check(
        &[("a role's name", "[policy]\nroles = [{}]\n", &["2:10 policy.roles[0].name: missing key `name`"])],
        SERVERS,
    );
}

#[test]
fn checks_the_gateway() {
    let cases: &[Case<'_>] = &[
        (
            "listen",
            "[gateway]\nlisten = 'localhost'\n",
            &["2:10 gateway.listen: `localhost` is no address with a port, such as `127.0.0.1:8970`"],
        ),
        ("no bytes", "[gateway]\nmax_body_bytes = 0\n", &["2:18 gateway.max_body_bytes: `0` is less than 1"]),
        ("fewer bytes", "[gateway]\nmax_body_bytes = -1\n", &["2:18 gateway.max_body_bytes: `-1` is less than 1"]),
        (
            "too many bytes",
            "[gateway]\nmax_body_bytes = 99999999999999999999\n",
            &["2:18 gateway.max_body_bytes: `99999999999999999999` is out of range"],
        ),
        ("hexadecimal bytes", "[gateway]\nmax_body_bytes = 0x1_000\n", &[]),
        (
            "body timeout",
            "[gateway]\nbody_timeout = '30'\n",
            &["2:16 gateway.body_timeout: `30` is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`"],
        ),
        (
            "denial",
            "[gateway]\ndenial = 'http_403'\n",
            &["2:10 gateway.denial: unknown value `http_403`, did you mean `http-403`?"],
        ),
        (
            "wildcard host",
            "[gateway]\nallowed_hosts = ['*']\n",
            &["2:18 gateway.allowed_hosts[0]: `*` is no host, such as `gateway.example` or `gateway.example:8970`"],
        ),
        (
            "origin with a slash",
            "[gateway]\nallowed_origins = ['https://a.example/']\n",
            &[
                "2:20 gateway.allowed_origins[0]: `https://a.example/` is no origin, such as `https://app.example` or `http://localhost:5173`",
            ],
        ),
        (
            "null origin",
            "[gateway]\nallowed_origins = ['null']\n",
            &[
                "2:20 gateway.allowed_origins[0]: `null` is no origin, such as `https://app.example` or `http://localhost:5173`",
            ],
        ),
    ];
    check(cases, &format!("{POLICY}{SERVERS}"));
}

#[test]
fn reads_every_shape_of_denial() {
    let shapes = [
        ("negotiate", DenialShape::Negotiate),
        ("http-403", DenialShape::Http403),
        ("json-rpc-error", DenialShape::JsonRpcError),
        ("tool-error", DenialShape::ToolError),
        ("masked", DenialShape::Masked),
    ];
    for (text, shape) in shapes {
        let text = format!("gateway.denial = '{text}'\n{POLICY}{SERVERS}");
        assert_eq!(parse(&text).config.gateway.denial, shape, "{text}");
    }
}

#[test]
fn checks_api_keys() {
    let cases: &[Case<'_>] = &[
        (
            "several",
            "api_keys = [{ key = 'k', subject = 's', roles = ['a'] }, { key = 'K', subject = 's', roles = ['a'] }]",
            &[],
        ),
        (
            "blank key",
            "api_keys = [{ key = ' ', subject = 's', roles = ['a'] }]",
            &["2:21 gateway.api_keys[0].key: must not be blank"],
        ),
        (
            "two blank keys",
            "api_keys = [{ key = '', subject = 's', roles = ['a'] }, { key = '', subject = 's', roles = ['a'] }]",
            &["2:21 gateway.api_keys[0].key: must not be blank", "2:65 gateway.api_keys[1].key: must not be blank"],
        ),
        (
            "key that no header carries",
            "api_keys = [{ key = 'a b', subject = 's', roles = ['a'] }]",
            &[
                "2:21 gateway.api_keys[0].key: holds what no `Authorization` header carries: a key is visible ascii without spaces",
            ],
        ),
        (
            "duplicate key",
            "api_keys = [{ key = 'k', subject = 's', roles = ['a'] }, { key = 'k', subject = 't', roles = ['a'] }]",
            &["2:66 gateway.api_keys[1].key: the same as `gateway.api_keys[0].key`"],
        ),
        (
            "blank subject",
            "api_keys = [{ key = 'k', subject = '', roles = ['a'] }]",
            &["2:36 gateway.api_keys[0].subject: must not be blank"],
        ),
        (
            "no roles",
            "api_keys = [{ key = 'k', subject = 's', roles = [] }]",
            &["2:49 gateway.api_keys[0].roles: must not be empty"],
        ),
        (
            "blank role",
            "api_keys = [{ key = 'k', subject = 's', roles = [''] }]",
            &["2:50 gateway.api_keys[0].roles[0]: must not be blank"],
        ),
        (
            "unknown role",
            "api_keys = [{ key = 'k', subject = 's', roles = ['a', 'zed'] }]",
            &["2:55 gateway.api_keys[0].roles[1]: no role of the policy is named `zed`"],
        ),
        (
            "nearly a role",
            "api_keys = [{ key = 'k', subject = 's', roles = ['A'] }]",
            &["2:50 gateway.api_keys[0].roles[0]: no role of the policy is named `A`, did you mean `a`?"],
        ),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(name, text, expected)| (*name, format!("[gateway]\n{text}\n"), *expected)).collect();
    let cases: Vec<_> = cases.iter().map(|(name, text, expected)| (*name, text.as_str(), *expected)).collect();
    check(&cases, &format!("{POLICY}{SERVERS}"));
    check(
        &[(
            "a policy without roles",
            "gateway.api_keys = [{ key = 'k', subject = 's', roles = ['a'] }]\npolicy = {}\n",
            &["1:58 gateway.api_keys[0].roles[0]: no role of the policy is named `a`"],
        )],
        SERVERS,
    );
}

#[test]
fn checks_server_ids() {
    let long = "x".repeat(65);
    let fine = "x".repeat(64);
    let cases = [
        ("a", None),
        ("A-b_9", None),
        ("-a-", None),
        (fine.as_str(), None),
        ("", Some("a server id is not empty")),
        (long.as_str(), Some("a server id is no longer than 64 characters")),
        ("a.b", Some("a server id holds nothing but ascii letters, digits, `_` and `-`")),
        ("a/b", Some("a server id holds nothing but ascii letters, digits, `_` and `-`")),
        ("é", Some("a server id holds nothing but ascii letters, digits, `_` and `-`")),
        ("a__b", Some("a server id does not hold `__`")),
        ("_a", Some("a server id neither begins nor ends with `_`")),
        ("a_", Some("a server id neither begins nor ends with `_`")),
    ];
    for (id, why) in cases {
        let text = format!("[[mcp.servers]]\nid = '{id}'\ntransport.builtin = 'web'\n");
        let expected = why.map(|why| format!("2:6 mcp.servers[0].id: `{id}`: {why}"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(&[(id, &text, &expected)], POLICY);
    }
}

#[test]
fn checks_urls() {
    let scheme = "an address begins with `http://` or `https://`";
    let host = "an address needs a host, and a port between 1 and 65535 if it names one";
    let signs = "an address holds neither white space nor any of <>\"\\^`{|}#";
    let user = "a server's url has no user: credentials belong into a header";
    let cases = [
        ("http://127.0.0.1:3001/mcp", None),
        ("http://[::1]:3001", None),
        ("http://host/a%20b/", None),
        ("https://host/mcp", None),
        ("http://host/mcp?key=s3cret", None),
        ("https://user:s3cret@host/mcp", Some(user)),
        ("http://user:s3cret@host/mcp", Some(user)),
        ("http://host/mcp#s3cret", Some(signs)),
        ("ftp://host", Some(scheme)),
        ("HTTP://host", Some(scheme)),
        ("host", Some(scheme)),
        ("/mcp", Some(scheme)),
        ("", Some(scheme)),
        ("http://", Some(host)),
        ("http:///mcp", Some(host)),
        ("http://:80/mcp", Some(host)),
        ("http://host:0/mcp", Some(host)),
        ("http://host:65536/mcp", Some(host)),
        ("http://host:/mcp", Some(host)),
        ("http://ho st/mcp", Some(signs)),
    ];
    for (url, why) in cases {
        let text = format!("[[mcp.servers]]\nid = 's'\ntimeout = '1s'\ntransport.http.url = '{url}'\n");
        let expected = why.map(|why| format!("4:22 mcp.servers[0].transport.http.url: {why}"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(&[(url, &text, &expected)], POLICY);
    }
}

#[test]
fn checks_servers() {
    let cases: &[Case<'_>] = &[
        (
            "http without timeout",
            "transport.http.url = 'http://h'",
            &["1:1 mcp.servers[0].timeout: missing key `timeout`: a server needs one, such as `timeout = \"30s\"`"],
        ),
        (
            "stdio without timeout",
            "transport.stdio.command = 'x'",
            &["1:1 mcp.servers[0].timeout: missing key `timeout`: a server needs one, such as `timeout = \"30s\"`"],
        ),
        (
            "timeout without unit",
            "transport.builtin = 'web'\ntimeout = '30'",
            &["4:11 mcp.servers[0].timeout: `30` is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`"],
        ),
        (
            "number as timeout",
            "transport.builtin = 'web'\ntimeout = 30",
            &["4:11 mcp.servers[0].timeout: expected a string, found an integer"],
        ),
        (
            "no time",
            "transport.builtin = 'web'\ntimeout = '0s'",
            &["4:11 mcp.servers[0].timeout: `0s` is no time at all"],
        ),
        (
            "transport as a word",
            "transport = 'http'",
            &["3:13 mcp.servers[0].transport: expected a table, found a string"],
        ),
        (
            "no transport",
            "transport = {}",
            &["3:13 mcp.servers[0].transport: expected exactly one of `http`, `stdio`, `builtin`"],
        ),
        (
            "two transports",
            "timeout = '1s'\ntransport = { builtin = 'web', stdio = { command = 'x' } }",
            &["4:13 mcp.servers[0].transport: expected exactly one of `http`, `stdio`, `builtin`"],
        ),
        (
            "misspelt transport",
            "timeout = '1s'\ntransport = { stdo = { command = 'x' } }",
            &["4:15 mcp.servers[0].transport.stdo: unknown key `stdo`, did you mean `stdio`?"],
        ),
        (
            "unknown transport",
            "transport = { websocket = {} }",
            &["3:15 mcp.servers[0].transport.websocket: unknown key `websocket`, known are `http`, `stdio`, `builtin`"],
        ),
        (
            "unknown builtin",
            "transport = { builtin = 'file' }",
            &["3:25 mcp.servers[0].transport.builtin: unknown value `file`, did you mean `files`?"],
        ),
        (
            "unknown key of http",
            "timeout = '1s'\ntransport = { http = { uri = 'http://h' } }",
            &["4:24 mcp.servers[0].transport.http.uri: unknown key `uri`, did you mean `url`?"],
        ),
        (
            "http without url",
            "timeout = '1s'\ntransport = { http = {} }",
            &["4:22 mcp.servers[0].transport.http.url: missing key `url`"],
        ),
        (
            "stdio without command",
            "timeout = '1s'\ntransport = { stdio = {} }",
            &["4:23 mcp.servers[0].transport.stdio.command: missing key `command`"],
        ),
        (
            "blank command",
            "timeout = '1s'\ntransport = { stdio = { command = '' } }",
            &["4:35 mcp.servers[0].transport.stdio.command: must not be blank"],
        ),
        (
            "variable's name",
            "timeout = '1s'\ntransport = { stdio = { command = 'x', env = { 'A=B' = 's3cret' } } }",
            &["4:48 mcp.servers[0].transport.stdio.env.\"A=B\": no name of an environment variable"],
        ),
        (
            "variable's type",
            "timeout = '1s'\ntransport = { stdio = { command = 'x', env = { A = 1 } } }",
            &["4:52 mcp.servers[0].transport.stdio.env.A: expected a string, found an integer"],
        ),
        (
            "trust level",
            "transport.builtin = 'web'\ntrust_level = 'Trusted'",
            &["4:15 mcp.servers[0].trust_level: unknown value `Trusted`, did you mean `trusted`?"],
        ),
        (
            "blank tool",
            "transport.builtin = 'web'\ntool_allowlist = ['']",
            &["4:19 mcp.servers[0].tool_allowlist[0]: must not be blank"],
        ),
        (
            "no seconds",
            "transport.builtin = 'web'\nelicitation_timeout_secs = 0",
            &["4:28 mcp.servers[0].elicitation_timeout_secs: `0` is less than 1"],
        ),
        (
            "unknown key of a root",
            "transport.builtin = 'web'\nroots = [{ url = 'file:///' }]",
            &["4:12 mcp.servers[0].roots[0].url: unknown key `url`, did you mean `uri`?"],
        ),
        (
            "unknown key of a tool's metadata",
            "transport.builtin = 'web'\ntool_metadata = { t = { capability = [] } }",
            &["4:25 mcp.servers[0].tool_metadata.t.capability: unknown key `capability`, did you mean `capabilities`?"],
        ),
    ];
    for (name, text, expected) in cases {
        let text = format!("[[mcp.servers]]\nid = 's'\n{text}\n");
        check(&[(name, &text, expected)], POLICY);
    }
}

#[test]
fn checks_what_parts_say_of_each_other() {
    let two = "[[mcp.servers]]\nid = 's'\ntransport.builtin = 'files'\n[[mcp.servers]]\nid = 'tee'\ntransport.builtin = 'web'\n";
    let cases: &[Case<'_>] = &[
        (
            "no servers",
            "[policy]\nroles = [{ name = 'a' }, { name = 'b', servers = ['*'] }]\n",
            &[
                "2:10 policy.roles[0]: names no `servers`, and several are configured; `servers = [\"*\"]` stands for all",
            ],
        ),
        (
            "empty servers",
            "[policy]\nroles = [{ name = 'a', servers = [] }]\n",
            &[
                "2:10 policy.roles[0]: names no `servers`, and several are configured; `servers = [\"*\"]` stands for all",
            ],
        ),
        ("globs", "[policy]\nroles = [{ name = 'a', servers = ['t*', 's'] }]\n", &[]),
        (
            "unknown server",
            "[policy]\nroles = [{ name = 'a', servers = ['s', 'tea', 'x'] }]\n",
            &[
                "2:40 policy.roles[0].servers[1]: no server has the id `tea`, did you mean `tee`?",
                "2:47 policy.roles[0].servers[2]: no server has the id `x`, did you mean `s`?",
            ],
        ),
        (
            "misspelt `servers`",
            "[policy]\nroles = [{ name = 'a', servrs = ['s'] }]\n",
            &["2:24 policy.roles[0].servrs: unknown key `servrs`, did you mean `servers`?"],
        ),
    ];
    check(cases, two);
    check(
        &[(
            "unknown among one",
            "[policy]\nroles = [{ name = 'a', servers = ['other'] }]\n",
            &["2:35 policy.roles[0].servers[0]: no server has the id `other`"],
        )],
        SERVERS,
    );
    check(
        &[(
            "duplicate ids",
            "[policy]\n[[mcp.servers]]\nid = 's'\ntransport.builtin = 'web'\n",
            &["7:6 mcp.servers[1].id: the same as `mcp.servers[0].id`"],
        )],
        SERVERS,
    );
    check(
        &[(
            "ids in two cases",
            "[policy]\n[[mcp.servers]]\nid = 'S'\ntransport.builtin = 'web'\n",
            &["7:6 mcp.servers[1].id: the same as `mcp.servers[0].id`"],
        )],
        SERVERS,
    );
    check(
        &[(
            "an id that is missing",
            "[policy]\nroles = [{ name = 'a', servers = ['x'] }]\n[[mcp.servers]]\ntransport.builtin = 'web'\n",
            &["3:1 mcp.servers[0].id: missing key `id`"],
        )],
        SERVERS,
    );
}

#[test]
fn checks_content_trust() {
    let cases: &[Case<'_>] = &[
        ("nothing", "", &[]),
        (
            "window",
            "window = 'never'",
            &[
                "2:10 content_trust.window: `never` is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`, nor `forever`",
            ],
        ),
        ("window of a day", "window = '1d'", &[]),
        (
            "sink",
            "on_tainted_sink = 'denied'",
            &["2:19 content_trust.on_tainted_sink: unknown value `denied`, known are `deny`, `flag`"],
        ),
        (
            "blank entries",
            "sinks = ['x', ' ']\ntrusted_tools = ['']\nuntrusted_tools = ['']\nconversation = ['']\ntrusted_mcp_servers = ['']",
            &[
                "2:15 content_trust.sinks[1]: must not be blank",
                "3:18 content_trust.trusted_tools[0]: must not be blank",
                "4:20 content_trust.untrusted_tools[0]: must not be blank",
                "5:17 content_trust.conversation[0]: must not be blank",
                "6:24 content_trust.trusted_mcp_servers[0]: must not be blank",
            ],
        ),
        ("capacity", "store = { capacity = 0 }", &["2:22 content_trust.store.capacity: `0` is less than 1"]),
        (
            "kind",
            "store = { kind = 'rediss' }",
            &["2:18 content_trust.store.kind: unknown value `rediss`, did you mean `redis`?"],
        ),
        ("redis", "store = { kind = 'redis', url = 'redis://127.0.0.1:6379/0' }", &[]),
        (
            "redis without url",
            "store = { kind = 'redis' }",
            &["2:9 content_trust.store.url: missing key `url`: a store of kind `redis` needs one"],
        ),
        (
            "redis with a path",
            "store = { kind = 'redis', path = 'x', url = 'redis://h' }",
            &["2:34 content_trust.store.path: a store of kind `redis` has no `path`"],
        ),
        (
            "redis elsewhere",
            "store = { kind = 'redis', url = 'http://:s3cret@h' }",
            &["2:33 content_trust.store.url: not an address such as `redis://127.0.0.1:6379/0`"],
        ),
        ("file", "store = { kind = 'file', path = 'taint.journal' }", &[]),
        (
            "file without path",
            "store = { kind = 'file' }",
            &["2:9 content_trust.store.path: missing key `path`: a store of kind `file` needs one"],
        ),
        (
            "memory with url",
            "store = { url = 'redis://h' }",
            &["2:17 content_trust.store.url: a store of kind `memory` has no `url`"],
        ),
    ];
    for (name, text, expected) in cases {
        let text = format!("[content_trust]\n{text}\n");
        check(&[(name, &text, expected)], &format!("{POLICY}{SERVERS}"));
    }
}

#[test]
fn checks_delegations() {
    let tool = "server = 's'\ntool = 't'\nargument = 'type'\n";
    let cases: &[Case<'_>] = &[
        ("nothing known", tool, &[]),
        ("blank lists", &format!("{tool}faces = []\npool = []\n"), &[]),
        (
            "nothing",
            "",
            &[
                "1:1 content_trust.delegation[0].server: missing key `server`",
                "1:1 content_trust.delegation[0].tool: missing key `tool`",
                "1:1 content_trust.delegation[0].argument: missing key `argument`",
            ],
        ),
        (
            "a server that is none",
            &tool.replace("'s'", "'ss'"),
            &["2:10 content_trust.delegation[0].server: no server has the id `ss`, did you mean `s`?"],
        ),
        ("blank", &tool.replace("'t'", "' '"), &["3:8 content_trust.delegation[0].tool: must not be blank"]),
        (
            "the library's name",
            &tool.replace("server", "owner"),
            &[
                "1:1 content_trust.delegation[0].server: missing key `server`",
                "2:1 content_trust.delegation[0].owner: unknown key `owner`, known are `server`, `tool`, `argument`, \
                 `faces`, `pool`",
            ],
        ),
        (
            "faces",
            &format!("{tool}faces = [{{ name = 'x', allow_tool = ['y'] }}, {{ can_redelegate = 1 }}]\n"),
            &[
                "5:24 content_trust.delegation[0].faces[0].allow_tool: unknown key `allow_tool`, did you mean `allow_tools`?",
                "5:46 content_trust.delegation[0].faces[1].name: missing key `name`",
                "5:65 content_trust.delegation[0].faces[1].can_redelegate: expected true or false, found an integer",
            ],
        ),
        (
            "pool",
            &format!("{tool}pool = [{{ name = 'x', alias = 'y' }}, {{ name = 'y', content_origin = 'locale' }}]\n"),
            &[
                "5:23 content_trust.delegation[0].pool[0].alias: unknown key `alias`, did you mean `aliases`?",
                "5:31 content_trust.delegation[0].pool[0].aliases: expected an array, found a string",
                "5:69 content_trust.delegation[0].pool[1].content_origin: unknown value `locale`, did you mean `local`?",
            ],
        ),
    ];
    for (name, text, expected) in cases {
        let text = format!("[[content_trust.delegation]]\n{text}\n");
        check(&[(name, &text, expected)], &format!("{POLICY}{SERVERS}"));
    }
}

#[test]
fn reads_delegations() {
    let config = parse(EVERYTHING).config.content_trust.unwrap();
    let face = Face::new("reader").with_allow_tools(["x"]).with_deny_tools(["x"]).with_can_redelegate(true);
    let row = PoolTool::new("x").with_alias("y").with_owner("elsewhere");
    let row = row.with_content_origin(ToolContentOrigin::Execution);
    let tool = DelegationTool::new(Some("two"), "x", "y").with_faces([face]).with_pool([row]);
    assert_eq!(config.delegation.iter().map(DelegationConfig::tool).collect::<Vec<_>>(), [tool]);
    // What is not said is not known, and nothing is something else.
    let tool = "[[content_trust.delegation]]\nserver = 's'\ntool = 't'\nargument = 'type'\n";
    let read = |rest: &str| {
        let parsed = parse(&format!("{POLICY}{tool}{rest}{SERVERS}"));
        parsed.config.content_trust.unwrap().delegation[0].tool()
    };
    let unknown = DelegationTool::new(Some("s"), "t", "type");
    assert_eq!(read(""), unknown);
    assert_eq!(read("faces = []\npool = []\n"), unknown.with_faces([]).with_pool([]));
}

#[test]
fn names_the_place_of_what_the_library_refuses() {
    let tool = |tool: &str| format!("[[content_trust.delegation]]\nserver = 's'\ntool = '{tool}'\nargument = 'type'\n");
    let message = |text: &str| {
        let parsed = parse(&format!("{text}{POLICY}{SERVERS}"));
        crate::trust::check(&parsed).unwrap_err().to_string()
    };
    assert_eq!(message(&tool("t").repeat(2)), "line 7, content_trust.delegation[1].tool: second entry for tool \"t\"");
    let escaped = tool("t").replace("'type'", "\"ty\\u0007pe\"");
    let text = message(&escaped);
    assert!(text.starts_with("line 4, content_trust.delegation[0].argument: control character"), "{text}");
}

#[test]
fn checks_provenance() {
    let taken = |place: &str, name: &str| {
        format!("{place} provenance.header: `{name}` has a meaning already; take a name of your own")
    };
    let weak = "a key must have at least 32 bytes";
    let cases: Vec<(&str, &str, Vec<String>)> = vec![
        ("nothing", "", vec![]),
        ("fence", "fence = 'of'", vec!["2:9 provenance.fence: unknown value `of`, did you mean `off`?".into()]),
        ("other fence", "fence = 'datamarks'", vec![
            "2:9 provenance.fence: unknown value `datamarks`, did you mean `datamark`?".into(),
        ]),
        ("structured content", "structured_content = 'text-only'", vec![
            "2:22 provenance.structured_content: unknown value `text-only`, did you mean `text_only`?".into(),
        ]),
        ("unknown key", "structured_contents = 'tag'", vec![
            "2:1 provenance.structured_contents: unknown key `structured_contents`, did you mean `structured_content`?".into(),
        ]),
        ("a type", "ifc = 'yes'", vec!["2:7 provenance.ifc: expected true or false, found a string".into()]),
        ("media", "media = 'stop'", vec![
            "2:9 provenance.media: unknown value `stop`, known are `pass`, `notice`, `drop`".into(),
        ]),
        ("key", "key = 'com.example/origin'", vec![]),
        ("reserved key", "key = 'io.modelcontextprotocol/origin'", vec![
            "2:7 provenance.key: the prefix belongs to MCP or to another party; take a domain of your own".into(),
        ]),
        ("key without a prefix", "key = 'origin'", vec![
            "2:7 provenance.key: must begin with a prefix in reverse DNS notation, as `com.example/` is".into(),
        ]),
        ("header", "header = 'X-Origin'", vec![]),
        ("no header", "header = 'x origin'", vec!["2:10 provenance.header: `x origin` is no name of a header".into()]),
        ("header of MCP", "header = 'Mcp-Session-Id'", vec![taken("2:10", "mcp-session-id")]),
        ("header of HTTP", "header = 'Content-Type'", vec![taken("2:10", "content-type")]),
        ("header of pages", "header = 'access-control-allow-origin'", vec![taken("2:10", "access-control-allow-origin")]),
        ("header of callers", "header = 'x-toolgate-principal'", vec![taken("2:10", "x-toolgate-principal")]),
        ("schemes", "link_schemes = ['https', 'Git+SSH']", vec![]),
        ("no links", "link_schemes = []", vec![]),
        ("no scheme", "link_schemes = ['https', 'https:']", vec![
            "2:26 provenance.link_schemes[1]: `https:` is no scheme, such as `https`".into(),
        ]),
        ("weak key", "signing_key = 'weak'", vec![format!("2:15 provenance.signing_key: {weak}")]),
        ("weak keys", "previous_signing_keys = ['weak']", vec![format!("2:26 provenance.previous_signing_keys[0]: {weak}")]),
        ("labels", "[provenance.labels]\n'a.b' = { trust = 'untrusted' }\nread_file = {}", vec![]),
        ("no label", "[provenance.labels]\na = 'untrusted'", vec![
            "3:5 provenance.labels.a: expected a table, found a string".into(),
        ]),
        ("blank", "[provenance.labels]\n' ' = {}", vec!["3:1 provenance.labels.\" \": must not be blank".into()]),
        ("a word", "[provenance.labels.a]\ncapability = 'net-send'", vec![
            "3:14 provenance.labels.a.capability: unknown value `net-send`, did you mean `net_send`?".into(),
        ]),
        ("a field", "[provenance.labels.\"a.b\"]\ntrusts = 'trusted'", vec![
            "3:1 provenance.labels.\"a.b\".trusts: unknown key `trusts`, did you mean `trust`?".into(),
        ]),
        ("twice", "[provenance.labels]\na = {}\na = {}", vec!["4:1 : duplicate key `a`".into()]),
    ];
    for (name, text, expected) in cases {
        let (text, expected) =
            (format!("[provenance]\n{text}\n"), expected.iter().map(String::as_str).collect::<Vec<_>>());
        check(&[(name, &text, &expected)], &format!("{POLICY}{SERVERS}"));
    }
}

#[test]
fn tells_everything_at_once() {
    let text = "\
[gateway]
lisen = '127.0.0.1'
api_keys = [{ key = 'k', subject = '', roles = ['b'] }, { key = 'k', subject = 's', roles = [] }]
[policy]
roles = [{ name = 'a', servers = ['x'], alow = 1 }]
[content_trust.store]
kind = 'file'
capacity = 0
[[mcp.servers]]
id = 'q'
transport = { http = { url = 'ftp://h' } }
[[mcp.servers]]
id = 'q'
transport = { builtin = 'web' }
timeout = '1 s'
";
    let expected: &[&str] = &[
        "2:1 gateway.lisen: unknown key `lisen`, did you mean `listen`?",
        "2:9 gateway.listen: `127.0.0.1` is no address with a port, such as `127.0.0.1:8970`",
        "3:36 gateway.api_keys[0].subject: must not be blank",
        "3:49 gateway.api_keys[0].roles[0]: no role of the policy is named `b`, did you mean `a`?",
        "3:65 gateway.api_keys[1].key: the same as `gateway.api_keys[0].key`",
        "3:93 gateway.api_keys[1].roles: must not be empty",
        "5:35 policy.roles[0].servers[0]: no server has the id `x`, did you mean `q`?",
        "5:41 policy.roles[0].alow: unknown key `alow`, did you mean `allow`?",
        "5:48 policy.roles[0].allow: expected an array, found an integer",
        "6:1 content_trust.store.path: missing key `path`: a store of kind `file` needs one",
        "8:12 content_trust.store.capacity: `0` is less than 1",
        "9:1 mcp.servers[0].timeout: missing key `timeout`: a server needs one, such as `timeout = \"30s\"`",
        "11:30 mcp.servers[0].transport.http.url: an address begins with `http://` or `https://`",
        "13:6 mcp.servers[1].id: the same as `mcp.servers[0].id`",
        "15:11 mcp.servers[1].timeout: `1 s` is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`",
    ];
    check(&[("all", text, expected)], "");
}

#[test]
fn reads_durations() {
    let cases = [
        ("500ms", Ok(Duration::from_millis(500))),
        ("30s", Ok(Duration::from_secs(30))),
        ("2m", Ok(Duration::from_secs(120))),
        ("12h", Ok(Duration::from_secs(43_200))),
        ("7d", Ok(Duration::from_secs(604_800))),
        ("0ms", Err("`0ms` is no time at all")),
        ("18446744073709551615d", Err("`18446744073709551615d` is too long")),
        ("", Err("no duration")),
        ("s", Err("no duration")),
        ("-1s", Err("no duration")),
        ("1.5s", Err("no duration")),
        ("1 s", Err("no duration")),
        ("1S", Err("no duration")),
        ("1s ", Err("no duration")),
        ("1é", Err("no duration")),
        ("99999999999999999999s", Err("no duration")),
    ];
    for (text, expected) in cases {
        match (duration::parse(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
            (found, expected) => panic!("{text}: {found:?}, {expected:?}"),
        }
    }
}

#[test]
fn finds_the_nearest_word() {
    let known = ["allow", "deny", "argument_allowlists", "url"];
    let cases = [
        ("alow", Some("allow")),
        ("allwo", Some("allow")),
        ("Allow", Some("allow")),
        ("uri", Some("url")),
        ("argumentAllowlist", Some("argument_allowlists")),
        ("dent", Some("deny")),
        ("", None),
        ("permit", None),
    ];
    for (word, expected) in cases {
        assert_eq!(nearest(word, known), expected, "{word}");
    }
}

#[test]
fn locates_paths() {
    let places = parse(EVERYTHING).places;
    let line = |text: &str| EVERYTHING.lines().position(|line| line.starts_with(text)).unwrap() + 1;
    let cases = [
        ("gateway", Some((2, 1))),
        ("gateway.listen", Some((3, 10))),
        ("gateway.allowed_hosts[1]", Some((8, 37))),
        ("policy.roles[0]", Some((line("[[policy.roles]]"), 1))),
        ("policy.roles[0].argument_allowlists[0].allowed[0]", Some((line("allowed ="), 12))),
        ("policy.roles[0].argument_allowlists[0].nothing", Some((line("[[policy.roles.arg"), 1))),
        ("policy.roles[0].allow[7]", Some((line("allow ="), 9))),
        ("policy.roles[9].allow[0]", Some((line("[[policy.roles]]"), 1))),
        ("mcp.servers[0].tool_metadata.\"x.y\".capabilities[0]", Some((line("tool_metadata"), 72))),
        ("mcp", Some((line("[mcp.pins]"), 2))),
        ("nothing", None),
        ("nothing.at[0].all", None),
        ("", None),
    ];
    for (path, expected) in cases {
        assert_eq!(places.locate(path), expected, "{path}");
    }
    let problem = places.problem("policy.roles[0].allow[0]", "wrong");
    assert_eq!(problem.to_string(), format!("line {}, policy.roles[0].allow[0]: wrong", line("allow =")));
    assert!(places.contains("gateway.listen") && !places.contains("gateway.listen[0]"));
}

#[test]
fn tells_what_is_not_served() {
    let redis = |scheme: &str| {
        format!("[content_trust.store]\nkind = 'redis'\nurl = '{scheme}://127.0.0.1/'\n{POLICY}{SERVERS}")
    };
    let tls = "3:7 content_trust.store.url: TLS to Redis is not spoken by this release; use `redis://` over a network that is your own";
    for (text, expected) in
        [(redis("redis"), vec![]), (redis("rediss"), vec![tls.to_owned()]), (EVERYTHING.to_owned(), vec![])]
    {
        let parsed = parse(&text);
        let found: Vec<_> = parsed.not_yet().iter().map(shown).collect();
        assert_eq!(found, expected);
        assert_eq!(parsed.config.not_yet().len(), expected.len());
    }
}

#[test]
fn hides_secrets() {
    let shown = format!("{:?} {:#?}", parse(EVERYTHING), parse(EXAMPLE));
    for secret in ["k-1", "k-admin", "b1nding", "b0und", "s1gned", "s0gned", "k-analyst", "t0ken", "p4ssw0rd"] {
        assert!(!shown.contains(secret), "{secret}");
    }
    assert!(shown.contains("<redacted>") && shown.contains("TOKEN"));
}

/// A file may be cut off anywhere, and a secret be put where it does not belong.
#[test]
fn hides_secrets_in_problems() {
    let secrets = ["k-1", "t0ken", "p4ssw0rd", "s1gned", "s0gned"];
    let mut texts: Vec<_> = (0..EVERYTHING.len()).map(|end| EVERYTHING[..end].to_owned()).collect();
    let signing = "\"s1gned-0123456789-0123456789-0123456789\"";
    for secret in ["\"k-1\"", "\"t0ken\"", "\"redis://:p4ssw0rd@127.0.0.1:6379/0\"", signing] {
        for found in [secret.trim_matches('"').to_owned(), format!("[{secret}]"), format!("{secret} x")] {
            texts.push(EVERYTHING.replace(secret, &found));
        }
        texts.push(EVERYTHING.replace("http://127.0.0.1:3001/mcp", secret.trim_matches('"')));
    }
    for text in texts {
        for problem in Config::parse(&text).err().into_iter().flatten() {
            let shown = format!("{problem} {problem:?}");
            assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
        }
    }
}

/// The policy's keys are the library's to decide.
#[test]
fn knows_the_keys_of_the_policy() {
    let mut rule = ArgumentAllowlist::new_required("t", "a", ["x"]).with_deny_unknown_arguments(true);
    rule = rule.with_reject_control_chars(true);
    let role = RoleConfig::new("a").with_description("d").with_argument_allowlist(rule);
    let policy = toml::Table::try_from(PolicyConfig::new().with_role(role)).unwrap();
    let role = policy["roles"][0].as_table().unwrap();
    let rule = role["argument_allowlists"][0].as_table().unwrap();
    let cases = [
        ("policy.", policy.keys().collect::<Vec<_>>()),
        ("policy.roles[0].", role.keys().collect()),
        ("policy.roles[0].argument_allowlists[0].", rule.keys().collect()),
    ];
    let mut known = Vec::new();
    add_keys("", ROOT, &mut known);
    for (path, keys) in cases {
        let of_path = known.iter().filter_map(|key| key.strip_prefix(path));
        let mut of_path: Vec<_> = of_path.filter(|key| !key.contains('.')).collect();
        of_path.sort_unstable();
        assert_eq!(of_path, keys, "{path}");
    }
}

#[test]
fn loads_files() {
    let directory = std::env::temp_dir().join(format!("toolgate-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("gateway.toml");
    std::fs::write(&file, EXAMPLE).unwrap();
    let loaded = Config::load(&file).map(|parsed| parsed.config.mcp.servers.len());
    std::fs::write(&file, b"\xff").unwrap();
    let invalid = Config::load(&file).map(drop);
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(loaded, Ok(1));
    let message = format!("cannot read `{}`: ", file.display());
    for problems in [invalid, Config::load(&file).map(drop)] {
        let problems = problems.unwrap_err();
        assert_eq!((problems.len(), problems[0].line), (1, None));
        assert!(problems[0].to_string().starts_with(&message), "{problems:?}");
    }
}
