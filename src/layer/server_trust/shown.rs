//! Tools whose definitions an operator has approved, as far as lists have shown them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::server::{Definition, ListFault, PinVerdict, Pins, ServerRefusal, all_definitions};

/// What lists have shown of the tools of one server that have a pin; of others nothing has to be known.
#[derive(Debug)]
pub(super) struct Pinned {
    server: String,
    pins: Pins,
    /// What the last list with a tool in it showed of it. There are never more than there are pins.
    shown: Mutex<HashMap<String, PinVerdict>>,
}

impl Pinned {
    /// None for a server without pins.
    pub(super) fn new(server: &str, pins: Pins) -> Option<Self> {
        pins.guards(server).then(|| Self { server: server.to_owned(), pins, shown: Mutex::default() })
    }

    /// Why a call of a tool is refused.
    pub(super) fn refusal(&self, tool: &str) -> Option<ServerRefusal> {
        if !self.pins.has(&self.server, tool) {
            return Some(ServerRefusal::Quarantined(PinVerdict::New));
        }
        match self.shown.lock().unwrap_or_else(PoisonError::into_inner).get(tool) {
            Some(verdict) => verdict.is_quarantined().then_some(ServerRefusal::Quarantined(*verdict)),
            None => Some(ServerRefusal::Unlisted),
        }
    }

    /// The tools of a message, as it came from the server, that are hidden: their names.
    pub(super) fn look_at(&self, message: &[u8]) -> Result<HashSet<String>, ListFault> {
        let definitions = all_definitions(message)?;
        let verdicts = self.pins.check_list(&self.server, &definitions);
        let named = |(definition, verdict): (&Definition, PinVerdict)| Some((definition.name()?.to_owned(), verdict));
        let verdicts = Vec::from_iter(definitions.iter().zip(verdicts).filter_map(named));
        self.learn(&verdicts);
        Ok(verdicts.into_iter().filter(|(_, verdict)| verdict.is_quarantined()).map(|(name, _)| name).collect())
    }

    fn learn(&self, verdicts: &[(String, PinVerdict)]) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, verdict) in verdicts.iter().filter(|(name, _)| self.pins.has(&self.server, name)) {
            shown.insert(name.clone(), *verdict);
        }
    }
}
