//! The layer, which is its own builder.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::gate::Gate;
use super::service::ArgumentAllowlistService;
use crate::answer::RespondToDenial;
use crate::http::{BufferBudget, Reading};
use crate::identity::{ExtractRoles, Server};
use crate::json::MAX_LENGTH;
use crate::layer::exchange::Protocol;
use crate::layer::join::{Join, Joined, Sealed};
use crate::message::Dialect;
use crate::observe::OnDecision;
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

    /// Sets the dialect of bodies. It is the layer's for good: no header chooses it.
    pub fn with_dialect(self, dialect: impl Dialect) -> Self {
        self.set(|gate| gate.front.protocol = Protocol::JsonRpc(Reading { dialect: Arc::new(dialect) }))
    }

    /// Sets where the caller's roles come from.
    pub fn with_roles(self, roles: impl ExtractRoles) -> Self {
        self.set(|gate| gate.front.roles = Arc::new(roles))
    }

    /// Names the server behind the gate: the owner of what is called. Without, it is the [`Server`] in the request's
    /// extensions, if any.
    pub fn with_server(self, server: Server) -> Self {
        self.set(|gate| gate.front.server = Some(server))
    }

    /// Sets what a body may have in bytes. The default is 4 MiB; more than [`MAX_LENGTH`](crate::json::MAX_LENGTH) is that.
    pub fn with_max_body_bytes(self, bytes: usize) -> Self {
        self.set(|gate| gate.front.limits.bytes = bytes.min(MAX_LENGTH))
    }

    /// Sets what a response that is a list, or one event of a stream that is read for lists, may have in bytes. The
    /// default is 16 MiB.
    pub fn with_max_list_bytes(self, bytes: usize) -> Self {
        self.set(|gate| gate.front.max_list_bytes = bytes.min(MAX_LENGTH))
    }

    /// Sets a bound on all bytes that are being buffered, shared with whoever has a clone of it.
    pub fn with_budget(self, budget: BufferBudget) -> Self {
        self.set(|gate| gate.front.limits.budget = Some(budget))
    }

    /// Sets which errors of a body, or of what they come from, mean that the host's time for it has passed: they
    /// are answered with 408. The default knows [`std::io::ErrorKind::TimedOut`].
    pub fn with_timeout_errors(self, timed_out: fn(&(dyn Error + 'static)) -> bool) -> Self {
        self.set(|gate| gate.front.limits.timed_out = timed_out)
    }

    /// Sets the shape of answers.
    pub fn with_response(self, respond: impl RespondToDenial) -> Self {
        self.set(|gate| gate.front.respond = Arc::new(respond))
    }

    /// Sets who sees every decision.
    pub fn on_decision(self, observer: impl OnDecision) -> Self {
        self.set(|gate| gate.front.observer = Some(Arc::new(observer)))
    }

    /// Sets the key of the digests that [`DecisionEvent::ruled_values`](crate::observe::DecisionEvent::ruled_values)
    /// gives. Without, it is one that the process draws for itself.
    #[cfg(feature = "digest")]
    pub fn with_digest_key(self, key: crate::observe::DigestKey) -> Self {
        self.set(|gate| gate.front.digests.key = Some(key))
    }

    /// Lets an upgrade to a protocol pass, and the switch to it. What is said in that protocol is not read.
    pub fn with_insecure_upgrade(self, protocol: impl Into<Box<str>>) -> Self {
        self.set(|gate| gate.front.upgrades.push(protocol.into()))
    }

    /// Lets pass what the policy denies, and only tells the observer: to try a policy on live traffic.
    ///
    /// What cannot be read exactly is refused all the same: of it nothing could be told.
    pub fn with_insecure_shadow(self, shadow: bool) -> Self {
        self.set(|gate| gate.shadow = shadow)
    }

    /// Puts a layer right inside of this one, with nothing between them: both read a response once.
    pub fn join<I: Join>(self, inner: I) -> Joined<Self, I> {
        Joined::new(self.set(|gate| gate.front.place.before = true), inner)
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
