//! Counters for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tower_toolgate::Principal;
use tower_toolgate::answer::{Denial, UpstreamFault};
use tower_toolgate::observe::{
    DecisionEvent, OnDecision, OnTag, OnTrust, Outcome, TagEvent, TraceDecisions, TrustEvent, TrustEventKind,
};
use tower_toolgate::server::{Reach, ServerRefusal};
use tower_toolgate::store::TaintRegistry;

use crate::store::AnyStore;

type Labels<const N: usize> = [(&'static str, String); N];

/// What the gateway counts. Clones share it.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    decisions: Family<Labels<3>, Counter>,
    upstream_faults: Family<Labels<2>, Counter>,
    unauthorized: Counter,
    sessions: Family<Labels<2>, Counter>,
    tags: TagCounters,
    coarsenings: Arc<Mutex<Option<AnyStore>>>,
    /// How many coarsenings have been logged.
    logged: Arc<AtomicU64>,
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
        let sessions = Family::default();
        registry.register(
            "sessions",
            "What happened to sessions: marks, refusals, trouble with the store",
            sessions.clone(),
        );
        let tags = TagCounters::new(&mut registry);
        let coarsenings = Arc::default();
        registry.register_collector(Box::new(Coarsenings(Arc::clone(&coarsenings))));
        Self {
            registry: Arc::new(registry),
            decisions,
            upstream_faults,
            unauthorized,
            sessions,
            tags,
            coarsenings,
            logged: Arc::default(),
        }
    }

    /// The counters as Prometheus reads them (OpenMetrics text format).
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts how often a store's memory ran out.
    pub(crate) fn watch(&self, store: &AnyStore) {
        *self.coarsenings.lock().unwrap_or_else(PoisonError::into_inner) = Some(store.clone());
    }

    /// Says that memory ran out, once for each time that it is seen.
    fn log_coarsenings(&self) {
        let store = self.coarsenings.lock().unwrap_or_else(PoisonError::into_inner);
        let count = store.as_ref().map_or(0, TaintRegistry::coarsenings);
        if self.logged.fetch_max(count, Ordering::Relaxed) < count {
            tracing::warn!(count, "the memory of sessions ran out: marks were merged upwards");
        }
    }

    pub(crate) fn count_unauthorized(&self) {
        self.unauthorized.inc();
    }

    /// Counts what a server has asked and may not, like any other refusal.
    pub(crate) fn count_reach(&self, server: &str, reach: Reach) {
        let reason = ServerRefusal::ReachBack(reach).reason().to_owned();
        let labels = [("outcome", Outcome::Deny.name().to_owned()), ("reason", reason), ("server", server.to_owned())];
        self.decisions.get_or_create(&labels).inc();
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

impl OnTrust for Metrics {
    fn on_trust(&self, event: &TrustEvent<'_>) {
        let rule = match event.kind {
            TrustEventKind::Flagged(rule) | TrustEventKind::Refused(rule) => rule.name(),
            _ => "",
        };
        let labels = [("event", event.kind.name().to_owned()), ("rule", rule.to_owned())];
        self.sessions.get_or_create(&labels).inc();
        audit(event);
        self.log_coarsenings();
    }
}

/// What is counted of results.
#[derive(Clone, Debug, Default)]
struct TagCounters {
    results: Family<Labels<2>, Counter>,
    forged: Family<Labels<1>, Counter>,
    removed: Counter,
    suspicious: Counter,
}

impl TagCounters {
    fn new(registry: &mut Registry) -> Self {
        let new = Self::default();
        registry.register("results", "Results by where they come from", new.results.clone());
        registry.register(
            "forged_tags",
            "Tags and claims that servers wrote and that were removed",
            new.forged.clone(),
        );
        let help = "Images, sounds, files and links from outside that were removed";
        registry.register("removed_blocks", help, new.removed.clone());
        let help = "Descriptions of servers that speak of fences";
        registry.register("suspicious_descriptions", help, new.suspicious.clone());
        new
    }
}

impl OnTag for Metrics {
    fn on_tag(&self, event: &TagEvent<'_>) {
        let server = || ("server", event.server.unwrap_or_default().to_owned());
        if let Some(provenance) = event.provenance {
            self.tags.results.get_or_create(&[("origin", provenance.as_str().to_owned()), server()]).inc();
        }
        if event.stripped > 0 {
            self.tags.forged.get_or_create(&[server()]).inc_by(count(event.stripped));
            tracing::warn!(server = event.server, count = event.stripped, "tags that a server wrote were removed");
        }
        self.tags.removed.inc_by(count(event.dropped));
        if event.suspicious > 0 {
            self.tags.suspicious.inc_by(count(event.suspicious));
            tracing::warn!(server = event.server, count = event.suspicious, "descriptions of a server speak of fences");
        }
    }
}

fn count(number: usize) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// What an operator needs to understand a refusal: here, and not in the answer, stands what has marked the session.
fn audit(event: &TrustEvent<'_>) {
    let principal = event.principal.map(Principal::subject);
    let (step, class) =
        (event.verdict.map(|verdict| verdict.step().as_str()), event.verdict.map(|verdict| verdict.class().as_str()));
    let cause = event.known.and_then(|known| known.cause.as_ref()).map(ToString::to_string);
    let key = event.key.principal.to_string();
    tracing::info!(kind = event.kind.name(), principal, key, class, step, cause, detail = ?event.kind, "session");
}

/// Reads the store's own counter when it is asked for.
#[derive(Debug)]
struct Coarsenings(Arc<Mutex<Option<AnyStore>>>);

impl Collector for Coarsenings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Some(store) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
        let counter = ConstCounter::new(store.coarsenings());
        let help = "How often memory ran out and marks were merged upwards";
        let metric = encoder.encode_descriptor("coarsenings", help, None, counter.metric_type())?;
        counter.encode(metric)
    }
}
