//! Doubts and mistakes in what is declared of servers.

use crate::contract::{CLEAN, run};

/// A configuration without a doubt but for those of a server with these lines.
fn with(lines: &str) -> String {
    let reached = if lines.contains("transport") { "" } else { "transport = { stdio = { command = \"x\" } }\n" };
    format!("{CLEAN}[[mcp.servers]]\nid = \"b\"\ntimeout = \"1s\"\n{reached}{lines}\n")
}

#[test]
fn check_names_the_places_of_what_is_doubtful() {
    let fine = "tool_allowlist = [\"a\"]";
    assert_eq!(run(&with(fine), &["--check"]), (0, String::new(), String::new()));
    for (lines, places) in [
        ("allow_untrusted_without_allowlist = true", &["allow_untrusted_without_allowlist: all tools"][..]),
        ("", &["tool_allowlist: no tool"]),
        ("tool_allowlist = []", &["tool_allowlist: no tool"]),
        (
            "tool_allowlist = []\nallow_untrusted_without_allowlist = true",
            &["tool_allowlist: no tool", "allow_untrusted_without_allowlist: has no effect"],
        ),
        ("trust_level = \"trusted\"\ntool_allowlist = [\"a\"]", &["tool_allowlist: has no effect"]),
        ("tool_allowlist = [\"a\", \"shell\"]", &["tool_allowlist[1]: \"shell\" is refused all the same"]),
        ("tool_allowlist = [\"a\", \"executive_summary\"]", &["tool_allowlist[1]: \"executive_summary\" is refused"]),
        ("tool_allowlist = [\"a\"]\nexpected_tools = [\"b\"]", &["tool_allowlist[0]: \"a\" is refused all the same"]),
        ("tool_allowlist = [\"read file\"]", &["tool_allowlist[0]: no tool can have the name \"read file\""]),
        (
            "tool_allowlist = [\"remove_tag\"]\ntool_metadata = { remove_tag = { data_sensitivity = \"low\" } }",
            &["tool_metadata.remove_tag.data_sensitivity: the name of \"remove_tag\""],
        ),
        (
            "tool_allowlist = [\"a\"]\nroots = [{ uri = \"file:///srv\" }, { uri = \"https://x\" }]",
            &["roots[1].uri: \"https://x\" is no `file://` URI"],
        ),
        (
            "trust_level = \"sandboxed\"\ntool_allowlist = [\"a\"]\nroots = [{ uri = \"file:///srv\" }]\n\
             elicitation_enabled = true\nenv_isolation = false\nmedia_passthrough = true",
            &[
                "roots: has no effect",
                "elicitation_enabled: has no effect",
                "env_isolation: a server in a sandbox sees the environment",
                "media_passthrough: has no effect",
            ],
        ),
        (
            "transport = { http = { url = \"https://files.example/mcp\" } }\ntool_allowlist = [\"a\"]\n\
             env_isolation = true",
            &["env_isolation: has no effect"],
        ),
    ] {
        let (code, out, err) = run(&with(lines), &["--check"]);
        assert_eq!((code, &*err), (1, ""), "{lines}: {out}");
        let told: Vec<_> = out.lines().collect();
        assert_eq!(told.len(), places.len(), "{lines}: {out}");
        for (line, place) in told.iter().zip(places) {
            assert!(line.starts_with("doubt: line "), "{line}");
            assert!(line.contains(&format!(", mcp.servers[1].{place}")), "{place} is not in {out}");
        }
    }
    // SE-27: it is neither less nor more than that.
    let medium =
        "tool_allowlist = [\"remove_tag\"]\ntool_metadata = { remove_tag = { data_sensitivity = \"medium\" } }";
    assert_eq!(run(&with(medium), &["--check"]).0, 0);
}

fn assert_wrong(config: &str, told: &str) {
    for arguments in [&["--check"][..], &[]] {
        let (code, out, err) = run(config, arguments);
        let said = if arguments.is_empty() { &err } else { &out };
        assert_eq!(code, 2, "{told}: {out}{err}");
        assert!(said.contains(told), "{told} is not in {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn what_is_wrong_with_an_entry_is_told_with_its_place() {
    for (lines, told) in [
        ("trust_level = \"Trusted\"", "mcp.servers[1].trust_level"),
        ("trust_level = \"\"", "mcp.servers[1].trust_level"),
        ("tool_allowlist = \"a\"", "mcp.servers[1].tool_allowlist"),
        ("tool_allowlist = [\"a\", \" \"]", "mcp.servers[1].tool_allowlist[1]"),
        ("tool_alowlist = [\"a\"]", "mcp.servers[1].tool_alowlist"),
        ("allow_untrusted_without_allowlist = \"true\"", "mcp.servers[1].allow_untrusted_without_allowlist"),
        ("expected_tools = [1]", "mcp.servers[1].expected_tools"),
        ("tool_metadata = { a = { data_sensitivity = \"huge\" } }", "mcp.servers[1].tool_metadata.a.data_sensitivity"),
        ("roots = [{ name = \"x\" }]", "mcp.servers[1].roots[0]"),
        ("elicitation_timeout_secs = 0", "mcp.servers[1].elicitation_timeout_secs"),
        ("transport = { stdio = { command = \" \" } }", "mcp.servers[1].transport.stdio.command"),
        (
            "transport = { stdio = { command = \"x\", env = { \"A=B\" = \"s3cret\" } } }",
            "mcp.servers[1].transport.stdio.env",
        ),
        ("transport = { http = { url = \"https://u:s3cret@x.example/\" } }", "mcp.servers[1].transport.http.url"),
        (
            "transport = { http = { url = \"https://x.example/\", headers = { connection = \"s3cret\" } } }",
            "mcp.servers[1].transport.http.headers.connection",
        ),
        (
            "transport = { http = { url = \"https://x.example/\", headers = { a = \"s3cret\\n\" } } }",
            "mcp.servers[1].transport.http.headers.a",
        ),
    ] {
        assert_wrong(&with(lines), told);
    }
}

fn named_like(id: &str) -> String {
    with("tool_allowlist = [\"a\"]").replace("id = \"b\"", &format!("id = \"{id}\""))
}

#[test]
fn ids_that_are_none_or_there_twice_are_errors() {
    for id in ["files", "", " ", "my__files", "_files", "files_", "my.files", "my files", "f\u{ef}les", "a/b"] {
        assert_wrong(&named_like(id), "mcp.servers[1].id");
    }
}

#[test]
fn ids_that_differ_by_their_case_alone_are_errors() {
    for id in ["Files", "FILES"] {
        assert_wrong(&named_like(id), "mcp.servers[1].id");
    }
}
