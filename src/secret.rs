//! What the keys of gateways have in common, and what they sign.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

use crate::identity::Principal;

/// An HMAC that has taken in its key.
pub(crate) type Keyed = Hmac<Sha256>;

/// A key of at least 32 bytes that nobody guesses, and those that it has followed.
#[derive(Clone)]
pub(crate) struct Secret {
    current: Keyed,
    previous: Arc<[Keyed]>,
}

impl Secret {
    /// The bytes that a key has at least.
    pub(crate) const MIN_BYTES: usize = 32;

    pub(crate) fn new(secret: &[u8]) -> Result<Self, WeakKey> {
        Ok(Self { current: keyed(secret)?, previous: Arc::default() })
    }

    pub(crate) fn with_previous(mut self, secret: &[u8]) -> Result<Self, WeakKey> {
        let added = keyed(secret)?;
        self.previous = self.previous.iter().cloned().chain([added]).collect();
        Ok(self)
    }

    pub(crate) fn current(&self) -> &Keyed {
        &self.current
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Keyed> {
        std::iter::once(&self.current).chain(self.previous.iter())
    }
}

fn keyed(secret: &[u8]) -> Result<Keyed, WeakKey> {
    if secret.len() < Secret::MIN_BYTES {
        return Err(WeakKey);
    }
    Keyed::new_from_slice(secret).map_err(|_| WeakKey)
}

/// Writes a part with its length, and whether it is there: no two lists of parts have one text.
pub(crate) fn write(out: &mut Vec<u8>, part: Option<&str>) {
    out.extend_from_slice(&part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
    out.extend_from_slice(part.unwrap_or_default().as_bytes());
}

/// Writes who a principal is. The epoch has no part in it: a refreshed token is the same user's.
pub(crate) fn write_principal(out: &mut Vec<u8>, principal: &Principal) {
    let parts = [principal.tenant(), Some(principal.method()), principal.issuer(), Some(principal.subject())];
    parts.into_iter().for_each(|part| write(out, part));
}

/// A key that can be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeakKey;

impl fmt::Display for WeakKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key must have at least {} bytes", Secret::MIN_BYTES)
    }
}

impl Error for WeakKey {}
