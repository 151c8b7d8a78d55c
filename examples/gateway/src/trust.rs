//! What kind of content tools bring back, as the configuration says it.

use http::HeaderName;
use tower_toolgate::Server;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::content_trust::{ContentTrustLayer, ConversationSource};
use tower_toolgate::trust::{
    Classifier, ClassifierConfig, ContentTrustConfig as Lists, DeclaredServer, RuleAction, RuleError, SessionRules,
};

use crate::config::{Builtin, ContentTrustConfig, GatewayConfig, OnTaintedSink, Parsed, Problem, ServerConfig, Window};
use crate::metrics::Metrics;
use crate::stack::is_timeout;
use crate::store::{AnyStore, open};

/// Content trust of a gateway: one memory for all its servers.
#[derive(Clone, Debug)]
pub struct Trust {
    layer: ContentTrustLayer<AnyStore>,
    store: AnyStore,
    /// Whether callers are believed when they name conversations.
    pub honest: bool,
}

impl Trust {
    /// What a configuration says, with its store opened; `None` if it has no such section.
    ///
    /// # Errors
    ///
    /// Something in the section is wrong, or the store cannot be opened.
    pub async fn open(parsed: &Parsed, metrics: &Metrics) -> Result<Option<Self>, Problem> {
        let Some(config) = &parsed.config.content_trust else { return Ok(None) };
        let (classifier, rules) = (classifier(parsed, config)?, rules(parsed, config)?);
        let problem = |place: &str, message: String| parsed.places.problem(format!("content_trust.{place}"), message);
        let store = open(&config.store).await.map_err(|message| problem("store", message))?;
        metrics.watch(&store);
        let mut layer = ContentTrustLayer::new(classifier, store.clone()).with_rules(rules).on_trust(metrics.clone());
        for (at, source) in config.conversation.iter().enumerate() {
            let source = conversation(source).map_err(|message| problem(&format!("conversation[{at}]"), message))?;
            layer = layer.with_conversation(source);
        }
        if let Window::For(window) = config.window {
            layer = layer.with_window(window).map_err(|error| problem("window", error.to_string()))?;
        }
        Ok(Some(Self { layer, store, honest: !config.conversation.is_empty() }))
    }

    /// The layer in front of one server.
    pub fn layer(
        &self,
        server: &ServerConfig,
        gateway: &GatewayConfig,
        budget: &BufferBudget,
        metrics: Metrics,
    ) -> ContentTrustLayer<AnyStore> {
        let layer = self.layer.clone().with_server(Server::new(server.entry.id.as_str()));
        // What the gate takes, this takes.
        let layer = layer.with_max_body_bytes(gateway.max_body_bytes).with_timeout_errors(is_timeout);
        layer.with_budget(budget.clone()).with_insecure_upgrade("h2c").on_decision(metrics)
    }

    /// The memory.
    #[must_use]
    pub fn store(&self) -> &AnyStore {
        &self.store
    }
}

/// What is wrong or doubtful in the section, but for the store: that is opened only to serve.
///
/// # Errors
///
/// The first mistake, with its place in the file.
pub fn check(parsed: &Parsed) -> Result<Vec<Problem>, Problem> {
    let Some(config) = &parsed.config.content_trust else { return Ok(Vec::new()) };
    let problem = |place: &str, message: String| parsed.places.problem(place, message);
    let classifier = classifier(parsed, config)?;
    let rules = rules(parsed, config)?;
    for (at, source) in config.conversation.iter().enumerate() {
        conversation(source).map_err(|message| problem(&format!("content_trust.conversation[{at}]"), message))?;
    }
    let lints = classifier.lints().iter();
    let mut doubts: Vec<_> = lints.map(|lint| problem(&place(lint.place()), lint.kind().to_string())).collect();
    if rules.is_empty() {
        let message = "without sinks sessions are marked, and nothing is refused in them";
        doubts.push(problem("content_trust.sinks", message.to_owned()));
    } else if matches!(config.store.store, crate::config::Store::Memory) {
        let message = "a restart forgets which sessions are tainted; kinds `file` and `redis` remember";
        doubts.push(problem("content_trust.store.kind", message.to_owned()));
    }
    Ok(doubts)
}

/// Where the library's configuration of a classifier is in the file.
fn place(place: &str) -> String {
    match (place.strip_prefix("servers"), place.strip_prefix("delegations")) {
        (Some(rest), _) => format!("mcp.servers{rest}"),
        (_, Some(rest)) => format!("content_trust.delegation{}", rest.replace(".owner", ".server")),
        (None, None) => place.to_owned(),
    }
}

fn classifier(parsed: &Parsed, config: &ContentTrustConfig) -> Result<Classifier, Problem> {
    let lists = Lists::new(&config.trusted_mcp_servers, &config.untrusted_tools, &config.trusted_tools);
    let lists = lists.map_err(|error| parsed.places.problem("content_trust", error.to_string()))?;
    let mut classes = ClassifierConfig::new().with_content_trust(lists).with_exec_is_external(config.exec_is_external);
    for server in &parsed.config.mcp.servers {
        classes = classes.with_server(declared(server));
    }
    for delegation in &config.delegation {
        classes = classes.with_delegation(delegation.tool());
    }
    Classifier::new(&classes).map_err(|error| parsed.places.problem(place(error.place()), error.problem().to_string()))
}

/// What the file says of a server. The pages of the built-in `web` are nobody's.
fn declared(server: &ServerConfig) -> DeclaredServer {
    match server.builtin.filter(|_| !server.level_is_written) {
        Some(Builtin::Files) => DeclaredServer::own(&server.entry.id),
        Some(Builtin::Web) => DeclaredServer::new(&server.entry.id),
        None => DeclaredServer::from(&server.entry),
    }
}

fn rules(parsed: &Parsed, config: &ContentTrustConfig) -> Result<SessionRules, Problem> {
    let action = match config.on_tainted_sink {
        OnTaintedSink::Deny => RuleAction::Deny,
        OnTaintedSink::Flag => RuleAction::Flag,
    };
    let problem =
        |place: &str, error: RuleError| parsed.places.problem(format!("content_trust.{place}"), error.to_string());
    let mut rules = SessionRules::new();
    rules = rules.with_sinks(texts(&config.sinks), action).map_err(|error| problem("sinks", error))?;
    rules = rules.with_irreversible(texts(&config.irreversible)).map_err(|error| problem("irreversible", error))?;
    let legs = rules.with_third_leg(texts(&config.private_reads), texts(&config.egress));
    rules = legs.map_err(|error| problem("egress", error))?;
    for (at, steps) in config.forbidden_sequences.iter().enumerate() {
        let place = format!("forbidden_sequences[{at}]");
        rules = rules.with_forbidden_sequence(texts(steps)).map_err(|error| problem(&place, error))?;
    }
    Ok(rules)
}

fn texts(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str)
}

/// `mcp-session-id`, the name of a header, or `_meta.` and a member of `params._meta`.
fn conversation(source: &str) -> Result<ConversationSource, String> {
    if source.eq_ignore_ascii_case("mcp-session-id") {
        return Ok(ConversationSource::SessionId);
    }
    if let Some(member) = source.strip_prefix("_meta.").filter(|member| !member.is_empty()) {
        return Ok(ConversationSource::Meta(member.into()));
    }
    let name = source.parse::<HeaderName>().map_err(|_| format!("`{source}` is no header, nor `_meta.` and a name"))?;
    Ok(ConversationSource::Header(name))
}
