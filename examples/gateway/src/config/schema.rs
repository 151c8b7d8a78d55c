//! Every key that a configuration may have.
//!
//! The types that serde derives know the same keys; they stop at the first unknown one and cannot tell
//! its path, so this table is read before them. A test holds the two together.

use super::content_trust::{check_redis, check_window};
use super::duration;
use super::gateway::{check_binding_key, check_host, check_key, check_listen, check_origin};
use super::provenance::{check_header, check_meta_key, check_scheme, check_signing_key};
use super::server::{
    check_argument, check_command, check_env_name, check_env_value, check_header_name, check_header_value, check_id,
    check_url,
};

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Kind {
    /// An integer of at least this.
    Count(u64),
    /// True or false.
    Flag,
    /// An array of at least so many.
    List(usize, &'static Kind),
    /// A table whose keys are names that the check accepts.
    Map(Check, &'static Kind),
    /// A table with exactly one of these keys.
    OneOf(&'static [Field]),
    /// A table with these keys.
    Table(&'static [Field]),
    /// A string that the check accepts.
    Text(Check),
    /// One of these strings.
    Word(&'static [&'static str]),
}

/// Whether a string will do, and if not, why.
type Check = fn(&str) -> Result<(), String>;

/// A key of a table.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
}

pub(super) const ROOT: &[Field] = &[
    may("gateway", Kind::Table(GATEWAY)),
    must("policy", Kind::Table(POLICY)),
    may("content_trust", Kind::Table(CONTENT_TRUST)),
    may("provenance", Kind::Table(PROVENANCE)),
    must("mcp", Kind::Table(MCP)),
];

const GATEWAY: &[Field] = &[
    may("listen", Kind::Text(check_listen)),
    may("max_body_bytes", Kind::Count(1)),
    may("body_timeout", Kind::Text(duration::check)),
    may("denial", Kind::Word(&["negotiate", "http-403", "json-rpc-error", "tool-error", "masked"])),
    may("shadow", Kind::Flag),
    may("api_keys", Kind::List(0, &Kind::Table(API_KEY))),
    may("allowed_hosts", Kind::List(0, &Kind::Text(check_host))),
    may("allowed_origins", Kind::List(0, &Kind::Text(check_origin))),
    may("admin", Kind::Table(ADMIN)),
    may("binding_key", Kind::Text(check_binding_key)),
    may("previous_binding_keys", Kind::List(0, &Kind::Text(check_binding_key))),
];

const ADMIN: &[Field] = &[must("listen", Kind::Text(check_listen)), must("key", Kind::Text(check_key))];

const API_KEY: &[Field] = &[
    must("key", Kind::Text(check_key)),
    must("subject", Kind::Text(filled)),
    must("roles", Kind::List(1, &Kind::Text(filled))),
];

// What the policy's own compiler checks is left to it: it knows more and says it once.
const POLICY: &[Field] = &[may("global_deny", TEXTS), may("roles", Kind::List(0, &Kind::Table(ROLE)))];

const ROLE: &[Field] = &[
    must("name", TEXT),
    may("description", TEXT),
    may("servers", TEXTS),
    may("allow", TEXTS),
    may("deny", TEXTS),
    may("hosts", TEXTS),
    may("resources", TEXTS),
    may("prompts", TEXTS),
    may("methods", TEXTS),
    may("argument_allowlists", Kind::List(0, &Kind::Table(ARGUMENT_ALLOWLIST))),
];

const ARGUMENT_ALLOWLIST: &[Field] = &[
    must("tool", TEXT),
    must("argument", TEXT),
    may("allowed", TEXTS),
    may("required", Kind::Flag),
    may("deny_unknown_arguments", Kind::Flag),
    may("reject_control_chars", Kind::Flag),
];

const CONTENT_TRUST: &[Field] = &[
    may("trusted_mcp_servers", NAMES),
    may("untrusted_tools", NAMES),
    may("trusted_tools", NAMES),
    may("exec_is_external", Kind::Flag),
    may("sinks", NAMES),
    may("on_tainted_sink", Kind::Word(&["deny", "flag"])),
    may("irreversible", NAMES),
    may("private_reads", NAMES),
    may("egress", NAMES),
    may("forbidden_sequences", Kind::List(0, &Kind::List(2, &Kind::Text(filled)))),
    may("window", Kind::Text(check_window)),
    may("conversation", NAMES),
    may("delegation", Kind::List(0, &Kind::Table(DELEGATION))),
    may("store", Kind::Table(STORE)),
];

const DELEGATION: &[Field] = &[
    must("server", Kind::Text(filled)),
    must("tool", Kind::Text(filled)),
    must("argument", Kind::Text(filled)),
    may("faces", Kind::List(0, &Kind::Table(FACE))),
    may("pool", Kind::List(0, &Kind::Table(POOL_TOOL))),
];

const FACE: &[Field] = &[
    must("name", Kind::Text(filled)),
    may("allow_tools", NAMES),
    may("deny_tools", NAMES),
    may("can_redelegate", Kind::Flag),
];

const POOL_TOOL: &[Field] = &[
    must("name", Kind::Text(filled)),
    may("aliases", NAMES),
    may("server", Kind::Text(filled)),
    may("content_origin", Kind::Word(&["local", "execution", "external"])),
];

const STORE: &[Field] = &[
    may("kind", Kind::Word(&["memory", "redis", "file"])),
    may("capacity", Kind::Count(1)),
    may("timeout", Kind::Text(duration::check)),
    may("url", Kind::Text(check_redis)),
    may("path", Kind::Text(filled)),
];

const PROVENANCE: &[Field] = &[
    may("fence", Kind::Word(&["off", "delimit", "datamark", "base64"])),
    may("structured_content", Kind::Word(&["tag", "strip", "fence_leaves", "text_only"])),
    may("key", Kind::Text(check_meta_key)),
    may("header", Kind::Text(check_header)),
    may("trust_annotations", Kind::Flag),
    may("ifc", Kind::Flag),
    may("media", Kind::Word(&["pass", "notice", "drop"])),
    may("descriptions", Kind::Flag),
    may("link_schemes", Kind::List(0, &Kind::Text(check_scheme))),
    may("signing_key", Kind::Text(check_signing_key)),
    may("previous_signing_keys", Kind::List(0, &Kind::Text(check_signing_key))),
    may("labels", Kind::Map(filled, &Kind::Table(LABEL))),
];

const LABEL: &[Field] = &[
    may("capability", Kind::Word(&["net_send", "file_read", "file_write", "process_exec"])),
    may("trust", Kind::Word(&["trusted", "untrusted"])),
    may("sink", Kind::Flag),
    may("confidentiality", CONFIDENTIALITY),
    may("declassifier", Kind::Flag),
    may("min_confidential", CONFIDENTIALITY),
    may("actions", Kind::Word(&["allow", "approve", "block"])),
];

const CONFIDENTIALITY: Kind = Kind::Word(&["public", "internal", "secret"]);

const MCP: &[Field] = &[must("servers", Kind::List(1, &Kind::Table(SERVER))), may("pins", Kind::Table(PINS))];

const PINS: &[Field] = &[must("file", Kind::Text(filled)), may("servers", NAMES)];

const SERVER: &[Field] = &[
    must("id", Kind::Text(check_id)),
    must("transport", Kind::OneOf(TRANSPORT)),
    may("timeout", Kind::Text(duration::check)),
    may("trust_level", Kind::Word(&["trusted", "untrusted", "sandboxed"])),
    may("tool_allowlist", NAMES),
    may("allow_untrusted_without_allowlist", Kind::Flag),
    may("expected_tools", NAMES),
    may("roots", Kind::List(0, &Kind::Table(ROOTS))),
    may("tool_metadata", Kind::Map(filled, &Kind::Table(TOOL_METADATA))),
    may("elicitation_enabled", Kind::Flag),
    may("elicitation_timeout_secs", Kind::Count(1)),
    may("env_isolation", Kind::Flag),
    may("media_passthrough", Kind::Flag),
];

const TRANSPORT: &[Field] =
    &[may("http", Kind::Table(HTTP)), may("stdio", Kind::Table(STDIO)), may("builtin", Kind::Word(&["files", "web"]))];

const HTTP: &[Field] = &[
    must("url", Kind::Text(check_url)),
    may("headers", Kind::Map(check_header_name, &Kind::Text(check_header_value))),
];

const STDIO: &[Field] = &[
    must("command", Kind::Text(check_command)),
    may("args", Kind::List(0, &Kind::Text(check_argument))),
    may("env", Kind::Map(check_env_name, &Kind::Text(check_env_value))),
];

const ROOTS: &[Field] = &[must("uri", Kind::Text(filled)), may("name", TEXT)];

const TOOL_METADATA: &[Field] = &[
    may("data_sensitivity", Kind::Word(&["none", "low", "medium", "high"])),
    may("capabilities", Kind::List(0, &CAPABILITY)),
    may("flagged_parameters", Kind::List(0, &Kind::Table(FLAGGED_PARAMETER))),
];

const CAPABILITY: Kind = Kind::Word(&[
    "filesystem_read",
    "filesystem_write",
    "network",
    "shell",
    "database_read",
    "database_write",
    "memory_write",
    "external_api",
]);

const FLAGGED_PARAMETER: &[Field] = &[must("path", TEXT), must("pattern_name", TEXT)];

const TEXT: Kind = Kind::Text(any);
const TEXTS: Kind = Kind::List(0, &TEXT);
const NAMES: Kind = Kind::List(0, &Kind::Text(filled));

const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false }
}

const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true }
}

fn any(_: &str) -> Result<(), String> {
    Ok(())
}

fn filled(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("must not be blank".to_owned()) } else { Ok(()) }
}
