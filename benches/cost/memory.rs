//! What is held of a stream that passes as it is.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use allocation_counter::measure;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;

use super::answers;
use super::measure::complete;
use super::request::{head, policy};
use super::service::Socket;

const KIB: usize = 1 << 10;
const LENGTH: usize = KIB * KIB * KIB;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!("What is held at most while 1 GiB passes as it is. In bytes; the aim is 65,536 above the bare pass.\n");
    println!("| body | bare | layer | above |");
    println!("|---|--:|--:|--:|");
    let json = Stream::new("application/json", answers::base64(64 * KIB).as_bytes(), 64 * KIB);
    row("JSON that is not read, frames of 64 KiB", &json, Method::POST)?;
    let unit = answers::event(&answers::image(16 * KIB));
    let events = |frame| Stream::new("text/event-stream", &unit, frame);
    row("events of 16 KiB, frames of 64 KiB", &events(64 * KIB), Method::GET)?;
    row("events of 16 KiB, frames of 1 KiB", &events(KIB), Method::GET)?;
    println!();
    Ok(())
}

fn row(name: &str, stream: &Stream, method: Method) -> Result<(), Box<dyn Error>> {
    let mut request = head()?.map(|()| Full::from(if method == Method::POST { CALL } else { "" }));
    *request.method_mut() = method;
    let bare = held(stream.clone(), &request, stream.length)?;
    let layered = held(ArgumentAllowlistLayer::new(policy()?).layer(stream.clone()), &request, stream.length)?;
    println!("| {name} | {bare} | {layered} | {} |", layered.saturating_sub(bare));
    Ok(())
}

fn held<S, B>(mut service: S, request: &Request<Full<Bytes>>, length: usize) -> Result<u64, Box<dyn Error>>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error = Infallible>,
{
    let mut socket = Socket::new();
    let mut written = Ok(0);
    let info =
        measure(|| written = complete(async { socket.write(service.call(request.clone()).await?.into_body()).await }));
    if written != Ok(length) {
        return Err(format!("{written:?} bytes arrived").into());
    }
    Ok(info.bytes_max)
}

/// Answers with one and the same, over and over.
#[derive(Clone)]
struct Stream {
    media: &'static str,
    units: Bytes,
    period: usize,
    frame: usize,
    length: usize,
}

impl Stream {
    /// The last unit is a whole one: of an event without its end nothing is handed on.
    fn new(media: &'static str, unit: &[u8], frame: usize) -> Self {
        let (period, length) = (unit.len(), LENGTH.next_multiple_of(unit.len()));
        Self { media, units: unit.repeat(frame.div_ceil(period) + 1).into(), period, frame, length }
    }
}

impl<B> Service<Request<B>> for Stream {
    type Response = Response<Repeated>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Repeated>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut response = Response::new(Repeated { stream: self.clone(), sent: 0 });
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media));
        ready(Ok(response))
    }
}

/// Nothing of it exists before it is asked for.
struct Repeated {
    stream: Stream,
    sent: usize,
}

impl Body for Repeated {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Stream { units, period, frame, length, .. } = &self.stream;
        let start = self.sent % period;
        let end = start + *frame.min(&(length - self.sent));
        // A copy each, or one that is held would not be seen.
        let frame = Bytes::copy_from_slice(units.get(start..end).unwrap_or_default());
        self.sent += frame.len();
        Poll::Ready((!frame.is_empty()).then(|| Ok(Frame::data(frame))))
    }
}
