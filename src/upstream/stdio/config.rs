//! How a child is run and spoken to.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::queue::Bounds;
use crate::upstream::replies::Root;

/// What is said to a child first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// `server/discover`: it must know a revision without handshakes.
    Discovery,
    Handshake,
    /// Nothing but what clients say.
    Nothing,
}

/// The last revision with a handshake.
const LAST_REVISION: &str = "2025-11-25";

/// How a [`StdioUpstream`](super::StdioUpstream) runs its child and speaks with it.
///
/// | setting | default |
/// |---|---|
/// | environment | isolated |
/// | revision that the child is greeted with | 2025-11-25 |
/// | children | one |
/// | time to start and to be greeted | 60 s |
/// | time for an answer | 30 s |
/// | longest message, in either direction | 4 MiB |
/// | requests that wait | 1024 |
/// | messages that wait to be written to the child | 256, 16 MiB |
/// | events that wait for one client | 256, 4 MiB |
/// | streams of events by GET | 256 |
/// | pauses before a restart | 100 ms, doubled up to 30 s |
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::upstream::StdioConfig;
///
/// let config = StdioConfig::new("mcp-server-files")
///     .with_args(["/srv/files"])
///     .with_env("LOG_LEVEL", "warn")
///     .with_root("file:///srv/files", Some("files"))
///     .with_timeout(Duration::from_secs(10));
/// # _ = config;
/// ```
#[derive(Clone)]
pub struct StdioConfig {
    pub(super) name: Box<str>,
    pub(super) command: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) isolated: bool,
    pub(super) folder: Option<PathBuf>,
    pub(super) start_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) max_message_bytes: usize,
    pub(super) max_in_flight: usize,
    queue: Bounds,
    events: Bounds,
    pub(super) max_streams: usize,
    pub(super) pauses: (Duration, Duration),
    pub(super) greeting: Greeting,
    pub(super) child_per_era: bool,
    pub(super) revision: Box<str>,
    pub(super) roots: Vec<Root>,
    pub(super) ended: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl StdioConfig {
    /// A program, which is looked for in the child's `PATH` unless it has a slash.
    #[must_use]
    pub fn new(command: impl Into<OsString>) -> Self {
        let command = command.into();
        Self {
            name: command.to_string_lossy().into(),
            command,
            args: Vec::new(),
            env: BTreeMap::new(),
            isolated: true,
            folder: None,
            start_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(30),
            max_message_bytes: 4 << 20,
            max_in_flight: 1024,
            queue: Bounds { messages: 256, bytes: 16 << 20 },
            events: Bounds { messages: 256, bytes: 4 << 20 },
            max_streams: 256,
            pauses: (Duration::from_millis(100), Duration::from_secs(30)),
            greeting: Greeting::Handshake,
            child_per_era: false,
            revision: LAST_REVISION.into(),
            roots: Vec::new(),
            ended: None,
        }
    }

    /// What logs call it; the command by default.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn with_args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Whether the child sees of this process's environment only `PATH`, `HOME`, `LANG`, `LC_*`, `TMPDIR`, `TERM`, `USER`,
    /// `SHELL` and `TZ`, and what Windows cannot do without.
    #[must_use]
    pub fn with_env_isolation(mut self, isolated: bool) -> Self {
        self.isolated = isolated;
        self
    }

    /// The folder that it runs in; this process's by default.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// How long the child may take until it has been greeted; some are downloaded first. Requests wait for that no
    /// longer than for an answer.
    #[must_use]
    pub fn with_start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// How long an answer may take, from when the request has come or the child last gave notice of progress.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The bytes of the longest message, in either direction.
    #[must_use]
    pub fn with_max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// How many messages may wait for their answers, or for the child to start, at least one.
    #[must_use]
    pub fn with_max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests.max(1);
        self
    }

    /// How many messages may wait for a child that does not read, at least one.
    #[must_use]
    pub fn with_queue(mut self, messages: usize) -> Self {
        self.queue.messages = messages.max(1);
        self
    }

    /// How many bytes of messages may wait for a child that does not read. One message may wait whatever its length.
    #[must_use]
    pub fn with_queue_bytes(mut self, bytes: usize) -> Self {
        self.queue.bytes = bytes;
        self
    }

    /// How many events may wait for one client that does not read, at least one. One more ends a stream by GET, or a
    /// subscription; notices of progress are left out.
    #[must_use]
    pub fn with_events(mut self, events: usize) -> Self {
        self.events.messages = events.max(1);
        self
    }

    /// How many bytes of events may wait for one client that does not read. One event may wait whatever its length; what is
    /// beyond is as one event too many.
    #[must_use]
    pub fn with_event_bytes(mut self, bytes: usize) -> Self {
        self.events.bytes = bytes;
        self
    }

    /// How many streams by GET there may be at once.
    #[must_use]
    pub fn with_max_streams(mut self, streams: usize) -> Self {
        self.max_streams = streams;
        self
    }

    /// The pauses before the first and between all later restarts: doubled each time, and halved at random.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.pauses = (first, longest.max(first));
        self
    }

    /// The revision of MCP that the child is greeted with, and so the one that all clients speak with it: an older one for
    /// clients that know no newer.
    #[must_use]
    pub fn with_revision(mut self, revision: &str) -> Self {
        self.revision = revision.into();
        self
    }

    /// Whether the child is greeted, which is the default. One that is not serves clients of 2026-07-28 and later only: a
    /// child that knows both eras may serve only the one in which it was spoken to first.
    #[must_use]
    pub fn with_handshake(mut self, greets: bool) -> Self {
        self.greeting = if greets { Greeting::Handshake } else { Greeting::Nothing };
        self
    }

    /// Whether clients of 2026-07-28 and later have a child of their own, which is not greeted: a child that knows both eras
    /// may serve only the one in which it was spoken to first. By default there is one child, for all of them; a server
    /// that [is declared](crate::server::ServerEntry::connect) has two. The second is started when the first such request
    /// comes, asked what it [knows](crate::upstream#a-child-process), and kept like the other one. Without a
    /// [handshake](Self::with_handshake) there is one child, whatever this says.
    #[must_use]
    pub fn with_child_per_era(mut self, own: bool) -> Self {
        self.child_per_era = own;
        self
    }

    /// For the child of clients that make no handshake, if they have one of their own.
    pub(super) fn of_modern(&self) -> Option<Self> {
        let own = self.child_per_era && self.greeting == Greeting::Handshake;
        own.then(|| Self { greeting: Greeting::Discovery, ..self.clone() })
    }

    /// Adds a root that the child is told of when it asks.
    #[must_use]
    pub fn with_root(mut self, uri: impl Into<String>, name: Option<&str>) -> Self {
        self.roots.push((uri.into(), name.map(str::to_owned)));
        self
    }

    /// Sets who is told that a child has come to its end, before anything is said to the next one: that may be another
    /// version of it.
    ///
    /// # Example
    ///
    /// What is known of its tools is asked for anew:
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::layer::server_trust::ServerTrustLayer;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    /// use tower_toolgate::upstream::{StdioConfig, UpstreamConfig};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30));
    /// let layer = ServerTrustLayer::new(&entry)?;
    /// let watched = layer.clone();
    /// let config = match entry.upstream_config()? {
    ///     UpstreamConfig::Stdio(config) => UpstreamConfig::Stdio(config.on_end(move || watched.forget_lists())),
    ///     other => other,
    /// };
    /// # _ = (layer, config);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_end(mut self, ended: impl Fn() + Send + Sync + 'static) -> Self {
        self.ended = Some(Arc::new(ended));
        self
    }

    pub(super) fn queue(&self) -> Bounds {
        self.queue
    }

    pub(super) fn events(&self) -> Bounds {
        self.events
    }
}

/// Without arguments and values of the environment: there may be secrets in them.
impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("env", &self.env.keys().map(OsString::as_os_str).collect::<Vec<&OsStr>>())
            .field("isolated", &self.isolated)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
