//! The tower part: wiring only.

pub mod argument_allowlist;
mod join;

pub use self::join::{Join, Joined};
