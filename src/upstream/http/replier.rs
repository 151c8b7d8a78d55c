//! Answers to what a server asks on one of its streams.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use memchr::memchr;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::asks::{Ask, Fate, Message, read};
use super::elicitations::User;
use super::{BoxBody, Inner, headers, whole};
use crate::json::{Cuts, Edits, join};
use crate::server::{Reach, ReachBack};
use crate::upstream::envelope::text_at;
use crate::upstream::replies::{DECLINED, UNKNOWN, listed, reply};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Answers a server in the place of the client whose request its stream belongs to.
#[derive(Clone, Debug)]
pub(super) struct Replier {
    upstream: Arc<Inner>,
    reach: ReachBack,
    user: User,
    version: Option<HeaderValue>,
    runtime: Handle,
}

/// What is left of a text, and what its server is answered.
pub(super) struct Sieved {
    pub(super) left: Left,
    pub(super) answers: VecDeque<Bytes>,
}

pub(super) enum Left {
    All,
    Nothing,
    /// This has to be changed.
    Some(Edits),
}

impl Replier {
    /// For the stream that answers a request with this head; none if there is nothing to answer.
    pub(super) fn of(upstream: &Arc<Inner>, head: &Parts) -> Option<Self> {
        Some(Self {
            reach: upstream.config.reach?,
            upstream: Arc::clone(upstream),
            user: User::of(head),
            version: head.headers.get(VERSION).cloned(),
            runtime: Handle::try_current().ok()?,
        })
    }

    /// For a stream in a session that begins with it.
    pub(super) fn in_session(mut self, headers: &HeaderMap) -> Self {
        self.user.session = self.user.session.or_else(|| headers.get(SESSION).cloned());
        self
    }

    pub(super) fn permits(&self) -> &Arc<Semaphore> {
        &self.upstream.answers
    }

    /// Takes from a text what is answered from here.
    pub(super) fn sieve(&self, text: &Bytes) -> Sieved {
        let messages = read(text, self.reach);
        let mut answers = VecDeque::new();
        let mut edits = Edits::new();
        let mut cuts = Cuts::within(memchr(b'[', text).unwrap_or_default());
        for Message { range, ask } in &messages {
            match ask.as_ref().and_then(|ask| self.answer(text, ask)) {
                None => cuts.keep(range.clone(), &mut edits),
                Some(answer) => {
                    answers.push_back(answer);
                    cuts.cut(range.clone());
                }
            }
        }
        if answers.is_empty() {
            return Sieved { left: Left::All, answers };
        }
        if answers.len() == messages.len() {
            return Sieved { left: Left::Nothing, answers };
        }
        cuts.close(&mut edits);
        Sieved { left: Left::Some(edits), answers }
    }

    /// The same of a text that is here as a whole, with all answers on their way; none if it stays as it is.
    pub(super) async fn sieve_and_answer(&self, text: &Bytes) -> Option<Bytes> {
        let Sieved { left, answers } = self.sieve(text);
        for answer in answers {
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(self.permits()).acquire_owned().await {
                self.send(answer, permit);
            }
        }
        match left {
            Left::All => None,
            Left::Nothing => Some(Bytes::from_static(b"[]")),
            Left::Some(edits) => Some(join(edits.pieces(text))),
        }
    }

    /// The answer to a request; none if it is for the client.
    fn answer(&self, text: &[u8], ask: &Ask) -> Option<Bytes> {
        let id = text_at(text, ask.id.clone());
        let roots = &self.upstream.config.own_roots;
        match ask.fate {
            Fate::Refuse(reach) => Some(reply(id, self.refuse(reach))),
            Fate::Roots if roots.is_empty() => None,
            Fate::Roots => Some(reply(id, &listed(roots))),
            Fate::Elicit if self.elicit(id) => None,
            Fate::Elicit => Some(reply(id, DECLINED)),
        }
    }

    fn refuse(&self, reach: Reach) -> &'static str {
        let config = &self.upstream.config;
        tracing::warn!(server.name = %config.name, reach = reach.name(), "a server asks for what it may not");
        if let Some(refused) = &config.refused {
            refused(reach);
        }
        match reach {
            Reach::Elicitation => DECLINED,
            Reach::Other | Reach::Roots | Reach::Sampling => UNKNOWN,
        }
    }

    /// Gives the user their time; `false` if there is none.
    fn elicit(&self, id: &str) -> bool {
        let Some(time) = self.reach.elicitation() else { return false };
        let declined = reply(id, DECLINED);
        self.upstream.elicitations.wait(&self.user, id, |number| {
            let this = self.clone();
            let timer = self.runtime.spawn(async move {
                sleep(time).await;
                // It keeps its place until then, so that there are never more of these than may wait.
                let permit = Arc::clone(this.permits()).acquire_owned().await;
                if this.upstream.elicitations.expire(number) {
                    tracing::info!(server.name = %this.upstream.config.name, "a user has not answered in time");
                    this.post(declined, permit.ok()).await;
                }
            });
            timer.abort_handle()
        })
    }

    /// Sends an answer, in the background.
    pub(super) fn send(&self, answer: Bytes, permit: OwnedSemaphorePermit) {
        let this = self.clone();
        self.runtime.spawn(async move { this.post(answer, Some(permit)).await });
    }

    async fn post(&self, answer: Bytes, _permit: Option<OwnedSemaphorePermit>) {
        let config = &self.upstream.config;
        let sent = timeout(config.timeout, self.upstream.client.request(self.request(answer))).await;
        let problem = match sent {
            Ok(Ok(response)) if response.status().is_success() => return,
            Ok(Ok(response)) => response.status().to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not accept it in time".to_owned(),
        };
        tracing::warn!(server.name = %config.name, problem, "a server does not take an answer to what it asks");
    }

    fn request(&self, answer: Bytes) -> Request<BoxBody> {
        let config = &self.upstream.config;
        let mut request = Request::new(whole(answer));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = config.uri.clone();
        let own = request.headers_mut();
        own.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        own.extend(self.user.session.clone().map(|session| (SESSION, session)));
        own.extend(self.version.clone().map(|version| (VERSION, version)));
        headers::for_server(own, &config.host, &config.headers);
        request
    }
}
