//! Tagging the response to one request.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::response::Parts;

use super::origin::{Origin, Origins};
use super::tagger::Tagger;
use crate::answer::Denial;
use crate::identity::{Principal, Server};
use crate::json::Edits;
use crate::message::{Call, Inspection, Message, MessageKind, same_id};
use crate::observe::TagEvent;
use crate::provenance::{Asked, Mark, Provenance, Report, Tag, mark};
use crate::response::{Origin as Carried, Rewrite, Unreadable};
use crate::trust::{Claims, claims};

/// Tags the response to one request.
pub(super) struct Tagging {
    pub(super) tagger: Arc<Tagger>,
    pub(super) inspection: Option<Inspection>,
    /// Where the answers come from, by the places of the messages.
    pub(super) origins: Origins,
    /// Of what the server sends by itself.
    pub(super) unasked: Origin,
    pub(super) server: Option<Server>,
    /// Whom a signature is for.
    pub(super) principal: Option<Principal>,
    /// Whether the session is tainted, if anybody remembers.
    pub(super) session: Option<bool>,
    /// Blocks have a `_meta` in the revision that is spoken.
    pub(super) tags_parts: bool,
    pub(super) is_mcp: bool,
}

impl Tagging {
    /// Of all that may come: one origin outside makes all of it so.
    fn provenance(&self) -> Provenance {
        if self.some_are(Provenance::External) { Provenance::External } else { Provenance::Internal }
    }

    fn some_are(&self, provenance: Provenance) -> bool {
        self.origins.iter().chain([&self.unasked]).any(|origin| origin.provenance == provenance)
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
        let marked = self.marked_as(message, claims)?;
        // Whoever forges tags, and badly at that, is believed in nothing. What comes from outside already is.
        let raises = marked.1.malformed > 0 && !marked.1.provenance.is_some_and(|known| known.is_external());
        if raises { self.marked_as(message, claims | Claims::MALFORMED) } else { Ok(marked) }
    }

    fn marked_as(&self, message: &Bytes, claims: Claims) -> Result<(Edits, Report), Unreadable> {
        let told = Told { tagging: self, claims };
        mark(message, &self.tagger.style, &told).map_err(|_| Unreadable::Unmarkable)
    }
}

impl Rewrite for Tagging {
    fn head(&self, head: &mut Parts) -> Result<(), Unreadable> {
        head.headers.remove(&self.tagger.header);
        if !self.is_mcp {
            self.tell_head(head, self.provenance());
        }
        Ok(())
    }

    fn concerns(&self, _: &[u8]) -> bool {
        self.is_mcp
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
        if self.is_mcp && self.provenance() == Provenance::External {
            self.tell_head(head, Provenance::External);
        }
    }

    fn holds_answers(&self) -> bool {
        self.is_mcp
    }

    fn is_exact(&self) -> bool {
        self.is_mcp
    }
}

/// What is known of one message that has come.
struct Told<'a> {
    tagging: &'a Tagging,
    claims: Claims,
}

impl Told<'_> {
    fn mark(&self, origin: Origin, message: Option<&Message<'_>>) -> Mark<'_> {
        let Tagging { server, principal, session, tags_parts, inspection, .. } = self.tagging;
        let origin = origin.raise(self.claims);
        let tool = message.and_then(|message| tool_of(inspection.as_ref()?, message.position()));
        let tag = Tag {
            provenance: origin.provenance,
            class: origin.class,
            rule: origin.rule,
            server: server.as_ref().map(Server::as_str),
            tool,
            session_tainted: session.map(|tainted| tainted || origin.provenance == Provenance::External),
        };
        let (is_content, tags_parts, principal) = (origin.is_content, *tags_parts, principal.as_ref());
        Mark { tag, is_content, tags_parts, principal }
    }
}

impl Asked for Told<'_> {
    fn answer(&self, id: Option<&str>) -> Option<Mark<'_>> {
        let Some(inspection) = &self.tagging.inspection else { return Some(self.mark(self.tagging.unasked, None)) };
        let mut requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let message = match id {
            Some(id) => requests.find(|message| message.id().is_some_and(|asked| same_id(asked, id)))?,
            None => requests.next().filter(|_| !inspection.is_batch())?,
        };
        let origin = self.tagging.origins.get(message.position())?;
        Some(self.mark(*origin, Some(&message)))
    }

    fn sent(&self) -> Mark<'_> {
        self.mark(self.tagging.unasked, None)
    }
}

/// The tool that a message of a body calls.
fn tool_of(inspection: &Inspection, position: usize) -> Option<Cow<'_, str>> {
    inspection.messages().nth(position)?.calls().find_map(|call| match call {
        Call::Tool { name, .. } => Some(name),
        _ => None,
    })
}
