//! What lists have shown of the tools of one server.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::response::Parts;
use memchr::memmem;

use super::told::Told;
use crate::json::Edits;
use crate::response::{Origin, Rewrite, Unreadable};
use crate::server::{
    Attestation, Definition, Exposure, ListFault, Page, PinVerdict, Pins, ServerRefusal, all_definitions,
    announces_tools, collisions,
};

/// What lists have shown of the tools of one server, where that matters.
pub(super) struct Shown {
    server: String,
    /// Where the server has none, definitions are not compared, and names alone are looked at.
    pins: Pins,
    known: Mutex<Arc<Known>>,
    told: Told,
}

/// What is known at some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// All of a list has been seen since the server last said that it has changed.
    complete: bool,
    /// How often the server has said so.
    changes: u64,
    /// What the last list with a tool in it showed of it: of those that have a pin, so that there are never more.
    shown: HashMap<String, PinVerdict>,
    /// The tools that the last complete list does not tell apart from others.
    confused: HashMap<String, ServerRefusal>,
}

/// What a list in a message is of what the server has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// Some of it, or nobody knows how much.
    Part,
    /// Nobody asked for it: nothing is learnt from it.
    Stray,
    /// All, if it has no further pages. How often the server had said that there is another one when it was asked.
    Whole(u64),
}

/// What a list says against tools.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) refused: HashMap<String, ServerRefusal>,
    /// Those of which the observer has not been told.
    pub(super) news: Vec<(String, ServerRefusal)>,
}

impl Shown {
    /// None of a server that has no pins and of which no tools are expected.
    pub(super) fn of(exposure: &Exposure, server: &str, pins: Pins) -> Option<Arc<Self>> {
        let matters = pins.guards(server) || exposure.attest([]) != Attestation::Unconfigured;
        let (known, told) = Default::default();
        matters.then(|| Arc::new(Self { server: server.to_owned(), pins, known, told }))
    }

    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guards(&self) -> bool {
        self.pins.guards(&self.server)
    }

    fn has(&self, tool: &str) -> bool {
        self.pins.has(&self.server, tool)
    }

    /// Why a call of a tool is refused, whatever lists show.
    pub(super) fn first_refusal(&self, tool: &str) -> Option<ServerRefusal> {
        (self.guards() && !self.has(tool)).then_some(ServerRefusal::Quarantined(PinVerdict::New))
    }

    /// Whether the server has to be asked before a call of a tool can be judged: what a list lacks may be in the one that
    /// this caller is shown.
    pub(super) fn is_open(&self, tool: &str, known: &Known) -> bool {
        let lacks = self.guards() && !known.confused.contains_key(tool) && !known.shown.contains_key(tool);
        !known.complete || lacks
    }

    /// Why a call of a tool is refused for what is known of lists.
    pub(super) fn refusal(&self, tool: &str, known: &Known) -> Option<ServerRefusal> {
        if let Some(refusal) = known.confused.get(tool) {
            return Some(*refusal);
        }
        match known.shown.get(tool) {
            Some(verdict) => verdict.is_quarantined().then_some(ServerRefusal::Quarantined(*verdict)),
            None => self.guards().then_some(ServerRefusal::Unlisted),
        }
    }

    /// Looks at a message, as it came from the server.
    pub(super) fn look_at(&self, message: &[u8], extent: Extent) -> Result<Findings, ListFault> {
        let definitions = all_definitions(message)?;
        let mut findings = match extent {
            Extent::Whole(changes) if Page::is_last(message) => return Ok(self.learn(&definitions, changes).1),
            Extent::Part | Extent::Whole(_) => self.note(&definitions),
            Extent::Stray => self.judge(&definitions),
        };
        let known = self.lock();
        // What is remembered of all the others costs this message nothing.
        let named = definitions.iter().filter_map(Definition::name);
        for (name, refusal) in named.filter_map(|name| known.confused.get_key_value(name)) {
            findings.refused.entry(name.clone()).or_insert(*refusal);
        }
        Ok(findings)
    }

    /// Takes in some of a list.
    fn note(&self, definitions: &[Definition]) -> Findings {
        let findings = self.judge(definitions);
        let mut known = self.lock();
        let mut is_clear = true;
        for (name, verdict) in self.verdicts(definitions) {
            if self.has(&name) {
                Arc::make_mut(&mut known).shown.insert(name, verdict);
            } else {
                is_clear &= verdict != PinVerdict::Repeated;
            }
        }
        // There is no bound on what else could have to be remembered: the server is asked instead.
        is_clear &= !findings.refused.values().any(|refusal| *refusal == ServerRefusal::Colliding);
        if !is_clear && known.complete {
            Arc::make_mut(&mut known).complete = false;
        }
        findings
    }

    /// Takes in all pages of a list, which was asked for when the server had said so often that there is another one.
    pub(super) fn learn(&self, definitions: &[Definition], changes: u64) -> (Arc<Known>, Findings) {
        let findings = self.judge(definitions);
        let verdicts = self.verdicts(definitions);
        let is_confused = |refusal: ServerRefusal| {
            matches!(refusal, ServerRefusal::Colliding | ServerRefusal::Quarantined(PinVerdict::Repeated))
        };
        let confused = findings.refused.iter().filter(|(_, refusal)| is_confused(**refusal));
        let mut known = self.lock();
        *known = Arc::new(Known {
            complete: known.changes == changes,
            changes: known.changes,
            shown: verdicts.into_iter().filter(|(name, _)| self.has(name)).collect(),
            confused: confused.map(|(name, refusal)| (name.clone(), *refusal)).collect(),
        });
        (Arc::clone(&known), findings)
    }

    /// What definitions that are shown together say against each other, and against pins.
    fn judge(&self, definitions: &[Definition]) -> Findings {
        let mut refused = HashMap::new();
        let names = definitions.iter().filter_map(Definition::name).map(|name| (&*self.server, name));
        for collision in collisions(names) {
            let first = collision.tools.first().copied();
            if collision.tools.iter().any(|tool| Some(*tool) != first) {
                let names = collision.tools.iter().map(|(_, name)| ((*name).to_owned(), ServerRefusal::Colliding));
                refused.extend(names);
            }
        }
        let quarantined = self.verdicts(definitions).into_iter().filter(|(_, verdict)| verdict.is_quarantined());
        refused.extend(quarantined.map(|(name, verdict)| (name, ServerRefusal::Quarantined(verdict))));
        let news = self.news(&refused);
        Findings { refused, news }
    }

    fn verdicts(&self, definitions: &[Definition]) -> Vec<(String, PinVerdict)> {
        let verdicts = self.pins.check_list(&self.server, definitions);
        let named = |(definition, verdict): (&Definition, PinVerdict)| Some((definition.name()?.to_owned(), verdict));
        definitions.iter().zip(verdicts).filter_map(named).collect()
    }

    fn news(&self, refused: &HashMap<String, ServerRefusal>) -> Vec<(String, ServerRefusal)> {
        let news =
            refused.iter().filter(|found| self.told.is_new(found)).map(|(name, refusal)| (name.clone(), *refusal));
        let mut news = Vec::from_iter(news);
        news.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        news
    }

    /// The server says that it has other tools now.
    pub(super) fn change(&self) {
        let mut known = self.lock();
        let known = Arc::make_mut(&mut known);
        known.changes = known.changes.wrapping_add(1);
        known.complete = false;
    }

    /// How often it has said so.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Hears it, if a message says so.
    pub(super) fn hear(&self, message: &[u8]) {
        if self.concerns(message) && announces_tools(message).unwrap_or(true) {
            self.change();
        }
    }
}

/// Changes nothing: it hears what a server says beside lists.
impl Rewrite for Shown {
    fn head(&self, _: &mut Parts) -> Result<(), Unreadable> {
        Ok(())
    }

    fn concerns(&self, message: &[u8]) -> bool {
        memmem::find(message, b"list_changed").is_some()
    }

    fn edits(&self, message: &Bytes, _: &mut Origin<'_>) -> Result<Edits, Unreadable> {
        self.hear(message);
        Ok(Edits::new())
    }

    fn holds_answers(&self) -> bool {
        false
    }

    fn is_exact(&self) -> bool {
        false
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("server", &self.server).field("known", &self.known).finish_non_exhaustive()
    }
}
