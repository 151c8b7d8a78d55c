//! x
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::expect_used)
)]
pub mod json;
pub mod message;
pub mod policy;
