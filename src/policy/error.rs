//! Mistakes in a policy, found when it is compiled.

use std::fmt;

use crate::placed::placed;

placed! {
    /// A mistake in a policy: what, and where.
    ConfigError { problem: ConfigProblem }
    /// The mistake.
    such as "roles[1].allow[0]"
}

impl std::error::Error for ConfigError {}

/// The kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// A name or pattern that is empty, or only white space.
    Blank,
    /// A name or pattern with a control character.
    ControlCharacter(String),
    /// A second role of one name.
    DuplicateRole(String),
    /// A pattern over URIs that no canonical URI matches.
    UriNotCanonical(String),
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("must not be blank"),
            Self::ControlCharacter(text) => write!(f, "control character in {text:?}"),
            Self::DuplicateRole(name) => write!(f, "second role named {name:?}"),
            Self::UriNotCanonical(pattern) => {
                write!(
                    f,
                    "{pattern:?} can never match: dot segments, encoded dots or separators, backslashes match nothing"
                )
            }
        }
    }
}
