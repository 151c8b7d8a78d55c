//! The gateway's configuration: TOML that is read strictly, with every mistake named by its place.
//!
//! A text becomes a [`Config`] in these steps, and whatever they find is told at once:
//!
//! 1. It is TOML. A mistake here ends the reading, since what follows it may mean anything.
//! 2. Every key is known, every value has its type and form, nothing required is missing.
//! 3. What one part says about another holds: a key's roles exist, a role's servers exist.
//!
//! What is well written but not served by this release is left to [`Config::not_yet`].
//!
//! Values of API keys, environment variables and store addresses appear neither in messages nor in
//! `Debug`.

mod content_trust;
mod duration;
mod gateway;
mod nearest;
mod not_yet;
mod places;
mod problem;
mod provenance;
mod references;
mod schema;
mod secret;
mod server;
mod structure;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;
use tower_toolgate::policy::PolicyConfig;

pub use content_trust::{
    ContentTrustConfig, DelegationConfig, OnTaintedSink, PoolToolConfig, Store, StoreConfig, Window,
};
pub use gateway::{AdminConfig, ApiKey, DenialShape, GatewayConfig};
pub use places::Places;
pub use problem::Problem;
pub use provenance::ProvenanceConfig;
pub use secret::Secret;
pub use server::{Builtin, McpConfig, PinsConfig, ServerConfig};

use places::Lines;
pub(crate) use places::member;

/// Everything that the gateway's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The gateway itself.
    #[serde(default)]
    pub gateway: GatewayConfig,
    /// What every role may do.
    pub policy: PolicyConfig,
    /// What kind of content the tools bring back. Absent: nothing is recorded.
    pub content_trust: Option<ContentTrustConfig>,
    /// How results are marked. Absent: they are not.
    pub provenance: Option<ProvenanceConfig>,
    /// The servers behind the gateway.
    pub mcp: McpConfig,
}

impl Config {
    /// Reads a configuration from a file.
    ///
    /// # Errors
    ///
    /// Every problem of the text, in its order, or the one that kept it from being read.
    pub fn load(path: impl AsRef<Path>) -> Result<Parsed, Vec<Problem>> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| vec![Problem::new("", format!("cannot read `{}`: {error}", path.display()))])?;
        Self::parse(&text)
    }

    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// Every problem of the text, in its order.
    pub fn parse(text: &str) -> Result<Parsed, Vec<Problem>> {
        let lines = Lines::new(text);
        let mut tree = DeTable::parse(text).map_err(|error| vec![syntax(text, &lines, &error)])?;
        let mut problems = structure::check(&lines, tree.get_mut());
        let places = Places::new(&lines, tree.get_ref());
        problems.extend(references::check(&places, tree.get_ref()));
        if !problems.is_empty() {
            problem::sort(&mut problems);
            return Err(problems);
        }
        let config = typed(&lines, &places, tree)?;
        Ok(Parsed { config, places })
    }
}

/// A configuration together with where in the text its parts are.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What the text says.
    pub config: Config,
    /// Where it says so.
    pub places: Places,
}

impl Parsed {
    /// [`Config::not_yet`] with lines and columns, in the order of the text.
    #[must_use]
    pub fn not_yet(&self) -> Vec<Problem> {
        let located = |problem: Problem| self.places.problem(problem.place, problem.message);
        let mut problems: Vec<_> = self.config.not_yet().into_iter().map(located).collect();
        problem::sort(&mut problems);
        problems
    }
}

/// The error's own `Display` quotes the line, which may hold a secret; its message does not.
fn syntax(text: &str, lines: &Lines<'_>, error: &toml::de::Error) -> Problem {
    let span = error.span();
    let found = span.clone().and_then(|span| text.get(span));
    let message = match (error.message(), found) {
        (message @ "duplicate key", Some(key)) => format!("{message} `{key}`"),
        (message, _) => format!("not valid TOML: {message}"),
    };
    Problem::new("", message).at(span.map(|span| lines.position(span.start)))
}

fn typed(lines: &Lines<'_>, places: &Places, tree: Spanned<DeTable<'_>>) -> Result<Config, Vec<Problem>> {
    let mut config = Config::deserialize(toml::Deserializer::from(tree)).map_err(|error| {
        let position = error.span().map(|span| lines.position(span.start));
        let place = position.and_then(|position| places.at(position)).unwrap_or_default();
        vec![Problem::new(place, error.message()).at(position)]
    })?;
    if config.mcp.servers.len() == 1 {
        fill_servers(&mut config.policy, places);
    }
    Ok(config)
}

/// An empty list that somebody wrote means no server; only an absent one means the only server.
fn fill_servers(policy: &mut PolicyConfig, places: &Places) {
    for (index, role) in policy.roles.iter_mut().enumerate() {
        if !places.contains(&format!("policy.roles[{index}].servers")) {
            role.servers = vec!["*".to_owned()];
        }
    }
}
