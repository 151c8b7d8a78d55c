//! The layer, which is its own builder.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use super::conversation::ConversationSource;
use super::guard::Trust;
use super::service::ContentTrustService;
use crate::layer::exchange::{Front, front_methods};
use crate::layer::join::{Join, Sealed};
use crate::observe::OnTrust;
use crate::store::TaintStore;
use crate::trust::{Classifier, SessionRules};

/// Remembers what sessions have received, and refuses what such a session must not do.
///
/// See the [module](super) for what passes, what does not, and examples.
#[must_use]
pub struct ContentTrustLayer<T> {
    trust: Arc<Trust<T>>,
}

impl<T: TaintStore> ContentTrustLayer<T> {
    /// A layer that classifies by what the operator says, and remembers in a store. It has no rules: it marks, and
    /// refuses nothing but what it could not mark.
    pub fn new(classifier: Classifier, store: T) -> Self {
        Self { trust: Arc::new(Trust::new(classifier, store)) }
    }

    /// Sets what sessions may do once they have received something.
    pub fn with_rules(self, rules: SessionRules) -> Self {
        self.set(|trust| trust.rules = rules)
    }

    /// Adds something that names conversations, for hosts that are [honest](crate::HonestHost) about them: each
    /// is then remembered by itself. Without, a principal has one memory.
    pub fn with_conversation(self, source: ConversationSource) -> Self {
        self.set(|trust| trust.conversations.push(source))
    }

    /// Lets a session be clean again once it has received nothing new from outside for so long.
    ///
    /// The price: whoever can wait is clean. What the content has made the agent write down stays.
    ///
    /// # Errors
    ///
    /// The store keeps marks for a shorter time than that.
    pub fn with_window(self, window: Duration) -> Result<Self, WindowTooLong> {
        match self.trust.store.retention() {
            Some(retention) if retention < window => Err(WindowTooLong { window, retention }),
            Some(_) | None => Ok(self.set(|trust| trust.window = Some(window))),
        }
    }

    /// Sets who sees what happens to sessions.
    pub fn on_trust(self, observer: impl OnTrust) -> Self {
        self.set(|trust| trust.observer = Some(Arc::new(observer)))
    }

    /// Sets the clock, in seconds since 1970. The default is the system's.
    pub fn with_clock(self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.set(|trust| {
            trust.started = clock();
            trust.clock = Arc::new(clock);
        })
    }

    front_methods!();

    fn set_front(self, change: impl FnOnce(&mut Front)) -> Self {
        self.set(|trust| change(&mut trust.front))
    }

    fn set(mut self, change: impl FnOnce(&mut Trust<T>)) -> Self {
        change(Arc::make_mut(&mut self.trust));
        self
    }
}

/// A window after which sessions are clean again is longer than the store remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowTooLong {
    /// The window.
    pub window: Duration,
    /// How long the store remembers.
    pub retention: Duration,
}

impl fmt::Display for WindowTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window, retention } = self;
        write!(f, "a window of {window:?} needs a store that remembers for longer than {retention:?}")
    }
}

impl Error for WindowTooLong {}

impl<T: TaintStore> Join for ContentTrustLayer<T> {}

impl<T: TaintStore> Sealed for ContentTrustLayer<T> {
    fn joined(self) -> Self {
        self.set_front(|front| front.place.after = true)
    }
}

impl<S, T: TaintStore> Layer<S> for ContentTrustLayer<T> {
    type Service = ContentTrustService<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        ContentTrustService::new(inner, Arc::clone(&self.trust))
    }
}

impl<T> Clone for ContentTrustLayer<T> {
    fn clone(&self) -> Self {
        Self { trust: Arc::clone(&self.trust) }
    }
}

impl<T> fmt::Debug for ContentTrustLayer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentTrustLayer").field("trust", &self.trust).finish()
    }
}
