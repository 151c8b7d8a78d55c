//! The key of tags.

use std::fmt;

use crate::secret::{Keyed, Secret, WeakKey};

/// The key that tags are signed with: at least 32 bytes that nobody guesses.
///
/// Whoever verifies tags has the same key, and so could sign: it is for hops of one operator, and never for a server
/// behind the gateway, whose word the tag is not. To change the key, give verifiers the new one and the old one as a
/// previous one, then the gateway the new one.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::SigningKey;
///
/// let (old, new) = (b"0123456789abcdef0123456789abcdef", b"fedcba9876543210fedcba9876543210");
/// let key = SigningKey::new(new)?.with_previous(old)?;
/// assert_eq!(format!("{key:?}"), "SigningKey(<secret>)");
/// assert!(SigningKey::new("too short").is_err());
/// # Ok::<(), tower_toolgate::provenance::WeakKey>(())
/// ```
#[derive(Clone)]
pub struct SigningKey(Secret);

impl SigningKey {
    /// The bytes that a key has at least.
    pub const MIN_BYTES: usize = Secret::MIN_BYTES;

    /// A key of one's own.
    ///
    /// # Errors
    ///
    /// It has fewer than [`MIN_BYTES`](Self::MIN_BYTES).
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self, WeakKey> {
        Secret::new(secret.as_ref()).map(Self)
    }

    /// Adds a key that nothing is signed with any more, and that what it has signed is still known by.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_previous(self, secret: impl AsRef<[u8]>) -> Result<Self, WeakKey> {
        self.0.with_previous(secret.as_ref()).map(Self)
    }

    pub(super) fn current(&self) -> &Keyed {
        self.0.current()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Keyed> {
        self.0.all()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(<secret>)")
    }
}
