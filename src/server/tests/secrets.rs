use super::*;

const TEXT: &str = r#"
[[servers]]
id = "local"
transport = { stdio = { command = "server", env = { TOKEN = "s3cret-env" } } }
timeout = "30s"
[[servers]]
id = "remote"
transport = { http = { url = "https://u:s3cret-pass@h:81/mcp?key=s3cret-query", headers = { Authorization = "Bearer s3cret-header" } } }
timeout = 5
"#;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Section {
    servers: Vec<ServerEntry>,
}

#[test]
fn secrets_are_shown_to_nobody_but_their_users() {
    let section: Section = toml::from_str(TEXT).unwrap();
    for shown in [format!("{section:?}"), format!("{section:#?}"), serde_json::to_string(&section).unwrap()] {
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("https://<redacted>@h:81/mcp?<redacted>"), "{shown}");
    }
    match &section.servers[0].transport {
        McpTransport::Stdio { env, .. } => assert_eq!(env["TOKEN"].expose(), "s3cret-env"),
        other => panic!("{other:?}"),
    }
    match &section.servers[1].transport {
        McpTransport::Http { url, headers } => {
            assert_eq!(url.expose(), "https://u:s3cret-pass@h:81/mcp?key=s3cret-query");
            assert_eq!(headers["Authorization"].expose(), "Bearer s3cret-header");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_redacted_does_not_read_in_again() {
    let section: Section = toml::from_str(TEXT).unwrap();
    for (entry, place) in section.servers.iter().zip(["transport.stdio.env.TOKEN", "transport.http.url"]) {
        let shown = serde_json::to_string(entry).unwrap();
        let error = serde_json::from_str::<ServerEntry>(&shown).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{place}: is redacted")), "{error}");
    }
}

#[test]
fn errors_hold_no_secrets() {
    for transport in [
        r#"{"stdio": {"command": "c", "env": {"A=B": "s3cret"}}}"#,
        r#"{"stdio": {"command": "c", "env": {"A": "s3cret\u0000"}}}"#,
        r#"{"http": {"url": "ftp://u:s3cret@h"}}"#,
        r#"{"http": {"url": "http://u:s3cret@"}}"#,
        r#"{"http": {"url": "http://u:s3cret@h:99999"}}"#,
        r#"{"http": {"url": "http://u:s3 cret@h"}}"#,
        r#"{"http": {"url": "http://h", "headers": {"A": "s3cret\n"}}}"#,
        r#"{"http": {"url": "http://h", "headers": {"A:": "s3cret"}}}"#,
    ] {
        let error = serde_json::from_str::<McpTransport>(transport).unwrap_err().to_string();
        assert!(!error.contains("cret"), "{error}");
    }
}

#[test]
fn addresses_are_shown_without_what_may_be_secret() {
    for (text, shown) in [
        ("http://h", "http://h"),
        ("https://h:1/p/q", "https://h:1/p/q"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://u@h/", "http://<redacted>@h/"),
        ("http://a:b@c@h/p@q", "http://<redacted>@h/p@q"),
        ("http://h?a=b?c", "http://h?<redacted>"),
        ("http://h/?u:p@x", "http://h/?<redacted>"),
    ] {
        let url = ServerUrl::parse(text).unwrap();
        assert_eq!((format!("{url:?}"), url.expose()), (shown.to_owned(), text));
    }
    for text in ["", "h", "//h", "ftp://h", "HTTP://h", "http://", "http:///p", "http://:80", "http://h:0", "http://h:"]
    {
        assert!(ServerUrl::parse(text).is_err(), "{text}");
    }
    for text in ["http://h:65536", "http://h:x", "http://[::1", "http://[x]", "http://h#f", "http://h /", "http://h\\x"]
    {
        assert!(ServerUrl::parse(text).is_err(), "{text}");
    }
}
