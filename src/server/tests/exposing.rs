use proptest::prelude::*;

use super::*;
use McpTrustLevel::{Future, Sandboxed, Trusted, Untrusted};

/// Row, level, expected tools, allowlist, `allow_untrusted_without_allowlist`; which of `a` and `b` are exposed, and
/// those among them with a note.
type Row = (
    &'static str,
    McpTrustLevel,
    &'static [&'static str],
    Option<&'static [&'static str]>,
    bool,
    &'static str,
    &'static str,
);

const ROWS: &[Row] = &[
    ("SE-01", Trusted, &[], None, false, "ab", ""),
    ("SE-01 flag", Trusted, &[], None, true, "ab", ""),
    ("SE-02 the list is ignored", Trusted, &[], Some(&[]), false, "ab", ""),
    ("SE-03 the list is ignored", Trusted, &[], Some(&["a"]), false, "ab", ""),
    ("SE-04", Untrusted, &[], None, false, "", ""),
    ("SE-05", Untrusted, &[], None, true, "ab", "ab"),
    ("SE-06", Untrusted, &[], Some(&[]), false, "", ""),
    ("SE-07 the flag is about no list", Untrusted, &[], Some(&[]), true, "", ""),
    ("SE-08", Untrusted, &[], Some(&["a"]), false, "a", ""),
    ("SE-08 flag", Untrusted, &[], Some(&["a"]), true, "a", ""),
    ("SE-09", Untrusted, &[], Some(&["zzz"]), false, "", ""),
    ("SE-10", Sandboxed, &[], None, true, "", ""),
    ("SE-10 no flag", Sandboxed, &[], None, false, "", ""),
    ("SE-11", Sandboxed, &[], Some(&[]), false, "", ""),
    ("SE-11 flag", Sandboxed, &[], Some(&[]), true, "", ""),
    ("SE-12", Sandboxed, &[], Some(&["b"]), false, "b", ""),
    ("SE-13 no list", Future, &[], None, true, "", ""),
    ("SE-13 a list", Future, &[], Some(&["a", "b"]), true, "", ""),
    ("SE-13 expected", Future, &["a", "b"], Some(&["a", "b"]), true, "", ""),
    ("SE-14 expected is not allowed", Untrusted, &["a"], None, false, "", ""),
    ("SE-15", Untrusted, &["a"], None, true, "a", "a"),
    ("SE-16", Untrusted, &["a"], Some(&["a", "b"]), false, "a", ""),
    ("SE-17", Sandboxed, &["a"], Some(&["b"]), false, "", ""),
    ("SE-18", Trusted, &["a"], None, false, "ab", "b"),
    ("SE-19 fewer is no fault", Untrusted, &["a", "b", "c"], Some(&["a", "b", "c"]), false, "ab", ""),
    ("SE-20 expected nothing", Untrusted, &[], Some(&["a", "b"]), false, "ab", ""),
    // What a server that nobody vouched for exposed in the past: all without a list, all with an empty one.
    ("SE-48 no list was all", Untrusted, &[], None, false, "", ""),
    ("SE-48 an empty list was all", Untrusted, &[], Some(&[]), false, "", ""),
];

fn entry_of(row: &Row) -> ServerEntry {
    let (_, level, expected, allowlist, flag, ..) = *row;
    let mut entry = entry(level).with_expected_tools(expected.iter().copied());
    entry.tool_allowlist = allowlist.map(|list| list.iter().map(|tool| (*tool).to_owned()).collect());
    entry.with_allow_untrusted_without_allowlist(flag)
}

fn exposing(entry: &ServerEntry) -> Exposure {
    Exposure::new(entry).unwrap()
}

#[test]
fn tools_are_exposed_as_pinned() {
    for row in ROWS {
        let exposure = exposing(&entry_of(row));
        let those = |is: &dyn Fn(ToolVerdict) -> bool| {
            ["a", "b"].into_iter().filter(|tool| is(exposure.verdict(tool))).collect::<String>()
        };
        assert_eq!(those(&ToolVerdict::is_exposed), row.5, "{}", row.0);
        assert_eq!(those(&|verdict| verdict.notes().next().is_some()), row.6, "{}", row.0);
    }
}

#[test]
fn every_refusal_has_its_reason() {
    for (row, level, expected, allowlist, tool, refusal) in [
        ("SE-04", Untrusted, vec![], None, "a", ToolRefusal::NoAllowlist),
        ("SE-06", Untrusted, vec![], Some(vec![]), "a", ToolRefusal::NotListed),
        ("SE-09", Untrusted, vec![], Some(vec!["zzz"]), "a", ToolRefusal::NotListed),
        ("SE-10", Sandboxed, vec![], None, "a", ToolRefusal::NoAllowlist),
        ("SE-13", Future, vec![], Some(vec!["a"]), "a", ToolRefusal::UnknownLevel),
        ("SE-14", Untrusted, vec!["a"], None, "a", ToolRefusal::NoAllowlist),
        ("SE-16", Untrusted, vec!["a"], Some(vec!["b"]), "b", ToolRefusal::Unexpected),
        ("SE-17", Sandboxed, vec!["a"], Some(vec!["b"]), "a", ToolRefusal::NotListed),
        ("SE-22", Trusted, vec![], None, "a b", ToolRefusal::Name),
        ("SE-23 before all lists", Sandboxed, vec!["a"], None, "bash", ToolRefusal::Sensitive),
    ] {
        let mut entry = entry(level).with_expected_tools(expected);
        entry.tool_allowlist = allowlist.map(|list| list.into_iter().map(str::to_owned).collect());
        assert_eq!(exposing(&entry).verdict(tool), ToolVerdict::Refused(refusal), "{row}");
    }
}

#[test]
fn se_05_and_se_18_leave_notes() {
    let all = exposing(&entry(Untrusted).with_allow_untrusted_without_allowlist(true));
    assert_eq!(Vec::from_iter(all.verdict("a").notes()), [ToolNote::Unlisted]);
    assert_eq!(all.lints()[0].kind(), &ServerLintKind::ExposesAll);
    let trusted = exposing(&entry(Trusted).with_expected_tools(["a"]));
    assert_eq!(Vec::from_iter(trusted.verdict("b").notes()), [ToolNote::Unexpected]);
    assert_eq!(trusted.attest(["a", "b"]), Attestation::Unexpected(vec!["b"]));
}

#[test]
fn se_19_and_se_20_attest() {
    let exposure = exposing(&entry(Untrusted).with_expected_tools(["a", "b"]));
    assert_eq!(exposure.attest(["a"]), Attestation::Verified);
    assert_eq!(exposure.attest([]), Attestation::Verified);
    assert_eq!(exposing(&entry(Untrusted)).attest(["a"]), Attestation::Unconfigured);
}

#[test]
fn se_22_names_are_compared_raw() {
    let longest = "x".repeat(128);
    let too_long = "x".repeat(129);
    let exposure = exposing(&entry(Untrusted).with_tool_allowlist(["Get.Page-1_x", &longest, &too_long, "a b", "é"]));
    for (name, refusal) in [
        ("Get.Page-1_x", None),
        ("get.page-1_x", Some(ToolRefusal::NotListed)),
        ("Get.Page-1_x ", Some(ToolRefusal::Name)),
        ("Get.Page-1_x\0", Some(ToolRefusal::Name)),
        ("Get.Pаge-1_x", Some(ToolRefusal::Name)),
        ("", Some(ToolRefusal::Name)),
        ("a b", Some(ToolRefusal::Name)),
        ("a:b", Some(ToolRefusal::Name)),
        ("a/b", Some(ToolRefusal::Name)),
        ("é", Some(ToolRefusal::Name)),
        (&longest, None),
        (&too_long, Some(ToolRefusal::Name)),
    ] {
        assert_eq!(exposure.verdict(name).refusal(), refusal, "{name:?}");
    }
}

#[test]
fn sensitive_tools_need_trust() {
    let note = vec![ToolNote::Sensitive];
    for (row, level, tool, kept) in [
        ("SE-23", Untrusted, "bash", None),
        ("SE-23", Sandboxed, "bash", None),
        ("SE-23 by a part of the name", Untrusted, "executive_summary", None),
        ("SE-24", Trusted, "bash", Some(vec![])),
        ("SE-24", Sandboxed, "fetch", Some(note)),
        ("SE-24", Untrusted, "fetch", Some(vec![])),
        ("SE-24", Sandboxed, "list", Some(vec![])),
        ("SE-24", Trusted, "fetch", Some(vec![])),
    ] {
        let exposure = exposing(&entry(level).with_tool_allowlist(["bash", "executive_summary", "fetch", "list"]));
        let verdict = exposure.verdict(tool);
        assert_eq!(verdict.is_exposed().then(|| Vec::from_iter(verdict.notes())), kept, "{row} {tool}");
    }
}

#[test]
fn names_tell_as_pinned() {
    use CapabilityClass::{DatabaseRead, FilesystemRead, FilesystemWrite, MemoryWrite, Network, Shell};
    use DataSensitivity::{High, Low, Medium};
    let cases: &[(&str, &str, DataSensitivity, &[CapabilityClass])] = &[
        ("SE-26", "run_shell", High, &[Shell]),
        ("SE-26", "BASH", High, &[Shell]),
        ("SE-26", "execute", High, &[Shell]),
        ("SE-26", "write_file", Medium, &[FilesystemWrite]),
        ("SE-26", "delete_row", Medium, &[FilesystemWrite]),
        ("SE-26", "create_folder", Medium, &[FilesystemWrite]),
        ("SE-26", "mkdir_create", Medium, &[FilesystemWrite]),
        ("SE-26", "create_issue", Low, &[]),
        ("SE-26", "Fetch_Page", Medium, &[Network]),
        ("SE-26", "http_get", Medium, &[Network]),
        ("SE-26", "request", Medium, &[Network]),
        ("SE-26", "scrape", Medium, &[Network]),
        ("SE-26", "curl", Medium, &[Network]),
        ("SE-26", "memory_save", Medium, &[MemoryWrite]),
        ("SE-26", "memory_write", Medium, &[FilesystemWrite, MemoryWrite]),
        ("SE-26", "memory_recall", Low, &[]),
        ("SE-26", "run_sql", Medium, &[DatabaseRead]),
        ("SE-26", "database_list", Medium, &[DatabaseRead]),
        ("SE-26", "read_file", Low, &[FilesystemRead]),
        ("SE-26 the worst counts", "write_bash", High, &[FilesystemWrite, Shell]),
        ("SE-27", "executive_summary", High, &[Shell]),
        ("SE-27", "remove_tag", Medium, &[FilesystemWrite]),
        ("SE-27", "get_copyright", Medium, &[FilesystemWrite]),
        ("SE-28", "weather", Low, &[]),
        ("SE-28", "", Low, &[]),
    ];
    for (row, name, sensitivity, capabilities) in cases {
        let guess = ToolSecurityMeta::infer(name);
        assert_eq!(
            (guess.data_sensitivity, guess.capabilities.as_slice()),
            (*sensitivity, *capabilities),
            "{row} {name}"
        );
    }
}

#[test]
fn se_25_what_the_operator_says_replaces_what_is_guessed() {
    let said = ToolSecurityMeta::new(DataSensitivity::Low);
    let entry = entry(Untrusted)
        .with_tool_allowlist(["executive_summary", "weather"])
        .with_tool_metadata("executive_summary", said.clone())
        .with_tool_metadata("weather", ToolSecurityMeta::new(DataSensitivity::High));
    let exposure = exposing(&entry);
    assert_eq!(*exposure.meta("executive_summary"), said);
    assert!(exposure.verdict("executive_summary").is_exposed());
    assert_eq!(exposure.verdict("weather").refusal(), Some(ToolRefusal::Sensitive));
    assert_eq!(exposure.meta("Executive_Summary").data_sensitivity, DataSensitivity::High);
}

#[test]
fn demotion_only_takes_away() {
    for row in ROWS {
        let exposure = exposing(&entry_of(row));
        for level in [Trusted, Untrusted, Sandboxed, Future] {
            let demoted = exposure.demoted(level);
            let lower = exposing(&entry_of(&(row.0, row.1.lower(level), row.2, row.3, row.4, "", "")));
            for tool in ["a", "b", "bash", "fetch"] {
                assert_eq!(demoted.verdict(tool), lower.verdict(tool), "{} {level}", row.0);
                assert!(exposure.verdict(tool).is_exposed() || !demoted.verdict(tool).is_exposed(), "{}", row.0);
            }
        }
    }
}

#[test]
fn se_43_names_that_become_one_are_refused_together() {
    let found = collisions([("a", "x"), ("a.b", "c"), ("b", "x"), ("a", "b_c"), ("a", "x")]);
    let found = Vec::from_iter(found.iter().map(|one| (one.id.as_str(), one.tools.as_slice())));
    assert_eq!(found, [("a_b_c", &[("a.b", "c"), ("a", "b_c")][..]), ("a_x", &[("a", "x"), ("a", "x")])]);
    // What is cut off cannot tell two names apart.
    let (one, other) = ("x".repeat(128) + "1", "x".repeat(128) + "2");
    assert_eq!(collisions([("s", one.as_str()), ("s", other.as_str())]).len(), 1);
}

#[test]
fn doubts_have_their_place() {
    let meta = ToolSecurityMeta::new(DataSensitivity::None);
    let remote = McpTransport::http("http://h/").unwrap();
    let with_transport = |entry: ServerEntry| ServerEntry { transport: remote.clone(), ..entry };
    let cases: Vec<(ServerEntry, &[&str])> = vec![
        (entry(Trusted), &[]),
        (entry(Untrusted).with_tool_allowlist(["a"]), &[]),
        (entry(Untrusted), &["tool_allowlist"]),
        (entry(Sandboxed).with_tool_allowlist([""; 0]), &["tool_allowlist"]),
        (entry(Trusted).with_tool_allowlist(["bash"]), &["tool_allowlist"]),
        (entry(Untrusted).with_allow_untrusted_without_allowlist(true), &["allow_untrusted_without_allowlist"]),
        (
            entry(Sandboxed).with_tool_allowlist(["a"]).with_allow_untrusted_without_allowlist(true),
            &["allow_untrusted_without_allowlist"],
        ),
        (entry(Untrusted).with_tool_allowlist(["a", "bash"]), &["tool_allowlist[1]"]),
        (entry(Untrusted).with_tool_allowlist(["a", "b"]).with_expected_tools(["a"]), &["tool_allowlist[1]"]),
        (entry(Untrusted).with_tool_allowlist(["a b"]), &["tool_allowlist[0]"]),
        (entry(Trusted).with_expected_tools(["a:b"]), &["expected_tools[0]"]),
        (entry(Trusted).with_tool_metadata("bash", meta), &["tool_metadata.bash.data_sensitivity"]),
        (entry(Trusted).with_roots([Root::new("http://h/")]), &["roots[0].uri"]),
        (
            entry(Sandboxed)
                .with_tool_allowlist(["a"])
                .with_roots([Root::new("file:///srv")])
                .with_elicitation_enabled(true)
                .with_env_isolation(false)
                .with_media_passthrough(true),
            &["roots", "elicitation_enabled", "env_isolation", "media_passthrough"],
        ),
        (with_transport(entry(Trusted).with_env_isolation(true)), &["env_isolation"]),
    ];
    for (entry, places) in cases {
        let exposure = exposing(&entry);
        let found = Vec::from_iter(exposure.lints().iter().map(ServerLint::place));
        assert_eq!(found, places, "{entry:?}");
    }
}

proptest! {
    #[test]
    fn nobody_who_is_not_trusted_exposes_what_is_not_listed(
        sandboxed: bool,
        flag: bool,
        list in proptest::option::of(proptest::collection::vec("[ab.]{1,2}", 0..4)),
        expected in proptest::collection::vec("[ab.]{1,2}", 0..4),
        tool in "[ab. ]{0,3}",
    ) {
        let mut entry = entry(if sandboxed { Sandboxed } else { Untrusted }).with_expected_tools(expected.clone());
        entry.tool_allowlist.clone_from(&list);
        let entry = entry.with_allow_untrusted_without_allowlist(flag);
        let is_listed = list.map_or(flag && !sandboxed, |list| list.contains(&tool));
        let is_expected = expected.is_empty() || expected.contains(&tool);
        let is_name = !tool.is_empty() && !tool.contains(' ');
        prop_assert_eq!(exposing(&entry).verdict(&tool).is_exposed(), is_listed && is_expected && is_name);
    }
}
