//! What content trust costs on top of the gate, and what its memory does.

use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use http::Response;
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::store::{MemoryTaintStore, PrincipalKey, TaintKey, TaintStore, Visit};
use tower_toolgate::trust::{
    Cause, Classifier, ClassifierConfig, DeclaredServer, Facts, RuleAction, ServerTrust, SessionRules,
};

use super::bodies;
use super::measure::{complete, nanoseconds, undisturbed};
use super::request::{counted, head, policy};
use super::service::Bare;

const SESSIONS: u64 = 1_000_000;
const RUNS: u32 = 64;

pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!(
        "A call of 128 bytes through the gate, and through content trust joined behind it. Times in ns; the aim is 200.\n"
    );
    println!("| call | gate | both | added | allocations added |");
    println!("|---|--:|--:|--:|--:|");
    row("of a trusted server", ServerTrust::Trusted)?;
    row("that marks the session", ServerTrust::Untrusted)?;
    println!();
    memory()
}

pub(crate) fn trust(level: ServerTrust) -> Result<ContentTrustLayer<MemoryTaintStore>, Box<dyn Error>> {
    let server = DeclaredServer::new("everything").with_trust(level);
    let rules = SessionRules::new().with_sinks(["remember", "send_*"], RuleAction::Deny)?;
    let classifier = Classifier::new(&ClassifierConfig::new().with_server(server))?;
    Ok(ContentTrustLayer::new(classifier, MemoryTaintStore::new(100_000)).with_rules(rules))
}

fn row(name: &str, level: ServerTrust) -> Result<(), Box<dyn Error>> {
    let bytes = bodies::call(128);
    let bare = Bare { expected: bytes.len() };
    let gate = ArgumentAllowlistLayer::new(policy()?);
    let mut both = gate.clone().join(trust(level)?).layer(bare);
    let mut gate = gate.layer(bare);
    let head = head()?;
    let request = || head.clone().map(|()| Full::new(bytes.clone()));
    let mut gate = |request| status(complete(gate.call(request)));
    let mut both = |request| status(complete(both.call(request)));
    if (gate(request()), both(request())) != (200, 200) {
        return Err(format!("{name}: refused").into());
    }
    let allocations = counted(request(), &mut both).count_total - counted(request(), &mut gate).count_total;
    let [gate, both] =
        undisturbed([&mut || nanoseconds(RUNS, request, &mut gate), &mut || nanoseconds(RUNS, request, &mut both)]);
    println!("| {name} | {gate:.0} | {both:.0} | {:.0} | {allocations} |", both - gate);
    Ok(())
}

fn status<R>(result: Result<Response<R>, Infallible>) -> u16 {
    result.map_or_else(|never| match never {}, |response| response.status().as_u16())
}

fn key(at: u64) -> TaintKey {
    // Keys are digests: far apart, whatever their order.
    let spread = u128::from(at).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    TaintKey { principal: PrincipalKey::from_bytes(spread.to_be_bytes()), conversation: None }
}

/// A million marked sessions: the aims are 64 MiB and 300 ns.
fn memory() -> Result<(), Box<dyn Error>> {
    let store = MemoryTaintStore::new(SESSIONS as usize);
    let cause = Cause::new("web tool 'web_fetch'");
    let visit = |visit| complete(store.visit(visit));
    let start = Instant::now();
    let held = allocation_counter::measure(|| {
        for at in 0..SESSIONS {
            _ = black_box(visit(Visit::mark(key(at), Facts::OUTSIDE, cause.clone(), 1)));
        }
    });
    let marked = start.elapsed();
    let read = |from: u64| {
        let mut at = from;
        let next = || {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            key(at >> 33)
        };
        let keys: Vec<_> = std::iter::repeat_with(next).take(10_000).collect();
        let start = Instant::now();
        for key in keys {
            _ = black_box(visit(Visit::read(key, 1)));
        }
        start.elapsed().as_nanos() as f64 / 10_000.0
    };
    let known = |from: u64| {
        let start = Instant::now();
        for at in 0..10_000 {
            _ = black_box(visit(Visit::read(key((at * 7_919 + from) % SESSIONS), 1)));
        }
        start.elapsed().as_nanos() as f64 / 10_000.0
    };
    let (mut clean, mut tainted) = (0, 0);
    let [clean, tainted] = undisturbed([
        &mut || {
            clean += 1;
            read(clean)
        },
        &mut || {
            tainted += 1;
            known(tainted)
        },
    ]);
    println!("| a million marked sessions | |\n|---|--:|");
    println!("| memory, at most | {:.1} MiB |", held.bytes_max as f64 / (1024.0 * 1024.0));
    println!("| marking all | {marked:.1?} |");
    println!("| looking up one that is not marked, at random | {clean:.0} ns |");
    println!("| looking up one that is, at random | {tainted:.0} ns |\n");
    Ok(())
}
