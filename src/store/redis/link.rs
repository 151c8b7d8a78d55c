//! The connection: made, judged and made again beside all visits.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::failure;
use super::script::Loaded;
use super::server::Server;
use crate::store::StoreError;

/// How many commands may wait for their answers. What comes beyond waits for its turn, or times out.
const IN_FLIGHT: usize = 8192;

/// How long is waited before the first and before all later attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How often a server that answers is asked whether it is still fit.
const CHECKS: Duration = Duration::from_secs(10);

/// A connection to a server that was found fit.
#[derive(Clone)]
pub(super) struct Up {
    pub(super) connection: MultiplexedConnection,
    pub(super) scripts: Arc<Loaded>,
    /// Which of all connections it is.
    number: u64,
}

#[derive(Clone)]
enum State {
    Connecting,
    Up(Up),
    Down(StoreError),
}

/// Where visits get the connection.
pub(super) struct Link {
    state: watch::Sender<State>,
    suspected: Notify,
}

impl Link {
    pub(super) fn new() -> Self {
        Self { state: watch::Sender::new(State::Connecting), suspected: Notify::new() }
    }

    /// The connection, or one after that of a number. While one is being made again it is waited for; once that has
    /// failed nobody waits.
    pub(super) async fn get(&self, after: Option<u64>) -> Result<Up, StoreError> {
        let settled = |state: &State| match state {
            State::Connecting => false,
            State::Up(up) => after.is_none_or(|after| up.number > after),
            State::Down(_) => true,
        };
        let mut state = self.state.subscribe();
        match &*state.wait_for(settled).await.map_err(|_| StoreError::Unavailable)? {
            State::Up(up) => Ok(up.clone()),
            State::Down(error) => Err(error.clone()),
            State::Connecting => Err(StoreError::Unavailable),
        }
    }

    /// Has the server asked whether it is there, and still fit.
    pub(super) fn suspect(&self) {
        self.suspected.notify_one();
    }
}

impl Up {
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// How connections are made.
pub(super) struct Connector {
    pub(super) client: redis::Client,
    pub(super) timeout: Duration,
    pub(super) acknowledged: bool,
    pub(super) count: u64,
}

impl Connector {
    pub(super) async fn connect(&mut self) -> Result<(Up, Server), StoreError> {
        self.count += 1;
        timeout(self.timeout, self.open()).await.unwrap_or(Err(StoreError::TimedOut))
    }

    async fn open(&self) -> Result<(Up, Server), StoreError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_concurrency_limit(IN_FLIGHT);
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connection.map_err(|error| failure(&error))?;
        let server = Server::ask(&mut connection, self.acknowledged).await?;
        let scripts = Loaded::load(&mut connection).await.map_err(|error| failure(&error))?;
        Ok((Up { connection, scripts: Arc::new(scripts), number: self.count }, server))
    }

    async fn check(&self, up: &Up) -> Result<Server, StoreError> {
        let mut connection = up.connection.clone();
        let asked = Server::ask(&mut connection, self.acknowledged);
        timeout(self.timeout, asked).await.unwrap_or(Err(StoreError::TimedOut))
    }
}

/// Keeps a connection for as long as it is polled. What a server says is told, and whether the connection is new.
pub(super) async fn keep(link: Arc<Link>, mut connector: Connector, first: Up, mut tell: impl FnMut(&Server, bool)) {
    let mut up = first;
    loop {
        link.state.send_replace(State::Up(up.clone()));
        let failed = watch_over(&link, &connector, &up, &mut tell).await;
        let unfit = matches!(failed, StoreError::Unfit(_));
        link.state.send_replace(if unfit { State::Down(failed) } else { State::Connecting });
        let server;
        (up, server) = reconnect(&link, &mut connector).await;
        tell(&server, true);
    }
}

/// Until the server does not answer, or is not fit.
async fn watch_over(link: &Link, connector: &Connector, up: &Up, tell: &mut impl FnMut(&Server, bool)) -> StoreError {
    loop {
        _ = timeout(CHECKS, link.suspected.notified()).await;
        match connector.check(up).await {
            Ok(server) => tell(&server, false),
            Err(error) => return error,
        }
    }
}

async fn reconnect(link: &Link, connector: &mut Connector) -> (Up, Server) {
    let mut pause = PAUSES.0;
    loop {
        match connector.connect().await {
            Ok(connected) => return connected,
            Err(error) => link.state.send_replace(State::Down(error)),
        };
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}
