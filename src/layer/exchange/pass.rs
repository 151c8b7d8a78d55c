//! What becomes of the inner service's response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::response::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use memchr::memchr2;

use super::front::Front;
use super::guard::Guard;
use super::headers::{forget_bytes, make_private, measure};
use super::passage::Passage;
use crate::answer::{DenialKind, Requester, TrustFault, UpstreamFault};
use crate::http::{ResponseBody, check_parameter, is_coded};
use crate::json::is_the_very;
use crate::response::{Carrier, EventBody, Failure, Gather, Gathered, Markings, Missing, Origin, Stages, Watch};

/// What is to be done with a response.
pub(crate) enum Passed<R> {
    /// It is handed on.
    Done(Response<ResponseBody<R>>),
    /// Its body is received first.
    Gather(Gather<R>, Box<Waiting>),
    /// It is handed on once it is marked.
    Mark(Markings, Response<ResponseBody<R>>),
}

/// What waits for a response's body.
pub(crate) struct Waiting {
    head: Parts,
    media: Media,
    stages: Stages,
}

/// What a body is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// Nothing is said.
    Absent,
    Events,
    Json,
    /// Something else, or more than one thing.
    Other,
}

/// The bytes that a body may have of which nothing is said.
const MAX_WORD: usize = 64;
const INVALID: DenialKind = DenialKind::Upstream(UpstreamFault::InvalidAnswer);

impl Front {
    /// Looks at the head of a response: most are handed on as they are.
    pub(super) fn pass<G: Guard, R: Body<Data = Bytes>>(
        guard: &Arc<G>,
        response: Response<R>,
        passage: &Passage,
    ) -> Passed<R> {
        let front = guard.front();
        let stages = passage.work.take();
        let (mut head, body) = response.into_parts();
        let changed = stages.rewrites.head(&mut head);
        let response = Response::from_parts(head, body);
        if changed.is_err() {
            return front.refuse_passed(response, passage);
        }
        let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if switches && !passage.permits_switch(response.headers().get(UPGRADE)) {
            return front.refuse_switch(passage);
        }
        let empty = response.status() == StatusCode::NO_CONTENT || response.body().is_end_stream();
        if switches || empty || stages.is_empty() {
            return Passed::Done(response.map(ResponseBody::inner));
        }
        let media = Media::of(response.headers());
        match stages.are_exact() {
            false => Self::look_at(guard, response, media, passage, stages),
            true => Self::require(guard, response, media, passage, stages),
        }
    }

    fn refuse_switch<R>(&self, passage: &Passage) -> Passed<R> {
        let kind = DenialKind::Upstream(UpstreamFault::SwitchedProtocols);
        let denial = self.refuse_response(&passage.requester, kind);
        Passed::Done(self.answer(&denial).map(ResponseBody::answer))
    }

    /// A list, which must be one, or whatever else must be read to be handed on.
    fn require<G: Guard, R: Body<Data = Bytes>>(
        guard: &Arc<G>,
        response: Response<R>,
        media: Media,
        passage: &Passage,
        stages: Stages,
    ) -> Passed<R> {
        let front = guard.front();
        // Some clients take the stream that they ask for for one of events, whatever it says of itself.
        let page = !response.status().is_success() || !passage.requester.is_streamable();
        // Whatever succeeds may be taken for what was asked for.
        let marks = response.status().is_success() && stages.rewrites.are_exact();
        match media {
            Media::Absent | Media::Other if passage.watch == Watch::Shapes && page && !marks => {
                Passed::Done(response.map(ResponseBody::inner))
            }
            Media::Events | Media::Json if is_coded(response.headers()) => front.refuse_passed(response, passage),
            Media::Events => Passed::Done(Self::events(guard, response, passage, stages)),
            // What is not said to be anything may be nothing, or a word, and must be.
            Media::Absent => front.gather(response, MAX_WORD, media, stages),
            Media::Json => front.gather(response, front.max_list_bytes, media, stages),
            // That a message is accepted may be said in a word, of whatever type.
            Media::Other if response.status() == StatusCode::ACCEPTED && !is_coded(response.headers()) => {
                front.gather(response, MAX_WORD, media, stages)
            }
            Media::Other => front.refuse_passed(response, passage),
        }
    }

    /// Something else, which is handed on once it has been looked at.
    fn look_at<G: Guard, R: Body<Data = Bytes>>(
        guard: &Arc<G>,
        response: Response<R>,
        media: Media,
        passage: &Passage,
        stages: Stages,
    ) -> Passed<R> {
        let front = guard.front();
        let coded = is_coded(response.headers());
        match media {
            // What is not said to be a message is read as one by some clients, but not where the request failed.
            Media::Absent | Media::Other if !response.status().is_success() => {
                Passed::Done(response.map(ResponseBody::inner))
            }
            Media::Absent | Media::Other if passage.watch == Watch::Shapes && passage.requester.is_streamable() => {
                front.refuse_unless_empty(response, media, passage, stages)
            }
            _ if coded => Passed::Mark(stages.ingests.unseen(), response.map(ResponseBody::inner)),
            Media::Events => Passed::Done(Self::events(guard, response, passage, stages)),
            Media::Absent | Media::Other if stages.ingests.is_empty() => {
                Passed::Done(response.map(ResponseBody::inner))
            }
            Media::Json if !stages.hold_answers() => Passed::Done(response.map(ResponseBody::inner)),
            Media::Absent | Media::Json | Media::Other => front.gather(response, front.max_list_bytes, media, stages),
        }
    }

    /// What may be taken for a stream of events although it is not said to be one.
    fn refuse_unless_empty<R: Body<Data = Bytes>>(
        &self,
        response: Response<R>,
        media: Media,
        passage: &Passage,
        stages: Stages,
    ) -> Passed<R> {
        match media {
            Media::Absent => self.gather(response, 0, media, stages),
            Media::Events | Media::Json | Media::Other => self.refuse_passed(response, passage),
        }
    }

    fn gather<R: Body<Data = Bytes>>(
        &self,
        response: Response<R>,
        limit: usize,
        media: Media,
        stages: Stages,
    ) -> Passed<R> {
        let (head, body) = response.into_parts();
        let gather = Gather::new(body, limit, self.limits.budget.clone());
        Passed::Gather(gather, Box::new(Waiting { head, media, stages }))
    }

    fn events<G: Guard, R: Body<Data = Bytes>>(
        guard: &Arc<G>,
        response: Response<R>,
        passage: &Passage,
        stages: Stages,
    ) -> Response<ResponseBody<R>> {
        let front = guard.front();
        let (mut head, body) = response.into_parts();
        if !stages.lists.is_empty() {
            make_private(&mut head.headers);
        }
        if !stages.change_nothing() {
            forget_bytes(&mut head.headers);
        }
        // It may end early.
        head.headers.remove(CONTENT_LENGTH);
        stages.rewrites.stream(&mut head);
        let (limit, budget) = (front.max_list_bytes, front.limits.budget.clone());
        let failure = Self::failure(guard, &passage.requester);
        let body = EventBody::new(body, limit, budget, passage.watch, stages, failure);
        Response::from_parts(head, ResponseBody::events(body))
    }

    /// What becomes of an event that cannot be handed on.
    fn failure<G: Guard>(guard: &Arc<G>, requester: &Requester) -> Failure {
        let (guard, requester) = (Arc::clone(guard), requester.clone());
        Failure(Box::new(move |kind| {
            let denial = guard.front().refuse_response(&requester, kind);
            // Who has no id to be told by is told by the end of the stream.
            if denial.is_awaited() { guard.front().respond.respond(&denial).into_body() } else { Bytes::new() }
        }))
    }

    /// Hands on what has been received, changed where it has to be, once it is marked.
    pub(super) fn finish<R>(
        &self,
        gathered: Result<Gathered, Missing>,
        waiting: Waiting,
        passage: &Passage,
    ) -> (Markings, Response<ResponseBody<R>>) {
        let Waiting { mut head, media, stages } = waiting;
        let refused = |head, kind| (Markings::none(), self.refuse_answer(head, passage, kind));
        let Gathered { bytes, mut trailers, hold } = match gathered {
            Ok(gathered) => gathered,
            Err(missing) => return refused(head, missing.into()),
        };
        trailers.iter_mut().for_each(|trailers| stages.rewrites.trailers(trailers));
        let pieces = match media {
            Media::Absent | Media::Json if bytes.is_empty() => Ok(Vec::new()),
            // The transport of 2024-11-05 says so to a message that it answers elsewhere.
            Media::Absent | Media::Json | Media::Other
                if head.status == StatusCode::ACCEPTED && !has_bracket(&bytes) =>
            {
                Ok(vec![bytes.clone()])
            }
            Media::Json => stages.apply(passage.watch, &bytes, Origin::Answer(&mut head)),
            _ if !stages.are_exact() => Ok(vec![bytes.clone()]),
            Media::Absent | Media::Events | Media::Other => return refused(head, INVALID),
        };
        let pieces = match pieces {
            Ok(pieces) => pieces,
            Err(unreadable) => return refused(head, unreadable.into()),
        };
        let markings = stages.ingests.examine(&bytes, Carrier::Answer);
        if !stages.lists.is_empty() {
            make_private(&mut head.headers);
        }
        if !bytes.is_empty() && !matches!(&pieces[..], [same] if is_the_very(same, &bytes)) {
            measure(&mut head.headers, pieces.iter().map(Bytes::len).sum());
        }
        (markings, Response::from_parts(head, ResponseBody::pieces(pieces, trailers, hold)))
    }

    /// A response that could not be marked is withheld: what it brings must not be read unmarked.
    pub(super) fn withhold<R>(
        &self,
        response: Response<ResponseBody<R>>,
        passage: &Passage,
    ) -> Response<ResponseBody<R>> {
        let head = response.into_parts().0;
        self.refuse_answer(head, passage, DenialKind::Trust(TrustFault::Withheld))
    }

    fn refuse_passed<R>(&self, response: Response<R>, passage: &Passage) -> Passed<R> {
        Passed::Done(self.refuse_answer(response.into_parts().0, passage, INVALID))
    }

    /// The response in the place of one that cannot be read. What says that the request failed goes on saying so: a
    /// client learns from it that it has to log in, or that its session is over.
    fn refuse_answer<R>(&self, mut head: Parts, passage: &Passage, kind: DenialKind) -> Response<ResponseBody<R>> {
        let denial = self.refuse_response(&passage.requester, kind);
        let answer = self.answer(&denial);
        if head.status.is_success() || head.status.is_informational() {
            return answer.map(ResponseBody::answer);
        }
        let (of_answer, body) = answer.into_parts();
        for name in [CONTENT_ENCODING, TRAILER, TRANSFER_ENCODING] {
            head.headers.remove(name);
        }
        forget_bytes(&mut head.headers);
        head.headers.extend(of_answer.headers);
        head.extensions.extend(of_answer.extensions);
        Response::from_parts(head, ResponseBody::answer(body))
    }
}

/// Whether a message may be in a text.
fn has_bracket(text: &[u8]) -> bool {
    memchr2(b'{', b'[', text).is_some()
}

impl Media {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(CONTENT_TYPE).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Self::Absent,
            (Some(_), Some(_)) => return Self::Other,
            (Some(value), None) => value.to_str().unwrap_or_default().to_ascii_lowercase(),
        };
        // Some clients look for a type anywhere in the value.
        if value.contains("json") && value.contains("event-stream") {
            return Self::Other;
        }
        let mut parts = value.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        // Somebody decodes what is said to be in another charset.
        if !parts.all(|parameter| check_parameter(parameter).is_ok()) {
            return Self::Other;
        }
        match media {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
}
