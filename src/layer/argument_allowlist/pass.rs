//! What becomes of the inner service's response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::response::Parts;
use http::{Response, StatusCode};
use http_body::Body;

use super::gate::Gate;
use super::judge::Passage;
use crate::answer::{Requester, UpstreamFault};
use crate::http::ResponseBody;
use crate::response::{EventBody, Failure, Gather, Gathered, ListRule, Watch};

/// What is to be done with a response.
pub(super) enum Passed<R> {
    /// It is handed on.
    Done(Response<ResponseBody<R>>),
    /// Its body is received first.
    Gather(Gather<R>, Box<Waiting>),
}

/// What waits for a response's body.
pub(super) struct Waiting {
    head: Parts,
    media: Media,
    rules: Vec<ListRule>,
}

/// What a body is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Media {
    /// Nothing is said.
    Absent,
    Events,
    Json,
    /// Something else, or more than one thing.
    Other,
}

/// What says something of the bytes of a body.
const OF_THE_BYTES: [HeaderName; 5] = [
    ETAG,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

impl Gate {
    /// Looks at the head of a response: most are handed on as they are.
    pub(super) fn pass<R: Body<Data = Bytes>>(self: &Arc<Self>, response: Response<R>, passage: &Passage) -> Passed<R> {
        let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if switches && !passage.permits_switch(response.headers().get(UPGRADE)) {
            let denial = self.refuse_response(&passage.requester, UpstreamFault::SwitchedProtocols);
            return Passed::Done(self.answer(&denial).map(ResponseBody::answer));
        }
        let bare = switches || response.status() == StatusCode::NO_CONTENT || response.body().is_end_stream();
        if passage.watch == Watch::Nothing || bare {
            return Passed::Done(response.map(ResponseBody::inner));
        }
        let rules = passage.rules.take();
        if rules.is_empty() {
            return Passed::Done(response.map(ResponseBody::inner));
        }
        self.watch_body(response, passage, rules)
    }

    fn watch_body<R: Body<Data = Bytes>>(
        self: &Arc<Self>,
        response: Response<R>,
        passage: &Passage,
        rules: Vec<ListRule>,
    ) -> Passed<R> {
        let media = Media::of(response.headers());
        // Some clients take the stream that they ask for for one of events, whatever it says of itself.
        let page = !response.status().is_success() || !passage.requester.is_streamable();
        match media {
            Media::Absent | Media::Other if passage.watch == Watch::Shapes && page => {
                Passed::Done(response.map(ResponseBody::inner))
            }
            Media::Events | Media::Json if is_coded(response.headers()) => self.refuse_passed(response, passage),
            Media::Events => Passed::Done(self.events(response, passage, rules)),
            // What is not said to be anything may be nothing, and must be.
            Media::Absent => Self::gather(response, 0, media, rules),
            Media::Json => Self::gather(response, self.max_list_bytes, media, rules),
            Media::Other => self.refuse_passed(response, passage),
        }
    }

    fn gather<R: Body<Data = Bytes>>(
        response: Response<R>,
        limit: usize,
        media: Media,
        rules: Vec<ListRule>,
    ) -> Passed<R> {
        let (head, body) = response.into_parts();
        Passed::Gather(Gather::new(body, limit), Box::new(Waiting { head, media, rules }))
    }

    fn events<R: Body<Data = Bytes>>(
        self: &Arc<Self>,
        mut response: Response<R>,
        passage: &Passage,
        rules: Vec<ListRule>,
    ) -> Response<ResponseBody<R>> {
        forget_bytes(response.headers_mut());
        response.headers_mut().remove(CONTENT_LENGTH);
        let failure = self.failure(&passage.requester);
        response
            .map(|body| ResponseBody::events(EventBody::new(body, self.max_list_bytes, passage.watch, rules, failure)))
    }

    /// What becomes of an event that cannot be read.
    fn failure(self: &Arc<Self>, requester: &Requester) -> Failure {
        let denial = requester.denial(UpstreamFault::InvalidAnswer);
        // Who has no id to be told by is told by the end of the stream.
        let error = if denial.id().is_some() { self.respond.respond(&denial).into_body() } else { Bytes::new() };
        let tell = self.observer.is_some().then(|| {
            let (gate, requester) = (Arc::clone(self), requester.clone());
            Box::new(move || drop(gate.refuse_response(&requester, UpstreamFault::InvalidAnswer))) as Box<_>
        });
        Failure { error, tell }
    }

    /// Hands on what has been received, changed where it has to be.
    pub(super) fn finish<R>(
        &self,
        gathered: Option<Gathered>,
        waiting: Waiting,
        passage: &Passage,
    ) -> Response<ResponseBody<R>> {
        let Waiting { mut head, media, rules } = waiting;
        let Some(Gathered { bytes, trailers }) = gathered else { return self.refuse_answer(head, passage) };
        let pieces = match media {
            Media::Absent | Media::Json if bytes.is_empty() => Ok(Vec::new()),
            Media::Json => passage.watch.apply(&bytes, &rules),
            Media::Absent | Media::Events | Media::Other => return self.refuse_answer(head, passage),
        };
        let Ok(pieces) = pieces else { return self.refuse_answer(head, passage) };
        if pieces.iter().ne((!bytes.is_empty()).then_some(&bytes)) {
            forget_bytes(&mut head.headers);
            if head.headers.contains_key(CONTENT_LENGTH) {
                let length = pieces.iter().map(Bytes::len).sum::<usize>();
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
        Response::from_parts(head, ResponseBody::pieces(pieces, trailers))
    }

    fn refuse_passed<R>(&self, response: Response<R>, passage: &Passage) -> Passed<R> {
        Passed::Done(self.refuse_answer(response.into_parts().0, passage))
    }

    /// The response in the place of one that cannot be read. What says that the request failed goes on saying so: a
    /// client learns from it that it has to log in, or that its session is over.
    fn refuse_answer<R>(&self, mut head: Parts, passage: &Passage) -> Response<ResponseBody<R>> {
        let denial = self.refuse_response(&passage.requester, UpstreamFault::InvalidAnswer);
        let answer = self.answer(&denial);
        if !head.status.is_client_error() && !head.status.is_server_error() {
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

impl Media {
    fn of(headers: &HeaderMap) -> Self {
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
        match value.split(';').next().unwrap_or_default().trim() {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
}

fn is_coded(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    !headers.get_all(CONTENT_ENCODING).iter().all(plain)
}

fn forget_bytes(headers: &mut HeaderMap) {
    for name in OF_THE_BYTES {
        headers.remove(name);
    }
}
