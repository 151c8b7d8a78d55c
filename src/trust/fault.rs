//! Why a call is refused for what its session has received.

use std::error::Error;
use std::fmt;

/// Why a call is refused, or its content withheld, for the sake of what its session has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrustFault {
    /// What names the conversation is there twice, or differs from place to place.
    ConversationAmbiguous,
    /// A rule refuses it in a session like this one.
    Refused(RuleKind),
    /// What the session has received cannot be looked up or recorded.
    StoreUnavailable,
    /// Content has come back, and could not be recorded.
    Withheld,
}

/// The rules on what a session may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RuleKind {
    /// It writes, sends or remembers, after content from outside.
    TaintedSink,
    /// It cannot be undone, after content from outside.
    TaintedIrreversible,
    /// It sends, after private data and content from outside.
    ThirdLeg,
    /// It is the last step of a sequence that is forbidden.
    ForbiddenSequence,
}

impl RuleKind {
    /// A stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TaintedSink => "tainted_sink",
            Self::TaintedIrreversible => "tainted_irreversible",
            Self::ThirdLeg => "third_leg",
            Self::ForbiddenSequence => "forbidden_sequence",
        }
    }
}

impl TrustFault {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::ConversationAmbiguous => "trust.conversation_ambiguous",
            Self::Refused(RuleKind::TaintedSink) => "trust.tainted_sink",
            Self::Refused(RuleKind::TaintedIrreversible) => "trust.tainted_irreversible",
            Self::Refused(RuleKind::ThirdLeg) => "trust.third_leg",
            Self::Refused(RuleKind::ForbiddenSequence) => "trust.forbidden_sequence",
            Self::StoreUnavailable => "trust.store_unavailable",
            Self::Withheld => "trust.content_withheld",
        }
    }
}

impl fmt::Display for TrustFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConversationAmbiguous => "what names the conversation is not one thing",
            // Not what has marked the session: whoever wrote that could learn from it.
            Self::Refused(_) => "not in a session that has received what this one has; a clean conversation may",
            Self::StoreUnavailable => "what this session has received is not known at the moment; nothing was done",
            Self::Withheld => "the content was withheld, since it could not be recorded; the call may have had effects",
        })
    }
}

impl Error for TrustFault {}
