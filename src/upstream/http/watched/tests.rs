//! Streams that are split anywhere.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Request};

use super::super::elicitations::User;
use super::super::{HttpConfig, HttpUpstream};
use super::*;
use crate::server::{McpTransport, ReachBack, ServerEntry};

/// Frames in their order.
struct Script(VecDeque<Frame<Bytes>>);

impl Body for Script {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

#[derive(Debug)]
struct Read {
    frames: Vec<Bytes>,
    trailers: Option<HeaderMap>,
    broken: bool,
    refused: usize,
}

impl Read {
    fn text(&self) -> String {
        String::from_utf8(self.frames.concat()).unwrap()
    }
}

/// Reads the stream of a server that is not there any more, and may ask for nothing.
async fn read(limit: usize, frames: impl IntoIterator<Item = Frame<Bytes>>) -> Read {
    let refused = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&refused);
    let config = HttpConfig::new("http://127.0.0.1:1/").unwrap().with_reach(ReachBack::NONE);
    let config = config.on_refused(move |_| _ = counter.fetch_add(1, SeqCst));
    let HttpUpstream(upstream) = HttpUpstream::new(config).unwrap();
    let replier = Replier::of(&upstream, &Request::new(()).into_parts().0).unwrap();
    let mut watched = Watched::new(Script(frames.into_iter().collect()), limit, replier);
    let mut read = Read { frames: Vec::new(), trailers: None, broken: false, refused: 0 };
    while let Some(frame) = std::future::poll_fn(|cx| watched.poll_frame(cx)).await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => read.frames.push(data),
            Ok(Err(frame)) => read.trailers = frame.into_trailers().ok(),
            Err(_) => read.broken = true,
        }
    }
    assert!(watched.is_end_stream());
    read.refused = refused.load(SeqCst);
    read
}

fn frame(text: &str) -> Frame<Bytes> {
    Frame::data(Bytes::copy_from_slice(text.as_bytes()))
}

const ASKS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"a":[1.50]}}"#;

/// Streams, what is left of them, and how much was refused.
fn streams() -> Vec<(String, String, usize)> {
    let kept = |text: String| (text.clone(), text, 0);
    vec![
        kept(format!("data: {NEWS}\n\ndata:{NEWS}\r\rdata: {NEWS}\r\n\r\n")),
        kept(format!("\u{feff}: hello\n\nevent: x\ndata: {NEWS}\nid: 7\n\n\n\n")),
        kept("data: {\ndata: }\n\nretry: 5\n\ndata: hello\n\n:\n\n".to_owned()),
        kept(format!("data: {}\n\n", ASKS.replace(r#""id":1,"#, ""))),
        kept(format!("data: {}\n\n", ASKS.replace("1", "null"))),
        // Without their end.
        kept(format!("data: {NEWS}\n\ndata: {NEWS}")),
        kept(format!("data: {NEWS}\n\ndata: {NEWS}\n")),
        kept(format!("data: {NEWS}\r\rdata: {NEWS}\r")),
        kept("data: a\n\n: a".to_owned()),
        (format!("data: {NEWS}\n\ndata: {ASKS}\n"), format!("data: {NEWS}\n\n"), 1),
        (format!("data: {ASKS}"), String::new(), 1),
        (format!("data: {ASKS}\n\ndata: {NEWS}\n\n"), format!("data: {NEWS}\n\n"), 1),
        (format!("id: 7\r\nevent: message\r\ndata: {ASKS}\n\n:\n\n"), "id: 7\n\n:\n\n".to_owned(), 1),
        (
            format!("id: 1\ndata: [{ASKS}, {NEWS} ,{ASKS}]\n\ndata: {NEWS}\n\n"),
            format!("id: 1\ndata: [{NEWS}]\n\ndata: {NEWS}\n\n"),
            2,
        ),
        (format!("data: [{ASKS},{ASKS}]\n\n"), String::new(), 2),
        (ASKS.split_inclusive(',').map(|part| format!("data: {part}\n")).collect::<String>() + "\n", String::new(), 1),
    ]
}

#[tokio::test]
async fn what_is_answered_goes_and_all_other_bytes_are_the_same_however_they_come() {
    for (stream, left, refused) in streams() {
        let whole = read(4096, [frame(&stream)]).await;
        assert_eq!((whole.text(), whole.refused, whole.broken), (left.clone(), refused, false), "{stream:?}");
        let bytes = || stream.as_bytes().iter().map(|byte| Frame::data(Bytes::copy_from_slice(&[*byte])));
        let single = read(4096, bytes()).await;
        assert_eq!((single.text(), single.refused), (left.clone(), refused), "{stream:?}");
        for at in (0..=stream.len()).filter(|at| stream.is_char_boundary(*at)) {
            let (one, other) = stream.split_at(at);
            let split = read(4096, [frame(one), frame(other)]).await;
            assert_eq!((split.text(), split.refused), (left.clone(), refused), "{one:?} {other:?}");
        }
    }
}

#[tokio::test]
async fn trailers_come_behind_what_the_stream_has_left() {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-end", HeaderValue::from_static("1"));
    let frames = [frame("data: a\n\ndata: b"), Frame::trailers(trailers.clone())];
    let all = read(4096, frames).await;
    assert_eq!((all.text().as_str(), all.trailers), ("data: a\n\ndata: b", Some(trailers)));
}

#[tokio::test]
async fn an_event_that_is_too_long_ends_the_stream() {
    let stream = format!("data: a\n\ndata: {}\n\ndata: b\n\n", "x".repeat(100));
    let broken = read(64, [frame(&stream)]).await;
    assert_eq!((broken.text().as_str(), broken.broken), ("data: a\n\n", true));
    assert!(!read(200, [frame(&stream)]).await.broken);
}

#[tokio::test]
async fn an_answer_is_in_time_until_another_is_sent() {
    let entry = ServerEntry::new("a", McpTransport::http("http://127.0.0.1:1/").unwrap(), Duration::from_secs(1));
    let entry = entry.with_elicitation_enabled(true).with_elicitation_timeout_secs(1);
    let config = HttpConfig::new("http://127.0.0.1:1/").unwrap().with_reach(ReachBack::new(&entry));
    let HttpUpstream(upstream) = HttpUpstream::new(config).unwrap();
    let replier = Replier::of(&upstream, &Request::new(()).into_parts().0).unwrap();
    let all = u32::try_from(upstream.answers.available_permits()).unwrap();
    let taken = Arc::clone(&upstream.answers).acquire_many_owned(all).await.unwrap();
    for id in ["1", "2"] {
        let asks = ASKS.replace("roots/list", "elicitation/create").replace('1', id);
        let sieved = replier.sieve(&Bytes::from(asks));
        assert!(sieved.answers.is_empty() && matches!(sieved.left, Left::All));
    }
    tokio::time::sleep(Duration::from_millis(1300)).await;
    assert!(!upstream.elicitations.is_late(&User::default(), "1"), "there was no room for another answer");
    drop(taken);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(upstream.elicitations.is_late(&User::default(), "2"));
}

#[tokio::test]
async fn a_stream_waits_until_its_answers_can_be_sent() {
    let HttpUpstream(upstream) =
        HttpUpstream::new(HttpConfig::new("http://127.0.0.1:1/").unwrap().with_reach(ReachBack::NONE)).unwrap();
    let replier = Replier::of(&upstream, &Request::new(()).into_parts().0).unwrap();
    let all = u32::try_from(upstream.answers.available_permits()).unwrap();
    let taken = Arc::clone(&upstream.answers).acquire_many_owned(all).await.unwrap();
    let script = Script([frame(&format!("data: {ASKS}\n\ndata: {NEWS}\n\n"))].into());
    let mut watched = Watched::new(script, 4096, replier);
    let mut poll = tokio_test::task::spawn(std::future::poll_fn(|cx| watched.poll_frame(cx)));
    assert!(poll.poll().is_pending());
    drop(taken);
    assert!(poll.is_woken());
    let Poll::Ready(Some(Ok(frame))) = poll.poll() else { panic!("the stream goes on") };
    assert_eq!(frame.into_data().unwrap(), format!("data: {NEWS}\n\n"));
}
