use serde_json::json;

use super::*;

fn config(servers: &[&str], untrusted: &[&str], trusted: &[&str]) -> ContentTrustConfig {
    let all = [servers, untrusted, trusted].map(|list| list.iter().copied());
    let [servers, untrusted, trusted] = all;
    ContentTrustConfig::new(servers, untrusted, trusted).unwrap()
}

/// What every way in makes of a value.
fn read(value: &Value) -> Result<ContentTrustConfig, String> {
    let read = ContentTrustConfig::from_json_value(value).map_err(|error| error.to_string());
    let by_value: Result<ContentTrustConfig, _> = serde_json::from_value(value.clone());
    let by_text: Result<ContentTrustConfig, _> = serde_json::from_str(&value.to_string());
    for other in [by_value, by_text] {
        match (&read, other.map_err(|error| error.to_string())) {
            // Where text is read, the place in it follows.
            (Err(error), Err(other)) => assert!(other.starts_with(error.as_str()), "{value}: {other}"),
            (read, other) => assert_eq!(*read, other, "{value}"),
        }
    }
    read
}

#[test]
fn ct_01_to_ct_20_parsing() {
    const OBJECT: &str = "content_trust must be an object";
    const SERVERS: &str = "content_trust.trusted_mcp_servers must be an array";
    const TRUSTED: &str = "content_trust.trusted_tools must be an array";
    const ENTRIES: &str = "content_trust.untrusted_tools entries must be non-empty strings";
    const NO_TOOL: &str = "content_trust.trusted_tools entries must be non-empty strings";
    let full = json!({"trusted_mcp_servers": ["kg"], "untrusted_tools": ["a", "b"], "trusted_tools": ["c"]});
    let two_bad = json!({"trusted_tools": 1, "untrusted_tools": [1], "trusted_mcp_servers": "kg"});
    let both = json!({"trusted_tools": ["x"], "untrusted_tools": ["x"]});
    for (row, value, expected) in [
        ("CT-01", json!({}), Ok(ContentTrustConfig::default())),
        ("CT-02 array", json!([]), Err(OBJECT)),
        ("CT-02 array of a field", json!(["trusted_tools"]), Err(OBJECT)),
        ("CT-02 text", json!("x"), Err(OBJECT)),
        ("CT-02 null", json!(null), Err(OBJECT)),
        ("CT-02 number", json!(3), Err(OBJECT)),
        ("CT-02 negative", json!(-3), Err(OBJECT)),
        ("CT-02 fraction", json!(0.5), Err(OBJECT)),
        ("CT-02 boolean", json!(true), Err(OBJECT)),
        ("CT-03", json!({"servers": []}), Err("unsupported content_trust fields: servers")),
        ("CT-04", json!({"b": 2, "a": 1}), Err("unsupported content_trust fields: a, b")),
        ("CT-05", json!({"trusted_tools": "x", "servers": []}), Err("unsupported content_trust fields: servers")),
        ("CT-06", json!({"trusted_mcp_servers": "kg"}), Err(SERVERS)),
        ("CT-07", json!({"trusted_tools": null}), Err(TRUSTED)),
        ("CT-08 object", json!({"trusted_tools": {}}), Err(TRUSTED)),
        ("CT-08 number", json!({"trusted_tools": 5}), Err(TRUSTED)),
        ("CT-08 boolean", json!({"trusted_tools": false}), Err(TRUSTED)),
        ("CT-09", json!({"untrusted_tools": [1]}), Err(ENTRIES)),
        ("CT-10 null", json!({"untrusted_tools": [null]}), Err(ENTRIES)),
        ("CT-10 array", json!({"untrusted_tools": [[]]}), Err(ENTRIES)),
        ("CT-10 object", json!({"untrusted_tools": [{}]}), Err(ENTRIES)),
        ("CT-10 boolean", json!({"untrusted_tools": [true]}), Err(ENTRIES)),
        ("CT-11 empty", json!({"trusted_tools": [""]}), Err(NO_TOOL)),
        ("CT-11 blank", json!({"trusted_tools": ["   "]}), Err(NO_TOOL)),
        ("CT-12", json!({"trusted_mcp_servers": [" kg "]}), Ok(config(&["kg"], &[], &[]))),
        ("CT-13", json!({"untrusted_tools": ["ok", 1]}), Err(ENTRIES)),
        ("CT-14", two_bad, Err(SERVERS)),
        ("CT-15", json!({"Trusted_Tools": []}), Err("unsupported content_trust fields: Trusted_Tools")),
        ("CT-16", json!({"trusted_tools": ["x", "x"]}), Ok(config(&[], &[], &["x", "x"]))),
        ("CT-17", both, Ok(config(&[], &["x"], &["x"]))),
        ("CT-18", full, Ok(config(&["kg"], &["a", "b"], &["c"]))),
    ] {
        assert_eq!(read(&value), expected.map_err(str::to_owned), "{row}");
    }
}

#[test]
fn ct_11_ct_12_code_is_checked_like_a_file() {
    let blank = ContentTrustConfig::new([" "], [], []);
    assert_eq!(blank, Err(ContentTrustError::NotText("trusted_mcp_servers")));
    assert_eq!(ContentTrustConfig::new([], [" a "], []), ContentTrustConfig::new([], ["a"], []));
    let lists = config(&["s"], &["u"], &["t"]);
    assert_eq!(lists.trusted_mcp_servers(), ["s"]);
    assert_eq!(lists.untrusted_tools(), ["u"]);
    assert_eq!(lists.trusted_tools(), ["t"]);
}

#[test]
fn ct_16_repeated_entries_have_no_effect() {
    let (once, twice) = (config(&["kg"], &["u"], &["x"]), config(&["kg", "kg"], &["u", "u"], &["x", "x"]));
    for name in ["mcp__kg__q", "mcp__other__q", "u", "x"] {
        assert_eq!(once.classify_tool(name), twice.classify_tool(name), "{name}");
    }
}

#[test]
fn ct_19_a_configuration_survives_serde() {
    let written = config(&["kg"], &["a"], &["b", "c"]);
    let json = serde_json::to_value(&written).unwrap();
    assert_eq!(read(&json), Ok(written.clone()));
    let toml = "trusted_mcp_servers = ['kg']\nuntrusted_tools = ['a']\ntrusted_tools = ['b', 'c']";
    assert_eq!(toml::from_str(toml), Ok(written));
}

#[test]
fn ct_20_serde_takes_the_same_path() {
    let toml = |text: &str| toml::from_str::<ContentTrustConfig>(text).map_err(|error| error.to_string());
    assert_eq!(toml("trusted_mcp_servers = [' kg ']"), Ok(config(&["kg"], &[], &[])));
    for (text, complaint) in [
        ("servers = []", "unsupported content_trust fields: servers"),
        ("trusted_tools = 1979-05-27", "content_trust.trusted_tools must be an array"),
        ("trusted_tools = ['']", "content_trust.trusted_tools entries must be non-empty strings"),
        ("trusted_tools = []\ntrusted_tools = ['x']", "duplicate"),
    ] {
        let error = toml(text).unwrap_err();
        assert!(error.contains(complaint), "{text}: {error}");
    }
    let twice = r#"{"trusted_tools": [], "trusted_tools": ["x"]}"#;
    let error = serde_json::from_str::<ContentTrustConfig>(twice).unwrap_err().to_string();
    assert!(error.starts_with("duplicate content_trust field: trusted_tools"), "{error}");
}

type Lists<'a> = [&'a [&'a str]; 3];

const NOTHING: Lists<'_> = [&[], &[], &[]];
const KG: Lists<'_> = [&["kg"], &[], &[]];

/// The source, or nothing where the tool is trusted.
fn source([servers, untrusted, trusted]: Lists<'_>, name: &str, owner: Option<&ToolOwner>) -> String {
    let trust = config(servers, untrusted, trusted).classify_tool_with_provenance(name, owner);
    trust.source().unwrap_or_default().to_owned()
}

#[test]
fn ct_23_to_ct_44_by_name() {
    let web = |name: &str| format!("web tool '{name}'");
    let listed = |name: &str| format!("configured untrusted tool '{name}'");
    let server = |server: &str, name: &str| format!("MCP server '{server}' (tool '{name}')");
    let trusted = String::new;
    for (row, lists, name, expected) in [
        ("CT-23", NOTHING, "web_search", web("web_search")),
        ("CT-23", NOTHING, "web_fetch", web("web_fetch")),
        ("CT-23", NOTHING, "fetch", web("fetch")),
        ("CT-23", NOTHING, "http_request", web("http_request")),
        ("CT-24", [&[], &[], &["web_fetch"]], "web_fetch", web("web_fetch")),
        ("CT-25", [&[], &["fetch"], &[]], "fetch", web("fetch")),
        ("CT-26", NOTHING, "Web_Fetch", trusted()),
        ("CT-26", NOTHING, "web-fetch", trusted()),
        ("CT-26", NOTHING, "WebFetch", trusted()),
        ("CT-26", NOTHING, "webfetch", trusted()),
        ("CT-26", NOTHING, "fetch_url", trusted()),
        ("CT-26", NOTHING, "http_get", trusted()),
        ("CT-26", NOTHING, "web_fetch ", trusted()),
        ("CT-27", KG, "mcp__kg__web_fetch", trusted()),
        ("CT-28", [&[], &["scrape_page"], &[]], "scrape_page", listed("scrape_page")),
        ("CT-29", [&["kg"], &["mcp__kg__query"], &[]], "mcp__kg__query", listed("mcp__kg__query")),
        ("CT-30", [&[], &[], &["mcp__evil__probe"]], "mcp__evil__probe", trusted()),
        ("CT-31", [&[], &["x"], &["x"]], "x", listed("x")),
        ("CT-32", [&[], &[], &["probe"]], "mcp__evil__probe", server("evil", "mcp__evil__probe")),
        ("CT-33", KG, "mcp__kg__query", trusted()),
        ("CT-34", KG, "mcp__other__search", server("other", "mcp__other__search")),
        ("CT-35", NOTHING, "mcp__s__t", server("s", "mcp__s__t")),
        ("CT-36", KG, "mcp__kg2__x", server("kg2", "mcp__kg2__x")),
        ("CT-36", KG, "mcp__KG__x", server("KG", "mcp__KG__x")),
        ("CT-37", KG, "mcp__kg", trusted()),
        ("CT-38", KG, "mcp__", server("", "mcp__")),
        ("CT-38", KG, "mcp____x", server("", "mcp____x")),
        ("CT-39", [&["a"], &[], &[]], "mcp__a__b__c", trusted()),
        ("CT-40", [&["my"], &[], &[]], "mcp__my__srv__t", trusted()),
        ("CT-41", NOTHING, "mcp_kg_query", trusted()),
        ("CT-41", NOTHING, "MCP__kg__x", trusted()),
        ("CT-41", NOTHING, " mcp__kg__x", trusted()),
        ("CT-42", NOTHING, "shell", trusted()),
        ("CT-43", NOTHING, "", trusted()),
        ("CT-44", [&["*"], &[], &[]], "mcp__x__y", server("x", "mcp__x__y")),
        ("CT-44", [&[], &["web_*"], &[]], "web_x", trusted()),
    ] {
        assert_eq!(source(lists, name, None), expected, "{row} {name:?}");
        let [servers, untrusted, trusted] = lists;
        let by_name = config(servers, untrusted, trusted).classify_tool(name);
        assert_eq!(by_name.source().unwrap_or_default(), expected, "CT-52 {name:?}");
    }
}

#[test]
fn ct_45_to_ct_54_by_owner() {
    let server = |server: &str, name: &str| format!("MCP server '{server}' (tool '{name}')");
    for (row, lists, name, owner, expected) in [
        ("CT-45", NOTHING, "scrape_page", "scraper", server("scraper", "scrape_page")),
        ("CT-46", KG, "query", "kg", String::new()),
        ("CT-47", KG, "mcp__evil__query", "kg", String::new()),
        ("CT-48", KG, "mcp__kg__query", "evil", server("evil", "mcp__kg__query")),
        ("CT-49", KG, "web_search", "kg", "web tool 'web_search'".to_owned()),
        ("CT-50", [&[], &[], &["scrape_page"]], "scrape_page", "scraper", String::new()),
        ("CT-51", [&["kg"], &["query"], &[]], "query", "kg", "configured untrusted tool 'query'".to_owned()),
        ("CT-54", KG, "x", "", server("", "x")),
    ] {
        assert_eq!(source(lists, name, Some(&ToolOwner::mcp(owner))), expected, "{row}");
    }
}

#[test]
fn ct_53_other_owners_leave_it_to_the_name() {
    use ToolOwner::{Builtin, Callback, Comms, Memory, Mob, RustBundle, Schedule, Shell, WorkGraph};
    for owner in [Builtin, Callback, Comms, Memory, Mob, RustBundle, Schedule, Shell, WorkGraph] {
        for name in ["shell", "mcp__other__search", "mcp__kg__query", "fetch"] {
            assert_eq!(source(KG, name, Some(&owner)), source(KG, name, None), "CT-53 {owner:?} {name}");
        }
        assert_eq!(source(NOTHING, "shell", Some(&owner)), "");
    }
}
