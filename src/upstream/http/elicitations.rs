//! What users have been asked, until they answer or their time is over.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderValue;
use tokio::task::AbortHandle;

use crate::message::same_id;

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

/// By which a request is known: servers without sessions give several clients the same.
#[derive(Debug)]
struct Asked {
    session: Option<HeaderValue>,
    id: Box<str>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    asked: Asked,
    timer: AbortHandle,
}

impl Asked {
    fn is(&self, session: Option<&HeaderValue>, id: &str) -> bool {
        self.session.as_ref() == session && same_id(&self.id, id)
    }
}

impl Elicitations {
    /// Waits for an answer, for as long as `timer` does, which is given the number to [expire](Self::expire). `false` if
    /// there are too many.
    pub(super) fn wait(&self, session: Option<&HeaderValue>, id: &str, timer: impl FnOnce(u64) -> AbortHandle) -> bool {
        let mut table = self.table();
        if table.waiting.len() >= MAX || id.len() > MAX_ID {
            return false;
        }
        let number = table.next;
        table.next += 1;
        let asked = Asked { session: session.cloned(), id: id.into() };
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

    /// Takes note of an answer; whether it comes too late.
    pub(super) fn is_late(&self, session: Option<&HeaderValue>, id: &str) -> bool {
        let mut table = self.table();
        if let Some(at) = table.waiting.iter().position(|waiting| waiting.asked.is(session, id)) {
            table.waiting.remove(at).into_iter().for_each(|waiting| waiting.timer.abort());
            return false;
        }
        table.declined.iter().any(|asked| asked.is(session, id))
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

    fn forever(_: u64) -> AbortHandle {
        tokio::spawn(std::future::pending::<()>()).abort_handle()
    }

    #[tokio::test]
    async fn an_answer_is_late_once_it_has_been_given() {
        let all = Elicitations::default();
        let (one, other) = (HeaderValue::from_static("1"), HeaderValue::from_static("2"));
        let (mut number, mut timer) = (0, None);
        assert!(all.is_empty());
        let keep = |given: u64| {
            let handle = forever(given);
            (number, timer) = (given, Some(handle.clone()));
            handle
        };
        assert!(all.wait(Some(&one), "7", keep));
        assert!(!all.is_late(Some(&other), "7") && !all.is_late(None, "7") && !all.is_late(Some(&one), "\"7\""));
        assert!(!all.is_late(Some(&one), "7.0"), "it is the same, and in time");
        tokio::task::yield_now().await;
        assert!(timer.unwrap().is_finished() && !all.expire(number));
        assert!(!all.is_late(Some(&one), "7"), "nobody asks");

        assert!(all.wait(None, "\"a\"", |given| {
            number = given;
            forever(given)
        }));
        assert!(all.expire(number) && !all.expire(number));
        assert!(all.is_late(None, "\"\\u0061\"") && all.is_late(None, "\"a\"") && !all.is_late(Some(&one), "\"a\""));
        assert!(all.wait(None, "\"a\"", forever), "it asks again");
        assert!(!all.is_late(None, "\"a\"") && all.is_late(None, "\"a\""));
    }

    #[tokio::test]
    async fn there_are_only_so_many() {
        let all = Elicitations::default();
        assert!(!all.wait(None, &"1".repeat(MAX_ID + 1), forever));
        for id in 0..MAX {
            assert!(all.wait(None, &id.to_string(), forever));
        }
        assert!(!all.wait(None, "-1", forever));
        for number in 0..MAX as u64 {
            assert!(all.expire(number));
        }
        assert!(all.is_late(None, "0"));
        let mut number = 0;
        assert!(
            all.wait(None, "-1", |given| {
                number = given;
                forever(given)
            }) && all.expire(number)
        );
        assert!(!all.is_late(None, "0") && all.is_late(None, "1") && all.is_late(None, "-1"));
        assert_eq!(all.table().declined.len(), MAX);
    }
}
