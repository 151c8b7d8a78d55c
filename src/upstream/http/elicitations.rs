//! What users have been asked, until they answer or their time is over.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderValue;
use http::request::Parts;
use tokio::task::AbortHandle;

use super::replier::SESSION;
use crate::Principal;
use crate::message::same_id;
use crate::upstream::user::same_user;

/// The users that may be asked at once, and the requests that are remembered to have been declined from here.
const MAX: usize = 1024;
/// The bytes of an id that is remembered.
const MAX_ID: usize = 1024;

/// Requests for which an answer of the user's is waited.
#[derive(Debug, Default)]
pub(super) struct Elicitations(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    waiting: VecDeque<Waiting>,
    /// The latest, the oldest first.
    declined: VecDeque<Asked>,
    next: u64,
}

/// Who is asked, or answers: servers without sessions give several clients the same ids.
#[derive(Clone, Debug, Default)]
pub(super) struct User {
    pub(super) session: Option<HeaderValue>,
    principal: Option<Principal>,
}

impl User {
    pub(super) fn of(head: &Parts) -> Self {
        Self { session: head.headers.get(SESSION).cloned(), principal: head.extensions.get().cloned() }
    }
}

/// By which a request is known.
#[derive(Debug)]
struct Asked {
    user: User,
    id: Box<str>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    asked: Asked,
    timer: AbortHandle,
}

impl Asked {
    fn is(&self, user: &User, id: &str) -> bool {
        self.reads_as(user, id) && same_user(self.user.principal.as_ref(), user.principal.as_ref())
    }

    /// Whether a server takes an answer of this user for one to this.
    fn reads_as(&self, user: &User, id: &str) -> bool {
        self.user.session == user.session && same_id(&self.id, id)
    }
}

impl Elicitations {
    /// Waits for an answer, for as long as `timer` does, which is given the number to [expire](Self::expire). `false` if
    /// there are too many.
    pub(super) fn wait(&self, user: &User, id: &str, timer: impl FnOnce(u64) -> AbortHandle) -> bool {
        let mut table = self.table();
        if table.waiting.len() >= MAX || id.len() > MAX_ID {
            return false;
        }
        let number = table.next;
        table.next += 1;
        let asked = Asked { user: user.clone(), id: id.into() };
        table.waiting.push_back(Waiting { number, asked, timer: timer(number) });
        true
    }

    /// Ends a wait; `false` if it has been answered.
    pub(super) fn expire(&self, number: u64) -> bool {
        let mut table = self.table();
        let Some(at) = table.waiting.iter().position(|waiting| waiting.number == number) else { return false };
        let expired = table.waiting.remove(at);
        if table.declined.len() >= MAX {
            table.declined.pop_front();
        }
        table.declined.extend(expired.map(|waiting| waiting.asked));
        true
    }

    /// Whether a server would take an answer for that of another user, who is asked.
    pub(super) fn is_of_another(&self, user: &User, id: &str) -> bool {
        let waiting = &self.table().waiting;
        waiting.iter().any(|waiting| waiting.asked.reads_as(user, id))
            && !waiting.iter().any(|waiting| waiting.asked.is(user, id))
    }

    /// Takes note of an answer; whether it comes too late.
    pub(super) fn is_late(&self, user: &User, id: &str) -> bool {
        let mut table = self.table();
        if let Some(at) = table.waiting.iter().position(|waiting| waiting.asked.is(user, id)) {
            table.waiting.remove(at).into_iter().for_each(|waiting| waiting.timer.abort());
            return false;
        }
        table.declined.iter().any(|asked| asked.is(user, id))
    }

    /// Whether no answer concerns this.
    pub(super) fn is_empty(&self) -> bool {
        let table = self.table();
        table.waiting.is_empty() && table.declined.is_empty()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(session: Option<&'static str>, subject: Option<&str>) -> User {
        let principal = subject.map(|subject| Principal::new("key", subject).unwrap());
        User { session: session.map(HeaderValue::from_static), principal }
    }

    fn forever(_: u64) -> AbortHandle {
        tokio::spawn(std::future::pending::<()>()).abort_handle()
    }

    #[tokio::test]
    async fn an_answer_is_late_once_it_has_been_given() {
        let all = Elicitations::default();
        let (one, other, nobody) = (user(Some("1"), None), user(Some("2"), None), User::default());
        let (mut number, mut timer) = (0, None);
        assert!(all.is_empty());
        let keep = |given: u64| {
            let handle = forever(given);
            (number, timer) = (given, Some(handle.clone()));
            handle
        };
        assert!(all.wait(&one, "7", keep));
        assert!(!all.is_late(&other, "7") && !all.is_late(&nobody, "7") && !all.is_late(&one, "\"7\""));
        assert!(!all.is_late(&one, "7.0"), "it is the same, and in time");
        tokio::task::yield_now().await;
        assert!(timer.unwrap().is_finished() && !all.expire(number));
        assert!(!all.is_late(&one, "7"), "nobody asks");

        assert!(all.wait(&nobody, "\"a\"", |given| {
            number = given;
            forever(given)
        }));
        assert!(all.expire(number) && !all.expire(number));
        assert!(all.is_late(&nobody, "\"\\u0061\"") && all.is_late(&nobody, "\"a\"") && !all.is_late(&one, "\"a\""));
        assert!(all.wait(&nobody, "\"a\"", forever), "it asks again");
        assert!(!all.is_late(&nobody, "\"a\"") && all.is_late(&nobody, "\"a\""));
    }

    #[tokio::test]
    async fn users_without_sessions_are_told_apart() {
        let all = Elicitations::default();
        let (ana, bob) = (user(None, Some("ana")), user(None, Some("bob")));
        let renewed = User { principal: ana.principal.clone().map(|ana| ana.with_epoch("token-2")), session: None };
        assert!(all.wait(&ana, "1", forever));
        assert!(all.is_of_another(&bob, "1") && all.is_of_another(&User::default(), "1"));
        assert!(!all.is_of_another(&renewed, "1") && !all.is_of_another(&bob, "2"));
        assert!(!all.is_of_another(&user(Some("s"), Some("bob")), "1"), "nobody was asked that");
        assert!(all.wait(&bob, "1", forever));
        assert!(!all.is_of_another(&bob, "1") && !all.is_late(&bob, "1"), "both are asked");
        assert!(all.is_of_another(&bob, "1"), "hers is still waited for");
        assert!(!all.is_late(&renewed, "1") && !all.is_of_another(&bob, "1"));
    }

    #[tokio::test]
    async fn there_are_only_so_many() {
        let (all, nobody) = (Elicitations::default(), User::default());
        assert!(!all.wait(&nobody, &"1".repeat(MAX_ID + 1), forever));
        for id in 0..MAX {
            assert!(all.wait(&nobody, &id.to_string(), forever));
        }
        assert!(!all.wait(&nobody, "-1", forever));
        for number in 0..MAX as u64 {
            assert!(all.expire(number));
        }
        assert!(all.is_late(&nobody, "0"));
        let mut number = 0;
        assert!(
            all.wait(&nobody, "-1", |given| {
                number = given;
                forever(given)
            }) && all.expire(number)
        );
        assert!(!all.is_late(&nobody, "0") && all.is_late(&nobody, "1") && all.is_late(&nobody, "-1"));
        assert_eq!(all.table().declined.len(), MAX);
    }
}
