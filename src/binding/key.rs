//! The key of bindings.

use std::error::Error;
use std::fmt;

use crate::secret::{Keyed, Secret, WeakKey};

/// The key that ids are bound with: at least 32 bytes that nobody guesses.
///
/// Replicas that serve one client need the same key, and so does a process that goes on after another one. To change
/// it, give the new one and the old one as a previous one until all that was bound with it is gone.
///
/// # Example
///
/// ```
/// use tower_toolgate::binding::BindingKey;
///
/// let (old, new) = (b"0123456789abcdef0123456789abcdef", b"fedcba9876543210fedcba9876543210");
/// let key = BindingKey::new(new)?.with_previous(old)?;
/// assert!(BindingKey::new("too short").is_err());
/// # let _ = key;
/// # Ok::<(), tower_toolgate::binding::WeakKey>(())
/// ```
#[derive(Clone)]
pub struct BindingKey(Secret);

impl BindingKey {
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

    /// Adds a key that nothing is bound with any more, and that what it has bound is still known by.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_previous(self, secret: impl AsRef<[u8]>) -> Result<Self, WeakKey> {
        self.0.with_previous(secret.as_ref()).map(Self)
    }

    /// A key that nobody knows and that is gone with the process, and with it all that it has bound.
    ///
    /// # Errors
    ///
    /// The operating system gives no randomness.
    pub fn random() -> Result<Self, RandomKeyError> {
        let mut secret = [0; Self::MIN_BYTES];
        getrandom::fill(&mut secret).map_err(|_| RandomKeyError)?;
        Self::new(secret).map_err(|_| RandomKeyError)
    }

    pub(super) fn current(&self) -> &Keyed {
        self.0.current()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Keyed> {
        self.0.all()
    }
}

impl fmt::Debug for BindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BindingKey(<secret>)")
    }
}

/// The operating system gave no randomness to draw a key from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomKeyError;

impl fmt::Display for RandomKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gives no randomness for a key")
    }
}

impl Error for RandomKeyError {}
