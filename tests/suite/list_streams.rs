//! Lists in streams of events, as they come.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::Full;
use tokio_test::task;

use super::lists::{SEEN, TOOLS, ask, dense, gate};
use super::support::*;

/// The response to a request whose inner service answers with the events of a script.
fn streamed(request: http::Request<Full<Bytes>>, events: Script) -> Answer<Script> {
    let (mut service, mut handle) = gated::<_, Script>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(request));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::builder().header("content-type", "text/event-stream").body(events).unwrap());
    let Poll::Ready(response) = future.poll() else { panic!("the head waits for an event") };
    response.unwrap()
}

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

fn poll<B: Body<Data = Bytes, Error = BoxError> + ?Sized>(body: Pin<&mut B>) -> Polled {
    body.poll_frame(&mut Context::from_waker(Waker::noop()))
}

fn data(polled: Polled) -> String {
    let Poll::Ready(Some(Ok(frame))) = polled else { panic!("no frame: {}", polled.is_pending()) };
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

#[test]
fn th_118_an_event_goes_on_before_the_next_one_exists() {
    let first = format!("data: {TOOLS}\n\n");
    let body = Script::new([Step::Data(first.into()), Step::Stay]);
    let mut body = Box::pin(streamed(ask("tools/list"), body).into_body());
    assert_eq!(dense(&data(poll(body.as_mut()))), dense(&format!("data: {SEEN}\n\n")));
    assert!(poll(body.as_mut()).is_pending());
}

#[test]
fn nothing_is_asked_for_before_somebody_wants_it() {
    let events = (0..100).map(|_| Step::Data(Bytes::from_static(b"data: {}\n\n")));
    let script = Script::new(events);
    let polls = script.polls();
    let mut request = post_text("");
    *request.method_mut() = Method::GET;
    let mut body = Box::pin(streamed(request, script).into_body());
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    for asked in 1..=3 {
        assert_eq!(data(poll(body.as_mut())), "data: {}\n\n");
        assert_eq!(polls.load(Ordering::Relaxed), asked);
    }
}

#[test]
fn th_060_th_061_a_stream_is_the_same_however_it_is_cut() {
    let stream = format!("\u{feff}: hi\r\n\r\nid: 1\rdata: \rretry: 5\r\rid: 2\ndata: {TOOLS}\n\n");
    let expected = stream.replace(TOOLS, SEEN);
    for length in 1..=stream.len() {
        let frames = stream.as_bytes().chunks(length).map(|frame| Step::Data(Bytes::copy_from_slice(frame)));
        let (frames, _) = collect(streamed(ask("tools/list"), Script::new(frames)).into_body());
        let text = String::from_utf8(frames.concat()).unwrap();
        assert_eq!(dense(&text), dense(&expected), "frames of {length}");
    }
}

#[test]
fn trailers_and_failures_of_a_stream_come_through() {
    let event = || Step::Data(format!("data: {TOOLS}\n\n").into());
    let trailers = HeaderMap::from_iter([("x-checksum".parse().unwrap(), "1".parse().unwrap())]);
    let body = Script::new([event(), Step::Trailers(trailers.clone())]);
    let (frames, seen) = collect(streamed(ask("tools/list"), body).into_body());
    assert_eq!((frames.len(), seen), (1, Some(trailers)));
    let body = Script::new([event(), Step::Fail("broken".into())]);
    let mut body = Box::pin(streamed(ask("tools/list"), body).into_body());
    assert!(dense(&data(poll(body.as_mut()))).starts_with("data:"));
    assert!(matches!(poll(body.as_mut()), Poll::Ready(Some(Err(_)))));
}

#[test]
fn the_trailers_of_a_list_come_through() {
    let trailers = HeaderMap::from_iter([("x-checksum".parse().unwrap(), "1".parse().unwrap())]);
    let body = Script::new([Step::Data(TOOLS.into()), Step::Trailers(trailers.clone())]);
    let response = Response::builder().header("content-type", "application/json").body(body).unwrap();
    let (mut service, mut handle) = gated::<_, Script>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(ask("tools/list")));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(response);
    let Poll::Ready(response) = future.poll() else { panic!("the list has arrived") };
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let (frames, seen) = collect(response.into_body());
    assert_eq!(dense(str::from_utf8(&frames.concat()).unwrap()), dense(SEEN));
    assert_eq!(seen, Some(trailers));
}
