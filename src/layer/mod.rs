//! The tower part: wiring only.

pub mod argument_allowlist;
