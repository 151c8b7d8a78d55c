//! Where the memory of sessions is kept.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tower_toolgate::store::{
    Admin, Clearance, Cursor, FileTaintStore, MemoryTaintStore, Page, RedisTaintStore, StoreError, TaintKey,
    TaintRegistry, TaintStore, Visit, Visited,
};
use tower_toolgate::trust::Taint;

use crate::config::{Store, StoreConfig};

/// The store that the configuration asks for.
#[derive(Clone, Debug)]
pub enum AnyStore {
    /// In memory and in an append-only journal.
    File(FileTaintStore),
    /// In memory.
    Memory(MemoryTaintStore),
    /// In Redis, shared with other gateways.
    Redis(RedisTaintStore),
}

/// Opens what the configuration asks for.
///
/// # Errors
///
/// Why it cannot be opened, in words.
pub async fn open(config: &StoreConfig) -> Result<AnyStore, String> {
    match &config.store {
        Store::File { path } => {
            FileTaintStore::open(path, config.capacity).map(AnyStore::File).map_err(|error| error.to_string())
        }
        Store::Memory => Ok(AnyStore::Memory(MemoryTaintStore::new(config.capacity))),
        Store::Redis { url } => {
            let connected = RedisTaintStore::builder(url.expose()).capacity(config.capacity).timeout(config.timeout);
            let connected = connected.connect().await;
            connected.map(AnyStore::Redis).map_err(|error| error.to_string())
        }
    }
}

macro_rules! each {
    ($store:expr, $name:ident => $then:expr) => {
        match $store {
            AnyStore::File($name) => $then,
            AnyStore::Memory($name) => $then,
            AnyStore::Redis($name) => $then,
        }
    };
}

impl TaintStore for AnyStore {
    type Visit = Pin<Box<dyn Future<Output = Result<Visited, StoreError>> + Send>>;

    fn visit(&self, visit: Visit) -> Self::Visit {
        each!(self, store => Box::pin(store.visit(visit)))
    }

    fn retention(&self) -> Option<Duration> {
        each!(self, store => store.retention())
    }

    fn forgets_at_restart(&self) -> bool {
        each!(self, store => store.forgets_at_restart())
    }
}

impl TaintRegistry for AnyStore {
    fn list(&self, after: Option<Cursor>, limit: usize) -> Admin<Page> {
        each!(self, store => store.list(after, limit))
    }

    fn inspect(&self, key: TaintKey) -> Admin<Taint> {
        each!(self, store => store.inspect(key))
    }

    fn clear(&self, key: TaintKey, clearance: Clearance) -> Admin<Taint> {
        each!(self, store => store.clear(key, clearance))
    }

    fn coarsenings(&self) -> u64 {
        each!(self, store => store.coarsenings())
    }
}
