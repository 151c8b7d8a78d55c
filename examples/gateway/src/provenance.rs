//! How results are marked, as the configuration says it.

use http::HeaderName;
use tower_toolgate::Server;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::provenance::{FenceId, LabelError, MetaKey, SigningKey, ToolLabel, ToolLabels};

use crate::config::{GatewayConfig, Parsed, Problem, ProvenanceConfig, ServerConfig, member};
use crate::metrics::Metrics;
use crate::stack::is_timeout;

/// The marks of a gateway.
#[derive(Clone, Debug)]
pub struct Tags {
    layer: ProvenanceTagLayer,
    header: HeaderName,
}

impl Tags {
    /// What a configuration says; `None` if it has no such section.
    ///
    /// # Errors
    ///
    /// The first mistake, with its place in the file.
    pub fn new(parsed: &Parsed) -> Result<Option<Self>, Problem> {
        let Some(config) = &parsed.config.provenance else { return Ok(None) };
        let named = config.header.as_deref().unwrap_or(HEADER).parse::<HeaderName>();
        let header = named.map_err(|error| problem(parsed, "header", error.to_string()))?;
        let mut layer = style(parsed, config)?.with_header(header.clone());
        if let Some(key) = signing_key(parsed, config)? {
            layer = layer.with_signing_key(key);
        }
        if !config.labels.is_empty() {
            layer = layer.with_labels(labels(parsed, config)?);
        }
        Ok(Some(Self { layer, header }))
    }

    /// The layer in front of one server.
    pub fn layer(
        &self,
        server: &ServerConfig,
        gateway: &GatewayConfig,
        budget: &BufferBudget,
        metrics: Metrics,
    ) -> ProvenanceTagLayer {
        let layer = self.layer.clone().with_server(Server::new(server.entry.id.as_str())).on_tag(metrics.clone());
        let layer = match FenceId::new(&server.entry.id) {
            Ok(id) => layer.with_fence_server(id),
            Err(_) => layer,
        };
        // What the gate takes, this takes.
        let layer = layer.with_max_body_bytes(gateway.max_body_bytes).with_timeout_errors(is_timeout);
        layer.with_budget(budget.clone()).with_insecure_upgrade("h2c").on_decision(metrics)
    }

    /// The response header that says where results come from.
    #[must_use]
    pub fn header(&self) -> &HeaderName {
        &self.header
    }
}

const HEADER: &str = "x-toolgate-provenance";

fn problem(parsed: &Parsed, place: &str, message: impl Into<String>) -> Problem {
    parsed.places.problem(format!("provenance.{place}"), message)
}

fn style(parsed: &Parsed, config: &ProvenanceConfig) -> Result<ProvenanceTagLayer, Problem> {
    let mut layer = ProvenanceTagLayer::new()
        .with_trust_annotations(config.trust_annotations)
        .with_ifc(config.ifc)
        .with_media(config.media)
        .with_descriptions(config.descriptions)
        .with_fence(config.fence, config.structured_content)
        .map_err(|error| problem(parsed, "structured_content", error.to_string()))?;
    if let Some(key) = &config.key {
        layer = layer.with_key(MetaKey::new(key).map_err(|error| problem(parsed, "key", error.to_string()))?);
    }
    if let Some(schemes) = &config.link_schemes {
        layer = layer.with_link_schemes(schemes);
    }
    Ok(layer)
}

fn signing_key(parsed: &Parsed, config: &ProvenanceConfig) -> Result<Option<SigningKey>, Problem> {
    let Some(key) = &config.signing_key else { return Ok(None) };
    let all = config
        .previous_signing_keys
        .iter()
        .fold(SigningKey::new(key.expose()), |key, previous| key.and_then(|key| key.with_previous(previous.expose())));
    all.map(Some).map_err(|error| problem(parsed, "signing_key", error.to_string()))
}

/// One at a time, so that the place of a mistake is that in the file.
fn labels(parsed: &Parsed, config: &ProvenanceConfig) -> Result<ToolLabels, Problem> {
    for (tool, label) in &config.labels {
        ToolLabels::new([(tool, *label)]).map_err(|error| of_label(parsed, tool, &error))?;
    }
    let all = config.labels.iter().map(|(tool, label)| (tool, *label));
    ToolLabels::new(all).map_err(|error| problem(parsed, "labels", error.to_string()))
}

/// A field follows the bracket that a tool's name, whatever it is, ends with.
fn of_label(parsed: &Parsed, tool: &str, error: &LabelError) -> Problem {
    let place = member("labels", tool);
    let is_field = |field: &&str| field.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let field = error.place().rsplit_once("].").map(|(_, field)| field).filter(is_field);
    let place = field.map_or(place.clone(), |field| member(&place, field));
    problem(parsed, &place, error.problem().to_string())
}

/// What is wrong or doubtful in the section.
///
/// # Errors
///
/// The first mistake, with its place in the file.
pub fn check(parsed: &Parsed) -> Result<Vec<Problem>, Problem> {
    Tags::new(parsed)?;
    let Some(config) = &parsed.config.provenance else { return Ok(Vec::new()) };
    let mut doubts = Vec::from_iter(unjudged(parsed, config));
    if config.signing_key.is_none() && !config.previous_signing_keys.is_empty() {
        doubts.push(problem(parsed, "previous_signing_keys", "without a `signing_key` nothing is signed"));
    }
    for (tool, _) in config.labels.iter().filter(|(_, label)| speaks_of_flows(label)) {
        let message = "no flow is enforced by this release: only `capability` and `trust` say anything";
        doubts.push(problem(parsed, &member("labels", tool), message));
    }
    Ok(doubts)
}

/// Without a classifier only names speak for what a call brings back.
fn unjudged(parsed: &Parsed, config: &ProvenanceConfig) -> Option<Problem> {
    if parsed.config.content_trust.is_some() {
        return None;
    }
    let (place, message) = if config.labels.is_empty() {
        ("provenance", "without `content_trust` and without `labels` every result is external")
    } else {
        ("provenance.labels", "without `content_trust` a label vouches for the tool of that name of any server")
    };
    Some(parsed.places.problem(place, message))
}

fn speaks_of_flows(label: &ToolLabel) -> bool {
    let of_origin = ToolLabel::new().with_trust(label.trust);
    *label != label.capability.map_or(of_origin, |capability| of_origin.with_capability(capability))
}
