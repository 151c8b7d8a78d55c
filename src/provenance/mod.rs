//! Where the bytes of a result came from, seen from the trust boundary.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP. Nothing here depends on where a model runs: what a
//! tool fetched is as foreign to a local model as to a remote one.

mod fence;
mod kind;
mod labels;
mod marking;
mod name;
mod sign;
mod tag;

pub use self::fence::{Fence, FenceError, FenceId, FenceMode, InvalidFenceId, NotFenced, Unfenced, unfence};
pub(crate) use self::fence::{RawEdits, RawFenced, mentions_fence};
pub use self::kind::Provenance;
pub use self::labels::{
    Capability, Confidentiality, FlowResponse, LabelError, LabelProblem, LabelTrust, ToolLabel, ToolLabels,
    ToolLabelsConfig, UnknownWord,
};
pub(crate) use self::marking::{Asked, Mark, Report, Style, mark, strip};
pub use self::marking::{FenceNeeded, MediaPolicy, StructuredContent};
pub use self::name::{InvalidMetaKey, MetaKey};
pub(crate) use self::sign::Seal;
pub use self::sign::{SigningKey, TagFault, TagVerifier, VerifiedTag};
pub(crate) use self::tag::Tag;
pub use crate::secret::WeakKey;
