//! What every clone of the service shares.

use crate::layer::exchange::Front;
use crate::policy::Policy;

#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(super) front: Front,
    pub(super) policy: Policy,
    pub(super) shadow: bool,
}

impl Gate {
    pub(super) fn new(policy: Policy) -> Self {
        #[cfg_attr(not(feature = "digest"), expect(unused_mut, reason = "only digests need the policy"))]
        let mut front = Front::default();
        #[cfg(feature = "digest")]
        {
            front.digests.policy = Some(policy.clone());
        }
        Self { front, policy, shadow: false }
    }
}
