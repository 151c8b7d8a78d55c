//! The life of a child, and of the next one.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

use super::config::{Greeting, StdioConfig};
use super::handshake::{NoWelcome, Welcome, greet};
use super::hub::Hub;
use super::lines::{Lines, NoLine};
use super::link::Link;
use super::listen::listen;
use super::process::{Group, Pipes};
use super::queue::{Receiver, queue};
use crate::answer::UpstreamFault;

/// How long a child may take to end once nobody speaks to it any more, and its last words to arrive once it has ended.
const GRACE: Duration = Duration::from_secs(1);
const LAST_WORDS: Duration = Duration::from_millis(100);
/// A child that has lived so long is no failed start.
const SETTLED: Duration = Duration::from_secs(10);
/// The bytes of its standard error that are logged at once.
const MAX_LOG_BYTES: usize = 1 << 10;

/// What all clones of a service share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: StdioConfig,
    pub(super) hub: Arc<Hub>,
    pub(super) state: watch::Sender<State>,
    /// Of those who may wait at once.
    pub(super) places: Arc<Semaphore>,
    /// Somebody needs a child that is started for them only.
    pub(super) wanted: Notify,
    /// The child of clients that make no handshake, if it is not this.
    pub(super) modern: Option<Arc<Self>>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Starting,
    Up(Up),
    Down(UpstreamFault),
    /// It does not know the era of its clients, as far as can be told.
    OtherEra,
    /// The same, and it is asked again: nobody waits for that.
    Doubtful,
}

/// A child that has been greeted.
#[derive(Clone, Debug)]
pub(super) struct Up {
    pub(super) link: Arc<Link>,
    pub(super) welcome: Arc<Welcome>,
}

/// Why a life has ended.
enum End {
    Exited(String),
    NotGreeted(&'static str),
    OtherEra,
    Mute,
    Deaf,
    Stopped,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exited(status) => status,
            Self::NotGreeted(why) => why,
            Self::OtherEra => "it knows no revision without handshakes",
            Self::Mute => "its standard output is closed",
            Self::Deaf => "its standard input is closed",
            Self::Stopped => "nobody needs it any more",
        })
    }
}

/// Keeps a child for as long as the service is there, which is until the sender of `stop` is dropped.
pub(super) async fn keep(shared: Arc<Shared>, mut stop: watch::Receiver<()>) {
    let (first, longest) = shared.config.pauses;
    let (mut pause, mut last, mut known) = (first, None, false);
    loop {
        if !shared.is_due(last, &mut stop).await {
            break;
        }
        shared.state.send_replace(if last == Some(Life::Doubtful) { State::Doubtful } else { State::Starting });
        let started = Instant::now();
        last = Some(live(&shared, &stop, &mut known).await);
        if last == Some(Life::Stopped) {
            break;
        }
        if started.elapsed() >= SETTLED && last == Some(Life::Over) {
            pause = first;
        }
        if timeout(jittered(pause), stop.changed()).await.is_ok() {
            break;
        }
        pause = pause.saturating_mul(2).min(longest);
    }
    shared.state.send_replace(State::Down(UpstreamFault::Unavailable));
    shared.hub.close();
}

impl Shared {
    fn new(config: StdioConfig, hub: Arc<Hub>, places: Arc<Semaphore>, modern: Option<Arc<Self>>) -> Arc<Self> {
        let state = watch::Sender::new(State::Starting);
        Arc::new(Self { config, hub, state, places, wanted: Notify::new(), modern })
    }

    /// What is shared of a child, and of the one beside it.
    pub(super) fn of(config: StdioConfig) -> Arc<Self> {
        let hub = Arc::new(Hub::new(config.events(), config.max_streams));
        let places = Arc::new(Semaphore::new(config.max_in_flight.min(Semaphore::MAX_PERMITS)));
        let modern = config.of_modern().map(|own| Self::new(own, Arc::clone(&hub), Arc::clone(&places), None));
        Self::new(config, hub, places, modern)
    }

    /// Waits until a life is to begin, after such a one; `false` once nobody needs it any more.
    async fn is_due(&self, last: Option<Life>, stop: &mut watch::Receiver<()>) -> bool {
        let lazy = self.config.greeting == Greeting::Discovery;
        match last {
            None | Some(Life::Doubtful) if lazy => self.is_wanted(stop).await,
            Some(Life::OtherEra) => stop.changed().await.is_ok(),
            Some(Life::Stopped) => false,
            None | Some(Life::Doubtful | Life::Over) => true,
        }
    }

    async fn is_wanted(&self, stop: &mut watch::Receiver<()>) -> bool {
        let (mut wanted, mut stopped) = (pin!(self.wanted.notified()), pin!(stop.changed()));
        poll_fn(|cx| {
            // Nothing is ever sent: it is the end of the sender.
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            wanted.as_mut().poll(cx).map(|()| true)
        })
        .await
    }

    /// What follows from the end of a child, which may tell what it does not know.
    fn ended(&self, end: &End, known: &mut bool) -> Life {
        *known |= matches!(*self.state.borrow(), State::Up(_));
        let doubtful = !*known && self.config.greeting == Greeting::Discovery;
        let life = match end {
            End::Stopped => Life::Stopped,
            End::OtherEra if !*known => Life::OtherEra,
            End::Exited(_) | End::NotGreeted(_) | End::Mute | End::Deaf if doubtful => Life::Doubtful,
            End::Exited(_) | End::NotGreeted(_) | End::Mute | End::Deaf | End::OtherEra => Life::Over,
        };
        self.config.ended.iter().for_each(|ended| ended());
        self.state.send_replace(match life {
            Life::Doubtful | Life::OtherEra => State::OtherEra,
            Life::Over | Life::Stopped => State::Down(UpstreamFault::Unavailable),
        });
        life
    }
}

/// Between half and all of a pause: gateways that were started together do not restart their children together.
fn jittered(pause: Duration) -> Duration {
    // The state is seeded by the system's randomness.
    let random = RandomState::new().hash_one(0_u8) >> 32;
    pause / 2 + pause.mul_f64(random as f64 / f64::from(u32::MAX)) / 2
}

/// How a life was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It ended without a word to somebody of another era than the child may know.
    Doubtful,
    OtherEra,
    Over,
    /// From here.
    Stopped,
}

/// One life; `known` once a child has been greeted.
async fn live(shared: &Arc<Shared>, stop: &watch::Receiver<()>, known: &mut bool) -> Life {
    let name = &shared.config.name;
    let pipes = match Pipes::open(&shared.config) {
        Ok(pipes) => pipes,
        Err(error) => {
            tracing::warn!(server.name = %name, %error, "a server could not be started");
            shared.state.send_replace(State::Down(UpstreamFault::Unreachable));
            return Life::Over;
        }
    };
    let (group, (lines, waiting)) = (pipes.group(), queue(shared.config.queue()));
    let link = Arc::new(Link::new(lines));
    let mut tasks = Tasks::start(shared, pipes, &link, waiting);
    tasks.all.spawn(stopped(stop.clone()));
    let end = tasks.next().await.unwrap_or(End::Stopped);
    tracing::info!(server.name = %name, %end, "a server has come to its end");
    let life = shared.ended(&end, known);
    bury(&link, group, tasks, &end).await;
    life
}

/// Ends what is left of a life. Nobody waits any more when this is done, and nobody of the group is there.
async fn bury(link: &Link, mut group: Group, mut tasks: Tasks, end: &End) {
    let exited = |end: &End| matches!(end, End::Exited(_));
    match end {
        End::Exited(_) | End::Deaf => tasks.until(LAST_WORDS, |end| matches!(end, End::Mute)).await,
        End::Stopped => {
            tasks.writer.abort();
            tasks.until(GRACE, exited).await;
        }
        End::Mute | End::NotGreeted(_) | End::OtherEra => {}
    }
    link.close(UpstreamFault::Unavailable);
    group.kill();
    tasks.until(GRACE, exited).await;
}

/// What is done with a child at the same time. The first that ends ends its life.
struct Tasks {
    all: JoinSet<End>,
    writer: AbortHandle,
    exited: bool,
}

impl Tasks {
    fn start(shared: &Arc<Shared>, pipes: Pipes, link: &Arc<Link>, queue: Receiver) -> Self {
        let mut all = JoinSet::new();
        let writer = all.spawn(write(pipes.stdin, queue));
        let (own, to) = (Arc::clone(shared), Arc::clone(link));
        all.spawn(async move {
            listen(pipes.stdout, &to, &own).await;
            End::Mute
        });
        all.spawn(log(pipes.stderr, shared.config.name.clone()));
        all.spawn(welcome(Arc::clone(shared), Arc::clone(link)));
        all.spawn(exited(pipes.child));
        Self { all, writer, exited: false }
    }

    async fn next(&mut self) -> Option<End> {
        // One that was aborted has no end of its own.
        let end = self.all.join_next().await?.unwrap_or(End::Deaf);
        self.exited |= matches!(end, End::Exited(_));
        Some(end)
    }

    /// Waits for an end, but not for that of a process that has ended.
    async fn until(&mut self, time: Duration, is: fn(&End) -> bool) {
        if self.exited && is(&End::Exited(String::new())) {
            return;
        }
        let wait = async { while self.next().await.is_some_and(|end| !is(&end)) {} };
        _ = timeout(time, wait).await;
    }
}

/// Writes to the child; dropping it closes its standard input.
async fn write(mut stdin: ChildStdin, mut queue: Receiver) -> End {
    while let Some(line) = queue.recv().await {
        let written = async {
            stdin.write_all(&line).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        if written.await.is_err() {
            break;
        }
    }
    End::Deaf
}

async fn welcome(shared: Arc<Shared>, link: Arc<Link>) -> End {
    match greet(&link, &shared.config).await {
        Ok(welcome) => {
            shared.state.send_if_modified(|state| {
                let starting = matches!(state, State::Starting | State::Doubtful);
                if starting {
                    *state = State::Up(Up { link, welcome: Arc::new(welcome) });
                }
                starting
            });
            std::future::pending().await
        }
        Err(NoWelcome::OtherEra) => End::OtherEra,
        Err(NoWelcome::Silent(why)) => End::NotGreeted(why),
    }
}

async fn stopped(mut stop: watch::Receiver<()>) -> End {
    while stop.changed().await.is_ok() {}
    End::Stopped
}

async fn exited(mut child: Child) -> End {
    match child.wait().await {
        Ok(status) => End::Exited(status.to_string()),
        Err(error) => End::Exited(error.to_string()),
    }
}

/// Logs what the child says beside the protocol, line by line.
async fn log(stderr: ChildStderr, name: Box<str>) -> End {
    let mut lines = Lines::new(stderr, MAX_LOG_BYTES);
    while let Some(line) = lines.next().await {
        let line = match &line {
            Ok(line) => str::from_utf8(line).unwrap_or_default(),
            Err(NoLine::TooLong) => "(a line that is too long)",
            Err(NoLine::NotText) => "(a line that is no text)",
        };
        tracing::info!(server.name = %name, stderr = %line.escape_debug(), "a server says");
    }
    // A child may close it and live.
    std::future::pending().await
}
