//! The way in: what is called must be exposed, and a server learns only what it may use.

use std::future::Ready;
use std::sync::Arc;

use http::request::Parts;

use super::judge::Judge;
use super::shown::Shown;
use super::standing::Standings;
use super::told::Notes;
use crate::answer::{Denial, DenialKind};
use crate::http::{Admission, Collected, Lost};
use crate::identity::{Roles, Server};
use crate::layer::exchange::{Caller, Decided, Front, Guard, Step};
use crate::message::Era;
use crate::observe::Outcome;
use crate::server::{Pins, ServerEntry, ServerError, ServerRefusal};

/// What every clone of the service shares.
#[derive(Clone, Debug)]
pub(crate) struct ServerGuard {
    pub(super) front: Front,
    pub(super) server: Server,
    pub(super) standings: Standings,
    /// What lists have shown: none where it makes no difference.
    pub(super) shown: Option<Arc<Shown>>,
    /// Who is told of doubts about tools that are exposed.
    pub(super) notes: Option<Arc<Notes>>,
}

impl Guard for ServerGuard {
    type Deciding = Ready<Decided>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn decide(
        guard: &Arc<Self>,
        mut head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding> {
        let collected = match received {
            Ok(collected) => collected,
            Err(lost) => return Step::Done(Err(guard.front.lost(&head, lost, admission))),
        };
        // The route decides whose request it is: whatever the request carries was put there by somebody else.
        head.extensions.insert(guard.server.clone());
        let judge = Judge { guard: Arc::clone(guard), standing: Arc::clone(guard.standings.now()) };
        match admission {
            Admission::Bodiless | Admission::Preflight => Step::Done(judge.judge_head(head, collected, admission)),
            Admission::Read => judge.judge_body(head, collected).unwrap_or_else(|denial| Step::Done(Err(denial))),
        }
    }
}

impl ServerGuard {
    pub(super) fn new(entry: &ServerEntry) -> Result<Self, ServerError> {
        let standings = Standings::new(entry)?;
        let server = Server::new(&*entry.id);
        let front = Front { server: Some(server.clone()), ..Front::default() };
        let shown = Shown::of(&standings.of_entry().exposure, &entry.id, Pins::new());
        Ok(Self { front, server, standings, shown, notes: None })
    }

    /// Tells of tools that lists have put in quarantine.
    pub(super) fn tell_news(&self, news: &[(String, ServerRefusal)]) {
        let caller = Caller { head: None, roles: Roles::NONE, server: Some(&self.server), era: Era::Legacy };
        for (tool, refusal) in news {
            let denial = Denial::of_tool(DenialKind::Server(*refusal), tool);
            self.front.tell(&caller, None, Outcome::Deny, Some(&denial));
        }
    }
}
