//! A layer's own decision.

use std::future::Future;
use std::sync::Arc;

use http::request::Parts;

use super::enquiry::Enquiry;
use super::front::Front;
use super::passage::Passage;
use crate::answer::Denial;
use crate::http::{Admission, Collected, Lost};

/// What a layer decides.
pub(crate) trait Guard: Send + Sync + 'static {
    /// A decision that takes its time.
    type Deciding: Future<Output = Decided>;

    /// What it shares with other layers.
    fn front(&self) -> &Front;

    /// Looks at the head: whether, and how, the body is to be received.
    fn admit(&self, head: &Parts) -> Result<Admitted, Denial> {
        self.front().admit(head).map(Admitted::Receive)
    }

    /// Decides about a request that has arrived, or has not.
    fn decide(
        guard: &Arc<Self>,
        head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding>;
}

/// What happens to a request whose head is accepted.
pub(crate) enum Admitted {
    /// Its body has no part in the decision, which is taken.
    Forward(Box<Passage>),
    /// Its body is received.
    Receive(Admission),
}

/// What the inner service gets, or what the caller gets instead.
pub(crate) type Decided = Result<(Parts, Collected, Passage), Denial>;

/// How far a decision is.
#[cfg_attr(
    not(all(feature = "content-trust", feature = "server-trust")),
    allow(dead_code, reason = "no decision takes its time, or has to be asked for")
)]
#[expect(clippy::large_enum_variant, reason = "a decision that is taken is taken apart at once")]
pub(crate) enum Step<F> {
    Done(Decided),
    /// The inner service is asked first.
    Enquire(Box<dyn Enquiry>),
    Wait(F),
}
