//! What is said of well-known tools.

use super::label::ToolLabel;
use super::words::{Capability, Confidentiality};
use crate::trust::WEB_TOOLS;

/// What reaches the network beside the web's tools.
const NET_TOOLS: [&str; 2] = ["browser", "search"];
/// How the names of families begin that reach the network.
const NET_FAMILIES: [&str; 3] = ["browse_", "browser_", "generate_"];

const NET: ToolLabel = ToolLabel::new().with_capability(Capability::NetSend).with_sink(true);

const LOCAL: [(&str, ToolLabel); 8] = [
    ("read_file", ToolLabel::new().with_capability(Capability::FileRead)),
    ("grep_files", ToolLabel::new().with_capability(Capability::FileRead)),
    ("write_file", ToolLabel::new().with_capability(Capability::FileWrite)),
    ("shell", ToolLabel::new().with_capability(Capability::ProcessExec)),
    ("run_applescript", ToolLabel::new().with_sink(true)),
    ("remember", ToolLabel::new().with_sink(true)),
    ("recall", ToolLabel::new().with_confidentiality(Confidentiality::Internal)),
    ("read_image_text", ToolLabel::new().with_confidentiality(Confidentiality::Secret)),
];

/// The label of a built-in. Distrust is read generously, also behind what looks like a server's name; anybody could
/// earn trust by such a name, so that trust is for the very names.
pub(super) fn label(tool: &str) -> Option<ToolLabel> {
    if parts(tool).any(reaches_net) {
        return Some(NET);
    }
    LOCAL.iter().find(|(name, _)| *name == tool).map(|(_, label)| *label)
}

fn reaches_net(name: &str) -> bool {
    WEB_TOOLS.contains(&name) || NET_TOOLS.contains(&name) || NET_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The name, and what follows some `__` or `:` in it.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let before = [b' '].iter().chain(bytes);
    let ends = bytes.iter().zip(before).enumerate().filter(|(_, pair)| matches!(pair, (b':', _) | (b'_', b'_')));
    ends.filter_map(|(at, _)| name.get(at + 1..)).chain([name])
}
