//! What kind of content a tool brings back, and what a session knows of it.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP.

#[cfg(any(feature = "content-trust", feature = "provenance"))]
mod claimed;
mod claims;
mod classifier;
mod config;
mod delegation;
mod fault;
mod origin;
mod owner;
#[cfg(feature = "content-trust")]
mod read;
#[cfg(feature = "content-trust")]
mod rules;
#[cfg(feature = "content-trust")]
mod session;
mod taint;
mod verdict;
mod written;

#[cfg(any(feature = "content-trust", feature = "provenance"))]
pub(crate) use self::claimed::claims;
pub use self::claims::Claims;
pub use self::classifier::{
    Classifier, ClassifierConfig, ClassifierError, ClassifierProblem, DeclaredServer, DeclaredTool, DelegationTool,
    Lint, LintKind, ServerTrust,
};
#[cfg(feature = "provenance")]
pub(crate) use self::config::WEB_TOOLS;
pub use self::config::{ContentTrustConfig, ContentTrustError};
pub use self::delegation::{Face, PoolTool, delegation_call_is_external};
pub use self::fault::{RuleKind, TrustFault};
pub use self::origin::{
    NoToolDefinition, TOOL_CONTENT_ORIGINS, ToolContentOrigin, UnknownContentOrigin, classify_tool_content_origin,
    content_origin_pollutes, declared_content_origin, is_tool_content_origin, with_content_origin,
};
pub use self::owner::{ToolContentTrust, ToolOwner};
#[cfg(feature = "content-trust")]
pub(crate) use self::read::{Answers, brings_content, is_answer, open_world_tools};
#[cfg(feature = "content-trust")]
pub(crate) use self::rules::Check;
#[cfg(feature = "content-trust")]
pub use self::rules::{RuleAction, RuleError, SessionRules};
#[cfg(feature = "content-trust")]
pub use self::session::SessionTaint;
#[cfg(feature = "content-trust")]
pub(crate) use self::session::{Brought, Finding, Found};
pub use self::taint::{Cause, Facts, Taint};
#[cfg(any(feature = "content-trust", feature = "provenance"))]
pub(crate) use self::verdict::Ruling;
#[cfg(feature = "provenance")]
pub(crate) use self::verdict::Rulings;
pub use self::verdict::{Step, Verdict};
