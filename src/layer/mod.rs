//! The tower part: wiring only.

pub mod argument_allowlist;
mod exchange;
mod join;

pub use self::join::{Join, Joined};
