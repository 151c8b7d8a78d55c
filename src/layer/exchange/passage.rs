//! What is remembered of a request that was let pass.

use std::sync::Arc;

use http::header::{HeaderValue, UPGRADE};
use http::request::Parts;

use crate::answer::{Client, Requester};
use crate::http::Place;
use crate::message::Inspection;
use crate::response::{Plan, Stage, Stages, Watch};

/// What is remembered of a request that was let pass, until its response comes.
pub(crate) struct Passage {
    pub(crate) requester: Requester,
    /// The protocols that it asked to switch to, all of which are allowed.
    upgrade: Option<HeaderValue>,
    /// Which lists are looked for in the response.
    pub(crate) watch: Watch,
    pub(super) work: Work,
}

/// Where it is said what is to be done with the response, once that is there.
pub(crate) enum Work {
    /// In the plan of the chain of layers that this one begins.
    Plan(Arc<Plan>),
    Own(Stages),
    None,
}

impl Work {
    /// Adds stages to the plan of a chain, or does them here.
    pub(crate) fn of(stages: impl IntoIterator<Item = Stage>, plan: Option<Arc<Plan>>, place: Place) -> Self {
        let mut own: Option<Stages> = None;
        for stage in stages {
            let left = match &plan {
                Some(plan) => plan.register(stage).err(),
                None => Some(stage),
            };
            left.into_iter().for_each(|stage| own.get_or_insert_default().push(stage));
        }
        match (own, plan) {
            (Some(own), _) => Self::Own(own),
            (None, Some(plan)) if !place.after => Self::Plan(plan),
            (None, _) => Self::None,
        }
    }

    pub(super) fn take(&self) -> Stages {
        match self {
            Self::Plan(plan) => plan.take(),
            Self::Own(stages) => stages.clone(),
            Self::None => Stages::default(),
        }
    }
}

impl Passage {
    pub(crate) fn new(head: &Parts, inspection: Option<&Inspection>, client: Client) -> Self {
        let requester = Requester::new(inspection.cloned(), client.streamable);
        let upgrade = head.headers.get(UPGRADE).cloned();
        Self { requester, upgrade, watch: Watch::Nothing, work: Work::None }
    }

    pub(crate) fn with_work(self, watch: Watch, work: Work) -> Self {
        Self { watch, work, ..self }
    }

    /// Whether a response that switches to a protocol is an answer to what was asked for.
    pub(super) fn permits_switch(&self, protocol: Option<&HeaderValue>) -> bool {
        let text = |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok().map(str::to_owned));
        let (Some(asked), Some(protocol)) = (text(self.upgrade.as_ref()), text(protocol)) else { return false };
        asked.split(',').any(|asked| asked.trim().eq_ignore_ascii_case(protocol.trim()))
    }
}
