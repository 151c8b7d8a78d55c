//! Counters for Prometheus.

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tower_toolgate::answer::{Denial, UpstreamFault};
use tower_toolgate::observe::{DecisionEvent, OnDecision, TraceDecisions};

type Labels<const N: usize> = [(&'static str, String); N];

/// What the gateway counts. Clones share it.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    decisions: Family<Labels<3>, Counter>,
    upstream_faults: Family<Labels<2>, Counter>,
    unauthorized: Counter,
}

impl Metrics {
    /// Counters at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("toolgate");
        let (decisions, upstream_faults, unauthorized) = (Family::default(), Family::default(), Counter::default());
        registry.register("decisions", "Decisions of the gate", decisions.clone());
        registry.register(
            "upstream_faults",
            "Requests that got no valid answer from a server",
            upstream_faults.clone(),
        );
        registry.register("unauthorized", "Requests without a valid key", unauthorized.clone());
        Self { registry: Arc::new(registry), decisions, upstream_faults, unauthorized }
    }

    /// The counters as Prometheus reads them (OpenMetrics text format).
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn count_unauthorized(&self) {
        self.unauthorized.inc();
    }

    pub(crate) fn count_fault(&self, server: &str, fault: UpstreamFault) {
        let labels = [("server", server.to_owned()), ("reason", fault.reason().to_owned())];
        self.upstream_faults.get_or_create(&labels).inc();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl OnDecision for Metrics {
    fn on_decision(&self, event: &DecisionEvent<'_>) {
        let labels = [
            ("outcome", event.outcome.name().to_owned()),
            ("reason", event.denial.map_or("", Denial::reason).to_owned()),
            ("server", event.server.unwrap_or_default().to_owned()),
        ];
        self.decisions.get_or_create(&labels).inc();
        TraceDecisions.on_decision(event);
    }
}
