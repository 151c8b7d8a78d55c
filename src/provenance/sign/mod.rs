//! Signing the tag, so that a later hop can tell it from a forged one and from one that was moved.
//!
//! ```text
//! s1.<base64url of 32 bytes>
//! ```
//!
//! The bytes are an HMAC-SHA256 of the principal (without its epoch), the id of the message, the part of the message
//! that has the tag (the object that is its `result`, `error` or `params`), the name of the tag, all that the tag says
//! besides the signature, and that object without the tag. Tag and object are signed for what they say: white space, the
//! order of members and the spelling of strings may change on the way, the text of numbers may not. An id is what
//! [`meaning`] makes of it.

mod digest;
mod key;
mod seal;
mod verify;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;

pub use self::key::SigningKey;
pub(crate) use self::seal::Seal;
pub use self::verify::{TagFault, TagVerifier, VerifiedTag};
use super::MetaKey;
use crate::identity::Principal;
use crate::json;
use crate::message::meaning;
use crate::secret::{Keyed, write, write_principal};

/// What a signature of this form begins with.
const VERSION: &str = "s1";
/// The member of the tag that has the signature.
const SIG: &str = "sig";

/// Which part of a message has the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// In its `data`.
    Error,
    /// In its `_meta`.
    Params,
    /// In its `_meta`.
    Result,
}

impl Carrier {
    const ALL: [Self; 3] = [Self::Error, Self::Params, Self::Result];

    /// The name of the part in its message.
    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Params => "params",
            Self::Result => "result",
        }
    }

    /// The member of the part that has the tag.
    const fn member(self) -> &'static str {
        match self {
            Self::Error => "data",
            Self::Params | Self::Result => "_meta",
        }
    }
}

/// Signs a tag, given as its object. `value` is the part of the message that carries it, as it is sent; `id` is the
/// message's as it was written. In both objects it makes no difference whether what the signature is put into is there.
///
/// # Errors
///
/// Tag or value cannot be read exactly.
fn sign(
    key: &SigningKey,
    principal: Option<&Principal>,
    id: Option<&str>,
    carrier: Carrier,
    tag: &[u8],
    value: &[u8],
    name: &MetaKey,
) -> Result<String, json::Error> {
    let signed = Signed::new(principal, id, carrier, tag, value, name)?;
    let mac = signed.mac(key.current()).finalize().into_bytes();
    Ok(format!("{VERSION}.{}", URL_SAFE_NO_PAD.encode(mac)))
}

/// All that a signature is of, as text that has one meaning.
struct Signed(Vec<u8>);

impl Signed {
    fn new(
        principal: Option<&Principal>,
        id: Option<&str>,
        carrier: Carrier,
        tag: &[u8],
        value: &[u8],
        name: &MetaKey,
    ) -> Result<Self, json::Error> {
        let mut text = vec![u8::from(principal.is_some())];
        if let Some(principal) = principal {
            write_principal(&mut text, principal);
        }
        write(&mut text, id.map(meaning).as_deref());
        write(&mut text, Some(carrier.name()));
        write(&mut text, Some(name.as_str()));
        text.extend_from_slice(&digest::digest(tag, &[SIG])?);
        text.extend_from_slice(&digest::digest(value, &[carrier.member(), name.as_str()])?);
        Ok(Self(text))
    }

    fn mac(&self, key: &Keyed) -> Keyed {
        key.clone().chain_update(b"tower-toolgate/provenance/1/tag\0").chain_update(&self.0)
    }
}

#[cfg(test)]
mod tests;
