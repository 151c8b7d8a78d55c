//! The layer, which is its own builder.

use std::sync::Arc;
use std::time::Duration;

use super::guard::BindingGuard;
use super::service::BindingService;
use crate::binding::BindingKey;
use crate::layer::exchange::layer_of;

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

    /// Takes all callers without a [`Principal`](crate::Principal) for one, who share all their sessions and tasks:
    /// where nobody has to say who they are. Without, they are refused.
    pub fn with_insecure_anonymous(self, anonymous: bool) -> Self {
        self.set(|guard| guard.anonymous = anonymous)
    }

    /// Sets after what time a session is refused, whatever its server says. Without, the server alone ends it.
    pub fn with_max_session_age(self, age: Duration) -> Self {
        self.set(|guard| guard.max_session_age = Some(age))
    }
}

layer_of!(BindingLayer { guard: BindingGuard } -> BindingService);
