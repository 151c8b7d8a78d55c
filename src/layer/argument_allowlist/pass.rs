//! What becomes of the inner service's response.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use http::response::Parts;
use http::{Response, StatusCode};
use http_body::Body;

use super::gate::Gate;
use super::judge::Passage;
use crate::answer::UpstreamFault;
use crate::http::ResponseBody;
use crate::response::{EventBody, Gather, Gathered, ListRule, Watch};

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
    rules: Vec<ListRule>,
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
    pub(super) fn pass<R: Body<Data = Bytes>>(&self, response: Response<R>, passage: &Passage) -> Passed<R> {
        let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if switches && !passage.permits_switch(response.headers().get(UPGRADE)) {
            return self.refuse_passed(passage, UpstreamFault::SwitchedProtocols);
        }
        let bare = switches || matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
        if passage.watch == Watch::Nothing || bare || response.body().is_end_stream() {
            return Passed::Done(response.map(ResponseBody::inner));
        }
        let rules = passage.rules.take();
        if rules.is_empty() {
            return Passed::Done(response.map(ResponseBody::inner));
        }
        self.watch_body(response, passage, rules)
    }

    fn watch_body<R: Body<Data = Bytes>>(
        &self,
        response: Response<R>,
        passage: &Passage,
        rules: Vec<ListRule>,
    ) -> Passed<R> {
        let media = media(response.headers());
        if is_coded(response.headers()) {
            return self.refuse_passed(passage, UpstreamFault::InvalidAnswer);
        }
        match (media.as_deref(), passage.watch) {
            (Some("text/event-stream"), _) => Passed::Done(self.events(response, passage, rules)),
            (Some("application/json"), _) => {
                let (head, body) = response.into_parts();
                Passed::Gather(Gather::new(body, self.max_list_bytes), Box::new(Waiting { head, rules }))
            }
            (Some(_) | None, Watch::Batch | Watch::List { .. }) => {
                self.refuse_passed(passage, UpstreamFault::InvalidAnswer)
            }
            (Some(_) | None, Watch::Nothing | Watch::Shapes) => Passed::Done(response.map(ResponseBody::inner)),
        }
    }

    fn events<R: Body<Data = Bytes>>(
        &self,
        mut response: Response<R>,
        passage: &Passage,
        rules: Vec<ListRule>,
    ) -> Response<ResponseBody<R>> {
        forget_bytes(response.headers_mut());
        response.headers_mut().remove(CONTENT_LENGTH);
        let denial = passage.requester.denial(UpstreamFault::InvalidAnswer);
        // Who has no id to be told by is told by the end of the stream.
        let error = if denial.id().is_some() { self.respond.respond(&denial).into_body() } else { Bytes::new() };
        response
            .map(|body| ResponseBody::events(EventBody::new(body, self.max_list_bytes, passage.watch, rules, error)))
    }

    /// Hands on what has been received, changed where it has to be.
    pub(super) fn finish<R>(
        &self,
        gathered: Option<Gathered>,
        waiting: Waiting,
        passage: &Passage,
    ) -> Response<ResponseBody<R>> {
        let Waiting { mut head, rules } = waiting;
        let refused = || self.answer(&self.refuse_response(&passage.requester, UpstreamFault::InvalidAnswer));
        let Some(Gathered { bytes, trailers }) = gathered else { return refused().map(ResponseBody::answer) };
        let pieces = if bytes.is_empty() { Ok(Vec::new()) } else { passage.watch.apply(&bytes, &rules) };
        let Ok(pieces) = pieces else { return refused().map(ResponseBody::answer) };
        if pieces != [bytes] {
            forget_bytes(&mut head.headers);
            if head.headers.contains_key(CONTENT_LENGTH) {
                let length = pieces.iter().map(Bytes::len).sum::<usize>();
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
        Response::from_parts(head, ResponseBody::pieces(pieces, trailers))
    }

    fn refuse_passed<R>(&self, passage: &Passage, fault: UpstreamFault) -> Passed<R> {
        let denial = self.refuse_response(&passage.requester, fault);
        Passed::Done(self.answer(&denial).map(ResponseBody::answer))
    }
}

/// The media type, in lower case and without parameters; none where there is not exactly one.
fn media(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
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
