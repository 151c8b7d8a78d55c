//! What is said to one child, and who waits for its answers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::lines::on_one_line;
use super::queue::{Bounds, Receiver, Sender, queue};
use super::tasks::Tasks;
use crate::Principal;
use crate::answer::UpstreamFault;
use crate::json::{Edits, join};
use crate::message::same_id;
use crate::upstream::envelope::{Said, subscription_of, text_at};
use crate::upstream::user::same_user;

type Answer = Result<Bytes, UpstreamFault>;

/// The way to one child, from its start to its end.
#[derive(Debug)]
pub(super) struct Link {
    lines: Sender,
    /// `None` once there will be no more answers.
    pending: Mutex<Option<HashMap<u64, Pending>>>,
    next: AtomicU64,
    pub(super) tasks: Tasks,
}

/// Somebody who waits for an answer.
#[derive(Debug)]
struct Pending {
    id: Box<str>,
    token: Option<Box<str>>,
    owner: Option<Principal>,
    answer: oneshot::Sender<Answer>,
    events: Option<Sender>,
}

/// A request, with the places in it that are changed.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) text: Bytes,
    pub(super) id: Range<usize>,
    /// The value of `_meta.progressToken`.
    pub(super) token: Option<Range<usize>>,
    pub(super) owner: Option<Principal>,
    /// Whether whoever waits for the answer takes events as well.
    pub(super) listens: bool,
}

/// What waits for an answer. Dropping it tells the child that nobody does.
#[derive(Debug)]
pub(super) struct Ticket {
    link: Arc<Link>,
    number: u64,
    pub(super) answer: oneshot::Receiver<Answer>,
    pub(super) events: Option<Receiver>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.link.take(self.number).is_some() {
            self.link.cancel(self.number);
        }
    }
}

impl Link {
    pub(super) fn new(lines: Sender) -> Self {
        Self { lines, pending: Mutex::new(Some(HashMap::new())), next: AtomicU64::new(1), tasks: Tasks::default() }
    }

    /// Sends a request under a number of its own. So many events may wait for whoever waits for the answer.
    pub(super) fn ask(self: &Arc<Self>, asked: &Asked, events: Bounds) -> Result<Ticket, UpstreamFault> {
        let number = self.next.fetch_add(1, Relaxed);
        let (sender, answer) = oneshot::channel();
        let (events, received) = asked.listens.then(|| queue(events)).unzip();
        let text = |range: &Range<usize>| Box::from(text_at(&asked.text, range.clone()));
        let token = asked.token.as_ref().map(text);
        self.add(number, Pending { id: text(&asked.id), token, owner: asked.owner.clone(), answer: sender, events })?;
        let ticket = || Ticket { link: Arc::clone(self), number, answer, events: received };
        self.say(renumbered(asked, number)).inspect_err(|_| drop(self.take(number))).map(|()| ticket())
    }

    fn add(&self, number: u64, pending: Pending) -> Result<(), UpstreamFault> {
        let mut all = self.pending();
        all.as_mut().ok_or(UpstreamFault::Unavailable)?.insert(number, pending);
        Ok(())
    }

    /// Sends a message as it is. A child that does not read is not waited for.
    pub(super) fn say(&self, message: Bytes) -> Result<(), UpstreamFault> {
        self.lines.try_send(on_one_line(message)).map_err(|_| UpstreamFault::Unavailable)
    }

    /// Hands on an answer; `false` if nobody has asked.
    pub(super) fn answer(&self, line: &Bytes, said: &Said) -> bool {
        let number = said.id.clone().and_then(|id| text_at(line, id).parse().ok());
        let Some((number, pending)) = number.and_then(|number| Some((number, self.take(number)?))) else {
            return false;
        };
        self.tasks.learn(line, pending.owner.as_ref());
        let answer = if said.is_well_formed() {
            Ok(addressed(line, said, number, &pending.id))
        } else {
            Err(UpstreamFault::InvalidAnswer)
        };
        // Whoever has gone in the meantime needs no answer.
        _ = pending.answer.send(answer);
        true
    }

    /// Hands on what concerns one request to whoever waits for its answer; `false` if nobody does.
    pub(super) fn notify(&self, line: &Bytes, said: &Said) -> bool {
        let place = said.subscription.clone().or_else(|| said.token.clone());
        let Some(place) = place else { return false };
        let Ok(number) = text_at(line, place.clone()).parse::<u64>() else { return false };
        let all = self.pending();
        let Some(pending) = all.as_ref().and_then(|all| all.get(&number)) else { return false };
        let own = if said.subscription.is_some() { Some(&pending.id) } else { pending.token.as_ref() };
        let (Some(own), Some(events)) = (own, &pending.events) else { return true };
        // One notice of progress more or less is no loss; of a subscription a gap would go unnoticed.
        if events.try_send(replaced(line, place, own)).is_err() && said.subscription.is_some() {
            drop(all);
            self.end(number);
        }
        true
    }

    /// Ends a subscription whose client does not keep up.
    fn end(&self, number: u64) {
        if let Some(pending) = self.take(number) {
            _ = pending.answer.send(Err(UpstreamFault::Unavailable));
            self.cancel(number);
        }
    }

    /// The one request of somebody's that has this id; two clients of one principal may use the same.
    pub(super) fn number_of(&self, id: &str, owner: Option<&Principal>) -> Option<u64> {
        let all = self.pending();
        let fits = |pending: &&Pending| same_id(&pending.id, id) && same_user(pending.owner.as_ref(), owner);
        let mut numbers = all.as_ref()?.iter().filter(|(_, pending)| fits(pending)).map(|(number, _)| *number);
        numbers.next().filter(|_| numbers.next().is_none())
    }

    /// Ends all waiting.
    pub(super) fn close(&self, fault: UpstreamFault) {
        let all = self.pending().take();
        for pending in all.into_iter().flat_map(HashMap::into_values) {
            _ = pending.answer.send(Err(fault));
        }
    }

    fn take(&self, number: u64) -> Option<Pending> {
        self.pending().as_mut()?.remove(&number)
    }

    fn cancel(&self, number: u64) {
        let params = format!(r#"{{"requestId":{number},"reason":"nobody waits for the answer any more"}}"#);
        let message = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        if self.say(message.into()).is_err() {
            tracing::debug!(number, "a child does not learn that nobody waits any more");
        }
    }

    fn pending(&self) -> MutexGuard<'_, Option<HashMap<u64, Pending>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request with our number for its id and its progress token.
fn renumbered(asked: &Asked, number: u64) -> Bytes {
    let own = Bytes::from(number.to_string());
    let mut edits = Edits::new();
    edits.replace(asked.id.clone(), own.clone());
    if let Some(token) = &asked.token {
        edits.replace(token.clone(), own);
    }
    join(edits.apply(&asked.text).collect())
}

/// The answer with the id that it was asked for by.
fn addressed(line: &Bytes, said: &Said, number: u64, id: &str) -> Bytes {
    let own = Bytes::copy_from_slice(id.as_bytes());
    let mut edits = Edits::new();
    if let Some(place) = said.id.clone() {
        edits.replace(place, own.clone());
    }
    let subscription = said.result.clone().and_then(|result| subscription_of(line, result));
    if let Some(place) = subscription.filter(|place| text_at(line, place.clone()).parse() == Ok(number)) {
        edits.replace(place, own);
    }
    join(edits.apply(line).collect())
}

/// A text with another value at one place.
pub(super) fn replaced(text: &Bytes, place: Range<usize>, value: &str) -> Bytes {
    let mut edits = Edits::new();
    edits.replace(place, Bytes::copy_from_slice(value.as_bytes()));
    join(edits.apply(text).collect())
}
