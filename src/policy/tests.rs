use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::json::{Arguments, Kind, OwnedArguments};
use crate::message::Call;

// === building ===

fn compile(config: &PolicyConfig) -> Policy {
    Policy::new(config).unwrap()
}

/// A policy whose one role, `r`, may call every tool, under these rules.
fn ruled(entries: &[ArgumentAllowlist]) -> Policy {
    one(entries.iter().cloned().fold(role("r"), RoleConfig::with_argument_allowlist))
}

fn one(role: RoleConfig) -> Policy {
    compile(&PolicyConfig::new().with_role(role))
}

fn role(name: &str) -> RoleConfig {
    RoleConfig::new(name).with_allow(["*"])
}

fn optional(tool: &str, argument: &str, allowed: &[&str]) -> ArgumentAllowlist {
    ArgumentAllowlist::new(tool, argument, allowed.iter().copied())
}

fn required(tool: &str, argument: &str, allowed: &[&str]) -> ArgumentAllowlist {
    ArgumentAllowlist::new_required(tool, argument, allowed.iter().copied())
}

fn strict(entry: ArgumentAllowlist) -> ArgumentAllowlist {
    entry.with_deny_unknown_arguments(true)
}

fn printable(entry: ArgumentAllowlist) -> ArgumentAllowlist {
    entry.with_reject_control_chars(true)
}

/// A value of every kind but strings.
const KINDS: &[(&str, Kind)] = &[
    ("42", Kind::Number),
    ("true", Kind::Bool),
    ("null", Kind::Null),
    ("[\"ls\"]", Kind::Array),
    ("{\"ls\":1}", Kind::Object),
];

// === asking ===

fn with_call<T>(tool: &str, arguments: &str, ask: impl FnOnce(&Call<'_>) -> T) -> T {
    let owned = OwnedArguments::read(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
    ask(&Call::Tool { name: tool.into(), arguments: owned.arguments() })
}

/// Whether `r` may call a tool.
fn call(policy: &Policy, tool: &str, arguments: &str) -> Decision {
    with_call(tool, arguments, |call| policy.check("r", None, call))
}

fn call_any(policy: &Policy, roles: &[&str], server: Option<&str>, tool: &str, arguments: &str) -> Decision {
    with_call(tool, arguments, |call| policy.check_any(roles.iter().copied(), server, call))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

// === answers ===

const ALLOW: Decision = Decision::Allow;

fn deny(denied: Denied) -> Decision {
    Decision::Deny(denied)
}

macro_rules! denials {
    ($($name:ident => $variant:ident),+) => {$(
        fn $name(argument: &str) -> Decision {
            deny(Denied::$variant { argument: argument.into() })
        }
    )+};
}

denials! {
    ambiguous => ArgumentAmbiguous, control => ArgumentControl, missing => ArgumentRequired,
    not_unicode => ArgumentNotUnicode, unknown => ArgumentUnknown, value => ArgumentValue
}

fn not_string(argument: &str, kind: Kind) -> Decision {
    deny(Denied::ArgumentNotString { argument: argument.into(), kind })
}

fn structured(argument: &str, kind: Kind) -> Decision {
    deny(Denied::ArgumentStructured { argument: argument.into(), kind })
}

// === configurations ===

fn in_toml(text: &str) -> Result<PolicyConfig, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

fn in_json(text: &str) -> Result<PolicyConfig, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn aa_01_aa_05_unknown_missing_and_repeated_fields_are_refused() {
    for (name, root, complaint) in [
        ("AA-05 no switch", r#""enabled": false"#, "unknown field `enabled`"),
        ("AA-01 unknown at the root", r#""globaldeny": ["*"]"#, "unknown field `globaldeny`"),
        ("AA-01 unknown in a role", r#""roles": [{"name": "r", "allows": []}]"#, "unknown field `allows`"),
        ("no name", r#""roles": [{"allow": ["*"]}]"#, "missing field `name`"),
        ("twice in a role", r#""roles": [{"name": "r", "allow": [], "allow": ["*"]}]"#, "duplicate"),
        ("text for a list", r#""roles": [{"name": "r", "allow": "*"}]"#, "invalid type: string"),
    ] {
        let toml = in_toml(&root.replace(": ", " = ")).unwrap_err();
        assert!(toml.contains(complaint), "{name}: {toml}");
        let json = in_json(&format!("{{{root}}}")).unwrap_err();
        assert!(json.contains(complaint), "{name}: {json}");
    }
    for (name, entry, complaint) in [
        ("AA-01 no tool", r#""argument": "cmd""#, "missing field `tool`"),
        ("AA-01 no argument", r#""tool": "run""#, "missing field `argument`"),
        ("AA-01 unknown in an entry", r#""tool": "t", "argument": "a", "require": true"#, "unknown field `require`"),
        ("twice in an entry", r#""tool": "t", "argument": "a", "tool": "u""#, "duplicate"),
    ] {
        let root = format!(r#""roles": [{{"name": "r", "argument_allowlists": [{{{entry}}}]}}]"#);
        let toml = in_toml(&root.replace(": ", " = ")).unwrap_err();
        assert!(toml.contains(complaint), "{name}: {toml}");
        let json = in_json(&format!("{{{root}}}")).unwrap_err();
        assert!(json.contains(complaint), "{name}: {json}");
    }
    assert!(in_toml("roles = []\nroles = []").unwrap_err().contains("duplicate"));
    assert!(in_json(r#"{"roles": [], "roles": []}"#).unwrap_err().contains("duplicate"));
}

#[test]
fn aa_02_what_is_left_out_is_closed() {
    let short = r#""roles": [{"name": "r", "argument_allowlists": [{"tool": "run", "argument": "cmd"}]}]"#;
    let long = r#"{"global_deny": [], "roles": [{"name": "r", "description": null, "servers": [], "allow": [], "deny": [],
        "hosts": ["*"], "resources": [], "prompts": [], "methods": [], "argument_allowlists": [{"tool": "run",
        "argument": "cmd", "allowed": [], "required": false, "deny_unknown_arguments": false,
        "reject_control_chars": false}]}]}"#;
    let entry = optional("run", "cmd", &[]);
    let built = PolicyConfig::new().with_role(RoleConfig::new("r").with_argument_allowlist(entry));
    assert_eq!(in_toml(&short.replace(": ", " = ")).as_ref(), Ok(&built));
    assert_eq!(in_json(&format!("{{{short}}}")).as_ref(), Ok(&built));
    assert_eq!(in_json(long), Ok(built));
    assert_eq!(in_json("{}"), Ok(PolicyConfig::new()));
}

#[test]
fn aa_03_new_is_optional_and_new_required_is_not() {
    assert!(!optional("run", "cmd", &["ls"]).required);
    assert_eq!(required("run", "cmd", &["ls"]), optional("run", "cmd", &["ls"]).with_required(true));
}

#[test]
fn a_configuration_survives_serde() {
    let role = role("r").with_description("for people").with_servers(["s"]).with_deny(["d"]).with_hosts(["dev-*"]);
    let role = role.with_resources(["file:///*"]).with_prompts(["p"]).with_methods(["m"]);
    let role = role.with_argument_allowlist(printable(strict(required("run", "cmd", &["ls", "cat"]))));
    let config = PolicyConfig::new().with_global_deny(["*_drop_*"]).with_role(role);
    assert_eq!(in_json(&serde_json::to_string(&config).unwrap()).as_ref(), Ok(&config));
    let toml = "global_deny=['*_drop_*']\n[[roles]]\nname='r'\ndescription='for people'\nservers=['s']\nallow=['*']\n\
        deny=['d']\nhosts=['dev-*']\nresources=['file:///*']\nprompts=['p']\nmethods=['m']\n\
        [[roles.argument_allowlists]]\ntool='run'\nargument='cmd'\nallowed=['ls','cat']\nrequired=true\n\
        deny_unknown_arguments=true\nreject_control_chars=true";
    assert_eq!(in_toml(toml), Ok(config));
}

#[test]
fn aa_10_aa_23_mistakes_are_told_with_their_place() {
    let entry = |tool, argument, word| role("r").with_argument_allowlist(optional(tool, argument, &["ls", word]));
    let bell = || ConfigProblem::ControlCharacter("\u{7}".to_owned() + "x");
    let dots = |text: &str| ConfigProblem::UriNotCanonical(text.to_owned());
    for (name, role, place, problem) in [
        ("blank name", role(" \t"), "roles[1].name", ConfigProblem::Blank),
        ("AA-10 second role of one name", role("first"), "roles[1].name", ConfigProblem::DuplicateRole("first".into())),
        ("server", role("r").with_servers(["a", ""]), "roles[1].servers[1]", ConfigProblem::Blank),
        ("allow", RoleConfig::new("r").with_allow(["a", " "]), "roles[1].allow[1]", ConfigProblem::Blank),
        ("deny", role("r").with_deny(["\u{7}x"]), "roles[1].deny[0]", bell()),
        ("host", role("r").with_hosts(["a", "*", ""]), "roles[1].hosts[2]", ConfigProblem::Blank),
        ("prompt", role("r").with_prompts(["\u{a0}"]), "roles[1].prompts[0]", ConfigProblem::Blank),
        ("method", role("r").with_methods(["\u{7}x"]), "roles[1].methods[0]", bell()),
        ("resource", role("r").with_resources([""]), "roles[1].resources[0]", ConfigProblem::Blank),
        ("dots", role("r").with_resources(["a", "f:///a/../*"]), "roles[1].resources[1]", dots("f:///a/../*")),
        ("encoded", role("r").with_resources(["f:///a%2F*"]), "roles[1].resources[0]", dots("f:///a%2F*")),
        ("tool", entry("", "a", "x"), "roles[1].argument_allowlists[0].tool", ConfigProblem::Blank),
        ("argument", entry("t", "\u{7}x", "x"), "roles[1].argument_allowlists[0].argument", bell()),
        ("AA-23 empty word", entry("t", "a", ""), "roles[1].argument_allowlists[0].allowed[1]", ConfigProblem::Blank),
        ("control in a word", entry("t", "a", "\u{7}x"), "roles[1].argument_allowlists[0].allowed[1]", bell()),
    ] {
        let config = PolicyConfig::new().with_role(RoleConfig::new("first")).with_role(role);
        let error = Policy::new(&config).expect_err(name);
        assert_eq!((error.place(), error.problem()), (place, &problem), "{name}");
        assert_eq!(error.to_string(), format!("{place}: {problem}"), "{name}");
    }
    for (pattern, problem) in [("", ConfigProblem::Blank), ("\u{7}x", bell())] {
        let error = Policy::new(&PolicyConfig::new().with_global_deny(["ok", pattern])).unwrap_err();
        assert_eq!((error.place(), error.problem()), ("global_deny[1]", &problem), "{pattern:?}");
    }
}

#[test]
fn aa_04_doubts_are_told_with_their_place() {
    use LintKind::{FailsOpen, ForeignSyntax, PaddedText, PermitsNothing, SelectsNothing, Shadowed, UnlikelyFirstWord};

    type Row = (&'static str, RoleConfig, &'static str, fn(String) -> LintKind, &'static str);
    let none = || RoleConfig::new("r");
    let entry = |entry| role("r").with_argument_allowlist(entry);
    let select = |role: RoleConfig, tool| role.with_argument_allowlist(required(tool, "cmd", &[]));
    let words = required("run", "cmd", &["ls", "'bash'"]);
    let rows: [Row; 15] = [
        ("AA-04", entry(optional("run", "cmd", &["ls"])), "argument_allowlists[0]", FailsOpen, "cmd"),
        ("nothing", none(), "", PermitsNothing, "r"),
        ("servers alone are nothing", none().with_servers(["*"]), "", PermitsNothing, "r"),
        ("backslash", role("r").with_hosts(["a\\.b"]), "hosts[0]", ForeignSyntax, "a\\.b"),
        ("anchor at the end", role("r").with_deny(["x", "a$"]), "deny[1]", ForeignSyntax, "a$"),
        ("padded", role("r").with_deny([" a"]), "deny[0]", PaddedText, " a"),
        ("padded resource", role("r").with_resources(["a "]), "resources[0]", PaddedText, "a "),
        ("padded prompt", role("r").with_prompts(["a "]), "prompts[0]", PaddedText, "a "),
        ("padded method", role("r").with_methods(["a "]), "methods[0]", PaddedText, "a "),
        ("denied", role("r").with_deny(["*"]), "allow[0]", Shadowed, "*"),
        ("denied by a glob", none().with_allow(["run", "x"]).with_deny(["r*"]), "allow[0]", Shadowed, "run"),
        ("denied to all", none().with_allow(["x", "gone"]), "allow[1]", Shadowed, "gone"),
        ("name", select(none().with_allow(["a"]), "b"), "argument_allowlists[0].tool", SelectsNothing, "b"),
        ("glob", select(none().with_prompts(["p"]), "b*"), "argument_allowlists[0].tool", SelectsNothing, "b*"),
        ("AA-27", entry(words), "argument_allowlists[0].allowed[1]", UnlikelyFirstWord, "'bash'"),
    ];
    for (name, role, field, kind, text) in rows {
        let policy = compile(&PolicyConfig::new().with_global_deny(["gon*"]).with_role(role));
        let (place, kind) = (format!("roles[0].{field}"), kind(text.to_owned()));
        let place = place.trim_end_matches('.');
        let told: Vec<_> = policy.lints().iter().map(|lint| (lint.place(), lint.kind())).collect();
        assert_eq!(told, [(place, &kind)], "{name}");
        assert_eq!(policy.lints()[0].to_string(), format!("{place}: {kind}"), "{name}");
    }
    let foreign = ["a?", "[a", "{a", "a|b", "^a"].map(|text| (text, ForeignSyntax(text.into())));
    for (pattern, kind) in foreign.into_iter().chain([("a ", PaddedText("a ".into()))]) {
        let policy = compile(&PolicyConfig::new().with_global_deny([pattern]));
        let told: Vec<_> = policy.lints().iter().map(|lint| (lint.place(), lint.kind())).collect();
        assert_eq!(told, [("global_deny[0]", &kind)], "{pattern:?}");
    }
}

#[test]
fn aa_04_what_is_beyond_doubt_is_not_told() {
    for (name, role) in [
        ("AA-04 required", role("r").with_argument_allowlist(required("run", "cmd", &["ls"]))),
        ("nothing listed", role("r").with_argument_allowlist(optional("run", "cmd", &[]))),
        ("only resources", RoleConfig::new("r").with_resources(["file:///*"])),
        ("only prompts", RoleConfig::new("r").with_prompts(["p"])),
        ("only methods", RoleConfig::new("r").with_methods(["m"])),
        ("query in a resource", role("r").with_resources(["db://t?a=[1]"])),
        ("narrower deny", role("r").with_deny(["run-*"])),
        (
            "selected by a glob",
            RoleConfig::new("r").with_allow(["r*"]).with_argument_allowlist(required("run", "a", &[])),
        ),
        ("basename and path", role("r").with_argument_allowlist(required("run", "cmd", &["ls", "/bin/ls"]))),
    ] {
        assert_eq!(one(role).lints(), [], "{name}");
    }
    assert_eq!(compile(&PolicyConfig::new()).lints(), []);
}

// === tools ===

#[test]
fn aa_06_aa_07_aa_58_aa_59_globs_of_every_kind_match_alike() {
    for (pattern, tool, matches) in [
        ("run-*", "run-foo", true),
        ("run-*", "run-", true),
        ("run-*", "Run-foo", false),
        ("run", "run", true),
        ("run", "Run", false),
        ("*", "anything", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("ab*bc", "abc", false),
        ("r?n", "run", false),
    ] {
        let global = PolicyConfig::new().with_global_deny([pattern]).with_role(role("r"));
        for (name, policy, matched, unmatched) in [
            ("AA-06 selector", ruled(&[required(pattern, "cmd", &[])]), missing("cmd"), ALLOW),
            ("AA-58 allow", one(RoleConfig::new("r").with_allow([pattern])), ALLOW, deny(Denied::ToolNotAllowed)),
            ("AA-58 deny", one(role("r").with_deny([pattern])), deny(Denied::ToolDenied), ALLOW),
            ("AA-59 global_deny", compile(&global), deny(Denied::ToolGloballyDenied), ALLOW),
        ] {
            let expected = if matches { matched } else { unmatched };
            assert_eq!(call(&policy, tool, "{}"), expected, "{name} {pattern:?} {tool:?}");
        }
    }
}

#[test]
fn aa_08_argument_names_are_exact_and_top_level() {
    let policy = ruled(&[required("run", "cmd", &["ls"])]);
    for (name, arguments, expected) in [
        ("exact", r#"{"cmd":"ls"}"#, ALLOW),
        ("exact, escaped", r#"{"\u0063md":"ls"}"#, ALLOW),
        ("exact, escaped, not listed", r#"{"\u0063md":"rm"}"#, value("cmd")),
        ("nested is another", r#"{"cmd":"ls","options":{"cmd":"rm"}}"#, ALLOW),
        ("nested satisfies nothing", r#"{"options":{"cmd":"ls"}}"#, missing("cmd")),
        ("in a list satisfies nothing", r#"{"options":[{"cmd":"ls"}]}"#, missing("cmd")),
        ("dotted is another", r#"{"options.cmd":"rm","cmd":"ls"}"#, ALLOW),
        ("longer is another", r#"{"cmd2":"rm","cm":"rm","cmd":"ls"}"#, ALLOW),
    ] {
        assert_eq!(call(&policy, "run", arguments), expected, "{name}");
    }
}

#[test]
fn aa_09_aa_40_aa_52_rules_are_about_their_tool_and_role_only() {
    let config = PolicyConfig::new()
        .with_role(role("a").with_argument_allowlist(strict(required("run", "cmd", &["ls"]))))
        .with_role(role("b"))
        .with_role(role("c").with_argument_allowlist(optional("run", "other", &["x"])));
    let policy = compile(&config);
    let ask = |role, tool| call_any(&policy, &[role], None, tool, r#"{"cmd":["rm"],"danger":true}"#);
    for (name, role, tool, expected) in [
        ("the rule", "a", "run", structured("cmd", Kind::Array)),
        ("AA-09 another tool", "a", "walk", ALLOW),
        ("AA-40 array without an entry", "a", "ru", ALLOW),
        ("AA-52 another role", "b", "run", ALLOW),
        ("AA-09 another role with rules", "c", "run", ALLOW),
        ("AA-52 role of a like name", "A", "run", deny(Denied::RoleUnknown)),
    ] {
        assert_eq!(ask(role, tool), expected, "{name}");
    }
}

#[test]
fn aa_10_aa_65_without_a_known_role_nothing_passes() {
    let policy = one(role("r").with_servers(["*"]).with_methods(["*"]));
    assert_eq!(call(&policy, "run", "{}"), ALLOW);
    for role in ["", "R", "r ", "*", "other"] {
        assert!(!policy.has_role(role), "{role:?}");
        let arguments = r#"{"host":1}"#;
        assert_eq!(call_any(&policy, &[role], None, "run", arguments), deny(Denied::RoleUnknown), "AA-10 {role:?}");
        for call in [Call::Reply, Call::Plumbing { method: "ping".into() }, Call::Method { method: "m".into() }] {
            assert_eq!(policy.check(role, None, &call), deny(Denied::RoleUnknown), "AA-10 {role:?} {call:?}");
        }
    }
    assert_eq!(call_any(&policy, &[], None, "run", "{}"), deny(Denied::RoleMissing), "AA-65");
    assert_eq!(policy.check_any([], None, &Call::Reply), deny(Denied::RoleMissing), "AA-65");
    let nobody = compile(&PolicyConfig::new());
    assert_eq!(call_any(&nobody, &["r"], None, "run", "{}"), deny(Denied::RoleUnknown), "AA-05 no roles");
}

#[test]
fn aa_11_to_aa_31_values_by_their_first_word() {
    for (row, allowed, text, passes) in [
        ("AA-11", "ls", "ls\t/etc", true),
        ("AA-12", "ls", "ls -la; id", true),
        ("AA-13", "ls", "ls;id", false),
        ("AA-14", "ls", "FOO=1 ls", false),
        ("AA-15", "ls", "\n  ls", true),
        ("AA-16", "ls", "ls\nrm -rf /", true),
        ("AA-17", "ls", "ls\r", false),
        ("AA-18", "ls", "# note\nls", true),
        ("AA-18", "ls", "#ls", false),
        ("AA-19", "ls", "'l'\"s\" -l", true),
        ("AA-20", "ls", "/tmp/evil/ls", true),
        ("AA-21", "/bin/ls", "ls", false),
        ("AA-22", "ls", "/bin/ls/", false),
        ("AA-24", "ls", "", false),
        ("AA-24", "ls", "\"\"", false),
        ("AA-25", "ls", "ls 'a", false),
        ("AA-26", "list", "list the users' files", false),
        ("AA-27", "'bash'", "'bash'", false),
        ("AA-28", "ls", "LS", false),
        ("AA-29", "\u{e9}", "\u{e9}", true),
        ("AA-29", "\u{e9}", "e\u{301}", false),
        ("AA-30", "my tool", "\"/usr/bin/my tool\" --flag", true),
    ] {
        let arguments = format!(r#"{{"cmd":{}}}"#, quoted(text));
        let expected = if passes { ALLOW } else { value("cmd") };
        for entry in [optional("run", "cmd", &["other", allowed]), required("run", "cmd", &[allowed, "other"])] {
            assert_eq!(call(&ruled(&[entry]), "run", &arguments), expected, "{row} {text:?}");
        }
        for entry in [optional("run", "cmd", &[]), required("run", "cmd", &[])] {
            assert_eq!(call(&ruled(&[entry]), "run", &arguments), ALLOW, "AA-31 AA-36 {text:?}");
        }
    }
    let policy = ruled(&[optional("run", "cmd", &["ls"])]);
    assert_eq!(call(&policy, "run", r#"{"cmd":"\u006c\u0073"}"#), ALLOW, "escapes are read");
    assert_eq!(call(&policy, "run", r#"{"cmd":"ls\u003bid"}"#), value("cmd"), "AA-13 escaped");
}

#[test]
fn aa_32_to_aa_41_presence_and_kind() {
    let listed = || optional("run", "cmd", &["ls"]);
    for (name, entry, arguments, expected) in [
        ("AA-32", listed(), "{}", ALLOW),
        ("AA-32 others given", listed(), r#"{"x":1}"#, ALLOW),
        ("AA-33", listed().with_required(true), "{}", missing("cmd")),
        ("AA-33 others given", listed().with_required(true), r#"{"x":"ls"}"#, missing("cmd")),
        ("AA-34", listed().with_required(true), "null", missing("cmd")),
        ("AA-35", listed(), "null", ALLOW),
        ("AA-37", required("run", "cmd", &[]), "{}", missing("cmd")),
        ("AA-37", required("run", "cmd", &[]), "null", missing("cmd")),
        ("AA-41", required("r*", "cmd", &[]), "{}", missing("cmd")),
        ("AA-41", required("r*", "cmd", &["ls"]), r#"{"cmd":"ls"}"#, ALLOW),
        ("AA-51", strict(listed()), "{}", ALLOW),
        ("AA-51 absent", strict(listed()), "null", ALLOW),
    ] {
        assert_eq!(call(&ruled(&[entry]), "run", arguments), expected, "{name}");
    }
    for &(text, kind) in KINDS {
        let arguments = format!(r#"{{"cmd":{text}}}"#);
        let compound = matches!(kind, Kind::Array | Kind::Object);
        let confined = if compound { structured("cmd", kind) } else { ALLOW };
        for (row, entry, expected) in [
            ("AA-37", required("run", "cmd", &[]), not_string("cmd", kind)),
            ("AA-38", listed(), not_string("cmd", kind)),
            ("AA-38", listed().with_required(true), not_string("cmd", kind)),
            ("AA-39", optional("run", "cmd", &[]), ALLOW),
            ("AA-16", printable(optional("run", "cmd", &[])), not_string("cmd", kind)),
            ("AA-40", required("walk", "cmd", &["ls"]), ALLOW),
            ("AA-47 AA-48", strict(optional("run", "cmd", &[])), confined),
        ] {
            assert_eq!(call(&ruled(&[entry]), "run", &arguments), expected, "{row} {text}");
        }
    }
}

#[test]
fn aa_42_to_aa_51_unknown_arguments() {
    let cmd = || optional("run", "cmd", &["ls"]);
    let host = || optional("run", "host", &[]);
    let (danger, both) = (r#"{"cmd":"ls","danger":true}"#, r#"{"cmd":"ls","host":"dev-1"}"#);
    for (name, entries, arguments, expected) in [
        ("AA-42", vec![cmd()], danger, ALLOW),
        ("AA-43", vec![strict(cmd())], danger, unknown("danger")),
        ("AA-43 any kind", vec![strict(cmd())], r#"{"danger":[]}"#, unknown("danger")),
        ("AA-43 empty name", vec![strict(cmd())], r#"{"":"x"}"#, unknown("")),
        ("AA-44", vec![strict(cmd()), host()], both, ALLOW),
        ("AA-44 neither names it", vec![strict(cmd()), host()], danger, unknown("danger")),
        ("AA-45", vec![cmd(), strict(host())], both, ALLOW),
        ("AA-45 neither names it", vec![cmd(), strict(host())], danger, unknown("danger")),
        ("AA-45 structured", vec![cmd(), strict(host())], r#"{"host":[]}"#, structured("host", Kind::Array)),
        ("AA-46", vec![strict(optional("r*", "cmd", &["ls"])), host()], both, ALLOW),
        ("AA-46 neither names it", vec![strict(optional("r*", "cmd", &[])), host()], danger, unknown("danger")),
        ("AA-46 strict by the exact one", vec![optional("r*", "cmd", &[]), strict(host())], both, ALLOW),
        ("AA-46 the same", vec![optional("r*", "cmd", &[]), strict(host())], danger, unknown("danger")),
        ("strict of another tool", vec![cmd(), strict(optional("walk", "x", &[]))], danger, ALLOW),
        ("strict of a glob that misses", vec![cmd(), strict(optional("w*", "x", &[]))], danger, ALLOW),
        ("AA-49", vec![strict(cmd())], both, unknown("host")),
        ("AA-51", vec![strict(cmd()), host()], "{}", ALLOW),
    ] {
        assert_eq!(call(&ruled(&entries), "run", arguments), expected, "{name}");
    }
}

#[test]
fn aa_53_to_aa_55_several_entries_on_one_argument_all_hold() {
    let (ls, both, cat) = (&["ls"][..], &["ls", "cat"][..], &["cat"][..]);
    for (name, selectors) in [
        ("both exact", ["run", "run"]),
        ("exact and glob", ["run", "r*"]),
        ("glob and exact", ["r*", "run"]),
        ("two globs", ["r*", "*n"]),
        ("one glob twice", ["r*", "r*"]),
    ] {
        let two = |first: &[&str], second: &[&str]| {
            [optional(selectors[0], "cmd", first), optional(selectors[1], "cmd", second)]
        };
        for (row, entries, text, expected) in [
            ("AA-53", two(both, ls), "ls", ALLOW),
            ("AA-53", two(both, ls), "cat", value("cmd")),
            ("AA-53", two(ls, both), "cat", value("cmd")),
            ("AA-53 disjoint", two(ls, cat), "ls", value("cmd")),
            ("AA-53 disjoint", two(ls, cat), "cat", value("cmd")),
            ("AA-54", two(&[], ls), "ls", ALLOW),
            ("AA-54", two(&[], ls), "cat", value("cmd")),
            ("AA-54", two(ls, &[]), "cat", value("cmd")),
        ] {
            let arguments = format!(r#"{{"cmd":"{text}"}}"#);
            assert_eq!(call(&ruled(&entries), "run", &arguments), expected, "{row} {name} {text}");
        }
        for at in [0, 1] {
            let mut entries = two(ls, both);
            entries[at].required = true;
            assert_eq!(call(&ruled(&entries), "run", "{}"), missing("cmd"), "AA-55 {name} {at}");
            assert_eq!(call(&ruled(&entries), "run", r#"{"cmd":"ls"}"#), ALLOW, "AA-55 {name} {at}");
            let mut entries = two(ls, both);
            entries[at].reject_control_chars = true;
            assert_eq!(call(&ruled(&entries), "run", r#"{"cmd":"ls\nid"}"#), control("cmd"), "AA-16 {name} {at}");
            let mut entries = two(ls, both);
            entries[at].deny_unknown_arguments = true;
            assert_eq!(call(&ruled(&entries), "run", r#"{"x":1}"#), unknown("x"), "AA-45 {name} {at}");
        }
    }
}

#[test]
fn two_globs_on_one_tool_add_their_arguments_up() {
    let policy = ruled(&[strict(required("run-*", "cmd", &["ls"])), required("*-foo", "host", &[])]);
    for (name, tool, arguments, expected) in [
        ("both", "run-foo", r#"{"cmd":"ls","host":"h"}"#, ALLOW),
        ("first missing", "run-foo", r#"{"host":"h"}"#, missing("cmd")),
        ("second missing", "run-foo", r#"{"cmd":"ls"}"#, missing("host")),
        ("first not listed", "run-foo", r#"{"cmd":"rm","host":"h"}"#, value("cmd")),
        ("neither", "run-foo", r#"{"cmd":"ls","host":"h","x":1}"#, unknown("x")),
        ("only the first", "run-bar", r#"{"cmd":"ls"}"#, ALLOW),
        ("only the first", "run-bar", r#"{"cmd":"ls","host":"h"}"#, unknown("host")),
        ("only the second", "go-foo", r#"{"host":"h","cmd":"rm","x":1}"#, ALLOW),
        ("none", "other", r#"{"cmd":"rm"}"#, ALLOW),
    ] {
        assert_eq!(call(&policy, tool, arguments), expected, "{name} {tool} {arguments}");
    }
}

#[test]
fn decision_2_names_that_resemble_ruled_ones_are_denied() {
    let cmd = ["Cmd", "CMD", "cmd\0", "\u{7}cmd", "c\u{7f}md", "cmd\u{85}", "C\nmd"].map(|written| ("cmd", written));
    let task =
        ["TASK", "ta\u{17f}k", "tas\u{212a}", "TA\u{17f}\u{212a}", "t\0a\u{17f}k"].map(|written| ("task", written));
    let others = [("Cmd", "cmd"), ("\u{e9}", "\u{c9}")];
    for (ruled_name, written) in cmd.into_iter().chain(task).chain(others) {
        for selector in ["run", "r*"] {
            let lenient = required(selector, ruled_name, &["ls"]);
            for entry in [lenient.clone(), strict(lenient), optional(selector, ruled_name, &[])] {
                let policy = ruled(&[entry]);
                for arguments in [
                    format!(r#"{{{}:"ls"}}"#, quoted(written)),
                    format!(r#"{{{}:"ls",{}:"rm"}}"#, quoted(ruled_name), quoted(written)),
                    format!(r#"{{{}:"rm",{}:"ls"}}"#, quoted(written), quoted(ruled_name)),
                ] {
                    assert_eq!(call(&policy, "run", &arguments), ambiguous(written), "{ruled_name:?} {arguments}");
                    assert_eq!(call(&policy, "walk", &arguments), ALLOW, "another tool {arguments}");
                }
            }
        }
    }
    for other in ["cmd ", " cmd", "cmd2", "cm", "c-md", "\u{ff43}md", "\u{441}md", ""] {
        let arguments = format!(r#"{{{}:"rm"}}"#, quoted(other));
        assert_eq!(call(&ruled(&[optional("run", "cmd", &["ls"])]), "run", &arguments), ALLOW, "{other:?}");
        let strict = strict(optional("run", "cmd", &["ls"]));
        assert_eq!(call(&ruled(&[strict]), "run", &arguments), unknown(other), "{other:?}");
    }
    let escaped = r#"{"ta\u017fk":"ls"}"#;
    assert_eq!(call(&ruled(&[optional("run", "task", &[])]), "run", escaped), ambiguous("ta\u{17f}k"));
}

#[test]
fn decision_2_half_a_surrogate_pair_is_denied_where_the_value_is_ruled() {
    let lone = r#"{"cmd":"ls \ud800"}"#;
    for (name, entry, arguments, expected) in [
        ("listed", optional("run", "cmd", &["ls"]), lone, not_unicode("cmd")),
        ("required", required("run", "cmd", &[]), lone, not_unicode("cmd")),
        ("no control characters", printable(optional("run", "cmd", &[])), lone, not_unicode("cmd")),
        ("low half", optional("run", "cmd", &["ls"]), r#"{"cmd":"ls \udc00"}"#, not_unicode("cmd")),
        ("a whole pair", optional("run", "cmd", &["ls"]), r#"{"cmd":"ls \ud83d\ude00"}"#, ALLOW),
        ("nothing asked of it", optional("run", "cmd", &[]), lone, ALLOW),
        ("nothing asked of it, strict", strict(optional("run", "cmd", &[])), lone, ALLOW),
        ("another argument", required("run", "x", &["ls"]), r#"{"x":"ls","cmd":"\ud800"}"#, ALLOW),
        ("another tool", required("walk", "cmd", &["ls"]), lone, ALLOW),
    ] {
        assert_eq!(call(&ruled(&[entry]), "run", arguments), expected, "{name}");
    }
}

#[test]
fn aa_16_control_characters_are_denied_where_asked() {
    let clean = ["ls", "ls \u{e9}\u{a0}"].map(|text| (text, ALLOW));
    let marred = ["ls\nid", "ls\t/etc", "ls \r", "ls \0", "ls \u{1b}[2J", "ls \u{7f}", "ls \u{85}"];
    for (text, expected) in clean.into_iter().chain(marred.map(|text| (text, control("cmd")))) {
        let arguments = format!(r#"{{"cmd":{}}}"#, quoted(text));
        for entry in [optional("run", "cmd", &["ls"]), optional("run", "cmd", &[]), required("run", "cmd", &[])] {
            assert_eq!(call(&ruled(&[printable(entry)]), "run", &arguments), expected, "{text:?}");
        }
        for entry in [required("run", "cmd", &[]), printable(optional("run", "other", &[]))] {
            assert_eq!(call(&ruled(&[entry]), "run", &arguments), ALLOW, "not asked {text:?}");
        }
    }
}

#[test]
fn decision_2_aa_34_aa_50_positional_arguments_satisfy_no_rule() {
    let entry = |entry| role("r").with_argument_allowlist(entry);
    let positional = || deny(Denied::PositionalArguments);
    for (name, role, expected) in [
        ("no rules", role("r"), ALLOW),
        ("rules of another tool", entry(required("walk", "cmd", &["ls"])), ALLOW),
        ("AA-34 required", entry(required("run", "cmd", &["ls"])), positional()),
        ("AA-35 optional", entry(optional("run", "cmd", &["ls"])), positional()),
        ("AA-50 strict", entry(strict(optional("run", "cmd", &[]))), positional()),
        ("by a glob", entry(optional("r*", "cmd", &[])), positional()),
        ("hosts", role("r").with_hosts(["dev-*"]), positional()),
        ("every host", role("r").with_hosts(["*"]), ALLOW),
        ("tool denied", entry(required("run", "cmd", &[])).with_deny(["run"]), deny(Denied::ToolDenied)),
    ] {
        let call = Call::Tool { name: "run".into(), arguments: Arguments::POSITIONAL };
        assert_eq!(one(role).check("r", None, &call), expected, "{name}");
    }
}

#[test]
fn aa_57_aa_58_hosts() {
    let nothing: [&str; 0] = [];
    let dev = || role("r").with_hosts(["dev-*", "Build.Example"]);
    let no_host = || deny(Denied::HostNotAllowed);
    let kind = |kind| deny(Denied::HostNotString { kind });
    for (name, role, arguments, expected) in [
        ("a glob", dev(), r#"{"host":"dev-1"}"#, ALLOW),
        ("AA-58 case of the value", dev(), r#"{"host":"DEV-1"}"#, ALLOW),
        ("AA-58 case of the pattern", dev(), r#"{"host":"bUILD.eXAMPLE"}"#, ALLOW),
        ("AA-58 only ASCII", role("r").with_hosts(["\u{e9}"]), r#"{"host":"É"}"#, no_host()),
        ("AA-58 no folding", role("r").with_hosts(["kiosk"]), "{\"host\":\"\u{212a}iosk\"}", no_host()),
        ("no match", dev(), r#"{"host":"prod"}"#, no_host()),
        ("AA-57 absent", dev(), "{}", ALLOW),
        ("AA-57 no arguments", dev(), "null", ALLOW),
        ("AA-57 absent, no host permitted", role("r").with_hosts(nothing), "{}", ALLOW),
        ("no host permitted", role("r").with_hosts(nothing), r#"{"host":"dev-1"}"#, no_host()),
        ("another spelling", dev(), r#"{"HOST":"prod"}"#, ambiguous("HOST")),
        ("another spelling first", dev(), r#"{"Host":"prod","host":"dev-1"}"#, ambiguous("Host")),
        ("U+017F", dev(), r#"{"ho\u017ft":"dev-1"}"#, ambiguous("ho\u{17f}t")),
        ("control character", dev(), r#"{"host\u0000":"dev-1"}"#, ambiguous("host\0")),
        ("half a pair", dev(), r#"{"host":"dev-\ud800"}"#, not_unicode("host")),
        ("nested is another", dev(), r#"{"a":{"host":"prod"}}"#, ALLOW),
        ("every host", role("r"), r#"{"host":1,"Host":2}"#, ALLOW),
        ("every host among others", role("r").with_hosts(["a", "*"]), r#"{"host":1}"#, ALLOW),
    ] {
        assert_eq!(call(&one(role), "run", arguments), expected, "{name}");
    }
    for (text, shape) in KINDS {
        assert_eq!(call(&one(dev()), "run", &format!(r#"{{"host":{text}}}"#)), kind(*shape), "AA-57 {text}");
    }
}

#[test]
fn aa_56_the_first_failure_is_told() {
    let config = PolicyConfig::new().with_global_deny(["gone"]).with_role(
        RoleConfig::new("r")
            .with_servers(["s"])
            .with_allow(["run"])
            .with_deny(["gone", "no"])
            .with_hosts(["dev-*"])
            .with_argument_allowlist(printable(strict(required("run", "cmd", &["ls"]))))
            .with_argument_allowlist(required("run", "host", &[]))
            .with_argument_allowlist(required("run", "must", &[])),
    );
    let policy = compile(&config);
    let number = || deny(Denied::HostNotString { kind: Kind::Number });
    let bad_host = r#"{"host":1,"Cmd":[]}"#;
    let prod = r#"{"Cmd":[],"x":1,"host":"prod"}"#;
    // Each call fails at the stage that is expected, and at the next ones.
    for (name, role, server, tool, arguments, expected) in [
        ("role, server", "q", "t", "gone", bad_host, deny(Denied::RoleUnknown)),
        ("server, kind of host", "r", "t", "gone", bad_host, deny(Denied::ServerNotAllowed)),
        ("kind of host, global deny", "r", "s", "gone", bad_host, number()),
        ("kind of host, deny", "r", "s", "no", bad_host, number()),
        ("global deny, deny", "r", "s", "gone", prod, deny(Denied::ToolGloballyDenied)),
        ("deny, allow", "r", "s", "no", prod, deny(Denied::ToolDenied)),
        ("allow, host", "r", "s", "other", prod, deny(Denied::ToolNotAllowed)),
        ("host, arguments", "r", "s", "run", prod, deny(Denied::HostNotAllowed)),
        ("ambiguous, unknown", "r", "s", "run", r#"{"Cmd":[]}"#, ambiguous("Cmd")),
        ("unknown, structured", "r", "s", "run", r#"{"x":[]}"#, unknown("x")),
        ("structured, not a string", "r", "s", "run", r#"{"cmd":[]}"#, structured("cmd", Kind::Array)),
        ("not a string, value", "r", "s", "run", r#"{"cmd":1}"#, not_string("cmd", Kind::Number)),
        ("not unicode, control", "r", "s", "run", r#"{"cmd":"rm\n\ud800"}"#, not_unicode("cmd")),
        ("control, value", "r", "s", "run", r#"{"cmd":"rm\n"}"#, control("cmd")),
        ("value, missing", "r", "s", "run", r#"{"cmd":"rm"}"#, value("cmd")),
        ("missing, as configured", "r", "s", "run", "{}", missing("cmd")),
        ("missing, the next", "r", "s", "run", r#"{"cmd":"ls"}"#, missing("host")),
        ("missing, the last", "r", "s", "run", r#"{"cmd":"ls","host":"dev-1"}"#, missing("must")),
        ("as written: value", "r", "s", "run", r#"{"cmd":"rm","must":1,"x":1}"#, value("cmd")),
        ("as written: kind", "r", "s", "run", r#"{"must":1,"x":1,"cmd":"rm"}"#, not_string("must", Kind::Number)),
        ("as written: unknown", "r", "s", "run", r#"{"x":1,"cmd":"rm","must":1}"#, unknown("x")),
        ("nothing", "r", "s", "run", r#"{"cmd":"ls","host":"DEV-1","must":""}"#, ALLOW),
    ] {
        let decision = with_call(tool, arguments, |call| policy.check(role, Some(server), call));
        assert_eq!(decision, expected, "{name}");
    }
}

// === what is not a tool ===

#[test]
fn servers_are_judged_where_the_gate_names_one() {
    let refused = || deny(Denied::ServerNotAllowed);
    for (name, servers, server, expected) in [
        ("none named", vec!["s"], None, ALLOW),
        ("none named, none listed", vec![], None, ALLOW),
        ("none listed", vec![], Some("s"), refused()),
        ("listed", vec!["t", "s"], Some("s"), ALLOW),
        ("not listed", vec!["t"], Some("s"), refused()),
        ("another case", vec!["S"], Some("s"), refused()),
        ("a glob", vec!["s-*"], Some("s-1"), ALLOW),
        ("a glob that misses", vec!["s-*"], Some("s"), refused()),
        ("every server", vec!["*"], Some("s"), ALLOW),
        ("every server, empty name", vec!["*"], Some(""), ALLOW),
        ("empty name", vec!["s"], Some(""), refused()),
    ] {
        let role = role("r").with_servers(servers).with_prompts(["*"]).with_methods(["*"]).with_resources(["*"]);
        let policy = one(role);
        for call in [
            Call::Method { method: "m".into() },
            Call::Plumbing { method: "tools/list".into() },
            Call::Prompt { name: "p".into() },
            Call::Reply,
            Call::Resource { uri: "file:///a".into() },
            Call::Task { id: "1".into(), method: "tasks/get".into() },
            Call::Tool { name: "run".into(), arguments: Arguments::ABSENT },
        ] {
            assert_eq!(policy.check("r", server, &call), expected, "{name} {call:?}");
        }
    }
}

#[test]
fn decision_6_what_a_role_does_not_name_is_denied() {
    let method = |name: &'static str| Call::Method { method: name.into() };
    let prompt = |name: &'static str| Call::Prompt { name: name.into() };
    let resource = |uri: &'static str| Call::Resource { uri: uri.into() };
    let task = |method: &'static str| Call::Task { id: "1".into(), method: method.into() };
    let tool = |name: &'static str| Call::Tool { name: name.into(), arguments: Arguments::ABSENT };
    let named = || {
        RoleConfig::new("r")
            .with_allow(["run"])
            .with_methods(["custom/*", "tasks/get"])
            .with_prompts(["greet", "p-*"])
            .with_resources(["file:///srv/*", "db://t"])
    };
    for (name, role, call, expected) in [
        ("plumbing", RoleConfig::new("r"), Call::Plumbing { method: "initialize".into() }, ALLOW),
        ("plumbing, all denied", RoleConfig::new("r").with_deny(["*"]), Call::Plumbing { method: "p".into() }, ALLOW),
        ("reply", RoleConfig::new("r"), Call::Reply, ALLOW),
        ("method", named(), method("custom/x"), ALLOW),
        ("method, case", named(), method("Custom/x"), deny(Denied::MethodNotAllowed)),
        ("method, not named", named(), method("run"), deny(Denied::MethodNotAllowed)),
        ("prompt", named(), prompt("greet"), ALLOW),
        ("prompt, glob", named(), prompt("p-1"), ALLOW),
        ("prompt, none named", role("r"), prompt("p"), deny(Denied::PromptNotAllowed)),
        ("task", named(), task("tasks/get"), ALLOW),
        ("task, none named", role("r"), task("tasks/get"), deny(Denied::TaskNotAllowed)),
        ("resource", named(), resource("file:///srv/a"), ALLOW),
        ("resource, longer", named(), resource("db://t/1"), deny(Denied::ResourceNotAllowed)),
        ("resource, elsewhere", named(), resource("file:///etc/a"), deny(Denied::ResourceNotAllowed)),
        ("resource, none named", role("r"), resource("file:///a"), deny(Denied::ResourceNotAllowed)),
        ("tool, none named", RoleConfig::new("r").with_methods(["*"]), tool("run"), deny(Denied::ToolNotAllowed)),
    ] {
        assert_eq!(one(role).check("r", None, &call), expected, "{name}");
    }
}

#[test]
fn decision_6_uris_that_can_be_read_otherwise_match_no_glob() {
    let canonical = ["file:///srv/a..b", "db://users/1?fields=a.b", "note://caf%C3%A9"].map(|uri| (uri, ALLOW));
    let doubtful = [
        "f:///a/../b",
        "f:///./a",
        "f:///a/..",
        "f:///%2e%2E/a",
        "f:///a%2fb",
        "f:///a%5cb",
        "f:///%252e./",
        "f:///a\\b",
        "f:///a\n",
        "f:///a%00",
    ];
    let doubtful = doubtful.map(|uri| (uri, deny(Denied::UriNotCanonical)));
    for (uri, expected) in canonical.into_iter().chain(doubtful) {
        let call = Call::Resource { uri: uri.into() };
        for glob in ["*", "*:*"] {
            let policy = one(RoleConfig::new("r").with_resources([glob]));
            assert_eq!(policy.check("r", None, &call), expected, "{uri:?} {glob}");
        }
    }
}

// === several roles ===

#[test]
fn decision_8_roles_never_add_up() {
    let config = PolicyConfig::new()
        .with_role(RoleConfig::new("tool").with_servers(["a"]).with_allow(["run"]))
        .with_role(RoleConfig::new("server").with_servers(["b"]).with_allow(["walk"]))
        .with_role(role("cmd").with_argument_allowlist(strict(optional("run", "cmd", &["ls"]))))
        .with_role(role("host").with_argument_allowlist(strict(optional("run", "host", &[]))))
        .with_role(role("dev").with_hosts(["dev-*"]).with_argument_allowlist(optional("run", "cmd", &["ls"])))
        .with_role(RoleConfig::new("denied").with_servers(["*"]).with_deny(["*"]));
    let policy = compile(&config);
    let (plain, both) = ("{}", r#"{"cmd":"ls","host":"h"}"#);
    for (name, roles, server, tool, arguments, passes) in [
        ("one role whole", vec!["tool", "server"], Some("a"), "run", plain, true),
        ("the other role whole", vec!["tool", "server"], Some("b"), "walk", plain, true),
        ("tool of one, server of the other", vec!["tool", "server"], Some("b"), "run", plain, false),
        ("each one argument", vec!["cmd", "host"], None, "run", both, false),
        ("first argument", vec!["cmd", "host"], None, "run", r#"{"cmd":"ls"}"#, true),
        ("second argument", vec!["cmd", "host"], None, "run", r#"{"host":"h"}"#, true),
        ("host of one, value of the other", vec!["dev", "cmd"], None, "run", both, false),
        ("a denial of one takes nothing away", vec!["denied", "tool"], Some("a"), "run", plain, true),
        ("unknown first", vec!["nobody", "tool"], Some("a"), "run", plain, true),
        ("unknown last", vec!["tool", "nobody"], Some("a"), "run", plain, true),
    ] {
        assert_eq!(call_any(&policy, &roles, server, tool, arguments).is_allow(), passes, "{name}");
    }
}

#[test]
fn decision_8_the_denial_of_the_role_that_came_farthest_is_told() {
    let config = PolicyConfig::new()
        .with_role(RoleConfig::new("server").with_allow(["*"]))
        .with_role(RoleConfig::new("tool").with_servers(["s"]))
        .with_role(role("host").with_servers(["s"]).with_hosts(["x"]))
        .with_role(role("value").with_servers(["s"]).with_argument_allowlist(optional("run", "host", &["x"])))
        .with_role(role("missing").with_servers(["s"]).with_argument_allowlist(required("run", "cmd", &[])))
        .with_role(role("denied").with_servers(["s"]).with_deny(["*"]));
    let policy = compile(&config);
    for (arguments, ladder) in [
        (r#"{"host":1}"#, ["nobody", "server", "host", "tool", "value", "missing"]),
        (r#"{"host":"h"}"#, ["nobody", "server", "tool", "host", "value", "missing"]),
    ] {
        for (at, far) in ladder.iter().enumerate() {
            let alone = call_any(&policy, &[far], Some("s"), "run", arguments);
            for near in &ladder[..at] {
                for roles in [[near, *far], [far, *near]] {
                    assert_eq!(call_any(&policy, &roles, Some("s"), "run", arguments), alone, "{roles:?}");
                }
            }
        }
    }
    let tie = |roles| call_any(&policy, roles, Some("s"), "run", "{}");
    assert_eq!(tie(&["denied", "tool"]), deny(Denied::ToolDenied), "of equals the first");
    assert_eq!(tie(&["tool", "denied"]), deny(Denied::ToolNotAllowed), "of equals the first");
}

#[test]
fn decision_8_one_role_permits_all_calls_of_a_message() {
    let config = PolicyConfig::new()
        .with_role(RoleConfig::new("a").with_allow(["run", "walk"]).with_deny(["walk"]))
        .with_role(RoleConfig::new("b").with_allow(["walk"]))
        .with_role(RoleConfig::new("c").with_allow(["run", "walk"]));
    let policy = compile(&config);
    let tool = |name: &'static str| Call::Tool { name: name.into(), arguments: Arguments::ABSENT };
    let calls = [tool("run"), tool("walk")];
    for (name, roles, expected) in [
        ("none", vec![], Err((Denied::RoleMissing, 0))),
        ("unknown", vec!["nobody"], Err((Denied::RoleUnknown, 0))),
        ("the second call", vec!["a"], Err((Denied::ToolDenied, 1))),
        ("the first call", vec!["b"], Err((Denied::ToolNotAllowed, 0))),
        ("each one call", vec!["b", "a"], Err((Denied::ToolDenied, 1))),
        ("each one call, turned", vec!["a", "b"], Err((Denied::ToolDenied, 1))),
        ("one both", vec!["a", "b", "c"], Ok(())),
    ] {
        assert_eq!(policy.permit(roles, None, &calls.iter()), expected, "{name}");
    }
}

#[test]
fn ruled_arguments_are_those_of_all_matching_entries() {
    let entries = [optional("run-*", "cmd", &[]), required("*-foo", "host", &[]), optional("walk", "x", &["y"])];
    let policy = ruled(&entries);
    for (role, tool, expected) in [
        ("r", "run-bar", vec!["cmd"]),
        ("r", "run-foo", vec!["cmd", "host"]),
        ("r", "walk", vec!["x"]),
        ("r", "other", vec![]),
        ("q", "walk", vec![]),
    ] {
        let mut names: Vec<_> = policy.ruled_arguments(role, tool).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{role} {tool}");
    }
}

// === denials ===

fn every_denial() -> Vec<Denied> {
    let argument = || Box::from("cmd");
    vec![
        Denied::ArgumentAmbiguous { argument: argument() },
        Denied::ArgumentControl { argument: argument() },
        Denied::ArgumentNotString { argument: argument(), kind: Kind::Null },
        Denied::ArgumentNotUnicode { argument: argument() },
        Denied::ArgumentRequired { argument: argument() },
        Denied::ArgumentStructured { argument: argument(), kind: Kind::Array },
        Denied::ArgumentUnknown { argument: argument() },
        Denied::ArgumentValue { argument: argument() },
        Denied::HostNotAllowed,
        Denied::HostNotString { kind: Kind::Null },
        Denied::MethodNotAllowed,
        Denied::PositionalArguments,
        Denied::PromptNotAllowed,
        Denied::ResourceNotAllowed,
        Denied::RoleMissing,
        Denied::RoleUnknown,
        Denied::ServerNotAllowed,
        Denied::TaskNotAllowed,
        Denied::ToolDenied,
        Denied::ToolGloballyDenied,
        Denied::ToolNotAllowed,
        Denied::UriNotCanonical,
    ]
}

#[test]
fn reasons_are_unique_and_are_the_variants_names() {
    let mut seen = HashSet::new();
    for denied in every_denial() {
        let debug = format!("{denied:?}");
        let variant = debug.split(' ').next().unwrap();
        let snake: String =
            variant.chars().flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain([c])).collect();
        let expected = format!("policy.{}", snake.trim_start_matches('_').to_ascii_lowercase());
        assert_eq!(denied.reason(), expected);
        assert!(seen.insert(denied.reason()), "{variant}");
        let argument = variant.starts_with("Argument").then_some("cmd");
        assert_eq!(denied.argument(), argument.or(variant.starts_with("Host").then_some("host")), "{variant}");
    }
}

#[test]
fn aa_33_aa_38_aa_43_aa_66_denials_name_the_argument_and_never_the_value() {
    let secret = "s3cr3t";
    let cmd = || optional("run", "cmd", &["listed"]);
    for (row, entry, arguments, text) in [
        ("AA-33", required("run", "cmd", &["listed"]), r#"{"x":"s3cr3t"}"#, "argument 'cmd' is required"),
        ("AA-38", cmd(), r#"{"cmd":{"s3cr3t":1}}"#, "argument 'cmd' must be a string, not object"),
        ("AA-38", cmd(), r#"{"cmd":42}"#, "argument 'cmd' must be a string, not number"),
        ("AA-43", strict(cmd()), r#"{"danger":"s3cr3t"}"#, "argument 'danger' is not permitted"),
        ("AA-47", strict(cmd()), r#"{"cmd":["s3cr3t"]}"#, "argument 'cmd' must not be an array"),
        ("AA-66", cmd(), r#"{"cmd":"s3cr3t"}"#, "argument 'cmd'"),
        ("AA-66", printable(cmd()), r#"{"cmd":"s3cr3t\n"}"#, "argument 'cmd'"),
        ("AA-66", cmd(), r#"{"cmd":"s3cr3t\ud800"}"#, "argument 'cmd'"),
        ("AA-66", cmd(), r#"{"CMD":"s3cr3t"}"#, "argument 'CMD'"),
    ] {
        let Decision::Deny(denied) = call(&ruled(&[entry]), "run", arguments) else { panic!("{row} {arguments}") };
        let told = denied.to_string();
        assert!(told.contains(text), "{row}: {told}");
        let all = format!("{told} {denied:?}");
        assert!(!all.contains(secret) && !all.contains("42") && !all.contains("listed"), "{row}: {all}");
    }
}

#[test]
fn texts_do_not_tell_how_a_tool_is_denied() {
    let texts =
        [Denied::ToolDenied, Denied::ToolGloballyDenied, Denied::ToolNotAllowed].map(|denied| denied.to_string());
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
}

// === properties ===

/// What the configuration says, read entry by entry.
struct Reference<'a> {
    config: &'a PolicyConfig,
    tool: &'a str,
    arguments: &'a [(String, Value)],
}

impl Reference<'_> {
    fn decide(&self, role: &str, server: Option<&str>) -> Result<(), Denied> {
        let role = self.config.roles.iter().find(|other| other.name == role).ok_or(Denied::RoleUnknown)?;
        fail(server.is_some_and(|server| !any_matches(&role.servers, server)), Denied::ServerNotAllowed)?;
        let host = self.argument("host").filter(|_| role.hosts != ["*"]);
        let kind = host.map(kind_of).filter(|kind| *kind != Kind::String);
        kind.map_or(Ok(()), |kind| Err(Denied::HostNotString { kind }))?;
        fail(any_matches(&self.config.global_deny, self.tool), Denied::ToolGloballyDenied)?;
        fail(any_matches(&role.deny, self.tool), Denied::ToolDenied)?;
        fail(!any_matches(&role.allow, self.tool), Denied::ToolNotAllowed)?;
        let other = self.arguments.iter().find(|(name, _)| name != "host" && plain(name) == "host");
        if let Some((name, _)) = other.filter(|_| role.hosts != ["*"]) {
            return Err(Denied::ArgumentAmbiguous { argument: name.as_str().into() });
        }
        let permitted = |host: &str| role.hosts.iter().any(|glob| matches(&glob.to_lowercase(), &host.to_lowercase()));
        fail(host.and_then(Value::as_str).is_some_and(|host| !permitted(host)), Denied::HostNotAllowed)?;
        let entries = role.argument_allowlists.iter().filter(|entry| matches(&entry.tool, self.tool));
        let entries: Vec<_> = entries.collect();
        self.arguments.iter().try_for_each(|(name, value)| judge(&entries, name, value))?;
        let missing = entries.iter().find(|entry| entry.required && self.argument(&entry.argument).is_none());
        missing.map_or(Ok(()), |entry| Err(Denied::ArgumentRequired { argument: entry.argument.as_str().into() }))
    }

    fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }
}

fn judge(entries: &[&ArgumentAllowlist], name: &str, value: &Value) -> Result<(), Denied> {
    let argument = || Box::from(name);
    let strict = entries.iter().any(|entry| entry.deny_unknown_arguments);
    let own: Vec<_> = entries.iter().filter(|entry| entry.argument == name).collect();
    if own.is_empty() {
        let resembles = entries.iter().any(|entry| plain(&entry.argument) == plain(name));
        fail(resembles, Denied::ArgumentAmbiguous { argument: argument() })?;
        return fail(strict, Denied::ArgumentUnknown { argument: argument() });
    }
    let kind = kind_of(value);
    let compound = matches!(kind, Kind::Array | Kind::Object);
    fail(strict && compound, Denied::ArgumentStructured { argument: argument(), kind })?;
    let Some(text) = value.as_str() else {
        let needed = own.iter().any(|entry| entry.required || entry.reject_control_chars || !entry.allowed.is_empty());
        return fail(needed, Denied::ArgumentNotString { argument: argument(), kind });
    };
    let rejected = own.iter().any(|entry| entry.reject_control_chars) && text.contains(char::is_control);
    fail(rejected, Denied::ArgumentControl { argument: argument() })?;
    let listed = own.iter().all(|entry| entry.allowed.is_empty() || lists(&entry.allowed, text));
    fail(!listed, Denied::ArgumentValue { argument: argument() })
}

fn fail(fails: bool, denied: Denied) -> Result<(), Denied> {
    if fails { Err(denied) } else { Ok(()) }
}

fn lists(allowed: &[String], text: &str) -> bool {
    let word = shlex::split(text).and_then(|words| words.into_iter().next()).unwrap_or_default();
    let base = word.rsplit('/').next().unwrap_or_default();
    !word.is_empty() && allowed.iter().any(|entry| *entry == word || entry == base)
}

fn plain(name: &str) -> String {
    name.replace(char::is_control, "").replace('\u{17f}', "s").replace('\u{212a}', "k").to_lowercase()
}

fn any_matches(globs: &[String], name: &str) -> bool {
    globs.iter().any(|glob| matches(glob, name))
}

fn matches(glob: &str, name: &str) -> bool {
    match glob.split_at_checked(1) {
        None => name.is_empty(),
        Some(("*", rest)) => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        Some((c, rest)) => name.strip_prefix(c).is_some_and(|name| matches(rest, name)),
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Array(_) => Kind::Array,
        Value::Bool(_) => Kind::Bool,
        Value::Null => Kind::Null,
        Value::Number(_) => Kind::Number,
        Value::Object(_) => Kind::Object,
        Value::String(_) => Kind::String,
    }
}

const TOOLS: &[&str] = &["run-foo", "run-bar", "go-foo"];
const GLOBS: &[&str] = &["run-foo", "run-bar", "run-*", "*-foo", "r*o", "*"];
const NAMES: &[&str] =
    &["cmd", "task", "host", "cmd", "task", "Cmd", "cmd\0", "ta\u{17f}k", "tas\u{212a}", "Host", "other"];
const WORDS: &[&str] = &["ls", "cat", "/bin/ls", "a b"];
const TEXTS: &[&str] = &[
    "ls", "ls -la", "ls", "cat x", "/bin/ls", "./cat", "'ls' x", "'a b' x", "rm", "ls\nrm", "ls 'x", "#\ncat", "",
    "dev-1", "DEV-1", "prod", "x/",
];

fn globs(longest: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(GLOBS).prop_map(str::to_owned), 0..=longest)
}

fn some_entry() -> impl Strategy<Value = ArgumentAllowlist> {
    let allowed = prop::sample::subsequence(WORDS, 0..=3);
    let flag = || prop::bool::weighted(0.3);
    let flags = (flag(), prop::bool::weighted(0.15), flag());
    let name = prop::sample::select(&["cmd", "task", "host"][..]);
    (prop::sample::select(GLOBS), name, allowed, flags).prop_map(
        |(tool, name, allowed, (required, strict, control))| {
            ArgumentAllowlist::new(tool, name, allowed)
                .with_required(required)
                .with_deny_unknown_arguments(strict)
                .with_reject_control_chars(control)
        },
    )
}

fn some_role(name: &'static str) -> impl Strategy<Value = RoleConfig> {
    let hosts = prop::sample::select(vec![vec!["*"], vec!["dev-*"], vec!["Dev-1", "ls"]]);
    let servers = prop::sample::select(vec![vec!["*"], vec!["s"], vec![]]);
    let entries = prop::collection::vec(some_entry(), 0..=4);
    (globs(3), globs(1), prop::bool::weighted(0.2), hosts, servers, entries).prop_map(
        move |(allow, deny, denies, hosts, servers, entries)| {
            let role = RoleConfig::new(name).with_allow(allow).with_deny(deny.into_iter().filter(|_| denies));
            let role = role.with_hosts(hosts).with_servers(servers);
            entries.into_iter().fold(role, RoleConfig::with_argument_allowlist)
        },
    )
}

fn some_config() -> impl Strategy<Value = PolicyConfig> {
    let denied = prop::option::weighted(0.2, prop::sample::select(&["run-foo", "*-bar"][..]));
    (denied, some_role("a"), some_role("b"), some_role("c")).prop_map(|(denied, a, b, c)| {
        PolicyConfig::new().with_global_deny(denied).with_role(a).with_role(b).with_role(c)
    })
}

fn some_arguments() -> impl Strategy<Value = Vec<(String, Value)>> {
    let others = [Value::Null, true.into(), 1.into(), vec!["ls"].into(), Value::Object([].into_iter().collect())];
    let value = prop_oneof![
        4 => prop::sample::select(TEXTS).prop_map(Value::from),
        1 => prop::sample::select(others.to_vec()),
    ];
    let argument = (prop::sample::select(NAMES).prop_map(str::to_owned), value);
    prop::collection::vec(argument, 0..=4).prop_map(|mut arguments| {
        let mut seen = HashSet::new();
        arguments.retain(|(name, _)| seen.insert(name.clone()));
        arguments
    })
}

fn written(arguments: &[(String, Value)]) -> String {
    let members: Vec<_> = arguments.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", members.join(","))
}

fn some_server() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, Some("s"), Some("t")])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_policy_decides_what_its_configuration_says(
        config in some_config(),
        role in prop::sample::select(&["a", "a", "b", "c", "d"][..]),
        server in some_server(),
        tool in prop::sample::select(TOOLS),
        arguments in some_arguments(),
    ) {
        let expected = Reference { config: &config, tool, arguments: &arguments }.decide(role, server);
        let expected = expected.map_or_else(Decision::Deny, |()| Decision::Allow);
        let decision = with_call(tool, &written(&arguments), |call| compile(&config).check(role, server, call));
        prop_assert_eq!(decision, expected);
    }

    #[test]
    fn decision_8_several_roles_pass_where_one_does(
        config in some_config(),
        roles in prop::sample::subsequence(&["a", "b", "c", "d"][..], 0..=4).prop_shuffle(),
        server in some_server(),
        tool in prop::sample::select(TOOLS),
        arguments in some_arguments(),
    ) {
        let policy = compile(&config);
        let (any, each) = with_call(tool, &written(&arguments), |call| {
            let each: Vec<_> = roles.iter().map(|role| policy.check(role, server, call)).collect();
            (policy.check_any(roles.iter().copied(), server, call), each)
        });
        prop_assert_eq!(any.is_allow(), each.contains(&ALLOW));
        prop_assert!(any.is_allow() || each.is_empty() || each.contains(&any), "{:?} {:?}", any, each);
    }
}

#[test]
fn aa_57_host_in_another_spelling_after_host() {
    let policy = one(role("r").with_hosts(["dev-*"]));
    for (name, arguments, expected) in [
        ("another spelling last", r#"{"host":"dev-1","Host":"prod"}"#, ambiguous("Host")),
        ("control character last", r#"{"host":"dev-1","host\u0000":"prod"}"#, ambiguous("host\0")),
        ("U+017F last", r#"{"host":"dev-1","ho\u017ft":"prod"}"#, ambiguous("ho\u{17f}t")),
    ] {
        assert_eq!(call(&policy, "run", arguments), expected, "{name}");
    }
}

#[test]
fn doubts_about_a_selector_have_its_place() {
    let policy = one(role("r").with_argument_allowlist(required("a$", "cmd", &[])));
    let told: Vec<_> = policy.lints().iter().map(|lint| (lint.place(), lint.kind())).collect();
    assert_eq!(told, [("roles[0].argument_allowlists[0].tool", &LintKind::ForeignSyntax("a$".into()))]);
}

#[test]
fn padded_names_are_doubtful() {
    for (role, place, text) in [
        (role("r "), "roles[0].name", "r "),
        (
            role("r").with_argument_allowlist(required("run", "cmd ", &[])),
            "roles[0].argument_allowlists[0].argument",
            "cmd ",
        ),
    ] {
        let policy = one(role);
        let told: Vec<_> = policy.lints().iter().map(|lint| (lint.place(), lint.kind())).collect();
        assert_eq!(told, [(place, &LintKind::PaddedText(text.into()))]);
    }
}

#[test]
fn a_selector_of_a_denied_tool_selects_nothing() {
    let policy = one(role("r").with_deny(["run"]).with_argument_allowlist(required("run", "cmd", &[])));
    let told: Vec<_> = policy.lints().iter().map(|lint| (lint.place(), lint.kind())).collect();
    assert_eq!(told, [("roles[0].argument_allowlists[0].tool", &LintKind::SelectsNothing("run".into()))]);
}

#[test]
fn rules_that_can_never_match_are_doubtful() {
    let disjoint = role("r")
        .with_argument_allowlist(required("run", "cmd", &["ls"]))
        .with_argument_allowlist(required("run", "cmd", &["cat"]));
    let told: Vec<_> = one(disjoint).lints().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("roles[0].argument_allowlists[1].allowed: "), "{told:?}");
    let by_basename = role("r")
        .with_argument_allowlist(required("run", "cmd", &["ls"]))
        .with_argument_allowlist(required("run", "cmd", &["/bin/ls"]));
    assert!(one(by_basename).lints().is_empty());
    let covered = RoleConfig::new("r").with_allow(["a-*", "b"]).with_deny(["a*"]);
    let told: Vec<_> = one(covered).lints().iter().map(|lint| lint.place().to_owned()).collect();
    assert_eq!(told, ["roles[0].allow[0]"]);
}

#[test]
fn decision_2_folding_beyond_ascii() {
    for (name, written) in [("\u{3c3}", "\u{3c2}"), ("\u{b5}s", "\u{3bc}s"), ("\u{3b2}", "\u{3d0}")] {
        let policy = ruled(&[optional("run", name, &["ls"])]);
        let arguments = format!(r#"{{{}:"rm"}}"#, quoted(written));
        assert_eq!(call(&policy, "run", &arguments), ambiguous(written), "{name}");
    }
}

#[test]
fn decision_8_denials_of_the_host_come_after_those_of_the_tool() {
    let config = PolicyConfig::new()
        .with_role(role("early").with_hosts(["x"]).with_deny(["*"]))
        .with_role(RoleConfig::new("late"));
    let call = Call::Tool { name: "run".into(), arguments: Arguments::POSITIONAL };
    assert_eq!(compile(&config).check_any(["early", "late"], None, &call), deny(Denied::ToolDenied));
}

#[test]
fn aa_56_missing_in_the_order_of_the_configuration() {
    let policy = ruled(&[required("r*", "x", &[]), required("*n", "y", &[]), required("r*", "z", &[])]);
    assert_eq!(call(&policy, "run", r#"{"x":""}"#), missing("y"));
}

#[test]
fn names_that_the_caller_chose_stay_on_one_line_and_short() {
    let policy = ruled(&[required("run", "cmd", &[]).with_deny_unknown_arguments(true)]);
    let long = format!("a\n{}", "b".repeat(1000));
    let arguments = format!(r#"{{{}:1}}"#, quoted(&long));
    let Decision::Deny(denied) = call(&policy, "run", &arguments) else { panic!("allowed") };
    assert!(!denied.to_string().contains('\n') && denied.to_string().len() < 200, "{denied}");
}
