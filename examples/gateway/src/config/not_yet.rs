//! Settings that are read and checked, and that this release does not serve.

use super::{Config, Problem, Store, StoreConfig};

impl Config {
    /// What the configuration asks for and this release would not do.
    ///
    /// To start all the same would be to look safer than it is, so each of these keeps the gateway from
    /// starting. [`Parsed::not_yet`](super::Parsed::not_yet) adds lines and columns.
    #[must_use]
    pub fn not_yet(&self) -> Vec<Problem> {
        let store = self.content_trust.as_ref().and_then(|trust| store(&trust.store));
        Vec::from_iter(store)
    }
}

/// The client of Redis is built without TLS, and would say only that this is no address.
fn store(config: &StoreConfig) -> Option<Problem> {
    match &config.store {
        Store::Redis { url } if url.expose().starts_with("rediss://") => {
            let message = "TLS to Redis is not spoken by this release; use `redis://` over a network that is your own";
            Some(Problem::new("content_trust.store.url", message))
        }
        Store::File { .. } | Store::Memory | Store::Redis { .. } => None,
    }
}
