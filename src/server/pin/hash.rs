//! The hash of a definition.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::canonical::canonical;
use super::fault::DefinitionFault;

/// The SHA-256 of a tool's definition in its canonical form (RFC 8785): of every member that it has, known or not.
///
/// White space, the order of members and the spelling of texts and numbers make no difference; anything else does.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::DefinitionHash;
///
/// let hash = DefinitionHash::of(br#"{"name":"read","title":"Read"}"#)?;
/// assert_eq!(DefinitionHash::of(br#"{ "title": "R\u0065ad", "name": "read" }"#)?, hash);
/// assert_ne!(DefinitionHash::of(br#"{"name":"read","title":"Read!"}"#)?, hash);
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// # Ok::<(), tower_toolgate::server::DefinitionFault>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionHash([u8; 32]);

impl DefinitionHash {
    /// The hash of a definition.
    ///
    /// # Errors
    ///
    /// It is not I-JSON (RFC 7493), so that readers may differ about it. That it has a name is not looked at.
    pub fn of(definition: &[u8]) -> Result<Self, DefinitionFault> {
        canonical(definition).map(|text| Self(Sha256::digest(text).into()))
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for DefinitionHash {
    /// In 64 lower case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DefinitionHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let mut hash = [0; 32];
        if text.len() != 2 * hash.len() {
            return Err(NoHash);
        }
        for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = pair.iter().map(|&digit| match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(NoHash),
            });
            *byte = digits.into_iter().try_fold(0, |sum, digit| Ok(sum << 4 | digit?))?;
        }
        Ok(Self(hash))
    }
}

/// A text that is no [`DefinitionHash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoHash;

impl fmt::Display for NoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash has 64 lower case hexadecimal digits")
    }
}

impl std::error::Error for NoHash {}
