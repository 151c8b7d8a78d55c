//! The reference gateway.
