//! The way in: what a client says of provenance goes, and the answer is seen to.

use std::future::Ready;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;

use super::tagger::Tagger;
use super::tagging::{Session, Tagging, Task};
use crate::answer::{Client, Denial, DenialKind};
use crate::http::{Admission, Collected, Context, Lost};
use crate::identity::Principal;
use crate::layer::exchange::{Decided, Front, Guard, Passage, Step, Work, ask_for_plain, measure};
use crate::message::{Era, Fault, Inspection, Revision};
use crate::provenance::{Seal, strip};
use crate::response::{Plan, Stage, Watch};
use crate::trust::Rulings;

/// Where a client may have written what is not its to write cannot be told.
const INVALID: DenialKind = DenialKind::Message(Fault::FoldedKey);
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

impl Guard for Tagger {
    type Deciding = Ready<Decided>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn decide(
        tagger: &Arc<Self>,
        head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding> {
        Step::Done(tagger.prepare(head, received, admission))
    }
}

impl Tagger {
    fn prepare(self: &Arc<Self>, mut head: Parts, received: Result<Collected, Lost>, admission: Admission) -> Decided {
        let mut collected = received.map_err(|lost| self.front.lost(&head, lost, admission))?;
        head.headers.remove(&self.header);
        if let Some(trailers) = &mut collected.trailers {
            trailers.remove(&self.header);
        }
        let passage = match admission {
            Admission::Preflight => {
                let passage = Passage::new(&head, None, Client::default());
                let tagging = self.tagging(&head, None, Task::Clean);
                self.see_to(&mut head, passage, Watch::Nothing, tagging, None)
            }
            Admission::Bodiless => {
                self.front.check_bodiless(&head, &collected)?;
                self.prepare_stream(&mut head)
            }
            Admission::Read => self.prepare_body(&mut head, &mut collected)?,
        };
        Ok((head, collected, passage))
    }

    fn prepare_stream(self: &Arc<Self>, head: &mut Parts) -> Passage {
        let passage = Passage::new(head, None, Client::of(head, Era::Legacy));
        let plan = self.front.stream_plan(head);
        let (watch, task) = match head.method {
            Method::GET => (Watch::Shapes, self.task()),
            _ => (Watch::Nothing, Task::Clean),
        };
        let tagging = self.tagging(head, None, task);
        self.see_to(head, passage, watch, tagging, plan)
    }

    fn prepare_body(self: &Arc<Self>, head: &mut Parts, collected: &mut Collected) -> Result<Passage, Denial> {
        let mut context = self.front.read(head, collected)?;
        if let Some(bytes) = self.stripped(head, &context)? {
            measure(&mut head.headers, bytes.len());
            context = self.front.reread(&context, head, &bytes)?;
            collected.bytes = bytes;
        }
        let inspection = context.inspection();
        let passage = Passage::new(head, Some(inspection), Client::of(head, inspection.era()));
        let (watch, tagging) = (self.front.watch(inspection), self.tagging(head, Some(inspection), self.task()));
        Ok(self.see_to(head, passage, watch, tagging, context.plan().cloned()))
    }

    /// The body without the tags that a client has written: they are not its to write.
    fn stripped(&self, head: &Parts, context: &Context) -> Result<Option<Bytes>, Denial> {
        let body = context.inspection().bytes();
        if !self.front.is_mcp() {
            return Ok(None);
        }
        let edits =
            strip(body, &self.style).map_err(|_| self.front.refuse_body(head, context.inspection(), None, INVALID))?;
        Ok(edits.map(|edits| edits.apply(body).collect::<Vec<_>>().concat().into()))
    }

    fn see_to(
        &self,
        head: &mut Parts,
        passage: Passage,
        watch: Watch,
        tagging: Tagging,
        plan: Option<Arc<Plan>>,
    ) -> Passage {
        if tagging.task == Task::Mark {
            ask_for_plain(&mut head.headers);
        }
        passage.with_work(watch, Work::of(Some(Stage::Rewrite(Arc::new(tagging))), plan, self.front.place))
    }

    /// What is done with what comes back. Other dialects have no place for a tag.
    fn task(&self) -> Task {
        if self.front.is_mcp() { Task::Mark } else { Task::Tell }
    }

    fn tagging(self: &Arc<Self>, head: &Parts, inspection: Option<&Inspection>, task: Task) -> Tagging {
        let rulings = Rulings::of(&head.extensions);
        let origins = inspection.map(|inspection| self.origins(head, inspection, rulings)).unwrap_or_default();
        Tagging {
            inspection: inspection.cloned(),
            unasked: self.origin_beside(head, &origins, rulings),
            others: self.origin_of_others(head, rulings),
            origins,
            server: self.front.server_of(head).cloned(),
            seal: self.seal(head),
            session: session(head).map(|tainted| Session::new(tainted, rulings)),
            tags_parts: tags_parts(head, inspection),
            task,
            tagger: Arc::clone(self),
        }
    }

    fn seal(&self, head: &Parts) -> Option<Seal> {
        let (key, name) = (self.signing.clone()?, self.style.key.clone());
        Some(Seal { key, name, principal: head.extensions.get::<Principal>().cloned() })
    }
}

/// Whether the session of a request is tainted, if anybody remembers.
#[cfg(feature = "content-trust")]
fn session(head: &Parts) -> Option<bool> {
    use crate::trust::SessionTaint;
    SessionTaint::of(&head.extensions).map(SessionTaint::is_tainted)
}

/// Nobody remembers.
#[cfg(not(feature = "content-trust"))]
fn session(_: &Parts) -> Option<bool> {
    None
}

/// Blocks of content have a `_meta` from 2025-06-18 on.
fn tags_parts(head: &Parts, inspection: Option<&Inspection>) -> bool {
    let named = head.headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    let modern = inspection.is_some_and(|inspection| inspection.era() == Era::Modern);
    modern || named.is_some_and(|version| Revision::parse(version) > Revision::V2025_03_26)
}
