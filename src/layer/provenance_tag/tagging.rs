//! Tagging the response to one request.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, HeaderValue};
use memchr::memmem;

use super::origin::{Origin, Origins};
use super::tagger::Tagger;
use crate::answer::Denial;
use crate::identity::Server;
use crate::json::{Edits, hides_letters};
use crate::message::{Call, Inspection, Message, MessageKind, same_id};
use crate::observe::TagEvent;
use crate::provenance::{Asked, Mark, Provenance, Report, Seal, Tag, mark};
use crate::response::{Origin as Carried, Rewrite, Unreadable};
use crate::trust::{Claims, Ruling, Rulings, claims};

/// Tags the response to one request.
pub(super) struct Tagging {
    pub(super) tagger: Arc<Tagger>,
    pub(super) inspection: Option<Inspection>,
    /// Where the answers come from, by the places of the messages.
    pub(super) origins: Origins,
    /// Of what the server sends by itself.
    pub(super) unasked: Origin,
    /// Of answers to what was not asked here, and of tasks.
    pub(super) others: Origin,
    pub(super) server: Option<Server>,
    /// What signs, if anything does.
    pub(super) seal: Option<Seal>,
    /// What is known of the session, if anybody remembers.
    pub(super) session: Option<Session>,
    /// Blocks have a `_meta` in the revision that is spoken.
    pub(super) tags_parts: bool,
    pub(super) task: Task,
}

/// What is done with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// What is forged goes from its head.
    Clean,
    /// All of it is read and marked.
    Mark,
    /// Its head says where it comes from.
    Tell,
}

/// Whether the session of a request is tainted, also by what comes back.
#[derive(Debug)]
pub(super) struct Session {
    tainted: AtomicBool,
    /// What the calls bring has marked it.
    by_calls: bool,
    /// What else the server says marks it.
    by_server: bool,
}

impl Session {
    pub(super) fn new(tainted: bool, rulings: Rulings) -> Self {
        let pollutes = |ruling: Option<Ruling>| ruling.is_some_and(Ruling::pollutes);
        let (by_calls, by_server) = (pollutes(rulings.calls), pollutes(rulings.server));
        Self { tainted: AtomicBool::new(tainted || by_calls), by_calls, by_server }
    }

    /// Whether it is tainted once something has come that makes a claim or not, which those that follow know as well.
    fn after(&self, claims: bool) -> bool {
        self.tainted.fetch_or(claims, Ordering::Relaxed) || claims
    }
}

impl Tagging {
    /// Of all that may come: one origin outside makes all of it so.
    fn provenance(&self) -> Provenance {
        let mut origins = self.origins.iter().chain([&self.unasked]);
        let external = origins.any(|origin| origin.provenance == Provenance::External);
        if external { Provenance::External } else { Provenance::Internal }
    }

    fn some_are(&self, provenance: Provenance) -> bool {
        self.origins.iter().chain([&self.unasked, &self.others]).any(|origin| origin.provenance == provenance)
    }

    /// Tells whoever reads heads.
    fn tell_head(&self, head: &mut Parts, provenance: Provenance) {
        head.headers.insert(&self.tagger.header, HeaderValue::from_static(provenance.as_str()));
        head.extensions.insert(provenance);
    }

    fn tell(&self, report: &Report) {
        let Some(observer) = &self.tagger.observer else { return };
        observer.on_tag(&TagEvent {
            provenance: report.provenance,
            server: self.server.as_ref().map(Server::as_str),
            stripped: report.stripped,
            fenced: report.fenced,
            dropped: report.dropped,
            suspicious: report.suspicious,
        });
    }

    fn marked(&self, message: &Bytes) -> Result<(Edits, Report), Unreadable> {
        // A claim only raises: of what is outside already it is not asked.
        let claims = if self.some_are(Provenance::Internal) { claims(message) } else { Claims::NONE };
        // Only what is inside can turn out not to be.
        let internal = self.unasked.provenance == Provenance::Internal;
        let tasks = internal && (memmem::find(message, b"/tasks").is_some() || hides_letters(message));
        let told = Told { tagging: self, claims, raised: claims, tasks };
        let marked = self.marked_as(message, &told)?;
        // Whoever forges tags, and badly at that, is believed in nothing. What comes from outside already is.
        let raises = marked.1.malformed > 0 && !marked.1.provenance.is_some_and(|known| known.is_external());
        if raises { self.marked_as(message, &Told { raised: claims | Claims::MALFORMED, ..told }) } else { Ok(marked) }
    }

    fn marked_as(&self, message: &Bytes, told: &Told<'_>) -> Result<(Edits, Report), Unreadable> {
        mark(message, &self.tagger.style, told).map_err(|_| Unreadable::Unmarkable)
    }
}

impl Rewrite for Tagging {
    fn head(&self, head: &mut Parts) -> Result<(), Unreadable> {
        head.headers.remove(&self.tagger.header);
        head.extensions.remove::<Provenance>();
        if self.task == Task::Tell {
            self.tell_head(head, self.provenance());
        }
        Ok(())
    }

    fn trailers(&self, trailers: &mut HeaderMap) {
        trailers.remove(&self.tagger.header);
    }

    fn concerns(&self, _: &[u8]) -> bool {
        self.task == Task::Mark
    }

    fn seals(&self) -> bool {
        self.seal.is_some() && self.task == Task::Mark
    }

    fn seal(&self, message: &Bytes) -> Edits {
        self.seal.as_ref().map(|seal| seal.edits(message)).unwrap_or_default()
    }

    fn edits(&self, message: &Bytes, of: &mut Carried<'_>) -> Result<Edits, Unreadable> {
        if let Carried::Answer(head) = of
            && head.extensions.get::<Denial>().is_some()
        {
            // A gate further in says it, and no server.
            self.tell_head(head, Provenance::Internal);
            return Ok(Edits::new());
        }
        let (edits, report) = self.marked(message)?;
        self.tell(&report);
        if let (Carried::Answer(head), Some(provenance)) = (of, report.provenance) {
            self.tell_head(head, provenance);
        }
        Ok(edits)
    }

    /// What comes from inside may yet turn out not to: only what is settled is said before.
    fn stream(&self, head: &mut Parts) {
        if self.task == Task::Mark && self.provenance() == Provenance::External {
            self.tell_head(head, Provenance::External);
        }
    }

    fn holds_answers(&self) -> bool {
        self.task == Task::Mark
    }

    fn is_exact(&self) -> bool {
        self.task == Task::Mark
    }
}

/// What is known of one message that has come.
#[derive(Clone, Copy)]
struct Told<'a> {
    tagging: &'a Tagging,
    /// What the server says of it, which marks the session where somebody remembers.
    claims: Claims,
    /// The same, and what it failed to say.
    raised: Claims,
    /// It may be about tasks.
    tasks: bool,
}

impl<'a> Told<'a> {
    fn mark(&self, origin: Origin, marks: impl Fn(&Session) -> bool) -> Mark<'a> {
        let Tagging { server, session, tags_parts, .. } = self.tagging;
        let origin = origin.raise(self.raised);
        let marks = |session: &Session| session.after(self.claims != Claims::NONE) || marks(session);
        let tag = Tag {
            provenance: origin.provenance,
            class: origin.class,
            rule: origin.rule,
            server: server.as_ref().map(Server::as_str),
            tool: None,
            session_tainted: session.as_ref().map(marks),
        };
        Mark { tag, is_content: origin.is_content, tags_parts: *tags_parts }
    }

    /// The request that an answer belongs to.
    fn request(&self, inspection: &'a Inspection, id: Option<&str>) -> Option<Message<'a>> {
        let mut requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        match id {
            Some(id) => requests.find(|message| message.id().is_some_and(|asked| same_id(asked, id))),
            None => requests.next().filter(|_| !inspection.is_batch()),
        }
    }
}

impl Asked for Told<'_> {
    fn answer(&self, id: Option<&str>) -> Option<Mark<'_>> {
        let tagging = self.tagging;
        let Some(inspection) = &tagging.inspection else {
            return Some(self.mark(tagging.others, |session| session.by_server));
        };
        let request = self.request(inspection, id)?;
        let mut mark = self.mark(*tagging.origins.get(request.position())?, |session| session.by_calls);
        mark.tag.tool = tool_of(inspection, request.position());
        Some(mark)
    }

    fn sent(&self) -> Mark<'_> {
        let Tagging { unasked, others, .. } = self.tagging;
        let origin = if self.tasks { unasked.join(*others) } else { *unasked };
        self.mark(origin, |session| session.by_server || session.by_calls)
    }
}

/// The tool that a message of a body calls.
fn tool_of(inspection: &Inspection, position: usize) -> Option<Cow<'_, str>> {
    inspection.messages().nth(position)?.calls().find_map(|call| match call {
        Call::Tool { name, .. } => Some(name),
        _ => None,
    })
}
