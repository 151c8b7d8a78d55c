//! A visit as the server sees it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};
use tokio::time::timeout;

use super::cache::{Cache, Told};
use super::failure;
use super::link::{Link, Up};
use super::script::{Script, is_full};
use super::server::Server;
use super::value::{Known, clamp, write_cause};
use crate::store::memory::mark;
use crate::store::{StoreError, TaintCapacity, TaintKey, Visit, Visited};
use crate::trust::{Facts, Taint};

/// The version of keys and values.
const SCHEMA: u8 = 1;

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) prefix: Box<str>,
    pub(super) timeout: Duration,
    pub(super) retention: Option<Duration>,
    pub(super) capacity: TaintCapacity,
    /// How many replicas have to have a mark, and how long they are waited for.
    pub(super) wait: Option<(u32, Duration)>,
    pub(super) persistent: bool,
}

/// What all clones of a store share.
pub(super) struct Session {
    pub(super) settings: Settings,
    /// How long an operator's commands may take.
    pub(super) patience: Duration,
    pub(super) link: Arc<Link>,
    pub(super) cache: Cache,
    run_id: Mutex<String>,
    persists: AtomicBool,
    merged: AtomicU64,
    telling: tokio::sync::Mutex<()>,
}

/// What the server said to a visit.
pub(super) struct Answer {
    pub(super) refused: Option<usize>,
    pub(super) merged: bool,
    /// Whether the server has written what it was told.
    written: bool,
    /// What was known, of the principal and of the conversation; `None` if it cannot be read.
    pub(super) before: [Option<Known>; 2],
    after: [Option<Known>; 2],
}

impl Session {
    pub(super) fn new(settings: Settings, patience: Duration, server: &Server) -> Self {
        Self {
            patience,
            link: Arc::new(Link::new()),
            cache: Cache::new(settings.capacity.keys()),
            run_id: Mutex::new(server.run_id.clone()),
            persists: AtomicBool::new(server.persists.unwrap_or(settings.persistent)),
            merged: AtomicU64::new(0),
            telling: tokio::sync::Mutex::new(()),
            settings,
        }
    }

    pub(super) fn persists(&self) -> bool {
        self.persists.load(Relaxed)
    }

    pub(super) fn merged(&self) -> u64 {
        self.merged.load(Relaxed)
    }

    /// The key of all that is known of a principal. One key is in one slot of a cluster; the braces keep to the same
    /// slot whatever else may come to be stored of the principal.
    pub(super) fn key(&self, key: TaintKey) -> String {
        format!("{}{{{}}}", self.prefix(), key.principal)
    }

    pub(super) fn prefix(&self) -> String {
        format!("{}:{SCHEMA}:", self.settings.prefix)
    }

    /// In milliseconds; 0 is for ever.
    pub(super) fn retention(&self) -> String {
        let millis = self.settings.retention.map_or(0, |retention| retention.as_millis());
        u64::try_from(millis).unwrap_or(u64::MAX).min(u64::MAX >> 3).to_string()
    }

    /// A server has said what it is, on a new connection or not: whether it may not know what another one was told.
    pub(super) fn is_another(&self, server: &Server, connected: bool) -> bool {
        self.persists.store(server.persists.unwrap_or(self.settings.persistent), Relaxed);
        let mut run_id = self.run_id.lock().unwrap_or_else(PoisonError::into_inner);
        let another = (connected && server.run_id.is_empty()) || *run_id != server.run_id;
        run_id.clone_from(&server.run_id);
        another
    }

    /// Tells the server all that is known here, or what is owed, one after the other and until that fails.
    pub(super) async fn tell_all(self: Arc<Self>, known: bool) {
        let Some(_turn) = (if known { Some(self.telling.lock().await) } else { self.telling.try_lock().ok() }) else {
            return;
        };
        for visit in self.cache.visits(!known) {
            match self.bounded(&visit).await {
                Ok((answer, ..)) if answer.written => (),
                Ok(_) | Err(_) => break,
            }
        }
    }

    /// Visits, within the time that there is for it.
    pub(super) async fn visit(&self, visit: &Visit) -> Result<Visited, StoreError> {
        let found = self.bounded(visit).await;
        if let (Err(_), Some(mark)) = (&found, mark(visit)) {
            self.cache.owe(visit.key, &mark);
        }
        let (answer, told, up) = found?;
        if let (Some((replicas, wait)), None, false) = (self.settings.wait, answer.refused, visit.marks.is_none()) {
            self.replicated(up, replicas, wait).await?;
        }
        Ok(visited(answer, &told, visit.since))
    }

    async fn bounded(&self, visit: &Visit) -> Result<(Answer, Told, Up), StoreError> {
        timeout(self.settings.timeout, self.exchange(visit)).await.unwrap_or_else(|_| {
            self.link.suspect();
            Err(StoreError::TimedOut)
        })
    }

    /// Visits, on a second connection if the first one is found closed: the server may have been restarted long since.
    /// Should it have marked already, it marks twice, which is one mark more in the count.
    pub(super) async fn exchange(&self, visit: &Visit) -> Result<(Answer, Told, Up), StoreError> {
        let mut up = self.link.get(None).await?;
        let mut again = true;
        loop {
            let told = self.cache.tell(visit.key);
            match self.send(visit, &told, &mut up).await {
                Ok((value, written)) => return Ok((self.take(visit, &told, &value, written)?, told, up)),
                Err(error) if again && error.is_unrecoverable_error() => {
                    again = false;
                    self.link.suspect();
                    up = self.link.get(Some(up.number())).await?;
                }
                Err(error) => return Err(self.fail(&error)),
            }
        }
    }

    /// Sends a visit; once more, without what is to be written, if the server is full. Whether it was written is told.
    async fn send(&self, visit: &Visit, told: &Told, up: &mut Up) -> RedisResult<(Value, bool)> {
        let (key, arguments) = (self.key(visit.key), self.arguments(visit, told));
        match up.scripts.run(&mut up.connection, Script::Visit, &key, &arguments).await {
            Err(error) if visit.marks.is_none() && is_full(&error) => {
                Ok((up.scripts.run(&mut up.connection, Script::Peek, &key, &arguments).await?, false))
            }
            answer => Ok((answer?, true)),
        }
    }

    /// What an error means. The server is asked how it is where that may be the reason.
    pub(super) fn fail(&self, error: &redis::RedisError) -> StoreError {
        let refused = matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly));
        if refused || error.is_unrecoverable_error() {
            self.link.suspect();
        }
        failure(error)
    }

    fn arguments(&self, visit: &Visit, told: &Told) -> Vec<String> {
        let conversation = visit.key.conversation;
        let mut arguments = vec![
            visit.marks.bits().to_string(),
            clamp(visit.now).to_string(),
            clamp(visit.since).to_string(),
            write_cause(visit.cause.as_ref()),
            self.retention(),
            conversation.map(|conversation| conversation.to_string()).unwrap_or_default(),
            self.settings.capacity.conversations().to_string(),
            told.assumed.bits().to_string(),
        ];
        arguments.extend(told.known.iter().map(|known| known.as_ref().map(Known::write).unwrap_or_default()));
        let owed = |taint: &Taint| Known { taint: taint.clone(), epoch: 0 }.write();
        arguments.extend(told.owed.iter().map(|taint| taint.as_ref().map(owed).unwrap_or_default()));
        arguments.extend(visit.refuse.iter().map(|facts| facts.bits().to_string()));
        arguments
    }

    /// Reads an answer, and keeps what it says. What was told and written is owed no longer.
    fn take(&self, visit: &Visit, told: &Told, value: &Value, written: bool) -> Result<Answer, StoreError> {
        let answer = Answer { written, ..Answer::read(value).ok_or(StoreError::Unavailable)? };
        if written && answer.after.iter().all(Option::is_some) {
            self.cache.settle(visit.key, told);
        }
        self.cache.learn(visit.key, answer.after.clone());
        self.merged.fetch_add(answer.merged.into(), Relaxed);
        Ok(answer)
    }

    /// Asks how many replicas have what was marked.
    async fn replicated(&self, mut up: Up, replicas: u32, wait: Duration) -> Result<(), StoreError> {
        // 0 would be to wait for ever.
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX >> 3).max(1);
        let mut command = redis::cmd("WAIT");
        command.arg(replicas).arg(millis);
        let bound = wait.saturating_add(self.settings.timeout);
        match timeout(bound, command.query_async::<u32>(&mut up.connection)).await {
            Ok(Ok(reached)) if reached >= replicas => Ok(()),
            Ok(Ok(_)) => Err(StoreError::Unavailable),
            Ok(Err(error)) => Err(self.fail(&error)),
            Err(_) => Err(StoreError::TimedOut),
        }
    }
}

/// What a visit found in what its server said.
fn visited(answer: Answer, told: &Told, since: u64) -> Visited {
    let since = clamp(since);
    let [principal, conversation] = answer.before.map(taint);
    let mut before = principal.since(since);
    before.join(&conversation.since(since));
    if told.assumed != Facts::NONE {
        before.join(&Taint { facts: told.assumed, coarse: true, ..Taint::default() });
    }
    Visited { before, refused: answer.refused }
}

/// What is known by a value, if it can be read.
pub(super) fn taint(value: Option<Known>) -> Taint {
    value.map_or_else(Taint::assumed, |known| known.taint)
}

impl Answer {
    fn read(value: &Value) -> Option<Self> {
        let Value::Array(parts) = value else { return None };
        let [Value::Int(refused), Value::Int(merged), values @ ..] = parts.as_slice() else { return None };
        let [Value::BulkString(a), Value::BulkString(b), Value::BulkString(c), Value::BulkString(d)] = values else {
            return None;
        };
        let [a, b, c, d] = [a, b, c, d].map(|text| Known::read(text));
        let refused = if *refused < 0 { None } else { Some(usize::try_from(*refused).ok()?) };
        Some(Self { refused, merged: *merged != 0, written: false, before: [a, b], after: [c, d] })
    }
}
