//! What operators see: every decision, allowed ones too.

#[cfg(feature = "digest")]
mod digest;
mod event;
#[cfg(feature = "provenance")]
mod tag;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(feature = "content-trust")]
mod trust;

#[cfg(feature = "digest")]
pub use self::digest::{BlankKey, DigestKey, RuledValue, ValueDigest};
#[cfg(feature = "digest")]
pub(crate) use self::event::Digests;
pub use self::event::{DecisionEvent, OnDecision, Outcome};
#[cfg(feature = "provenance")]
pub use self::tag::{OnTag, TagEvent};
#[cfg(feature = "tracing")]
pub use self::trace::TraceDecisions;
#[cfg(feature = "content-trust")]
pub use self::trust::{OnTrust, TrustEvent, TrustEventKind};
