//! Why a request to a server, or what comes from it, is refused.

use std::error::Error;
use std::fmt;

use super::pin::PinVerdict;
use super::reach::Reach;
use super::verdict::ToolRefusal;

/// Why a request to a server, or what comes from it, is refused for what is declared of that server.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{ServerRefusal, ToolRefusal};
///
/// let refusal = ServerRefusal::Tool(ToolRefusal::NotListed);
/// assert_eq!(refusal.reason(), "server.tool_not_listed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerRefusal {
    /// It calls a tool that clients could take for another one of the same server: their
    /// [ids](super::sanitized_id) are the same.
    Colliding,
    /// It calls a tool before the server has been seen to list all that it has, and it does not.
    ListUnavailable,
    /// It uses a method on tools that is neither `tools/list` nor `tools/call`.
    Method,
    /// It calls a tool whose definition is not the one that was approved.
    Quarantined(PinVerdict),
    /// The server asks for something that it may not.
    ReachBack(Reach),
    /// It calls a tool that is not exposed.
    Tool(ToolRefusal),
    /// It calls a tool that was approved, and that the server does not list.
    Unlisted,
}

impl ServerRefusal {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Colliding => "server.tool_collision",
            Self::ListUnavailable => "server.list_unavailable",
            Self::Method => "server.method",
            Self::Quarantined(verdict) => match verdict.reason() {
                Some(reason) => reason,
                None => "pin.quarantined",
            },
            Self::ReachBack(Reach::Elicitation) => "server.reach_elicitation",
            Self::ReachBack(Reach::Other) => "server.reach_other",
            Self::ReachBack(Reach::Roots) => "server.reach_roots",
            Self::ReachBack(Reach::Sampling) => "server.reach_sampling",
            Self::Tool(refusal) => refusal.reason(),
            Self::Unlisted => "pin.unlisted",
        }
    }

    /// Whether it is a request that is refused, and not what has come back.
    pub(crate) const fn is_of_request(self) -> bool {
        match self {
            Self::Colliding
            | Self::ListUnavailable
            | Self::Method
            | Self::Quarantined(_)
            | Self::Tool(_)
            | Self::Unlisted => true,
            Self::ReachBack(_) => false,
        }
    }
}

impl fmt::Display for ServerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Colliding => f.write_str("clients could take it for another tool of its server"),
            Self::ListUnavailable => f.write_str("its server does not say which tools it has"),
            Self::Method => f.write_str("tools are reached by `tools/list` and `tools/call` alone"),
            Self::Quarantined(_) => f.write_str("its definition is not the one that was approved"),
            Self::ReachBack(reach) => write!(f, "the server asks for {reach}, which it may not"),
            Self::Tool(refusal) => refusal.fmt(f),
            Self::Unlisted => f.write_str("its server does not list it"),
        }
    }
}

impl Error for ServerRefusal {}
