//! What kind of content a tool brings back, and what a session knows of it.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP.

mod taint;

pub use self::taint::{Cause, Facts, Taint};
