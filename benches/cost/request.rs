//! The cost of one request.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::error::Error;

use allocation_counter::AllocationInfo;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use serde::de::IgnoredAny;
use tower_layer::Layer;
use tower_service::Service;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};
use tower_toolgate::{Principal, Role, Server};

use super::bodies::{self, Frames};
use super::by_hand::{ByHand, Rules};
use super::measure::{complete, nanoseconds, undisturbed};
use super::service::Bare;

const KIB: usize = 1 << 10;
const ROLES: [&str; 3] = ["analyst", "operator", "auditor"];
const TOOLS: [&str; 3] = ["run_query", "search_*", "echo"];
const COMMANDS: [&str; 2] = ["ls", "cat"];

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!("One request. Times in ns; the aim is a ratio of 0.25 at 128 B, and of 0.33 from 4 KiB on.\n");
    println!(
        "| body | skip | bare | layer added | by hand added | ratio | layer/skip | allocations: layer | by hand | bytes allocated: layer | by hand |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let whole = |body: &Bytes| Full::new(body.clone());
    row("128 B, a call", &bodies::call(128), whole)?;
    row("4 KiB, rows", &bodies::rows(4 * KIB), whole)?;
    row("64 KiB, rows", &bodies::rows(64 * KIB), whole)?;
    row("64 KiB, rows, frames of 16 KiB", &bodies::rows(64 * KIB), |body| Frames::new(body, 16 * KIB))?;
    row("1 MiB, rows", &bodies::rows(KIB * KIB), whole)?;
    row("1 MiB, one string", &bodies::text(KIB * KIB), whole)?;
    println!();
    Ok(())
}

fn row<B>(name: &str, bytes: &Bytes, body: impl Fn(&Bytes) -> B) -> Result<(), Box<dyn Error>>
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let mut bare = Bare { expected: bytes.len() };
    let mut layered = ArgumentAllowlistLayer::new(policy()?).layer(bare);
    let mut by_hand = ByHand { inner: bare, roles: roles() };
    let request = head()?;
    let request = || request.clone().map(|()| body(bytes));
    let mut skip = |()| skip(bytes);
    let mut bare = |request| status(complete(bare.call(request)));
    let mut layered = |request| status(complete(layered.call(request)));
    let mut by_hand = |request| status(complete(by_hand.call(request)));

    skip(())?;
    let passed = [bare(request()), layered(request()), by_hand(request())];
    if passed != [StatusCode::OK; 3] {
        return Err(format!("{name}: {passed:?}").into());
    }
    let allocations = [counted(request(), &mut layered), counted(request(), &mut by_hand)];
    let runs = if bytes.len() > 4 * KIB { 2 } else { 64 };
    let [skip, bare, layered, by_hand] = undisturbed([
        &mut || nanoseconds(runs, || (), &mut skip),
        &mut || nanoseconds(runs, request, &mut bare),
        &mut || nanoseconds(runs, request, &mut layered),
        &mut || nanoseconds(runs, request, &mut by_hand),
    ]);
    let (layered, by_hand) = (layered - bare, by_hand - bare);
    let (ratio, to_skip) = (layered / by_hand, layered / skip);
    print!("| {name} | {skip:.0} | {bare:.0} | {layered:.0} | {by_hand:.0} | {ratio:.2} | {to_skip:.2} |");
    let [layered, by_hand] = allocations;
    println!(
        " {} | {} | {} | {} |",
        layered.count_total, by_hand.count_total, layered.bytes_total, by_hand.bytes_total
    );
    Ok(())
}

/// The yardstick.
pub(crate) fn skip(bytes: &[u8]) -> Result<IgnoredAny, Box<dyn Error>> {
    Ok(serde_json::from_str(str::from_utf8(bytes)?)?)
}

fn status<R>(result: Result<Response<R>, Infallible>) -> StatusCode {
    result.map_or_else(|never| match never {}, |response| response.status())
}

pub(crate) fn counted<I, O>(input: I, run: impl FnOnce(I) -> O) -> AllocationInfo {
    allocation_counter::measure(|| _ = run(input))
}

/// A request with what clients and an authentication put into its head.
pub(crate) fn head() -> Result<Request<()>, Box<dyn Error>> {
    Ok(Request::post("/mcp/everything")
        .header("host", "gateway.example")
        .header("user-agent", "node")
        .header("authorization", "Bearer 0123456789")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-06-18")
        .header("mcp-session-id", "c0ffee00-0000-4000-8000-000000000000")
        .extension(Role::new("analyst"))
        .extension(Principal::new("api-key", "ana")?)
        .extension(Server::new("everything"))
        .body(())?)
}

pub(crate) fn policy() -> Result<Policy, Box<dyn Error>> {
    let role = |name| {
        RoleConfig::new(name)
            .with_servers(["*"])
            .with_allow(TOOLS)
            .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", COMMANDS))
    };
    let config = PolicyConfig::new().with_global_deny(["*_drop_*"]);
    Ok(Policy::new(&ROLES.into_iter().fold(config, |config, name| config.with_role(role(name))))?)
}

fn roles() -> HashMap<String, Rules> {
    let commands = HashSet::from(COMMANDS.map(str::to_owned));
    let rules =
        Rules { tools: TOOLS.map(str::to_owned).into(), commands: HashMap::from([("run_query".to_owned(), commands)]) };
    ROLES.into_iter().map(|name| (name.to_owned(), rules.clone())).collect()
}
