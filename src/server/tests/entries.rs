use super::*;

const ALL: &str = r#"
id = "one"
transport = { stdio = { command = "server", args = ["-v"], env = { "TOKEN" = "t0ken" } } }
timeout = "2m"
trust_level = "sandboxed"
tool_allowlist = []
allow_untrusted_without_allowlist = true
expected_tools = ["x"]
roots = [{ uri = "file:///srv", name = "srv" }]
tool_metadata = { "x.y" = { data_sensitivity = "high", capabilities = ["network"], flagged_parameters = [{ path = "/p", pattern_name = "n" }] } }
elicitation_enabled = true
elicitation_timeout_secs = 5
env_isolation = false
media_passthrough = true
"#;

#[test]
fn every_field_is_read() {
    let meta = ToolSecurityMeta::new(DataSensitivity::High)
        .with_capabilities([CapabilityClass::Network])
        .with_flagged_parameters([FlaggedParameter::new("/p", "n")]);
    let transport = McpTransport::stdio("server").with_args(["-v"]).with_env("TOKEN", "t0ken");
    let built = ServerEntry::new("one", transport, Duration::from_secs(120))
        .with_trust_level(McpTrustLevel::Sandboxed)
        .with_tool_allowlist([""; 0])
        .with_allow_untrusted_without_allowlist(true)
        .with_expected_tools(["x"])
        .with_roots([Root::new("file:///srv").with_name("srv")])
        .with_tool_metadata("x.y", meta)
        .with_elicitation_enabled(true)
        .with_elicitation_timeout_secs(5)
        .with_env_isolation(false)
        .with_media_passthrough(true);
    assert_eq!(toml::from_str::<ServerEntry>(ALL).unwrap(), built);
}

#[test]
fn se_36_what_is_not_written_has_its_default() {
    let text = r#"{"id": "s", "transport": {"stdio": {"command": "server"}}, "timeout": "30s"}"#;
    let read: ServerEntry = serde_json::from_str(text).unwrap();
    assert_eq!(read, entry(McpTrustLevel::Untrusted));
    assert_eq!((read.tool_allowlist, read.elicitation_enabled, read.media_passthrough), (None, false, false));
    assert_eq!((read.elicitation_timeout_secs, read.env_isolation), (120, None));
}

#[test]
fn what_holds_no_secret_reads_in_again() {
    let text = ALL.replace(r#", env = { "TOKEN" = "t0ken" }"#, "");
    let entry: ServerEntry = toml::from_str(&text).unwrap();
    assert_eq!(serde_json::from_str::<ServerEntry>(&serde_json::to_string(&entry).unwrap()).unwrap(), entry);
}

/// A field of an entry in JSON, its name included, and the error.
const REFUSED: &[(&str, &str, &str)] = &[
    ("SE-37 unknown", r#""trust": "trusted""#, "trust: unknown field"),
    (
        "SE-37 in a transport",
        r#""transport": {"stdio": {"command": "c", "cwd": "/"}}"#,
        "transport.stdio.cwd: unknown field",
    ),
    ("SE-37 transport", r#""transport": {"sse": {}}"#, "transport.sse: unknown field"),
    ("SE-37 in a root", r#""roots": [{"uri": "file:///", "x": 1}]"#, "roots[0].x: unknown field"),
    ("SE-37 in metadata", r#""tool_metadata": {"t": {"x": 1}}"#, "tool_metadata.t.x: unknown field"),
    (
        "SE-36 level",
        r#""trust_level": "Trusted""#,
        r#"trust_level: "Trusted" is none of trusted, untrusted, sandboxed"#,
    ),
    ("SE-36 level", r#""trust_level": {"trusted": null}"#, "trust_level: must be a text"),
    ("null is not absent", r#""tool_allowlist": null"#, "tool_allowlist: must be a list"),
    ("array for a transport", r#""transport": ["stdio"]"#, "transport: must be a table"),
    ("array for a process", r#""transport": {"stdio": ["c", [], {}]}"#, "transport.stdio: must be a table"),
    ("array for a root", r#""roots": [["file:///", null]]"#, "roots[0]: must be a table"),
    ("array for metadata", r#""tool_metadata": {"t": ["high"]}"#, "tool_metadata.t: must be a table"),
    ("array for all metadata", r#""tool_metadata": []"#, "tool_metadata: must be a table"),
    ("table for a list", r#""tool_allowlist": {"a": 1}"#, "tool_allowlist: must be a list"),
    ("text for a list", r#""tool_allowlist": "a""#, "tool_allowlist: must be a list"),
    ("number in a list", r#""expected_tools": ["a", 1]"#, "expected_tools[1]: must be a text"),
    (
        "two transports",
        r#""transport": {"stdio": {"command": "c"}, "http": {"url": "http://h"}}"#,
        "transport: must be either",
    ),
    ("no transport", r#""transport": {}"#, "transport: must be either"),
    ("no command", r#""transport": {"stdio": {}}"#, "transport.stdio.command: is missing"),
    ("blank command", r#""transport": {"stdio": {"command": " "}}"#, "transport.stdio.command: must not be blank"),
    ("nul in a command", r#""transport": {"stdio": {"command": "c\u0000"}}"#, "transport.stdio.command: holds"),
    (
        "nul in an argument",
        r#""transport": {"stdio": {"command": "c", "args": ["a", "\u0000"]}}"#,
        "transport.stdio.args[1]: holds",
    ),
    (
        "environment",
        r#""transport": {"stdio": {"command": "c", "env": {"A=B": "x"}}}"#,
        "transport.stdio.env.A=B: no name",
    ),
    (
        "variable twice",
        r#""transport": {"stdio": {"command": "c", "env": {"A": "x", "A": "y"}}}"#,
        "transport.stdio.env.A: is there twice",
    ),
    (
        "header",
        r#""transport": {"http": {"url": "http://h", "headers": {"a b": "x"}}}"#,
        "transport.http.headers.a b: no name",
    ),
    (
        "header twice",
        r#""transport": {"http": {"url": "http://h", "headers": {"A": "x", "a": "y"}}}"#,
        "transport.http.headers.a: is there twice",
    ),
    ("address", r#""transport": {"http": {"url": "h"}}"#, "transport.http.url: an address begins"),
    ("metadata twice", r#""tool_metadata": {"t": {}, "t": {}}"#, "tool_metadata.t: is there twice"),
    (
        "sensitivity",
        r#""tool_metadata": {"t": {"data_sensitivity": "HIGH"}}"#,
        r#"tool_metadata.t.data_sensitivity: "HIGH" is none of"#,
    ),
    (
        "capability",
        r#""tool_metadata": {"t": {"capabilities": ["net"]}}"#,
        r#"tool_metadata.t.capabilities[0]: "net" is none of"#,
    ),
    ("flag", r#""elicitation_enabled": "yes""#, "elicitation_enabled: must be true or false"),
    ("no time", r#""timeout": "0s""#, "timeout: must be more than zero"),
    ("no seconds", r#""timeout": 0"#, "timeout: must be more than zero"),
    ("negative", r#""timeout": -1"#, "timeout: \"-1\" is no duration"),
    ("fraction", r#""timeout": 1.5"#, "timeout: \"1.5\" is no duration"),
    ("no unit", r#""timeout": "30""#, "timeout: \"30\" is no duration"),
    ("another unit", r#""timeout": "30 s""#, "timeout: \"30 s\" is no duration"),
    ("too long", r#""timeout": "99999999999999999999d""#, "timeout:"),
    ("flag for a time", r#""timeout": true"#, "timeout: must be a duration"),
    ("no elicitation time", r#""elicitation_timeout_secs": 0"#, "elicitation_timeout_secs: must be more than zero"),
    ("elicitation text", r#""elicitation_timeout_secs": "5""#, "elicitation_timeout_secs: must be a whole number"),
    ("blank tool", r#""tool_allowlist": ["a", " "]"#, "tool_allowlist[1]: must not be blank"),
    ("blank expected", r#""expected_tools": [""]"#, "expected_tools[0]: must not be blank"),
    ("blank root", r#""roots": [{"uri": ""}]"#, "roots[0].uri: must not be blank"),
    ("no uri", r#""roots": [{"name": "x"}]"#, "roots[0].uri: is missing"),
    ("empty id", r#""id": """#, "id: a server id is not empty"),
    ("id", r#""id": "a.b""#, "id: a server id holds nothing but"),
    ("id", r#""id": "a__b""#, "id: a server id does not hold `__`"),
    ("id", r#""id": "_a""#, "id: a server id neither begins"),
    ("id", r#""id": "a_""#, "id: a server id neither begins"),
];

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let fields = [("id", r#""s""#), ("transport", r#"{"stdio": {"command": "c"}}"#), ("timeout", r#""30s""#)];
    for (case, written, error) in REFUSED {
        let others = fields.iter().filter(|(name, _)| !written.starts_with(&format!("\"{name}\":")));
        let others = others.map(|(name, value)| format!("\"{name}\": {value}"));
        let text = format!("{{{}}}", Vec::from_iter(others.chain([(*written).to_owned()])).join(", "));
        let found = serde_json::from_str::<ServerEntry>(&text).unwrap_err().to_string();
        assert!(found.starts_with(error), "{case}: {found}");
    }
}

#[test]
fn what_has_to_be_written_is_missed() {
    for field in ["id", "transport", "timeout"] {
        let mut entry = serde_json::to_value(entry(McpTrustLevel::Trusted)).unwrap();
        entry.as_object_mut().unwrap().remove(field);
        let error = serde_json::from_value::<ServerEntry>(entry).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}: is missing")), "{error}");
    }
}

#[test]
fn tables_are_tables() {
    for text in ["[]", "null", "1", r#""s""#, r#"["s", {"stdio": {"command": "c"}}, "30s"]"#] {
        let error = serde_json::from_str::<ServerEntry>(text).unwrap_err().to_string();
        assert!(error.starts_with("must be a table"), "{error}");
    }
    assert!(serde_json::from_str::<Root>(r#"["file:///", null]"#).is_err());
    assert!(serde_json::from_str::<ToolSecurityMeta>(r#"["high", [], []]"#).is_err());
    assert!(serde_json::from_str::<FlaggedParameter>(r#"["/p", "n"]"#).is_err());
    let twice = r#"{"id": "s", "id": "t"}"#;
    assert!(serde_json::from_str::<ServerEntry>(twice).unwrap_err().to_string().starts_with("id: is there twice"));
}

#[test]
fn times_are_read_as_people_write_them() {
    for (written, milliseconds, shown) in [
        (r#""500ms""#, 500, r#""500ms""#),
        (r#""30s""#, 30_000, r#""30s""#),
        (r#""2m""#, 120_000, r#""120s""#),
        (r#""12h""#, 43_200_000, r#""43200s""#),
        (r#""7d""#, 604_800_000, r#""604800s""#),
        ("45", 45_000, r#""45s""#),
    ] {
        let text = format!(r#"{{"id": "s", "transport": {{"stdio": {{"command": "c"}}}}, "timeout": {written}}}"#);
        let entry: ServerEntry = serde_json::from_str(&text).unwrap();
        assert_eq!(entry.timeout, Duration::from_millis(milliseconds), "{written}");
        assert_eq!(serde_json::to_value(&entry).unwrap()["timeout"].to_string(), shown);
    }
}

#[test]
fn what_code_makes_is_checked_too() {
    let good = entry(McpTrustLevel::Trusted);
    for (entry, place) in [
        (ServerEntry { id: String::new(), ..good.clone() }, "id"),
        (ServerEntry { id: "x".repeat(65), ..good.clone() }, "id"),
        (ServerEntry { timeout: Duration::ZERO, ..good.clone() }, "timeout"),
        (ServerEntry { transport: McpTransport::stdio(""), ..good.clone() }, "transport.stdio.command"),
        (good.clone().with_elicitation_timeout_secs(0), "elicitation_timeout_secs"),
        (good.clone().with_tool_metadata("", ToolSecurityMeta::default()), "tool_metadata."),
        (good.clone().with_roots([Root::new(" ")]), "roots[0].uri"),
    ] {
        assert_eq!(entry.check().unwrap_err().place(), place);
        assert!(Exposure::new(&entry).is_err(), "{place}");
    }
    assert_eq!(good.check(), Ok(()));
}

#[test]
fn levels_are_written_in_lower_case() {
    for level in [McpTrustLevel::Trusted, McpTrustLevel::Untrusted, McpTrustLevel::Sandboxed] {
        let text = serde_json::to_string(&level).unwrap();
        assert_eq!(text, format!("\"{level}\""));
        assert_eq!(serde_json::from_str::<McpTrustLevel>(&text).unwrap(), level);
    }
    for text in [r#""TRUSTED""#, r#""""#, r#""future""#, r#"{"trusted": null}"#, "0", "null"] {
        assert!(serde_json::from_str::<McpTrustLevel>(text).is_err(), "{text}");
    }
}
