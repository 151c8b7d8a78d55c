//! Whose memory it is.

use std::fmt;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::identity::Principal;

/// A principal as stores know it: a digest of tenant, method, issuer, subject and epoch, from which nobody learns who it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrincipalKey([u8; 16]);

/// A conversation of one principal as stores know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationKey([u8; 16]);

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaintKey {
    /// The principal, always.
    pub principal: PrincipalKey,
    /// One of its conversations, where the operator believes what names it.
    pub conversation: Option<ConversationKey>,
}

impl PrincipalKey {
    /// The key of a principal: the same in every process.
    #[must_use]
    pub fn of(principal: &Principal) -> Self {
        Self(principal.digest().get_or_init(|| {
            let parts = [
                principal.tenant(),
                Some(principal.method()),
                principal.issuer(),
                Some(principal.subject()),
                principal.epoch(),
            ];
            digest(b"tower-toolgate/principal/1", parts.into_iter())
        }))
    }
}

impl PrincipalKey {
    /// The key that all who are not authenticated share.
    #[must_use]
    pub fn anonymous() -> Self {
        static ANONYMOUS: OnceLock<[u8; 16]> = OnceLock::new();
        Self(*ANONYMOUS.get_or_init(|| digest(b"tower-toolgate/anonymous/1", std::iter::empty())))
    }
}

impl ConversationKey {
    /// The key of a conversation by the source that names it and the name, of any length.
    #[must_use]
    pub fn of(source: &str, name: &[u8]) -> Self {
        let mut hash = Sha256::new_with_prefix(b"tower-toolgate/conversation/1");
        hash.update((source.len() as u64).to_be_bytes());
        hash.update(source);
        hash.update(name);
        Self(shorten(hash))
    }
}

impl TaintKey {
    /// A principal as a whole.
    #[must_use]
    pub fn of(principal: &Principal) -> Self {
        Self { principal: PrincipalKey::of(principal), conversation: None }
    }

    /// All who are not authenticated.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { principal: PrincipalKey::anonymous(), conversation: None }
    }

    /// One of its conversations.
    #[must_use]
    pub fn with_conversation(self, conversation: ConversationKey) -> Self {
        Self { conversation: Some(conversation), ..self }
    }
}

/// Each part with its length, and whether it is there: no two lists of parts have one text.
fn digest<'a>(domain: &[u8], parts: impl Iterator<Item = Option<&'a str>>) -> [u8; 16] {
    let mut hash = Sha256::new_with_prefix(domain);
    for part in parts {
        hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        hash.update(part.unwrap_or_default());
    }
    shorten(hash)
}

fn shorten(hash: Sha256) -> [u8; 16] {
    let mut short = [0; 16];
    short.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    short
}

macro_rules! bytes_of {
    ($($key:ident)*) => {$(
        impl $key {
            /// As bytes, for a store.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// From bytes that a store has kept.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }
        }

        impl fmt::Debug for $key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($key), "({})"), self)
            }
        }

        impl fmt::Display for $key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    )*};
}

bytes_of!(PrincipalKey ConversationKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sk_01_sk_02_every_part_of_a_principal_tells_it_from_others() {
        let base = || Principal::new("oauth", "x").unwrap();
        let all = [
            base(),
            Principal::new("api-key", "x").unwrap(),
            Principal::new("oauth", "y").unwrap(),
            Principal::new("oautx", "h").unwrap(),
            base().with_tenant("t"),
            base().with_tenant(""),
            base().with_issuer("t"),
            base().with_epoch("t"),
        ];
        let keys: std::collections::HashSet<_> = all.iter().map(PrincipalKey::of).collect();
        assert_eq!(keys.len(), all.len());
        assert_eq!(PrincipalKey::of(&base()), PrincipalKey::of(&base()));
        assert_ne!(ConversationKey::of("a", b"b"), ConversationKey::of("ab", b""));
    }

    #[test]
    fn a_key_is_shown_in_hexadecimal() {
        let key = PrincipalKey::from_bytes([0xa0; 16]);
        assert_eq!((key.to_string(), key.as_bytes()), ("a0".repeat(16), &[0xa0; 16]));
        assert_eq!(format!("{key:?}"), format!("PrincipalKey({key})"));
    }
}
