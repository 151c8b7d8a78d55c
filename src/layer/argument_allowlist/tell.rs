//! Telling the observer of each message.

use super::gate::Gate;
use crate::answer::{Denial, DenialKind};
use crate::layer::exchange::Caller;
use crate::message::{Inspection, Message};
use crate::observe::Outcome;

impl Gate {
    /// What becomes of what the policy denies.
    pub(super) fn outcome(&self) -> Outcome {
        if self.shadow { Outcome::ShadowDeny } else { Outcome::Deny }
    }

    /// Tells of every message of a body; `denial` is that of the whole body.
    pub(super) fn tell_messages(&self, caller: &Caller<'_>, inspection: &Inspection, denial: Option<&Denial>) {
        if self.front.observer.is_none() {
            return;
        }
        for message in inspection.messages() {
            match denial {
                None => self.front.tell(caller, Some(message), Outcome::Allow, None),
                Some(denial) if !inspection.is_batch() => {
                    self.front.tell(caller, Some(message), self.outcome(), Some(denial));
                }
                Some(denial) => self.tell_of_batch(caller, message, denial),
            }
        }
    }

    /// Each message of a batch has a reason of its own, or is refused for the sake of another.
    fn tell_of_batch(&self, caller: &Caller<'_>, message: Message<'_>, denial: &Denial) {
        match self.denial(caller, &message) {
            Some(own) => self.front.tell(caller, Some(message), self.outcome(), Some(&own)),
            None if self.shadow => self.front.tell(caller, Some(message), Outcome::Allow, None),
            None => {
                let others = Denial::new(DenialKind::Batch, denial.addressee().clone(), caller.client());
                self.front.tell(caller, Some(message), Outcome::Deny, Some(&others));
            }
        }
    }
}
