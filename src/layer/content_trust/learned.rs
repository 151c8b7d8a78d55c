//! What servers say of their tools.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

use crate::trust::Claims;

/// How many tools are told apart.
const MAX_TOOLS: usize = 10_000;

/// The tools that say of themselves that they act on an open world, by a digest that may meet: then a tool is taken for
/// one that says so.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    hasher: RandomState,
    tools: Mutex<Tools>,
}

#[derive(Debug, Default)]
struct Tools {
    open: HashSet<u64>,
    /// There are more than are told apart, or a list could not be read.
    all: bool,
}

impl Learned {
    pub(super) fn add(&self, owner: Option<&str>, tools: Option<Vec<String>>) {
        if tools.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        match tools {
            Some(tools) => known.open.extend(tools.iter().map(|tool| self.digest(owner, tool))),
            None => known.all = true,
        }
        if known.open.len() > MAX_TOOLS {
            *known = Tools { all: true, ..Tools::default() };
        }
    }

    pub(super) fn claims(&self, owner: Option<&str>, tool: &str) -> Claims {
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let open = known.all || !known.open.is_empty() && known.open.contains(&self.digest(owner, tool));
        if open { Claims::OPEN_WORLD } else { Claims::NONE }
    }

    fn digest(&self, owner: Option<&str>, tool: &str) -> u64 {
        self.hasher.hash_one((owner, tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc_08_what_is_learned_is_never_forgotten() {
        let learned = Learned::default();
        learned.add(Some("a"), Some(vec!["x".to_owned()]));
        assert_eq!(learned.claims(Some("a"), "x"), Claims::OPEN_WORLD);
        assert_eq!(learned.claims(Some("b"), "x"), Claims::NONE);
        learned.add(Some("a"), Some((0..=MAX_TOOLS).map(|at| at.to_string()).collect()));
        assert_eq!(learned.claims(Some("a"), "x"), Claims::OPEN_WORLD);
        assert_eq!(learned.claims(Some("b"), "any"), Claims::OPEN_WORLD);
        let learned = Learned::default();
        learned.add(None, None);
        assert_eq!(learned.claims(Some("b"), "any"), Claims::OPEN_WORLD);
    }
}
