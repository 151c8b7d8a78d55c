//! The cost of one response.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower_layer::Layer;
use tower_service::Service;
use tower_toolgate::Role;
use tower_toolgate::layer::argument_allowlist::{ArgumentAllowlistLayer, ArgumentAllowlistService};
use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};

use super::answers;
use super::list_by_hand::ListByHand;
use super::measure::{complete, nanoseconds, undisturbed};
use super::request::{counted, head, skip};
use super::service::{Answers, Socket};

type BoxError = Box<dyn Error + Send + Sync>;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const KIB: usize = 1 << 10;
const WHOLE: usize = usize::MAX;
const TOOLS: usize = 1_000;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_logo","arguments":{}}}"#;

/// Roles, with what they may use.
const READER: (&str, &[&str]) = ("reader", &["get_*", "list_*", "search_*"]);
const ADMIN: (&str, &[&str]) = ("admin", &["*"]);
const NOBODY: (&str, &[&str]) = ("nobody", &["run_query"]);

/// Who asks for what, and what comes back.
struct Exchange {
    role: &'static str,
    asked: &'static str,
    answers: Answers,
}

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!(
        "One response, all of it written out. Times in µs. The aims for what is read: layer/skip 1.5 for a list and"
    );
    println!("1.3 for an image, by hand/layer 8 for a list; for what is not read: layer/bare 0.05.\n");
    println!(
        "| body | skip | bare | layer added | by hand added | layer/skip | by hand/layer | layer/bare | allocations: layer | by hand | most held: layer | by hand |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    lists()?;
    images()?;
    println!();
    Ok(())
}

fn lists() -> Result<(), Box<dyn Error>> {
    let list = answers::tools(TOOLS);
    let event = answers::event(&list);
    for (name, (role, _), media, frame) in [
        ("half of a list", READER, JSON, WHOLE),
        ("half of a list, frames of 16 KiB", READER, JSON, 16 * KIB),
        ("all of a list", ADMIN, JSON, WHOLE),
        ("none of a list", NOBODY, JSON, WHOLE),
        ("half of a list, one event", READER, EVENTS, WHOLE),
        ("half of a list, one event, frames of 16 KiB", READER, EVENTS, 16 * KIB),
        ("all of a list, one event", ADMIN, EVENTS, WHOLE),
    ] {
        let body = if media == EVENTS { event.clone() } else { list.clone() };
        row(name, &list, &Exchange { role, asked: LIST, answers: Answers { media, body, frame } })?;
    }
    Ok(())
}

fn images() -> Result<(), Box<dyn Error>> {
    let (image, list) = (answers::image(10 * KIB * KIB), answers::tools_with_image(10 * KIB * KIB));
    for (name, (role, _), asked, body, frame) in [
        ("an image, not read", READER, CALL, &image, WHOLE),
        ("an image, not read, frames of 64 KiB", READER, CALL, &image, 64 * KIB),
        ("an image, not read, frames of 16 KiB", READER, CALL, &image, 16 * KIB),
        ("an image in a list", READER, LIST, &list, WHOLE),
        ("an image in a list, nothing cut", ADMIN, LIST, &list, WHOLE),
        ("an image in a list, frames of 64 KiB", READER, LIST, &list, 64 * KIB),
        ("an image in a list, frames of 16 KiB", READER, LIST, &list, 16 * KIB),
    ] {
        let answers = Answers { media: JSON, body: body.clone(), frame };
        row(name, body, &Exchange { role, asked, answers })?;
    }
    Ok(())
}

fn row(name: &str, message: &[u8], exchange: &Exchange) -> Result<(), Box<dyn Error>> {
    let [layered, by_hand] = exchange.both()?;
    if layered.is_empty() || layered != by_hand {
        return Err(format!("{name}: the layer does not hand on what is expected").into());
    }
    let request = exchange.request()?;
    let request = || request.clone();
    let mut bare = exchange.answers.clone();
    let (mut layered, mut by_hand) = (exchange.layered()?, exchange.by_hand());
    let [mut one, mut two, mut three] = [(); 3].map(|()| Socket::new());
    let mut bare = |request| complete(async { one.write(sent(bare.call(request).await)).await });
    let mut layered = |request| complete(async { two.write(sent(layered.call(request).await)).await });
    let mut by_hand = |request| {
        complete(async { three.write(by_hand.call(request).await?.into_body()).await.map_err(BoxError::from) })
    };
    let allocations = [counted(request(), &mut layered), counted(request(), &mut by_hand)];
    let [skip, bare, layered, by_hand] = undisturbed([
        &mut || nanoseconds(2, || (), |()| skip(message).is_ok()),
        &mut || nanoseconds(2, request, &mut bare),
        &mut || nanoseconds(2, request, &mut layered),
        &mut || nanoseconds(2, request, &mut by_hand),
    ]);
    let [skip, bare, layered, by_hand] = [skip, bare, layered - bare, by_hand - bare].map(|time| time / 1e3);
    print!("| {name} | {skip:.0} | {bare:.0} | {layered:.1} | {by_hand:.1} |");
    print!(" {:.2} | {:.1} | {:.3} |", layered / skip, by_hand / layered, layered / bare);
    let [layered, by_hand] = allocations;
    println!(" {} | {} | {} | {} |", layered.count_total, by_hand.count_total, layered.bytes_max, by_hand.bytes_max);
    Ok(())
}

fn sent<B>(response: Result<Response<B>, Infallible>) -> B {
    response.map_or_else(|never| match never {}, Response::into_body)
}

impl Exchange {
    fn request(&self) -> Result<Request<Full<Bytes>>, Box<dyn Error>> {
        let mut request = head()?;
        request.extensions_mut().insert(Role::new(self.role));
        Ok(request.map(|()| Full::from(self.asked)))
    }

    fn layered(&self) -> Result<ArgumentAllowlistService<Answers>, Box<dyn Error>> {
        Ok(ArgumentAllowlistLayer::new(policy()?).layer(self.answers.clone()))
    }

    fn by_hand(&self) -> ListByHand {
        let prefixes = [READER, ADMIN, NOBODY].into_iter().filter(|(role, _)| *role == self.role);
        let prefixes: Vec<_> =
            prefixes.flat_map(|(_, allow)| allow.iter().filter_map(|name| name.strip_suffix('*'))).collect();
        let names = (0..TOOLS).map(answers::tool_name).chain(["get_logo".to_owned()]);
        let names = names.filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))).collect();
        ListByHand { inner: self.answers.clone(), names }
    }

    /// What comes of the layer and of what is written by hand: without white space and the order of members.
    fn both(&self) -> Result<[Vec<Value>; 2], Box<dyn Error>> {
        let layered = sent(complete(self.layered()?.call(self.request()?)));
        let by_hand = complete(self.by_hand().call(self.request()?)).map_err(|error| error.to_string())?.into_body();
        Ok([values(layered)?, values(by_hand)?])
    }
}

fn values(body: impl Body<Data = Bytes, Error = Infallible>) -> Result<Vec<Value>, Box<dyn Error>> {
    let bytes = complete(body.collect()).unwrap_or_else(|never| match never {}).to_bytes();
    let data = str::from_utf8(&bytes)?.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let data = data.filter(|line| !line.is_empty() && !line.starts_with("event: "));
    Ok(data.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn policy() -> Result<Policy, Box<dyn Error>> {
    let role = |(name, allow): (&str, &[&str])| {
        RoleConfig::new(name)
            .with_servers(["*"])
            .with_allow(allow.iter().copied())
            .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", ["ls", "cat"]))
    };
    let config = PolicyConfig::new().with_global_deny(["*_drop_*"]);
    Ok(Policy::new(&[READER, ADMIN, NOBODY].into_iter().fold(config, |config, name| config.with_role(role(name))))?)
}
