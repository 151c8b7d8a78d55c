//! How a store in Redis is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::{ConnectionInfo, IntoConnectionInfo};
use tokio::runtime::Handle;

use super::exchange::{Session, Settings};
use super::link::Connector;
use super::{RedisTaintStore, failure};
use crate::store::{StoreError, TaintCapacity};

/// How a [`RedisTaintStore`] is set up.
///
/// # Example
///
/// ```no_run
/// use std::time::Duration;
/// use tower_toolgate::store::RedisTaintStore;
///
/// # async fn example() -> Result<(), tower_toolgate::store::StoreError> {
/// let store = RedisTaintStore::builder("redis://gateway:secret@redis.internal/0")
///     .prefix("prod")
///     .timeout(Duration::from_millis(100))
///     .wait_replicas(1, Duration::from_millis(50))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is connected before `connect`"]
#[derive(Clone)]
pub struct RedisBuilder {
    pub(super) url: String,
    pub(super) settings: Settings,
    pub(super) connect_timeout: Duration,
    pub(super) acknowledged: bool,
}

impl RedisBuilder {
    pub(super) fn new(url: &str) -> Self {
        let settings = Settings {
            prefix: "toolgate".into(),
            timeout: Duration::from_millis(50),
            retention: None,
            capacity: TaintCapacity::new(1 << 16),
            wait: None,
            persistent: false,
        };
        Self { url: url.into(), settings, connect_timeout: Duration::from_secs(2), acknowledged: false }
    }

    /// What the names of all keys begin with; `toolgate` by default.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.settings.prefix = prefix.into();
        self
    }

    /// How long a visit may take in all before it has failed; 50 ms by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// How long connecting may take, each time; 2 s by default. An operator's actions have as long for each command.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long what is known of a principal is kept at least after it was last asked about; for ever by default.
    ///
    /// This must be longer than any of its credentials live. What was stored for ever before is not shortened. At most
    /// some hundred thousand years.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.settings.retention = Some(retention.max(Duration::from_millis(1)));
        self
    }

    /// How many keys this gateway remembers itself, to tell them to a server that has lost them (65 536 by default; with
    /// the causes at most 500 bytes each), and how many marked conversations of a principal the server tells apart.
    pub fn capacity(mut self, capacity: impl Into<TaintCapacity>) -> Self {
        self.settings.capacity = capacity.into();
        self
    }

    /// Somebody has made sure that the server never evicts. Needed where the server does not say so itself; where it
    /// says that it evicts this changes nothing.
    pub fn acknowledge_no_eviction(mut self, acknowledged: bool) -> Self {
        self.acknowledged = acknowledged;
        self
    }

    /// Whether the server writes down what it is told, where it does not say so itself; it does not by default. See
    /// [`forgets_at_restart`](crate::store::TaintStore::forgets_at_restart).
    pub fn assume_persistent(mut self, persistent: bool) -> Self {
        self.settings.persistent = persistent;
        self
    }

    /// A mark has failed unless so many replicas have it within a time, which comes on top of
    /// [`timeout`](Self::timeout).
    ///
    /// This is a second round trip, and whatever else the gateway asks waits behind it.
    pub fn wait_replicas(mut self, replicas: u32, timeout: Duration) -> Self {
        self.settings.wait = (replicas > 0).then_some((replicas, timeout));
        self
    }

    /// Connects, and makes sure that the server can be relied upon. What is done later is done on this runtime.
    ///
    /// # Errors
    ///
    /// The address is none, there is no tokio runtime, the server cannot be reached, does not answer in time, refuses
    /// the user, the password or the database, or must not be relied upon.
    pub async fn connect(self) -> Result<RedisTaintStore, StoreError> {
        let runtime = Handle::try_current().map_err(|_| StoreError::Unfit("there is no tokio runtime"))?;
        let info = self.url.as_str().into_connection_info();
        let info: ConnectionInfo = info.map_err(|_| StoreError::Unfit("its address is no Redis URL"))?;
        // Small commands, each of which is waited for.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = redis::Client::open(info).map_err(|error| failure(&error))?;
        let (timeout, acknowledged) = (self.connect_timeout, self.acknowledged);
        let mut connector = Connector { client, timeout, acknowledged, count: 0 };
        let (first, server) = connector.connect().await?;
        let session = Arc::new(Session::new(self.settings, timeout, &server));
        Ok(RedisTaintStore::start(session, runtime, connector, first))
    }
}

/// Without the address: there may be a password in it.
impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
