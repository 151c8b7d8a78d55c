//! The gateway from outside: real sockets, real servers behind it, clients that send whatever bytes they like.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)]

mod approve;
mod badinput;
mod binding;
mod borders;
mod content_trust;
mod contract;
mod denials;
mod edge;
mod entries;
mod framing;
mod headers;
mod lists;
mod offers;
mod pins;
mod processes;
mod provenance;
#[path = "../common/redis.rs"]
mod redis;
mod server_attacks;
mod servers;
mod stack_attacks;
mod stdio;
mod store_down;
mod streaming;
mod support;
mod upstream;
mod wire;
