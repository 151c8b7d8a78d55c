//! Lists of tools that nobody asked for: a client may take one for the answer to another request that it has made.

use std::sync::Arc;

use bytes::Bytes;
use http::response::Parts;
use memchr::{memchr_iter, memrchr};

use super::judge::Judge;
use super::listing::Listing;
use super::shown::Extent;
use crate::json::{Edits, reads_as};
use crate::response::{ListRule, Origin, Rewrite, Stage, Unreadable};
use crate::server::{McpTrustLevel, all_definitions};

/// Leaves out of them what any other list loses.
struct Stray(ListRule);

impl Judge {
    /// What is done with an answer to what asks for no list.
    pub(super) fn straying(&self) -> Option<Stage> {
        let hides = self.guard.shown.is_some() || self.standing.exposure.level() != McpTrustLevel::Trusted;
        let listing = || Arc::new(Listing { judge: self.clone(), extent: Extent::Stray });
        let stage = || Stage::Rewrite(Arc::new(Stray(ListRule::Exposed(listing()))));
        (self.guard.front.is_mcp() && hides).then(stage)
    }
}

impl Rewrite for Stray {
    fn head(&self, _: &mut Parts) -> Result<(), Unreadable> {
        Ok(())
    }

    fn concerns(&self, message: &[u8]) -> bool {
        may_list_tools(message)
    }

    fn edits(&self, message: &Bytes, _: &mut Origin<'_>) -> Result<Edits, Unreadable> {
        // What has that name elsewhere need not be a message that a list can be cut down in.
        if all_definitions(message)?.is_empty() { Ok(Edits::new()) } else { self.0.edits(message) }
    }

    fn holds_answers(&self) -> bool {
        true
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Whether there can be a list of tools in a text: whether there is an array behind a name that may be read so.
fn may_list_tools(text: &[u8]) -> bool {
    memchr_iter(b'[', text).any(|bracket| {
        let name = text.get(..bracket).and_then(|before| before.trim_ascii_end().strip_suffix(b":"));
        let Some(name) = name.and_then(|before| before.trim_ascii_end().strip_suffix(b"\"")) else { return false };
        let name = name.get(memrchr(b'"', name).map_or(0, |quote| quote + 1)..).unwrap_or_default();
        // An escape may be any letter, or none; at the end it is that of a quote, as in texts that hold JSON.
        let is_escaped = |name: &str| name.contains('\\') && !name.ends_with('\\');
        let reads_so = |name: &str| is_escaped(name) || reads_as(name, "tools");
        str::from_utf8(name).is_ok_and(reads_so)
    })
}

#[cfg(test)]
mod tests {
    use super::may_list_tools;

    #[test]
    fn lists_are_found_however_they_are_written() {
        for text in [
            r#"{"tools":[]}"#,
            "{\"tools\" \t:\r\n [1]}",
            r#"{"Tools":[]}"#,
            r#"{"t\u006fols":[]}"#,
            r#"{"\u0000tools":[]}"#,
            r#"{"tool\u017f":[]}"#,
            "{\"tool\u{17f}\":[]}",
            "{\"to\u{85}ols\":[]}",
            r#"{"a":[[],{"tools":[]}]}"#,
        ] {
            assert!(may_list_tools(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "[",
            ":[",
            "\":[",
            r#"["tools"]"#,
            r#"{"text":"{\"tools\":[{\"name\":\"a\"}]}","x\\":[]}"#,
            r#"{"tools":{},"content":[{"text":"\"tools\" [a]"}],"toolsets":[],"stools":[]}"#,
        ] {
            assert!(!may_list_tools(text.as_bytes()), "{text}");
        }
    }
}
