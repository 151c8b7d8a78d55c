//! Real clients and servers through the gateway.
//!
//! Opt-in: `install.sh DIR` beside this file brings them, and the variable `TOOLGATE_PEERS=DIR` asks for these
//! tests. Without it they say loudly that they were skipped; with it, what cannot be run is a failure.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)]

mod clients;
mod conformance;
mod day;
mod levels;
mod provenance;
mod raw;
#[path = "../common/redis.rs"]
mod redis;
mod roles;
mod sdks;
mod servers;
mod support;
