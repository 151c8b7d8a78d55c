//! The layer, which is its own builder.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::gate::Gate;
use super::service::ArgumentAllowlistService;
use crate::layer::exchange::{Front, Protocol, front_methods};
use crate::layer::join::{Join, Sealed};
use crate::policy::Policy;

/// Gates the calls in the bodies of requests by role and argument.
///
/// See the [module](super) for what passes, what does not, and examples.
#[derive(Clone)]
#[must_use]
pub struct ArgumentAllowlistLayer {
    gate: Arc<Gate>,
}

impl ArgumentAllowlistLayer {
    /// A gate for MCP that reads roles from the request's extensions, bodies of up to 4 MiB, and answers as each
    /// client reads best.
    pub fn new(policy: Policy) -> Self {
        Self { gate: Arc::new(Gate::new(policy)) }
    }

    /// A gate for gRPC, which judges calls by their path: the method `/echo.Echo/Say` is the tool `echo.Echo/Say`, and
    /// has no arguments.
    ///
    /// Bodies are not read and not held back. A denial is status 7, `PERMISSION_DENIED`; the shape of answers has no
    /// say.
    pub fn grpc(policy: Policy) -> Self {
        Self::new(policy).set(|gate| gate.front.protocol = Protocol::Grpc)
    }

    front_methods!();

    /// Sets the key of the digests that [`DecisionEvent::ruled_values`](crate::observe::DecisionEvent::ruled_values)
    /// gives. Without, it is one that the process draws for itself.
    #[cfg(feature = "digest")]
    pub fn with_digest_key(self, key: crate::observe::DigestKey) -> Self {
        self.set(|gate| gate.front.digests.key = Some(key))
    }

    /// Lets pass what the policy denies, and only tells the observer: to try a policy on live traffic.
    ///
    /// What cannot be read exactly is refused all the same: of it nothing could be told.
    pub fn with_insecure_shadow(self, shadow: bool) -> Self {
        self.set(|gate| gate.shadow = shadow)
    }

    fn set_front(self, change: impl FnOnce(&mut Front)) -> Self {
        self.set(|gate| change(&mut gate.front))
    }

    fn set(mut self, change: impl FnOnce(&mut Gate)) -> Self {
        change(Arc::make_mut(&mut self.gate));
        self
    }
}

impl Join for ArgumentAllowlistLayer {}

impl Sealed for ArgumentAllowlistLayer {
    fn joined(self) -> Self {
        self.set(|gate| gate.front.place.after = true)
    }
}

impl<S> Layer<S> for ArgumentAllowlistLayer {
    type Service = ArgumentAllowlistService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ArgumentAllowlistService::new(inner, Arc::clone(&self.gate))
    }
}

impl fmt::Debug for ArgumentAllowlistLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentAllowlistLayer").field("gate", &self.gate).finish()
    }
}
