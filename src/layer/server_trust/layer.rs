//! The layer, which is its own builder.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::guard::ServerGuard;
use super::service::ServerTrustService;
use super::shown::Shown;
use crate::layer::exchange::{Front, front_methods};
use crate::layer::join::{Join, Sealed};
use crate::server::{Pins, ServerEntry, ServerError};

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
        self.set(|guard| guard.shown = Shown::of(&guard.exposure, guard.server.as_str(), pins))
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
