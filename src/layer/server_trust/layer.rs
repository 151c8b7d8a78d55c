//! The layer, which is its own builder.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::guard::ServerGuard;
use super::service::ServerTrustService;
use super::shown::Shown;
use super::told::Notes;
use crate::layer::exchange::{Front, front_methods};
use crate::layer::join::{Join, Sealed};
use crate::server::{McpTrustLevel, Pins, ServerEntry, ServerError, ToolNote};

/// Holds a server to what is declared of it.
///
/// See the [module](super) for what passes, what does not, and an example.
#[derive(Clone)]
#[must_use]
pub struct ServerTrustLayer {
    guard: Arc<ServerGuard>,
}

impl ServerTrustLayer {
    /// A layer in front of the server of an entry.
    ///
    /// # Errors
    ///
    /// Those of [`ServerEntry::check`].
    pub fn new(entry: &ServerEntry) -> Result<Self, ServerError> {
        Ok(Self { guard: Arc::new(ServerGuard::new(entry)?) })
    }

    /// Compares the definitions of tools with those that were approved, if the server is among those that are guarded. A
    /// tool in quarantine is left out of lists and refused, and so is one that the server does not list.
    pub fn with_pins(self, pins: Pins) -> Self {
        self.set(|guard| guard.shown = Shown::of(&guard.standings.of_entry().exposure, guard.server.as_str(), pins))
    }

    /// Sets who says how far the server is trusted at the moment: asked once a request, before it is judged. The lower of
    /// that and of the entry's level counts: for what is called, for what the server may ask for, and for the lists in the
    /// response to that request. One that is higher promotes nothing.
    ///
    /// # Example
    ///
    /// A server in whose tools something was found goes into the sandbox:
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, PoisonError};
    /// use std::time::Duration;
    /// use tower_toolgate::layer::server_trust::ServerTrustLayer;
    /// use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry, TrustScore};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
    ///     .with_trust_level(McpTrustLevel::Trusted);
    /// let score = Arc::new(Mutex::new(TrustScore::new()));
    /// let level = {
    ///     let (score, configured) = (Arc::clone(&score), entry.trust_level);
    ///     move || score.lock().unwrap_or_else(PoisonError::into_inner).effective(configured)
    /// };
    /// assert_eq!(level(), McpTrustLevel::Trusted);
    /// let layer = ServerTrustLayer::new(&entry)?.with_level(level.clone());
    ///
    /// // Wherever tools are scanned:
    /// score.lock().unwrap_or_else(PoisonError::into_inner).register(1);
    /// assert_eq!(level(), McpTrustLevel::Sandboxed);
    /// # let _ = layer;
    /// # Ok::<(), tower_toolgate::server::ServerError>(())
    /// ```
    pub fn with_level(self, level: impl Fn() -> McpTrustLevel + Send + Sync + 'static) -> Self {
        self.set(|guard| guard.standings = guard.standings.clone().with_level(level))
    }

    /// Sets who is told of what is doubtful about a tool that is exposed all the same: once for each tool and doubt, when
    /// a list shows the tool.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::layer::server_trust::ServerTrustLayer;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
    ///     .with_allow_untrusted_without_allowlist(true);
    /// let layer = ServerTrustLayer::new(&entry)?.on_note(|tool, note| eprintln!("{tool}: {note}"));
    /// # let _ = layer;
    /// # Ok::<(), tower_toolgate::server::ServerError>(())
    /// ```
    pub fn on_note(self, tell: impl Fn(&str, ToolNote) + Send + Sync + 'static) -> Self {
        self.set(|guard| guard.notes = Some(Arc::new(Notes::new(tell))))
    }

    /// Forgets what lists have shown, as where the server says that it has other tools now: the next call asks for them.
    /// All clones of this layer do, and what they have made, as long as they have the same pins.
    ///
    /// For hosts that learn that the server was started anew, such as of a child process
    /// ([`on_end`](crate::upstream::StdioConfig::on_end)).
    pub fn forget_lists(&self) {
        self.guard.shown.iter().for_each(|shown| shown.change());
    }

    front_methods!(unnamed);

    fn set_front(self, change: impl FnOnce(&mut Front)) -> Self {
        self.set(|guard| change(&mut guard.front))
    }

    fn set(mut self, change: impl FnOnce(&mut ServerGuard)) -> Self {
        change(Arc::make_mut(&mut self.guard));
        self
    }
}

impl Join for ServerTrustLayer {}

impl Sealed for ServerTrustLayer {
    fn joined(self) -> Self {
        self.set(|guard| guard.front.place.after = true)
    }
}

impl<S> Layer<S> for ServerTrustLayer {
    type Service = ServerTrustService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ServerTrustService::new(inner, Arc::clone(&self.guard))
    }
}

impl fmt::Debug for ServerTrustLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTrustLayer").field("guard", &self.guard).finish()
    }
}
