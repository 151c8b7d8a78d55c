//! What servers say of their tools.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::trust::Claims;

/// How many servers are told apart, and how many tools of each.
const MAX_SERVERS: usize = 1_000;
const MAX_TOOLS: usize = 1_000;

/// The tools that say of themselves that they act on an open world, by digests that may meet: then a tool is taken for
/// one that says so. What one server says is about its own tools.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    hasher: RandomState,
    /// Whether any server has said so: most never do, and nobody has to wait for the lock to know that.
    any: AtomicBool,
    servers: Mutex<Servers>,
}

#[derive(Debug, Default)]
struct Servers {
    known: HashMap<u64, Open>,
    /// There are more than are told apart: all say so.
    all: bool,
}

/// Which tools of a server say so.
#[derive(Debug)]
enum Open {
    /// There are more than are told apart, or a list could not be read.
    All,
    Some(HashSet<u64>),
}

impl Learned {
    pub(super) fn add(&self, owner: Option<&str>, tools: Option<Vec<String>>) {
        if tools.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let open = servers.known.entry(self.hasher.hash_one(owner)).or_insert_with(|| Open::Some(HashSet::new()));
        match (&mut *open, tools) {
            (Open::Some(known), Some(tools)) => known.extend(tools.iter().map(|tool| self.hasher.hash_one(tool))),
            (Open::All, _) | (Open::Some(_), None) => *open = Open::All,
        }
        if matches!(open, Open::Some(known) if known.len() > MAX_TOOLS) {
            *open = Open::All;
        }
        if servers.known.len() > MAX_SERVERS {
            *servers = Servers { all: true, ..Servers::default() };
        }
        self.any.store(true, Ordering::Release);
    }

    pub(super) fn claims(&self, owner: Option<&str>, tool: &str) -> Claims {
        if !self.any.load(Ordering::Acquire) {
            return Claims::NONE;
        }
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let open = servers.all
            || servers.known.get(&self.hasher.hash_one(owner)).is_some_and(|open| match open {
                Open::All => true,
                Open::Some(known) => known.contains(&self.hasher.hash_one(tool)),
            });
        if open { Claims::OPEN_WORLD } else { Claims::NONE }
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
        let many = (0..=MAX_TOOLS).map(|at| at.to_string()).collect::<Vec<_>>();
        for unclear in [Some(many), None] {
            learned.add(Some("a"), unclear);
            assert_eq!(learned.claims(Some("a"), "x"), Claims::OPEN_WORLD);
            assert_eq!(learned.claims(Some("a"), "any"), Claims::OPEN_WORLD);
            assert_eq!(learned.claims(Some("b"), "any"), Claims::NONE);
            assert_eq!(learned.claims(None, "any"), Claims::NONE);
        }
        (0..=MAX_SERVERS).for_each(|at| learned.add(Some(&at.to_string()), None));
        assert_eq!(learned.claims(Some("b"), "any"), Claims::OPEN_WORLD);
        learned.add(Some("c"), Some(vec!["y".to_owned()]));
        assert_eq!(learned.claims(Some("b"), "any"), Claims::OPEN_WORLD);
    }
}
