//! Mistakes in what an operator says, found when it is compiled.

use std::fmt;

use crate::placed::placed;
use crate::trust::origin::UnknownContentOrigin;

placed! {
    /// A mistake in a [`ClassifierConfig`](super::ClassifierConfig): what, and where.
    ClassifierError { problem: ClassifierProblem }
    /// The mistake.
    such as "servers[1].id"
}

impl std::error::Error for ClassifierError {}

/// The kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassifierProblem {
    /// A server's id with `__` inside or `_` at an end: with it two tools could have one qualified name.
    AmbiguousServerId(String),
    /// A name that is empty, or only white space.
    Blank,
    /// A name with a control character.
    ControlCharacter(String),
    /// A second entry for one server.
    DuplicateServer(String),
    /// A second entry for one tool of one server.
    DuplicateTool(String),
    /// What is no origin.
    UnknownOrigin(UnknownContentOrigin),
}

impl fmt::Display for ClassifierProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmbiguousServerId(id) => write!(f, "server id {id:?} must not hold `__`, nor begin or end with `_`"),
            Self::Blank => f.write_str("must not be blank"),
            Self::ControlCharacter(text) => write!(f, "control character in {text:?}"),
            Self::DuplicateServer(id) => write!(f, "second server {id:?}"),
            Self::DuplicateTool(tool) => write!(f, "second entry for tool {tool:?}"),
            Self::UnknownOrigin(error) => fmt::Display::fmt(error, f),
        }
    }
}
