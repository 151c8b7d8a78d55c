//! What kind of content a tool brings back, and what a session knows of it.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP.

mod config;
mod owner;
mod taint;
mod written;

pub use self::config::{ContentTrustConfig, ContentTrustError};
pub use self::owner::{ToolContentTrust, ToolOwner};
pub use self::taint::{Cause, Facts, Taint};
