//! Values that must not be shown.

use std::fmt;

use serde::{Serialize, Serializer};

use super::error::ServerProblem;
use super::written::Spot;

/// What is shown in the place of a secret.
pub(super) const REDACTED: &str = "<redacted>";

/// A value that neither `Debug` nor `Serialize` shows.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::Secret;
///
/// let token = Secret::new("t0ken");
/// assert_eq!(format!("{token:?}"), "<redacted>");
/// assert_eq!(serde_json::to_string(&token)?, r#""<redacted>""#);
/// assert_eq!(token.expose(), "t0ken");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A value to keep.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn read(spot: &Spot<'_>) -> Result<Self, super::ServerError> {
        spot.text().map(Self::new)
    }

    /// Who reads what was written for show would otherwise go on with this word for a password.
    pub(super) fn check(&self) -> Result<(), ServerProblem> {
        if self.0 == REDACTED { Err(ServerProblem::Redacted) } else { Ok(()) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}
