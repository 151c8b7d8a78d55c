//! Ids of sessions and tasks, bound to who was given them.
//!
//! Whoever knows the id of a session or a task can use it: servers seldom ask whose it is. Bound ids can be used by one
//! principal and at one server only; the server's own never leave the gateway. Nothing is remembered: a key is all that
//! replicas share.
//!
//! ```text
//! v1.<base64url of the server's id>.<seconds since 1970>.<base64url of 64 bytes>     a session
//! t1.<base64url of the server's id>.<base64url of 64 bytes>                          a task
//! ```
//!
//! The 64 bytes are a keyed digest of the server's name, one of the principal (16 bytes each), and an HMAC-SHA256 of all
//! that the id says, what it is of included. They are compared in constant time, and only once the length is known to be
//! sane.

#[cfg(feature = "content-trust")]
mod bound;
mod fault;
#[cfg(feature = "content-trust")]
mod key;
#[cfg(feature = "content-trust")]
mod verified;

#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub use self::bound::{Binder, Unbindable};
pub use self::fault::{BindingFault, UnboundRequest};
#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub use self::key::{BindingKey, RandomKeyError};
#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub use self::verified::{VerifiedSession, VerifiedTask};
#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub use crate::secret::WeakKey;

#[cfg(all(test, feature = "content-trust"))]
mod tests;
