//! Mistakes in labels, found before anything starts.

use std::fmt;

use super::words::{Capability, UnknownWord};
use crate::placed::placed;

placed! {
    /// A mistake in labels: what, and where.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::provenance::ToolLabelsConfig;
    ///
    /// let error = toml::from_str::<ToolLabelsConfig>("post = { capability = 'net_send ' }").unwrap_err();
    /// assert!(error.to_string().contains(r#"labels["post"].capability: "net_send " is no capability"#));
    /// assert!(error.to_string().contains(r#"did you mean "net_send"?"#));
    /// ```
    LabelError { problem: LabelProblem }
    /// The mistake.
    such as r#"labels["post"].capability"#
}

impl std::error::Error for LabelError {}

/// The kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelProblem {
    /// A tool's name that is empty, or only white space.
    Blank,
    /// A built-in keeps the capability that it has, or has not.
    BuiltinCapability(Option<Capability>),
    /// Only this crate says which built-ins take confidentiality away.
    BuiltinDeclassifier,
    /// A tool's name with a control character.
    ControlCharacter(String),
    /// A field is written twice.
    DuplicateField,
    /// A second label for one tool.
    DuplicateTool,
    /// What should be true or false.
    NotABool,
    /// What should be a map.
    NotAnObject,
    /// What should be text.
    NotText,
    /// A field that there is not.
    UnknownField(Vec<&'static str>),
    /// What is no word of a vocabulary.
    UnknownWord(UnknownWord),
}

impl fmt::Display for LabelProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("a tool's name must not be blank"),
            Self::BuiltinCapability(kept) => {
                let kept = kept.map_or("none", Capability::as_str);
                write!(f, "this built-in keeps its capability ({kept}); `trust` can say that it is untrusted")
            }
            Self::BuiltinDeclassifier => f.write_str("a built-in cannot be made a declassifier"),
            Self::ControlCharacter(name) => write!(f, "control character in {name:?}"),
            Self::DuplicateField => f.write_str("written twice"),
            Self::DuplicateTool => f.write_str("second label for this tool"),
            Self::NotABool => f.write_str("must be true or false"),
            Self::NotAnObject => f.write_str("must be an object"),
            Self::NotText => f.write_str("must be a string"),
            Self::UnknownField(known) => write!(f, "no such field: one of {}", known.join(", ")),
            Self::UnknownWord(error) => fmt::Display::fmt(error, f),
        }
    }
}
