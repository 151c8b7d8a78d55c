use proptest::prelude::*;

use super::super::{ArgumentAllowlist, Decision, Denied, PolicyConfig, RoleConfig};
use super::*;
use crate::json::OwnedArguments;

fn one(role: RoleConfig) -> Policy {
    Policy::new(&PolicyConfig::new().with_global_deny(["gone*"]).with_role(role)).unwrap()
}

fn required(argument: &str, allowed: &[&str]) -> ArgumentAllowlist {
    ArgumentAllowlist::new_required("run", argument, allowed.iter().copied())
}

#[test]
fn decision_12_a_tool_is_listed_if_some_call_of_it_passes() {
    let role = || RoleConfig::new("r").with_allow(["run", "gone*", "no*"]).with_deny(["not"]);
    let with = |entries: &[ArgumentAllowlist], hosts: &[&str]| {
        let role = role().with_hosts(hosts.iter().copied());
        entries.iter().cloned().fold(role, RoleConfig::with_argument_allowlist)
    };
    let strict = |entry: ArgumentAllowlist| entry.with_deny_unknown_arguments(true);
    let printable = |entry: ArgumentAllowlist| entry.with_reject_control_chars(true);
    let optional = |allowed: &[&str]| ArgumentAllowlist::new("run", "cmd", allowed.iter().copied());
    let host = |allowed: &[&str]| required("host", allowed);
    for (name, role, tool, expected) in [
        ("allowed", role(), "run", true),
        ("not allowed", role(), "other", false),
        ("denied", role(), "not", false),
        ("globally denied", role(), "gone", false),
        ("by glob", role(), "no", true),
        ("required, any value", with(&[required("cmd", &[])], &["*"]), "run", true),
        ("required, listed", with(&[required("cmd", &["ls"])], &["*"]), "run", true),
        ("required and strict", with(&[strict(required("cmd", &["a b"])), required("x", &[])], &["*"]), "run", true),
        ("a word in quotes", with(&[printable(required("cmd", &["it's \"a\\b\" #"]))], &["*"]), "run", true),
        ("nothing in common", with(&[required("cmd", &["ls"]), required("cmd", &["cat"])], &["*"]), "run", false),
        ("nothing in common, optional", with(&[optional(&["ls"]), optional(&["cat"])], &["*"]), "run", true),
        ("required by one entry", with(&[optional(&["ls"]), required("cmd", &["cat"])], &["*"]), "run", false),
        ("by basename", with(&[required("cmd", &["ls"]), required("cmd", &["/bin/ls"])], &["*"]), "run", true),
        ("two paths", with(&[required("cmd", &["/sbin/ls"]), required("cmd", &["/bin/ls"])], &["*"]), "run", false),
        ("of another tool", with(&[required("cmd", &["ls"]), required("cmd", &["cat"])], &["*"]), "now", true),
        ("hosts, no host", with(&[required("cmd", &["ls"])], &["dev-*"]), "run", true),
        ("no hosts, no host", with(&[], &[]), "run", true),
        ("no hosts, any host", with(&[host(&[])], &[]), "run", false),
        ("hosts, any host", with(&[host(&[])], &["dev-*"]), "run", true),
        ("a host of the hosts", with(&[host(&["Dev-1"])], &["dev-*"]), "run", true),
        ("a host behind a path", with(&[host(&["x"])], &["dev-*"]), "run", true),
        ("a path behind a path", with(&[host(&["/x"])], &["dev-*"]), "run", false),
        ("no host of the hosts", with(&[host(&["x"])], &["dev-1", "dev-2"]), "run", false),
        ("a host by its path", with(&[host(&["x"])], &["a/X"]), "run", true),
        ("a first word among the hosts", with(&[host(&["x"])], &["x y"]), "run", true),
        ("another first word", with(&[host(&["x"])], &["y x"]), "run", false),
        ("another first word and more", with(&[host(&["x"])], &["y *"]), "run", false),
        ("a beginning", with(&[host(&["/dev"])], &["/d*1"]), "run", true),
        ("an open quote", with(&[host(&["/dev"])], &["'/d*\"1"]), "run", true),
        ("an open escape at the end", with(&[printable(host(&["/d"]))], &["/d\\*"]), "run", false),
        ("an open escape and a line feed", with(&[host(&["/d"])], &["/d\\*"]), "run", true),
        ("a comment", with(&[printable(host(&["x"]))], &["#*"]), "run", false),
        ("a comment and a line feed", with(&[host(&["x"])], &["#*"]), "run", true),
        ("another spelling of host", with(&[required("Host", &[])], &["dev-*"]), "run", false),
        ("another spelling, any host", with(&[required("Host", &[])], &["*"]), "run", true),
    ] {
        assert_eq!(one(role).lists_tool("r", None, tool), expected, "{name}");
    }
}

#[test]
fn decision_6_what_a_role_may_not_reach_it_does_not_see() {
    let role = RoleConfig::new("r").with_allow(["t"]).with_prompts(["p*"]).with_resources(["a:*", "b:c"]);
    let policy = one(role.with_servers(["s"]));
    let all = [Listed::Tool("t"), Listed::Prompt("p"), Listed::Resource("a:b"), Listed::ResourceTemplate("a:{x}")];
    let none = [Listed::Tool("T"), Listed::Prompt("q"), Listed::Resource("b:"), Listed::ResourceTemplate("c:{x}")];
    for listed in all {
        let lists = |role, server| policy.lists(role, server, listed);
        assert_eq!(
            [lists("r", None), lists("r", Some("s")), lists("r", Some("t")), lists("R", None)],
            [true, true, false, false]
        );
        let any = |roles: &[&'static str]| policy.lists_any(roles.iter().copied(), Some("s"), listed);
        assert_eq!([any(&[]), any(&["x"]), any(&["x", "r"]), any(&["r", "x"])], [false, false, true, true]);
    }
    assert!(none.iter().all(|listed| !policy.lists("r", None, *listed)));
    assert!(!policy.lists_resource("r", None, "a:/../b"));
}

#[test]
fn decision_6_a_template_is_listed_if_some_permitted_uri_has_its_text() {
    for (globs, template, expected) in [
        (&["file:///srv/*"][..], "file:///srv/{name}", true),
        (&["file:///srv/*"], "file:///{+path}", true),
        (&["file:///srv/*"], "{scheme}:///srv", true),
        (&["file:///srv/*"], "file:///srv/a/{name}.txt", true),
        (&["file:///srv/*"], "file:///etc/{name}", false),
        (&["file:///srv/*"], "file:///srv{name}", true),
        (&["file:///srv/*.txt"], "file:///srv/{name}.txt", true),
        (&["file:///srv/*.txt"], "file:///srv/{name}t", true),
        (&["file:///srv/*.txt"], "file:///srv/{name}.md", false),
        (&["file:///srv/*.txt"], "file:///srv/{a}/b/{c}", true),
        (&["file:///srv/a.txt"], "file:///srv/{name}.txt", true),
        (&["file:///srv/a.txt"], "file:///srv/a.txt{?q}", true),
        (&["file:///srv/a.txt"], "file:///srv/{a}b{c}", false),
        (&["file:///srv/a.txt"], "file:///srv/b{c}", false),
        (&["file:///srv/*"], "file:///srv/../{name}", false),
        (&["file:///srv/*"], "file:///srv/..{name}", true),
        (&["file:///srv/*"], "file:///srv/{name}/..", false),
        (&["file:///srv/*"], "file:///srv/%2e%2e/{name}", false),
        (&["file:///srv/*"], "file:///srv\\{name}", false),
        (&["*"], "x:{y}", true),
        (&["*"], "x:/../{y}", false),
        (&["a*"], "{x", true),
        (&["a*"], "b{x", false),
        (&["a*b"], "a{x}c{y", true),
        (&["a:b"], "a:*{x}", false),
        (&["a:*"], "a:b", true),
        (&["a:*"], "b:b", false),
        (&["a:*"], "a:}b{x}", true),
        (&[], "{x}", false),
    ] {
        let policy = one(RoleConfig::new("r").with_resources(globs.iter().copied()));
        assert_eq!(policy.lists_resource_template("r", None, template), expected, "{globs:?} {template}");
    }
}

// === properties ===

const TOOLS: &[&str] = &["run-foo", "run-bar", "go-foo"];
const GLOBS: &[&str] = &["run-foo", "run-bar", "run-*", "*-foo", "*"];
const WORDS: &[&str] = &["ls", "LS", "cat", "/bin/ls", "/bin/", "a b", "it's", "d-1", "#x", "\"q\\"];
/// Patterns over hosts, each for a way in which the shell could read them.
const HOSTS: &[&[&str]] =
    &[&["*"], &["d-*"], &["D-1", "ls"], &[], &["*s"], &["a b"], &["'*"], &["l*"], &["/bin/*"], &["#*"], &["ls *x"]];
const ARGUMENTS: &[&str] = &["cmd", "Cmd", "host", "host", "Host"];

fn some_globs(longest: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(GLOBS).prop_map(str::to_owned), 0..=longest)
}

fn some_entry() -> impl Strategy<Value = ArgumentAllowlist> {
    let names = (prop::sample::select(GLOBS), prop::sample::select(ARGUMENTS));
    let flags = (any::<bool>(), prop::bool::weighted(0.2), any::<bool>());
    (names, prop::sample::subsequence(WORDS, 0..=3), flags).prop_map(|((tool, name), allowed, flags)| {
        ArgumentAllowlist::new(tool, name, allowed)
            .with_required(flags.0)
            .with_deny_unknown_arguments(flags.1)
            .with_reject_control_chars(flags.2)
    })
}

fn some_role(name: &'static str) -> impl Strategy<Value = RoleConfig> {
    let deny = prop::option::weighted(0.2, prop::sample::select(GLOBS));
    let servers = prop::sample::select(vec!["*", "s"]);
    let entries = prop::collection::vec(some_entry(), 0..=4);
    (some_globs(2), deny, prop::sample::select(HOSTS), servers, entries).prop_map(
        move |(allow, deny, hosts, servers, entries)| {
            let role = RoleConfig::new(name).with_allow(allow).with_deny(deny).with_servers([servers]);
            entries.into_iter().fold(role.with_hosts(hosts.iter().copied()), RoleConfig::with_argument_allowlist)
        },
    )
}

/// What a value may have before and behind its first word, or the last of it, for one of `HOSTS` to match.
const LEADS: &[&str] = &["", "d-/", "l/", "/bin/", "#\n"];
const ENDS: &[&str] = &["", " x", " s"];

/// Values that say all words in every way that could matter to the rules and hosts above.
fn candidates() -> Vec<String> {
    let mut values = vec![String::new()];
    for word in WORDS {
        let quoted = format!("'{}'", word.replace('\'', "'\\''"));
        for (lead, end) in LEADS.iter().flat_map(|lead| ENDS.iter().map(move |end| (lead, end))) {
            values.extend([format!("{lead}{quoted}{end}"), format!("{lead}{word}{end}")]);
        }
    }
    values
}

/// Whether some of the candidates, each argument there or not, makes a call that passes.
fn some_call_passes(policy: &Policy, role: &str, server: Option<&str>, tool: &str, candidates: &[String]) -> bool {
    let check = |arguments: &[(&str, &String)]| {
        let member = |(name, value): &(&str, &String)| format!("\"{name}\":{}", serde_json::to_string(value).unwrap());
        let members: Vec<_> = arguments.iter().map(member).collect();
        let owned = OwnedArguments::read(&format!("{{{}}}", members.join(","))).unwrap();
        policy.check(role, server, &Call::Tool { name: tool.into(), arguments: owned.arguments() })
    };
    // A value that is refused for itself is refused whatever stands beside it.
    let passes = |name, value| {
        matches!(check(&[(name, value)]), Decision::Allow | Decision::Deny(Denied::ArgumentRequired { .. }))
    };
    let names = ["cmd", "Cmd", "host", "Host"].into_iter();
    let good: Vec<_> =
        names.filter_map(|name| Some((name, candidates.iter().find(|value| passes(name, value))?))).collect();
    (0..1_usize << good.len()).any(|present| {
        let chosen = good.iter().enumerate().filter(|(at, _)| present >> at & 1 == 1).map(|(_, argument)| *argument);
        check(&chosen.collect::<Vec<_>>()).is_allow()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_tool_is_listed_exactly_if_there_is_a_call_that_passes(
        (a, b) in (some_role("a"), some_role("b")),
        denied in prop::option::weighted(0.2, prop::sample::select(&["run-foo", "*-bar"][..])),
        server in prop::sample::select(vec![None, Some("s"), Some("t")]),
        tool in prop::sample::select(TOOLS),
    ) {
        let policy = Policy::new(&PolicyConfig::new().with_global_deny(denied).with_role(a).with_role(b)).unwrap();
        let (mut any, candidates) = (false, candidates());
        for role in ["a", "b", "c"] {
            let expected = some_call_passes(&policy, role, server, tool, &candidates);
            prop_assert_eq!(policy.lists_tool(role, server, tool), expected, "{}", role);
            any |= expected;
        }
        prop_assert_eq!(policy.lists_any(["a", "b", "c"], server, Listed::Tool(tool)), any);
    }

    #[test]
    fn a_host_that_passes_is_always_found(
        allowed in prop::collection::vec("[a/A'#\"\\\\ ]{0,2}[a/A'#\"\\\\]", 1..3),
        host in "[a/A'#\"\\\\ ]{0,4}[*]?[a'#\"]{0,2}[*]?",
        values in prop::collection::vec("[a/A'#\"\\\\ \n]{0,9}", 32),
        printable in any::<bool>(),
    ) {
        prop_assume!(!host.trim().is_empty() && host != "*");
        let rule = ArgumentRule { allowed: vec![Allowed::new(&allowed)], required: true, reject_control_chars: printable };
        let hosts = GlobSet::from_iter([&*host.to_ascii_lowercase()]);
        let passes = |value: &String| {
            let value = &**value;
            rule.allowed.iter().all(|allowed| allowed.permits(value))
                && hosts.matches(&value.to_ascii_lowercase())
                && !(printable && has_control(value))
        };
        let passing = values.iter().find(|value| passes(value));
        prop_assert!(passing.is_none() || rule.has_host(&hosts), "{:?}", passing);
    }

    #[test]
    fn a_template_is_listed_if_an_expansion_may_be_read(
        glob in "[a/.]{0,3}[*]?[a/.]{0,2}",
        template in "[a/.]{0,3}([{]x[}])?[a/.]{0,2}([{]x[}])?[a/.]{0,2}",
        fill in prop::collection::vec("[a/.]{0,3}", 16),
    ) {
        let role = RoleConfig::new("r").with_resources([&*glob]);
        let Ok(policy) = Policy::new(&PolicyConfig::new().with_role(role)) else { return Ok(()) };
        let mut expansions = fill.iter().zip(fill.iter().rev()).map(|(one, other)| template.replacen("{x}", one, 1).replace("{x}", other));
        let reads = expansions.any(|uri| policy.lists_resource("r", None, &uri));
        prop_assert!(!reads || policy.lists_resource_template("r", None, &template));
    }
}
