mod entries;
mod exposing;
mod reaching;
mod secrets;
mod trusting;

use std::time::Duration;

use super::*;

fn entry(level: McpTrustLevel) -> ServerEntry {
    ServerEntry::new("s", McpTransport::stdio("server"), Duration::from_secs(30)).with_trust_level(level)
}
