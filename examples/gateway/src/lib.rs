//! The reference gateway: `tower-toolgate` in front of MCP servers, as one command.
//!
//! The way of a request, outside in: trace and request id, CORS, [`edge`] (hosts, origins, API keys), the time
//! that its body may take, what binds ids, what is declared of the server, the gate, [`trust`] and the tags of
//! [`provenance`] as far as they are wanted, and behind them a server over HTTP or stdio, or one of the [`builtin`] ones.
#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)
)]

pub mod admin;
pub mod app;
mod approve;
pub mod builtin;
pub mod check;
pub mod cli;
pub mod config;
pub mod edge;
pub mod metrics;
pub mod provenance;
pub mod serve;
mod servers;
mod stack;
pub mod store;
pub mod trust;
mod upstream;
