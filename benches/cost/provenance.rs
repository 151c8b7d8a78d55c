//! What tags and fences cost.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use serde_json::json;
use tower_layer::Layer;
use tower_service::Service;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::provenance::{Fence, FenceMode, FenceNeeded, StructuredContent};
use tower_toolgate::trust::ServerTrust;

use super::answers;
use super::bodies;
use super::measure::{complete, nanoseconds, undisturbed};
use super::request::{counted, head, policy, skip};
use super::service::{Answers, Socket};
use super::trust::trust;

const KIB: usize = 1 << 10;
const MIB: usize = KIB * KIB;
const WHOLE: usize = usize::MAX;
const RUNS: u32 = 64;
/// Since when blocks of content have tags of their own.
const PARTS: &str = "2025-06-18";
const NO_PARTS: &str = "2025-03-26";

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    small()?;
    large()?;
    fences()
}

/// A request of a call, in some revision.
pub(crate) fn request(version: &'static str) -> Result<impl Fn() -> Request<Full<Bytes>>, Box<dyn Error>> {
    let mut head = head()?;
    head.headers_mut().insert("mcp-protocol-version", http::HeaderValue::from_static(version));
    let call = bodies::call(128);
    Ok(move || head.clone().map(|()| Full::new(call.clone())))
}

/// Writes what a service answers.
pub(crate) fn answer<S, B>(mut service: S) -> impl FnMut(Request<Full<Bytes>>) -> usize
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes>,
{
    let mut socket = Socket::new();
    move |request| {
        let Ok(response) = complete(service.call(request));
        complete(socket.write(response.into_body())).unwrap_or_default()
    }
}

pub(crate) fn text(length: usize) -> Bytes {
    let result = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
        )
    };
    result(&"x".repeat(length.saturating_sub(result("").len()))).into()
}

fn small() -> Result<(), Box<dyn Error>> {
    println!("A result of 128 bytes, written out, with tags joined to other layers. Times in ns; the aim is 300.\n");
    println!("| joined to | tags | without | with | added | allocations added |");
    println!("|---|---|--:|--:|--:|--:|");
    let answers = Answers { media: "application/json", body: text(128), frame: WHOLE };
    let gate = || Ok::<_, Box<dyn Error>>(ArgumentAllowlistLayer::new(policy()?));
    let tags = ProvenanceTagLayer::new;
    for (name, version) in [("result", NO_PARTS), ("result and block", PARTS)] {
        row(
            &format!("gate | {name}"),
            version,
            gate()?.layer(answers.clone()),
            gate()?.join(tags()).layer(answers.clone()),
        )?;
        for (marks, level) in [("nothing", ServerTrust::Trusted), ("the session", ServerTrust::Untrusted)] {
            row(
                &format!("gate, and content trust that marks {marks} | {name}"),
                version,
                gate()?.join(trust(level)?).layer(answers.clone()),
                gate()?.join(trust(level)?.join(tags())).layer(answers.clone()),
            )?;
        }
    }
    println!();
    Ok(())
}

fn row<W, T, A, B>(name: &str, version: &'static str, without: W, with: T) -> Result<(), Box<dyn Error>>
where
    W: Service<Request<Full<Bytes>>, Response = Response<A>, Error = Infallible>,
    T: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    A: Body<Data = Bytes>,
    B: Body<Data = Bytes>,
{
    let request = request(version)?;
    let (mut without, mut with) = (answer(without), answer(with));
    if with(request()) <= without(request()) {
        return Err(format!("{name}: no tag").into());
    }
    let allocations = counted(request(), &mut with).count_total - counted(request(), &mut without).count_total;
    let [without, with] = undisturbed([&mut || nanoseconds(RUNS, &request, &mut without), &mut || {
        nanoseconds(RUNS, &request, &mut with)
    }]);
    println!("| {name} | {without:.0} | {with:.0} | {:.0} | {allocations} |", with - without);
    Ok(())
}

fn large() -> Result<(), Box<dyn Error>> {
    println!(
        "A result of 10 MiB, written out, with tags joined to the gate. Times in µs; the aim is 1.3 times a skip.\n"
    );
    println!("| result | skip | gate | added by tags | added/skip | bytes allocated |");
    println!("|---|--:|--:|--:|--:|--:|");
    let (image, prose) = (answers::image(10 * MIB), bodies_of(&texts(10 * MIB)[0].1));
    for (name, body, frame) in [
        ("an image", &image, WHOLE),
        ("an image, frames of 64 KiB", &image, 64 * KIB),
        ("a text", &prose, WHOLE),
        ("a text, frames of 64 KiB", &prose, 64 * KIB),
    ] {
        read(name, body, frame, ProvenanceTagLayer::new())?;
    }
    println!();
    Ok(())
}

/// A row about what is read of a long result.
fn read(name: &str, body: &Bytes, frame: usize, tags: ProvenanceTagLayer) -> Result<(), Box<dyn Error>> {
    let answers = Answers { media: "application/json", body: body.clone(), frame };
    let gate = ArgumentAllowlistLayer::new(policy()?);
    let mut without = answer(gate.clone().layer(answers.clone()));
    let mut with = answer(gate.join(tags).layer(answers));
    let request = request(PARTS)?;
    if with(request()) <= without(request()) {
        return Err(format!("{name}: no tag").into());
    }
    let allocated = counted(request(), &mut with).bytes_total;
    let [skip, without, with] = undisturbed([
        &mut || nanoseconds(2, || (), |()| skip(body).is_ok()),
        &mut || nanoseconds(2, &request, &mut without),
        &mut || nanoseconds(2, &request, &mut with),
    ])
    .map(|time| time / 1e3);
    let added = with - without;
    println!("| {name} | {skip:.0} | {without:.0} | {added:.0} | {:.2} | {allocated} |", added / skip);
    Ok(())
}

pub(crate) fn bodies_of(text: &str) -> Bytes {
    let content = json!([{"type": "text", "text": text}]);
    json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": false}}).to_string().into()
}

/// Texts of some length, by what they are.
pub(crate) fn texts(length: usize) -> [(&'static str, String); 4] {
    let repeated = |unit: &str| unit.repeat(length / unit.len());
    [
        (
            "prose",
            repeated(
                "It was a bright cold day in April, and the clocks were striking thirteen. Winston Smith, his chin \
                 nuzzled into his breast, slipped quickly through the glass doors.\n",
            ),
        ),
        (
            "JSON",
            repeated(
                "{\"id\": 1000, \"name\": \"a row\", \"tags\": [\"a\", \"b\"], \"note\": \"the minutes\\nof it\"},\n",
            ),
        ),
        ("HTML", repeated("<tr><td class=\"a\"><a href=\"/b?c=1&amp;d=2\">e</a></td><td><b>f</b></td></tr>\n")),
        ("CJK", repeated("国境の長いトンネルを抜けると雪国であった。夜の底が白くなった。")),
    ]
}

fn fences() -> Result<(), Box<dyn Error>> {
    println!("1 MiB of text fenced: alone, and in a result that is tagged. Times in µs; the aim is 2 times a skip.\n");
    println!("| text | mode | skip | fence | fence/skip | added by tags and fence | added/skip |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for mode in [FenceMode::Delimit, FenceMode::Datamark, FenceMode::Base64] {
        for (name, text) in texts(MIB) {
            fenced(name, mode, &text)?;
        }
    }
    println!();
    Ok(())
}

fn fenced(name: &str, mode: FenceMode, text: &str) -> Result<(), Box<dyn Error>> {
    let body = bodies_of(text);
    let answers = Answers { media: "application/json", body: body.clone(), frame: WHOLE };
    let gate = ArgumentAllowlistLayer::new(policy()?);
    let tags = ProvenanceTagLayer::new().with_fence(mode, StructuredContent::Tag);
    let tags = tags.map_err(|FenceNeeded { .. }| "a fence is needed")?;
    let mut without = answer(gate.clone().layer(answers.clone()));
    let mut with = answer(gate.join(tags).layer(answers));
    let request = request(PARTS)?;
    let fence = |()| Fence::new(mode, [text]).map(|fence| fence.wrap(0, text).len());
    fence(())?;
    if with(request()) <= without(request()) {
        return Err(format!("{name}: no fence").into());
    }
    let [skip, fence, without, with] = undisturbed([
        &mut || nanoseconds(2, || (), |()| skip(&body).is_ok()),
        &mut || nanoseconds(2, || (), fence),
        &mut || nanoseconds(2, &request, &mut without),
        &mut || nanoseconds(2, &request, &mut with),
    ])
    .map(|time| time / 1e3);
    let added = with - without;
    print!("| {name} | {} | {skip:.0} | {fence:.0} | {:.2} |", mode.as_str(), fence / skip);
    println!(" {added:.0} | {:.2} |", added / skip);
    Ok(())
}
