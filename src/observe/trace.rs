//! Decisions as events of `tracing`.

use tracing::Level;

use super::event::{DecisionEvent, OnDecision, Outcome};
use crate::policy::short;

/// Emits one event a decision, with the target `tower_toolgate::decision`: denials at `INFO`, the rest at `DEBUG`.
///
/// | field | what it is |
/// |---|---|
/// | `decision.outcome` | `allow`, `deny` or `shadow_deny` |
/// | `denial.reason`, `denial.argument` | the stable reason, the argument's name |
/// | `rpc.method`, `rpc.id` | of the message, the id as it was written |
/// | `tool.name`, `server.id` | what is called, and whose it is |
/// | `caller.roles`, `caller.subject` | who calls |
/// | `value.digests` | with the feature `digest`: `ARGUMENT=HEX`, for each ruled or denied value |
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct TraceDecisions;

const TARGET: &str = "tower_toolgate::decision";

macro_rules! emit {
    ($level:expr, $event:expr) => {{
        let event: &DecisionEvent<'_> = $event;
        let method = event.message.and_then(|message| message.method().ok());
        tracing::event!(
            target: TARGET,
            $level,
            decision.outcome = event.outcome.name(),
            denial.reason = event.denial.map(|denial| denial.reason()),
            denial.argument = event.denial.and_then(|denial| denial.argument()),
            rpc.method = method.map(|method| short(&method)).as_deref(),
            rpc.id = event.message.and_then(|message| message.id()).map(short).as_deref(),
            tool.name = event.tool().map(|tool| short(&tool)).as_deref(),
            server.id = event.server,
            caller.roles = roles(event),
            caller.subject = event.principal().map(|principal| principal.subject()),
            value.digests = digests(event),
        );
    }};
}

impl OnDecision for TraceDecisions {
    fn on_decision(&self, event: &DecisionEvent<'_>) {
        match event.outcome {
            Outcome::Deny | Outcome::ShadowDeny if tracing::event_enabled!(target: TARGET, Level::INFO) => {
                emit!(Level::INFO, event);
            }
            Outcome::Allow if tracing::event_enabled!(target: TARGET, Level::DEBUG) => emit!(Level::DEBUG, event),
            Outcome::Allow | Outcome::Deny | Outcome::ShadowDeny => {}
        }
    }
}

fn roles(event: &DecisionEvent<'_>) -> String {
    event.roles.names().collect::<Vec<_>>().join(",")
}

#[cfg(feature = "digest")]
fn digests(event: &DecisionEvent<'_>) -> Option<String> {
    let values: Vec<_> = event.ruled_values().map(|value| format!("{}={}", value.argument, value.digest)).collect();
    (!values.is_empty()).then(|| values.join(","))
}

#[cfg(not(feature = "digest"))]
fn digests(_: &DecisionEvent<'_>) -> Option<String> {
    None
}
