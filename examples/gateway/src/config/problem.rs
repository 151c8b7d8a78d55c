//! What is wrong with a configuration.

use std::error::Error;
use std::fmt;

/// One thing that is wrong or doubtful, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The config path, such as `policy.roles[0].allow[1]`; empty when there is none.
    pub place: String,
    /// The line of the text, counted from 1.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    /// A problem without a position.
    #[must_use]
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, column: None, message: message.into() }
    }

    /// Sets line and column.
    #[must_use]
    pub fn at(mut self, position: Option<(usize, usize)>) -> Self {
        (self.line, self.column) = position.unzip();
        self
    }
}

impl Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, line, message, .. } = self;
        match (line, place.as_str()) {
            (Some(line), "") => write!(f, "line {line}: {message}"),
            (Some(line), place) => write!(f, "line {line}, {place}: {message}"),
            (None, "") => f.write_str(message),
            (None, place) => write!(f, "{place}: {message}"),
        }
    }
}

/// In the order of the text; what is missing altogether comes last.
pub(super) fn sort(problems: &mut [Problem]) {
    problems.sort_by_key(|problem| (problem.line.is_none(), problem.line, problem.column));
}
