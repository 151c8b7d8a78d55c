//! What a tag says.

use std::borrow::Cow;
use std::fmt::Write;

use super::Provenance;

/// What a name in a tag may have in bytes: a longer one is left out.
const MAX_NAME_BYTES: usize = 256;

/// What a tag says of a result, or of a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Tag<'a> {
    pub(crate) provenance: Provenance,
    /// The class of what the tool brings back.
    pub(crate) class: &'a str,
    /// What decided.
    pub(crate) rule: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) tool: Option<Cow<'a, str>>,
    /// Whether the session has received content from outside, if anybody remembers.
    pub(crate) session_tainted: Option<bool>,
}

impl Tag<'_> {
    /// Writes the tag as JSON, with the name of the fence around the texts, if there is one.
    pub(crate) fn write_to(&self, text: &mut String, fence: Option<&str>, lossy: bool) {
        text.push_str("{\"v\":1");
        member(text, "origin", self.provenance.as_str());
        member(text, "class", self.class);
        member(text, "rule", self.rule);
        for (name, value) in [("server", self.server), ("tool", self.tool.as_deref()), ("fence", fence)] {
            if let Some(value) = value.filter(|value| is_short(value)) {
                member(text, name, value);
            }
        }
        if lossy {
            text.push_str(",\"lossy\":true");
        }
        if let Some(tainted) = self.session_tainted {
            // Writing to a string does not fail.
            let _ = write!(text, ",\"session_tainted\":{tainted}");
        }
        text.push('}');
    }
}

/// Whether a name is short enough for a tag, also when what has to be is escaped.
fn is_short(name: &str) -> bool {
    let escaped = name.bytes().filter(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')).count();
    name.len() + 5 * escaped <= MAX_NAME_BYTES
}

/// Adds a member that is a string.
fn member(text: &mut String, name: &str, value: &str) {
    text.push_str(",\"");
    text.push_str(name);
    text.push_str("\":");
    string(text, value);
}

/// Adds a string, escaped as RFC 8259 wants it.
pub(super) fn string(text: &mut String, value: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if value.bytes().all(plain) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::to_string(value).unwrap_or_default());
    }
}
