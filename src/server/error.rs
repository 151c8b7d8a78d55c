//! What is wrong with what is written of a server.

use std::fmt;

/// A mistake in a [`ServerEntry`](super::ServerEntry), and where it is.
///
/// Values that may be secret are never in it.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::ServerEntry;
///
/// let error = serde_json::from_str::<ServerEntry>(
///     r#"{"id": "files", "transport": {"http": {"url": "http://[::1]/mcp"}}, "timeout": "soon"}"#,
/// );
/// let error = error.unwrap_err().to_string();
/// assert!(error.starts_with(r#"timeout: "soon" is no duration"#), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    place: String,
    problem: ServerProblem,
}

impl ServerError {
    pub(super) fn new(place: impl Into<String>, problem: ServerProblem) -> Self {
        Self { place: place.into(), problem }
    }

    /// The same, in a table that is at `place` itself.
    pub(super) fn within(self, place: &str) -> Self {
        Self { place: join(place, &self.place), ..self }
    }

    /// The place in the entry, such as `tool_metadata.run.data_sensitivity`; empty for the entry itself.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &ServerProblem {
        &self.problem
    }
}

/// The place of a field.
pub(super) fn join(place: &str, field: &str) -> String {
    if place.is_empty() { field.to_owned() } else { format!("{place}.{field}") }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "{}", self.problem),
            place => write!(f, "{place}: {}", self.problem),
        }
    }
}

impl std::error::Error for ServerError {}

/// What can be wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerProblem {
    /// A text is empty or only white space.
    Blank,
    /// A field is written twice, or two servers have one id.
    Duplicate,
    /// No duration.
    Duration(String),
    /// Nothing that may stand here, and why.
    Invalid(&'static str),
    /// A field that has to be written is not.
    Missing,
    /// The value is of another kind than this.
    NotA(&'static str),
    /// What `Debug` and `Serialize` show in the place of a secret.
    Redacted,
    /// A field that there is not.
    UnknownField,
    /// A word that is none of these.
    UnknownWord {
        /// The word.
        found: String,
        /// Those that there are.
        known: &'static str,
    },
    /// No time, or no number of anything.
    Zero,
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("must not be blank"),
            Self::Duplicate => f.write_str("is there twice"),
            Self::Duration(text) => {
                write!(
                    f,
                    "{text:?} is no duration such as `500ms`, `30s`, `2m`, `12h` or `7d`, nor a number of seconds"
                )
            }
            Self::Invalid(why) => f.write_str(why),
            Self::Missing => f.write_str("is missing"),
            Self::NotA(kind) => write!(f, "must be {kind}"),
            Self::Redacted => f.write_str("is redacted: the value itself has to be written"),
            Self::UnknownField => f.write_str("unknown field"),
            Self::UnknownWord { found, known } => write!(f, "{found:?} is none of {known}"),
            Self::Zero => f.write_str("must be more than zero"),
        }
    }
}

impl std::error::Error for ServerProblem {}
