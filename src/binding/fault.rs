//! Why an id is not the caller's.

use std::error::Error;
use std::fmt;

/// What is wrong with an id that a client sends. The client is told the same of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BindingFault {
    /// It was given out too long ago.
    Expired,
    /// No key that is known has made it: it is invented, changed, or older than the keys.
    Forged,
    /// It has not the form of a bound id: most likely a server's own one.
    Malformed,
    /// It is a bound id of something else: a task's for a session's, or the other way round.
    OtherKind,
    /// It was given to another principal.
    OtherPrincipal,
    /// It was given by way of another server.
    OtherServer,
    /// It has a form that this version does not know.
    OtherVersion,
    /// It is longer than any bound id.
    TooLong,
}

impl BindingFault {
    /// Every kind, in alphabetical order.
    pub const ALL: &'static [Self] = &[
        Self::Expired,
        Self::Forged,
        Self::Malformed,
        Self::OtherKind,
        Self::OtherPrincipal,
        Self::OtherServer,
        Self::OtherVersion,
        Self::TooLong,
    ];

    /// A stable name, for logs; clients do not see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Forged => "forged",
            Self::Malformed => "malformed",
            Self::OtherKind => "other_kind",
            Self::OtherPrincipal => "other_principal",
            Self::OtherServer => "other_server",
            Self::OtherVersion => "other_version",
            Self::TooLong => "too_long",
        }
    }
}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "given out too long ago",
            Self::Forged => "no known key has made this id",
            Self::Malformed => "not a bound id",
            Self::OtherKind => "a bound id of something else",
            Self::OtherPrincipal => "bound to another principal",
            Self::OtherServer => "bound to another server",
            Self::OtherVersion => "bound in an unknown form",
            Self::TooLong => "too long for a bound id",
        })
    }
}

impl Error for BindingFault {}

/// Why a request is refused for the ids that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnboundRequest {
    /// It names a task that is not the caller's, by a method that its revision does not have.
    MethodGone,
    /// Nobody says who sends it, so that no id can be theirs.
    PrincipalMissing,
    /// Its URL names a session, where no id is bound.
    SessionInUrl,
    /// It resumes a stream of no session.
    SessionMissing,
    /// It names a session that is not the caller's.
    SessionUnknown(BindingFault),
    /// It asks for everybody's tasks.
    TaskList,
    /// It names a task that is not the caller's.
    TaskUnknown(BindingFault),
}

impl UnboundRequest {
    /// A stable name, for logs and for the `reason` of an answer: one for all that is wrong with an id.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::MethodGone => "binding.method_gone",
            Self::PrincipalMissing => "binding.principal_missing",
            Self::SessionInUrl => "binding.session_in_url",
            Self::SessionMissing => "binding.session_missing",
            Self::SessionUnknown(_) => "binding.session_unknown",
            Self::TaskList => "binding.task_list",
            Self::TaskUnknown(_) => "binding.task_unknown",
        }
    }

    /// What is wrong with the id, if that is the reason.
    #[must_use]
    pub const fn fault(self) -> Option<BindingFault> {
        match self {
            Self::SessionUnknown(fault) | Self::TaskUnknown(fault) => Some(fault),
            Self::MethodGone | Self::PrincipalMissing | Self::SessionInUrl | Self::SessionMissing | Self::TaskList => {
                None
            }
        }
    }
}

impl fmt::Display for UnboundRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrincipalMissing => "the caller is not known",
            Self::SessionInUrl => "the URL must not name a session",
            Self::SessionMissing => "a stream can be resumed in a session only",
            Self::SessionUnknown(_) => "unknown session",
            Self::MethodGone | Self::TaskList => "Method not found",
            Self::TaskUnknown(_) => "unknown task",
        })
    }
}

impl Error for UnboundRequest {}
