//! Where the bytes of a result came from, seen from the trust boundary.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP. Nothing here depends on where a model runs: what a
//! tool fetched is as foreign to a local model as to a remote one.

mod kind;

pub use self::kind::Provenance;
