//! A memory that replicas share.

mod admin;
mod builder;
mod cache;
mod exchange;
mod link;
mod script;
mod server;
mod value;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

pub use self::builder::RedisBuilder;
use self::exchange::Session;
use self::link::{Connector, Up, keep};
use self::server::Server;
use super::{Admin, Clearance, Cursor, Page, StoreError, TaintKey, TaintRegistry, TaintStore, Visit, Visited};
use crate::trust::Taint;

/// A memory of sessions in Redis 7.0 or later, or Valkey, for any number of gateways.
///
/// A visit is one round trip: a script that looks, decides and joins, so that no other gateway gets between. A visit
/// is sent when it is made, not when it is awaited, and dropping its future takes nothing back. It runs on the tokio
/// runtime that [`RedisBuilder::connect`] ran on; who awaits it may be anywhere.
///
/// - **Failures.** A visit that is not answered in [`time`](RedisBuilder::timeout) has failed. What it would have
///   marked, if it was not refused, is kept here and told to the server with the next visit, and as soon as there is a
///   connection. Connections are made again
///   in the background; a visit waits for that no longer than its time, and not at all once it has failed.
/// - **Fitness.** At each connect, and every ten seconds, the server has to be a primary that does not evict:
///   `maxmemory-policy noeviction`, or no `maxmemory`. As long as it is not, every visit fails. A full server takes no
///   marks, but is read.
/// - **Loss.** Each gateway remembers what it has marked or seen marked, and tells it with each visit: a server that
///   was restarted empty, or a replica that was promoted too early, knows it again at once. What no living gateway
///   has seen is lost then; [`wait_replicas`](RedisBuilder::wait_replicas) makes that less likely.
/// - **Clearing.** A key has an epoch that grows with each clearing, so that what gateways remember from before is
///   void, whether or not they were there. The price: if a server loses the epoch as well, before a gateway has seen
///   it, that gateway marks again what was cleared, and what a gateway could not deliver while it was cleared it
///   delivers afterwards. Both err to the marked side; clear it again. To the other side errs only a server that loses
///   all twice, with no visit or reconnect in between by the one gateway that knows an older clearing of that key. A clearing is written to the stream
///   `PREFIX:1:audit` (the last 10 000 or so) before it is done.
/// - **Damage.** A value that cannot be read, or is of another version, is everything until it is cleared.
/// - **Size.** A principal with too many marked conversations gets the marks of further ones itself. Nothing else
///   bounds the server's memory but its `maxmemory`.
///
/// The user needs `EVAL`, `EVALSHA`, `SCRIPT LOAD`, `INFO`, and the commands of the scripts (`HMGET`, `HGETALL`,
/// `HLEN`, `HSET`, `EXISTS`, `DEL`, `PEXPIRE`); also `WAIT`, and for operators `SCAN` and `XADD`. `CONFIG GET save` is asked and may be
/// refused. One primary is connected to: in a cluster, the one that has all keys.
///
/// `rediss://` needs TLS in the client: name the crate `redis` in your own manifest with one of its TLS features.
///
/// # Example
///
/// ```no_run
/// use tower_toolgate::Principal;
/// use tower_toolgate::store::{RedisTaintStore, TaintKey, TaintStore, Visit};
/// use tower_toolgate::trust::{Cause, Facts};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = RedisTaintStore::builder("redis://127.0.0.1").connect().await?;
/// let key = TaintKey::of(&Principal::new("api-key", "ci")?);
/// store.visit(Visit::mark(key, Facts::OUTSIDE, Cause::new("fetch"), 1_700_000_000)).await?;
///
/// let known = store.visit(Visit::read(key, 1_700_000_001)).await?.before;
/// assert!(known.facts.contains(Facts::OUTSIDE));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisTaintStore(Arc<Running>);

/// Ends the upkeep of the connection with the last clone.
struct Running {
    session: Arc<Session>,
    runtime: Handle,
    keeper: AbortHandle,
}

impl RedisTaintStore {
    /// Begins to set one up, at an address like `redis://user:password@host:6379/0` or `redis+unix:///path`.
    pub fn builder(url: &str) -> RedisBuilder {
        RedisBuilder::new(url)
    }

    fn start(session: Arc<Session>, runtime: Handle, connector: Connector, first: Up) -> Self {
        let tell = {
            let (session, runtime) = (Arc::clone(&session), runtime.clone());
            move |server: &Server, connected| tell_again(&session, &runtime, server, connected)
        };
        let keeper = runtime.spawn(keep(Arc::clone(&session.link), connector, first, tell)).abort_handle();
        Self(Arc::new(Running { session, runtime, keeper }))
    }
}

/// Tells the server in the background what it may not know, so that other gateways know it too.
fn tell_again(session: &Arc<Session>, runtime: &Handle, server: &Server, connected: bool) {
    let another = session.is_another(server, connected);
    if another {
        session.cache.suspect_loss();
    }
    if another || session.cache.owes() {
        runtime.spawn(Arc::clone(session).tell_all(another));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl fmt::Debug for RedisTaintStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTaintStore").field("settings", &self.0.session.settings).finish_non_exhaustive()
    }
}

impl TaintStore for RedisTaintStore {
    type Visit = RedisVisit;

    fn visit(&self, visit: Visit) -> Self::Visit {
        let session = Arc::clone(&self.0.session);
        RedisVisit(self.0.runtime.spawn(async move { session.visit(&visit).await }))
    }

    fn retention(&self) -> Option<Duration> {
        self.0.session.settings.retention
    }

    /// Not if the server said, when it was last asked, that it has an append-only file or save points. With save points
    /// only, a server that crashes forgets what came after the last snapshot, except for what gateways remember.
    fn forgets_at_restart(&self) -> bool {
        !self.0.session.persists()
    }
}

/// A page is found by looking through all keys: for lists of some hundred thousand principals ask for large pages.
/// Clearing a principal that is being marked at the same time is atomic.
impl TaintRegistry for RedisTaintStore {
    fn list(&self, after: Option<Cursor>, limit: usize) -> Admin<Page> {
        self.act(move |session| async move { session.list(after, limit).await })
    }

    fn inspect(&self, key: TaintKey) -> Admin<Taint> {
        self.act(move |session| async move { session.inspect(key).await })
    }

    fn clear(&self, key: TaintKey, clearance: Clearance) -> Admin<Taint> {
        self.act(move |session| async move { session.clear(key, &clearance).await })
    }

    /// Of marks by this gateway.
    fn coarsenings(&self) -> u64 {
        self.0.session.merged()
    }
}

impl RedisTaintStore {
    fn act<T, F>(&self, act: impl FnOnce(Arc<Session>) -> F) -> Admin<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let task = self.0.runtime.spawn(act(Arc::clone(&self.0.session)));
        Box::pin(async move { task.await.unwrap_or(Err(StoreError::Unavailable)) })
    }
}

/// The future of a visit to a [`RedisTaintStore`].
#[derive(Debug)]
pub struct RedisVisit(JoinHandle<Result<Visited, StoreError>>);

impl Future for RedisVisit {
    type Output = Result<Visited, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // The task ends without a result only with its runtime.
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).unwrap_or(Err(StoreError::Unavailable)))
    }
}

fn failure(error: &RedisError) -> StoreError {
    if let Some(why) = rejection(error) {
        return StoreError::Rejected(why);
    }
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::ReadOnly) => StoreError::Unfit("it is a replica"),
        _ if error.is_timeout() => StoreError::TimedOut,
        _ => StoreError::Unavailable,
    }
}

/// Why a server does not let this user in, if that is what it says: waiting helps as little as another network.
fn rejection(error: &RedisError) -> Option<&'static str> {
    let says = |text: &str| error.detail().is_some_and(|detail| detail.contains(text));
    match (error.kind(), error.code()) {
        (_, Some("NOAUTH")) => Some("it wants a password"),
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS")) => Some("it does not know this user or password"),
        // A cluster has one database, and no command to choose it.
        (ErrorKind::Server(ServerErrorKind::ResponseError), _) if says("DB index") || says("SELECT is not allowed") => {
            Some("it has no such database")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
