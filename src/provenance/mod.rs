//! Where the bytes of a result came from, seen from the trust boundary.
//!
//! Everything here is pure: no I/O but the operating system's randomness, nothing asynchronous, no HTTP. Nothing here
//! depends on where a model runs: what a tool fetched is as foreign to a local model as to a remote one.

mod fence;
mod kind;
mod labels;
mod name;
pub(crate) mod sign;

pub use self::fence::{Fence, FenceError, FenceId, FenceMode, InvalidFenceId, NotFenced, Unfenced, unfence};
#[cfg_attr(not(test), expect(unused_imports, reason = "the layer that fences responses uses them"))]
pub(crate) use self::fence::{RawEdits, RawFenced, mentions_fence};
pub use self::kind::Provenance;
pub use self::labels::{
    Capability, Confidentiality, FlowResponse, LabelError, LabelProblem, LabelTrust, ToolLabel, ToolLabels,
    ToolLabelsConfig, UnknownWord,
};
pub use self::name::{InvalidMetaKey, MetaKey};
pub use self::sign::{SigningKey, TagFault, TagVerifier, VerifiedTag};
pub use crate::secret::WeakKey;
