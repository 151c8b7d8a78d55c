//! May this role make this call? Pure: no I/O, no tower, no requests.
//!
//! A [`PolicyConfig`] is compiled once into a [`Policy`]; a request interprets no strings. What a policy
//! does not name is denied.
//!
//! # When a call passes
//!
//! For one role, in this order; the first that fails is the denial:
//!
//! 1. The policy has the role.
//! 2. The gate does not name its server, or one of the role's `servers` matches it.
//! 3. Plumbing, and replies to a server, pass here.
//! 4. A tool: where the role sets `hosts`, an argument `host` is a string; no `global_deny` and no `deny`
//!    matches the name; some `allow` does; the `host` matches.
//! 5. Its arguments, in the order in which they were written: no name resembles a ruled one without being it; where
//!    some entry denies unknown ones, it is named by an entry and is neither array nor object; where an entry
//!    lists values or requires the argument, it is a string; where an entry lists values, its first word or
//!    that word's basename is listed by each of them.
//! 6. Every required argument is there.
//! 7. A resource: its URI is canonical and some `resources` matches. A prompt: some `prompts`. Anything else: some
//!    `methods`.
//!
//! Of several roles one must permit the call whole: they never add up to a permission that none has.

mod check;
mod compile;
mod config;
mod constraint;
mod decision;
mod error;
mod glob;
mod lint;
mod listing;
mod uri;

pub use self::compile::Policy;
pub use self::config::{ArgumentAllowlist, PolicyConfig, RoleConfig};
pub use self::decision::{Decision, Denied};
pub(crate) use self::decision::{Short, short};
pub use self::error::{ConfigError, ConfigProblem};
#[cfg(feature = "content-trust")]
pub(crate) use self::glob::GlobSet;
pub use self::lint::{Lint, LintKind};
pub(crate) use self::listing::Listed;

#[cfg(test)]
mod tests;
