//! The layer, which is its own builder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use super::guard::BindingGuard;
use super::service::BindingService;
use crate::binding::BindingKey;
use crate::layer::exchange::{Front, front_methods};
use crate::layer::join::{Join, Sealed};

/// Binds the ids of sessions and tasks to the principal that was given them.
///
/// See the [module](super) for what passes, what does not, and an example.
#[derive(Clone)]
#[must_use]
pub struct BindingLayer {
    guard: Arc<BindingGuard>,
}

impl BindingLayer {
    /// A layer that binds with a key, to the [`Principal`](crate::Principal) in the request's extensions.
    pub fn new(key: BindingKey) -> Self {
        Self { guard: Arc::new(BindingGuard::new(key)) }
    }

    front_methods!();

    /// Takes all callers without a [`Principal`](crate::Principal) for one, who share all their sessions and tasks:
    /// where nobody has to say who they are. Without, they are refused.
    pub fn with_insecure_anonymous(self, anonymous: bool) -> Self {
        self.set(|guard| guard.anonymous = anonymous)
    }

    /// Lets requests pass whose query names a session, by `sessionId` or `session_id`: the server then gets the id of
    /// anybody. Without, they are refused.
    pub fn with_insecure_url_sessions(self, pass: bool) -> Self {
        self.set(|guard| guard.url_sessions = pass)
    }

    /// Sets after what time a session is refused, whatever its server says. Without, the server alone ends it.
    pub fn with_max_session_age(self, age: Duration) -> Self {
        self.set(|guard| guard.max_session_age = Some(age))
    }

    fn set_front(self, change: impl FnOnce(&mut Front)) -> Self {
        self.set(|guard| change(&mut guard.front))
    }

    fn set(mut self, change: impl FnOnce(&mut BindingGuard)) -> Self {
        change(Arc::make_mut(&mut self.guard));
        self
    }
}

impl Join for BindingLayer {}

impl Sealed for BindingLayer {
    fn joined(self) -> Self {
        self.set(|guard| guard.front.place.after = true)
    }
}

impl<S> Layer<S> for BindingLayer {
    type Service = BindingService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BindingService::new(inner, Arc::clone(&self.guard))
    }
}

impl fmt::Debug for BindingLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BindingLayer").field("guard", &self.guard).finish()
    }
}
