//! The section `mcp`.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};
use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry, ServerError, ServerUrl, check_server_id};
use tower_toolgate::upstream::HttpConfig;

/// The servers behind the gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// At least one.
    pub servers: Vec<ServerConfig>,
    /// Which definitions of tools are approved. Absent: definitions are not compared.
    pub pins: Option<PinsConfig>,
}

/// The definitions of tools that were approved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinsConfig {
    /// The lock file, which `--approve` writes.
    pub file: PathBuf,
    /// Servers that are guarded even while none of their tools is approved.
    #[serde(default)]
    pub servers: Vec<String>,
}

/// One server, reached at `/mcp/ID`.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What is declared of it. Of a builtin the transport is nobody's.
    pub entry: ServerEntry,
    /// It is part of the gateway.
    pub builtin: Option<Builtin>,
    /// Whether somebody wrote a trust level.
    pub level_is_written: bool,
}

/// A demo server that is part of the gateway.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// A few files of the operator's own.
    Files,
    /// Pages from outside.
    Web,
}

impl<'de> Deserialize<'de> for ServerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        let level_is_written = table.contains_key("trust_level");
        let builtin = match builtin(&table) {
            Some(which) => {
                make_own(&mut table, level_is_written);
                Some(Builtin::deserialize(which).map_err(D::Error::custom)?)
            }
            None => None,
        };
        let entry = ServerEntry::deserialize(table).map_err(D::Error::custom)?;
        Ok(Self { entry, builtin, level_is_written })
    }
}

fn builtin(table: &Table) -> Option<Value> {
    table.get("transport")?.get("builtin").cloned()
}

/// A builtin has no transport of the library's, and is the gateway's own unless somebody says otherwise.
fn make_own(table: &mut Table, level_is_written: bool) {
    let url = Table::from_iter([("url".to_owned(), "http://builtin.invalid/".into())]);
    let transport = Table::from_iter([("http".to_owned(), Value::Table(url))]);
    table.insert("transport".to_owned(), Value::Table(transport));
    table.entry("timeout").or_insert_with(|| "30s".into());
    if !level_is_written {
        table.insert("trust_level".to_owned(), McpTrustLevel::Trusted.as_str().into());
    }
}

/// Ids stand in paths and, joined by `__`, in the names of tools.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    check_server_id(id).map_err(|why| format!("`{id}`: {why}"))
}

/// The text itself is not in the message: it may hold a password.
pub(super) fn check_url(text: &str) -> Result<(), String> {
    ServerUrl::parse(text).map_err(|problem| problem.to_string())?;
    HttpConfig::new(text).map(drop).map_err(|error| error.to_string())
}

/// No process starts with such a name in its environment.
pub(super) fn check_env_name(name: &str) -> Result<(), String> {
    check_transport(McpTransport::stdio("x").with_env(name, ""))
}

/// The message must not hold the value.
pub(super) fn check_env_value(value: &str) -> Result<(), String> {
    check_transport(McpTransport::stdio("x").with_env("x", value))
}

pub(super) fn check_argument(argument: &str) -> Result<(), String> {
    check_transport(McpTransport::stdio("x").with_args([argument]))
}

pub(super) fn check_command(command: &str) -> Result<(), String> {
    check_transport(McpTransport::stdio(command))
}

pub(super) fn check_header_name(name: &str) -> Result<(), String> {
    check_headers(name, "")
}

/// The message must not hold the value.
pub(super) fn check_header_value(value: &str) -> Result<(), String> {
    check_headers("x", value)
}

fn check_headers(name: &str, value: &str) -> Result<(), String> {
    let transport = McpTransport::http("http://builtin.invalid/").map_err(|problem| problem.to_string())?;
    check_transport(transport.with_header(name, value))
}

fn check_transport(transport: McpTransport) -> Result<(), String> {
    let entry = ServerEntry::new("x", transport, Duration::from_secs(1));
    entry.check().map_err(|error: ServerError| error.problem().to_string())
}
