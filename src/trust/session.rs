//! What is known of the session of a request.

use std::sync::OnceLock;

use super::{Facts, Ruling, Taint, Verdict};
use crate::identity::Server;
use crate::message::{Call, Inspection};

/// What was known of the session when a call was decided on, before the call itself.
///
/// A content trust layer keeps it with the request: the service behind it finds it with `SessionTaint::of`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTaint {
    before: Taint,
    assumed: bool,
}

impl SessionTaint {
    pub(crate) fn known(before: Taint) -> Self {
        Self { before, assumed: false }
    }

    /// What is known, and everything else.
    pub(crate) fn assumed_beside(mut before: Taint) -> Self {
        before.join(&Taint::assumed());
        Self { before, assumed: true }
    }

    pub(crate) fn assumed() -> Self {
        Self { before: Taint::assumed(), assumed: true }
    }

    /// Whether it has received content from outside.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.before.facts.contains(Facts::OUTSIDE)
    }

    /// Whether that is only assumed: the store gave no answer, or has forgotten what was before its start.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// What is known.
    #[must_use]
    pub fn taint(&self) -> &Taint {
        &self.before
    }
}

/// Which call of a body brings the most foreign content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brought {
    /// Its message's place.
    pub(crate) message: usize,
    /// Its place in the message.
    pub(crate) call: usize,
    pub(crate) ruling: Ruling,
}

impl Brought {
    /// The ruling with the names that it is about.
    pub(crate) fn verdict<'a>(self, inspection: &'a Inspection, owner: Option<&'a str>) -> Verdict<'a> {
        let message = inspection.messages().nth(self.message);
        let tool = message.and_then(|message| message.calls().nth(self.call)).and_then(|call| match call {
            Call::Tool { name, .. } => Some(name),
            _ => None,
        });
        self.ruling.of(owner, tool)
    }
}

/// What a layer has found out about a request.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) inspection: Inspection,
    pub(crate) server: Option<Server>,
    pub(crate) brought: Option<Brought>,
    /// Of what else the server says.
    pub(crate) of_server: Ruling,
    pub(crate) session: SessionTaint,
    /// Few ask for the names, which have to be copied for them.
    verdict: OnceLock<Verdict<'static>>,
}

impl Found {
    pub(crate) fn new(
        inspection: Inspection,
        server: Option<Server>,
        brought: Option<Brought>,
        of_server: Ruling,
        session: SessionTaint,
    ) -> Self {
        Self { inspection, server, brought, of_server, session, verdict: OnceLock::new() }
    }

    pub(crate) fn verdict(&self) -> Option<&Verdict<'static>> {
        let (brought, owner) = (self.brought?, self.server.as_ref().map(Server::as_str));
        Some(self.verdict.get_or_init(|| brought.verdict(&self.inspection, owner).into_owned()))
    }
}

/// What keeps what a layer has found out about a request.
pub(crate) trait Finding: Send + Sync {
    fn found(&self) -> Option<&Found>;
}

impl Finding for Found {
    fn found(&self) -> Option<&Found> {
        Some(self)
    }
}
