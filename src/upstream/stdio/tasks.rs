//! Whose task is whose.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Principal;
use crate::json::Text;
use crate::message::{TaskMentions, TaskPlace};
use crate::upstream::user::same_user;

/// The tasks that are remembered, and the bytes of an id that is.
const MAX: usize = 4096;
const MAX_ID: usize = 1024;

/// The latest tasks of a child, each with who was given it first.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<VecDeque<(Box<str>, Option<Principal>)>>);

/// Whom something that a child says concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    All,
    /// No client that is known.
    Nobody,
    /// Clients of this principal, or those without one.
    Of(Option<Principal>),
}

impl Concern {
    pub(super) fn is_of(&self, listener: Option<&Principal>) -> bool {
        match self {
            Self::All => true,
            Self::Nobody => false,
            Self::Of(owner) => same_user(owner.as_ref(), listener),
        }
    }

    /// What concerns both.
    fn meet(self, other: Self) -> Self {
        let same = match (&self, &other) {
            (Self::All, Self::All) => true,
            (Self::Of(owner), Self::Of(of_other)) => same_user(owner.as_ref(), of_other.as_ref()),
            (Self::All | Self::Nobody | Self::Of(_), Self::All | Self::Nobody | Self::Of(_)) => false,
        };
        if same { other } else { Self::Nobody }
    }
}

impl Tasks {
    /// Takes note of a task that somebody is given by an answer.
    pub(super) fn learn(&self, answer: &[u8], owner: Option<&Principal>) {
        for Mention { given, id } in mentions(answer).unwrap_or_default() {
            if let Some(id) = id.filter(|id| given && id.len() <= MAX_ID) {
                self.add(id, owner);
            }
        }
    }

    fn add(&self, id: Box<str>, owner: Option<&Principal>) {
        let mut tasks = self.tasks();
        if tasks.iter().any(|(known, _)| *known == id) {
            return;
        }
        if tasks.len() >= MAX {
            tasks.pop_front();
        }
        tasks.push_back((id, owner.cloned()));
    }

    /// Whom news concerns: of a task, only whose task it is.
    pub(super) fn concern(&self, news: &[u8]) -> Concern {
        let Some(mentions) = mentions(news) else { return Concern::Nobody };
        let tasks = self.tasks();
        let owner = |id: &str| tasks.iter().find(|(known, _)| **known == *id).map(|(_, owner)| owner.clone());
        let concern = |id: Option<Box<str>>| id.and_then(|id| owner(&id)).map_or(Concern::Nobody, Concern::Of);
        let all = mentions.into_iter().map(|mention| concern(mention.id));
        all.reduce(Concern::meet).unwrap_or(Concern::All)
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<(Box<str>, Option<Principal>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that a message names.
struct Mention {
    /// By an answer, to whoever has asked.
    given: bool,
    /// `None` if it is none.
    id: Option<Box<str>>,
}

/// The tasks that a message names; `None` if that cannot be told.
fn mentions(message: &[u8]) -> Option<Vec<Mention>> {
    let mut mentions = Vec::new();
    if !TaskMentions::may_be_in(message) {
        return Some(mentions);
    }
    for found in TaskMentions::read(message).ok()? {
        if found.ambiguous || found.folded {
            return None;
        }
        let given = |place| found.method.is_none() && matches!(place, TaskPlace::Result | TaskPlace::ResultTask);
        let id = |text: Text| text.decode(message).ok().map(|id| Box::from(&*id));
        let all = found.mentions.iter();
        mentions.extend(all.map(|(place, text)| Mention { given: given(*place), id: text.and_then(id) }));
    }
    Some(mentions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somebody(subject: &str) -> Option<Principal> {
        Some(Principal::new("key", subject).unwrap())
    }

    fn given(id: usize) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{{"taskId":"{id}","status":"working"}}}}}}"#)
    }

    fn news(ids: &[&str]) -> String {
        let meta =
            ids.get(1).map(|id| format!(r#","_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":{id}}}}}"#));
        let params = format!(r#""taskId":{}{}"#, ids[0], meta.unwrap_or_default());
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{{params}}}}}"#)
    }

    #[test]
    fn news_concerns_who_was_given_the_task() {
        let tasks = Tasks::default();
        let concern = |ids: &[&str]| tasks.concern(news(ids).as_bytes());
        tasks.learn(given(1).as_bytes(), somebody("ana").as_ref());
        tasks.learn(given(1).as_bytes(), somebody("bob").as_ref());
        tasks.learn(given(2).as_bytes(), somebody("bob").as_ref());
        tasks.learn(given(3).as_bytes(), None);
        assert_eq!(concern(&["\"1\""]), Concern::Of(somebody("ana")));
        assert_eq!(concern(&[r#""\u0031""#, "\"1\""]), Concern::Of(somebody("ana")), "the same twice");
        assert_eq!(concern(&["\"3\""]), Concern::Of(None));
        for ids in [&["\"1\"", "\"2\""][..], &["\"4\""], &["1"], &["\"1\"", "null"]] {
            assert_eq!(concern(ids), Concern::Nobody, "{ids:?}");
        }
        assert_eq!(tasks.concern(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#), Concern::All);
        let folded = news(&["\"1\""]).replace("{\"taskId", "{\"TaskId\":\"2\",\"taskId");
        assert_eq!(tasks.concern(folded.as_bytes()), Concern::Nobody, "{folded}");
        assert!(Concern::All.is_of(None) && !Concern::Of(None).is_of(somebody("ana").as_ref()));
    }

    #[test]
    fn a_token_that_is_renewed_makes_nobody_another() {
        let (tasks, at) = (Tasks::default(), |epoch: &str| somebody("ana").map(|ana| ana.with_epoch(epoch)));
        tasks.learn(given(1).as_bytes(), at("token-1").as_ref());
        tasks.learn(given(2).as_bytes(), at("token-2").as_ref());
        for ids in [&["\"1\""][..], &["\"2\"", "\"1\""]] {
            let concern = tasks.concern(news(ids).as_bytes());
            assert!(concern.is_of(at("token-3").as_ref()) && concern.is_of(somebody("ana").as_ref()), "{ids:?}");
            assert!(!concern.is_of(somebody("bob").as_ref()) && !concern.is_of(None), "{ids:?}");
        }
    }

    #[test]
    fn the_latest_are_remembered() {
        let tasks = Tasks::default();
        for id in 0..=MAX {
            tasks.learn(given(id).as_bytes(), None);
        }
        assert_eq!(tasks.concern(news(&["\"0\""]).as_bytes()), Concern::Nobody);
        assert_eq!(tasks.concern(news(&["\"1\""]).as_bytes()), Concern::Of(None));
        assert_eq!(tasks.tasks().len(), MAX);
    }
}
