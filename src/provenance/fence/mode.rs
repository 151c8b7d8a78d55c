//! The ways to fence.

use serde::{Deserialize, Serialize};

/// How the text that a tool brings back is fenced.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::FenceMode;
///
/// let mode: FenceMode = serde_json::from_str(r#""datamark""#)?;
/// assert_eq!(mode, FenceMode::Datamark);
/// assert_eq!(FenceMode::default(), FenceMode::Off);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FenceMode {
    /// Not at all.
    #[default]
    Off,
    /// By a line before it and one after it.
    Delimit,
    /// As [`Delimit`](Self::Delimit), with a private-use character before each word that follows white space.
    Datamark,
    /// As [`Delimit`](Self::Delimit), in base64: nothing of it can be read in passing.
    Base64,
}

impl FenceMode {
    /// A stable name, as configurations and tags have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Delimit => "delimit",
            Self::Datamark => "datamark",
            Self::Base64 => "base64",
        }
    }
}
