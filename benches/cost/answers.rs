//! What servers answer: lists of tools, and images.

use std::fmt::Write;

use bytes::Bytes;

const VERBS: [&str; 6] = ["get", "create", "list", "update", "search", "delete"];
const NOUNS: [&str; 8] = ["issue", "pull_request", "file", "table", "calendar_event", "message", "invoice", "page"];

/// The name of one of many tools: every other one begins with a verb of reading.
pub(crate) fn tool_name(at: usize) -> String {
    let pick = |words: &[&'static str], at: usize| words.iter().cycle().nth(at % words.len()).copied();
    let (verb, noun) = (pick(&VERBS, at), pick(&NOUNS, at / VERBS.len()));
    format!("{}_{}_{at}", verb.unwrap_or_default(), noun.unwrap_or_default())
}

/// The answer to `tools/list`, of some 600 bytes a tool.
pub(crate) fn tools(count: usize) -> Bytes {
    list(&(0..count).map(tool).collect::<Vec<_>>().join(","))
}

/// The answer to `tools/list` where one of few tools brings an image of so many bytes.
pub(crate) fn tools_with_image(size: usize) -> Bytes {
    let icon = format!(r#"{{"name":"get_logo","icons":[{{"src":"data:image/png;base64,{}"}}]}}"#, base64(size));
    list(&[tool(0), icon, tool(1)].join(","))
}

/// The answer to `tools/call`, an image of so many bytes.
pub(crate) fn image(size: usize) -> Bytes {
    let content = format!(r#"[{{"type":"image","data":"{}","mimeType":"image/png"}}]"#, base64(size));
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":{content},"isError":false}}}}"#).into()
}

/// A message as the one event of a stream.
pub(crate) fn event(message: &Bytes) -> Bytes {
    [b"event: message\ndata: ", &message[..], b"\n\n"].concat().into()
}

fn list(tools: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}],"nextCursor":"eyJwYWdlIjoyfQ=="}}}}"#).into()
}

fn tool(at: usize) -> String {
    let (name, properties) = (tool_name(at), properties(at));
    let title = name.replace('_', " ");
    format!(
        r#"{{"name":"{name}","title":"{title}","description":"Does what its name says, on behalf of the caller. Use it when the user asks for it by name, and \"{title}\" only once a turn.","inputSchema":{{"type":"object","properties":{{{properties}}},"required":["owner","limit"],"additionalProperties":false}},"annotations":{{"readOnlyHint":{},"openWorldHint":true}}}}"#,
        at.is_multiple_of(2),
    )
}

fn properties(at: usize) -> String {
    let mut properties =
        r#""owner":{"type":"string","description":"The login of whose it is","minLength":1}"#.to_owned();
    _ = write!(
        properties,
        r#","limit":{{"type":"integer","minimum":1,"maximum":{},"default":30}},"state":{{"type":"string","enum":["open","closed","all"]}}"#,
        100 + at
    );
    properties
}

pub(crate) fn base64(size: usize) -> String {
    let letters = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg";
    letters.chars().cycle().take(size).collect()
}
