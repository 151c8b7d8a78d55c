//! The tower part: wiring only.

pub mod argument_allowlist;
#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub mod binding;
#[cfg(feature = "content-trust")]
pub mod content_trust;
mod exchange;
mod join;
#[cfg(feature = "provenance")]
#[cfg_attr(docsrs, doc(cfg(feature = "provenance")))]
pub mod provenance_tag;
#[cfg(feature = "server-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "server-trust")))]
pub mod server_trust;

pub use self::join::{Join, Joined};
