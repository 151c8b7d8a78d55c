//! Values that an audit can compare and not read.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::json::Argument;

/// The key of a gate's digests: the operating system's randomness unless it is configured.
///
/// With a key of one's own digests can be compared over restarts and between processes.
///
/// # Example
///
/// ```
/// use tower_toolgate::observe::DigestKey;
///
/// let key = DigestKey::new("a long secret of the operator")?;
/// assert_eq!(key.digest(b"ls").to_string(), key.digest(b"ls").to_string());
/// assert!(DigestKey::new("   ").is_err());
/// # Ok::<(), tower_toolgate::observe::BlankKey>(())
/// ```
#[derive(Clone)]
pub struct DigestKey(Arc<[u8]>);

impl DigestKey {
    /// A key of one's own.
    ///
    /// # Errors
    ///
    /// It is empty or only white space.
    pub fn new(key: impl AsRef<[u8]>) -> Result<Self, BlankKey> {
        let key = key.as_ref();
        if key.trim_ascii().is_empty() { Err(BlankKey) } else { Ok(Self(key.into())) }
    }

    /// A key that nobody knows and that is gone with the process.
    ///
    /// # Errors
    ///
    /// The operating system gives no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(key.into()))
    }

    /// The key that this process has drawn for itself.
    pub(super) fn of_process() -> Option<&'static Self> {
        static KEY: OnceLock<Option<DigestKey>> = OnceLock::new();
        KEY.get_or_init(|| Self::random().ok()).as_ref()
    }

    /// The digest of a value: HMAC-SHA256 (RFC 2104, FIPS 180-4), all 256 bits of it.
    #[must_use]
    pub fn digest(&self, value: &[u8]) -> ValueDigest {
        // Every length of key will do for an HMAC; without one there would be nothing to tell.
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).map(|mac| mac.chain_update(value));
        ValueDigest(mac.map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default())
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(<secret>)")
    }
}

/// A key that is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlankKey;

impl fmt::Display for BlankKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key of digests must not be blank")
    }
}

impl std::error::Error for BlankKey {}

/// A keyed digest of a value. Displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueDigest([u8; 32]);

impl fmt::Display for ValueDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ValueDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A ruled argument of a call, with the digest of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuledValue<'a> {
    /// The argument's name.
    pub argument: Cow<'a, str>,
    /// The digest of its value: of a string's characters, of anything else's text.
    pub digest: ValueDigest,
}

impl<'a> RuledValue<'a> {
    pub(super) fn new(key: &DigestKey, argument: Argument<'a>) -> Self {
        let digest = match argument.as_str() {
            Some(Ok(text)) => key.digest(text.as_bytes()),
            Some(Err(_)) | None => key.digest(argument.raw()),
        };
        Self { argument: argument.name(), digest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_rfc_4231() {
        let key = DigestKey::new("Jefe").unwrap();
        let digest = key.digest(b"what do ya want for nothing?").to_string();
        assert_eq!(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn aa_66_a_blank_key_is_refused_and_random_ones_differ() {
        assert!(DigestKey::new("").is_err());
        assert!(DigestKey::new(" \t\n").is_err());
        let (one, other) = (DigestKey::random().unwrap(), DigestKey::random().unwrap());
        assert_ne!(one.digest(b"x"), other.digest(b"x"));
        assert_eq!(format!("{one:?}"), "DigestKey(<secret>)");
    }
}
