//! The reference gateway: `tower-toolgate` in front of MCP servers, as one command.
//!
//! The way of a request, outside in: trace and request id, CORS, [`edge`] (hosts, origins, API keys), the time
//! that its body may take, what binds ids, the gate, [`trust`] and the tags of [`provenance`] as far as they are wanted, and
//! behind them an [`upstream`] or one of the [`builtin`] servers.
#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)
)]

pub mod admin;
pub mod app;
pub mod builtin;
pub mod check;
pub mod cli;
pub mod config;
pub mod edge;
pub mod metrics;
pub mod provenance;
pub mod serve;
pub mod store;
pub mod trust;
pub mod upstream;
