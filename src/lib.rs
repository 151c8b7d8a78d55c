//! x
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::expect_used)
)]
pub mod answer;
pub mod http;
mod identity;
pub mod json;
pub mod layer;
pub mod message;
pub mod observe;
pub mod policy;
pub use self::identity::*;
