//! What holding a server to its entry costs.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower_layer::Layer;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::{McpTransport, McpTrustLevel, Root, ServerEntry};

use super::answers;
use super::measure::{nanoseconds, undisturbed};
use super::provenance::{answer, bodies_of, request, text, texts};
use super::request::{counted, head, policy, skip};
use super::service::Answers;

const MIB: usize = 1 << 20;
const SMALL: u32 = 64;
const LARGE: u32 = 2;

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!("The gate alone, and joined behind what is declared of a server. Times in µs.\n");
    println!("| answer | entry | skip | gate | both | added | added/skip | allocations added |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    let (list, image) = (answers::tools(1000), answers::image(10 * MIB));
    let prose = bodies_of(&texts(MIB)[0].1);
    let lists = list_request()?;
    let calls = request("2025-06-18")?;
    for (name, entry) in [("permits all", permissive()?), ("untrusted", untrusted()?)] {
        let row = |answer, body: &Bytes, runs, ask: &dyn Fn() -> Request<Full<Bytes>>| {
            row(answer, name, &entry, body, runs, ask)
        };
        row("a result of 128 bytes", &text(128), SMALL, &calls)?;
        row("1 MiB of prose", &prose, LARGE, &calls)?;
        row("an image of 10 MiB", &image, LARGE, &calls)?;
        row("a list of 1,000 tools", &list, LARGE, &lists)?;
    }
    println!();
    Ok(())
}

fn entry() -> Result<ServerEntry, Box<dyn Error>> {
    let transport = McpTransport::http("http://127.0.0.1:3001/mcp")?;
    Ok(ServerEntry::new("everything", transport, Duration::from_secs(30)))
}

/// Its answers need not be read but for lists.
fn permissive() -> Result<ServerEntry, Box<dyn Error>> {
    let entry = entry()?.with_trust_level(McpTrustLevel::Trusted).with_roots([Root::new("file:///srv")]);
    Ok(entry.with_elicitation_enabled(true).with_media_passthrough(true))
}

fn untrusted() -> Result<ServerEntry, Box<dyn Error>> {
    let half = (0..1000).map(answers::tool_name).filter(|name| name.len().is_multiple_of(2));
    Ok(entry()?.with_tool_allowlist(half.chain(["run_query".to_owned()])))
}

fn list_request() -> Result<impl Fn() -> Request<Full<Bytes>>, Box<dyn Error>> {
    let head = head()?;
    let body = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    Ok(move || head.clone().map(|()| Full::new(body.clone())))
}

fn row(
    answer_name: &str,
    entry_name: &str,
    entry: &ServerEntry,
    body: &Bytes,
    runs: u32,
    request: &dyn Fn() -> Request<Full<Bytes>>,
) -> Result<(), Box<dyn Error>> {
    let answers = Answers { media: "application/json", body: body.clone(), frame: usize::MAX };
    let gate = ArgumentAllowlistLayer::new(policy()?);
    let mut both = answer(ServerTrustLayer::new(entry)?.join(gate.clone()).layer(answers.clone()));
    let mut gate = answer(gate.layer(answers));
    if both(request()) > gate(request()) {
        return Err(format!("{answer_name}, {entry_name}: refused").into());
    }
    let allocations = counted(request(), &mut both).count_total - counted(request(), &mut gate).count_total;
    let [skip, gate, both] = undisturbed([
        &mut || nanoseconds(runs, || (), |()| skip(body).is_ok()),
        &mut || nanoseconds(runs, request, &mut gate),
        &mut || nanoseconds(runs, request, &mut both),
    ])
    .map(|time| time / 1e3);
    let added = both - gate;
    println!(
        "| {answer_name} | {entry_name} | {skip:.1} | {gate:.1} | {both:.1} | {added:.1} | {:.2} | {allocations} |",
        added / skip
    );
    Ok(())
}
