//! With a real server, which each test starts for itself.

mod faults;
mod process;
mod sharing;

use std::thread;
use std::time::{Duration, Instant};

use self::process::{Server, block_on};
use super::*;
use crate::store::tests::{NOW, behaves, behaves_as_registry, clearance, key, mark, read};
use crate::trust::{Cause, Facts};

/// Slow machines are no failure here.
const PATIENT: Duration = Duration::from_secs(20);

fn builder(server: &Server) -> RedisBuilder {
    RedisTaintStore::builder(&server.url()).timeout(PATIENT).connect_timeout(PATIENT)
}

fn connect(server: &Server) -> RedisTaintStore {
    block_on(builder(server).connect()).unwrap()
}

fn try_mark(store: &RedisTaintStore, key: TaintKey, facts: Facts) -> Result<Visited, StoreError> {
    block_on(store.visit(Visit::mark(key, facts, Cause::new("tool"), NOW)))
}

fn try_read(store: &RedisTaintStore, key: TaintKey) -> Result<Taint, StoreError> {
    block_on(store.visit(Visit::read(key, NOW))).map(|visited| visited.before)
}

/// Until something is true, or for as long as nobody waits.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENT, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sk_12_sk_13_sk_16_it_does_what_every_store_does() {
    let Some(server) = Server::start(&[]) else { return };
    let count = std::cell::Cell::new(0);
    let open = || {
        count.set(count.get() + 1);
        block_on(builder(&server).prefix(&format!("store[{}]*", count.get())).connect()).unwrap()
    };
    behaves(open);
    behaves_as_registry(open);
}

#[test]
fn rd_01_a_visit_is_one_command_also_after_the_scripts_were_lost() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    server.command(&["CONFIG", "RESETSTAT"]);
    (0..10).for_each(|n| _ = mark(&store, key(1, n % 2), Facts::OUTSIDE));
    (0..10).for_each(|n| _ = read(&store, key(n, 1)));
    assert_eq!((server.calls("evalsha"), server.calls("eval")), (20, 0));
    for other in ["get", "set", "script|load", "multi", "ping", "wait"] {
        assert_eq!(server.calls(other), 0, "{other}");
    }
    server.command(&["SCRIPT", "FLUSH"]);
    (0..2).for_each(|_| _ = mark(&store, key(1, None), Facts::PRIVATE));
    assert_eq!((server.calls("evalsha"), server.calls("eval")), (22, 1));
    assert_eq!(read(&store, key(1, None)).facts, Facts::PRIVATE);
}

#[test]
fn rd_01_what_is_known_of_a_principal_is_in_one_slot() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    [None, Some(1), Some(2)].into_iter().for_each(|one| _ = mark(&store, key(1, one), Facts::OUTSIDE));
    let name = format!("toolgate:1:{{{}}}", key(1, None).principal);
    assert_eq!(server.keys(), [name]);
}

#[test]
fn rd_02_expiry_only_grows() {
    let Some(server) = Server::start(&[]) else { return };
    let forever = connect(&server);
    mark(&forever, key(1, None), Facts::OUTSIDE);
    assert!(forever.retention().is_none());
    let with = |seconds| block_on(builder(&server).retention(Duration::from_secs(seconds)).connect()).unwrap();
    let (long, short) = (with(5000), with(100));
    assert_eq!(long.retention(), Some(Duration::from_secs(5000)));
    let ttl = |key: TaintKey| server.number(&["TTL", &format!("toolgate:1:{{{}}}", key.principal)]);
    [&long, &short].into_iter().for_each(|store| _ = mark(store, key(1, None), Facts::PRIVATE));
    assert_eq!(ttl(key(1, None)), -1);
    mark(&short, key(2, 1), Facts::OUTSIDE);
    assert!((1..=100).contains(&ttl(key(2, None))));
    read(&long, key(2, 2));
    assert!(ttl(key(2, None)) > 4000);
    mark(&short, key(2, 1), Facts::OUTSIDE);
    assert!(ttl(key(2, None)) > 4000);
    block_on(long.clear(key(2, None), clearance())).unwrap();
    assert!(ttl(key(2, None)) > 4000);
}

#[test]
fn rd_07_sd_08_what_cannot_be_read_is_assumed_and_not_overwritten() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    let name = |n| format!("toolgate:1:{{{}}}", key(n, None).principal);
    let conversation = key(0, 7).conversation.unwrap().to_string();
    for (n, value) in ["2 0 0 0 0 0 0 -", "1 0", "", "\u{fffd}", "1 1 1 1 1 1 1 x"].into_iter().enumerate() {
        let n = n as u64;
        server.command(&["HSET", &name(n), "p", value]);
        assert_eq!(read(&store, key(n, None)), Taint::assumed(), "{value}");
        assert!(read(&store, key(n, 1)).facts.contains(Facts::ALL));
        let visit = Visit::mark(key(n, None), Facts::OUTSIDE, Cause::new("tool"), NOW);
        let found = block_on(store.visit(Visit { refuse: [Facts::PRIVATE].into(), ..visit.clone() })).unwrap();
        assert_eq!(found.refused, Some(0));
        block_on(store.visit(visit)).unwrap();
        assert_eq!(server.text(&["HGET", &name(n), "p"]), value);
    }
    server.command(&["SET", &name(10), "x"]);
    server.command(&["HSET", &name(11), &conversation, "x"]);
    assert_eq!(try_mark(&store, key(10, None), Facts::OUTSIDE).unwrap().before, Taint::assumed());
    assert_eq!(read(&store, key(11, 7)), Taint::assumed());
    assert!(read(&store, key(11, 8)).is_clean() && read(&store, key(11, None)).is_clean());
    let page = block_on(store.list(None, 100)).unwrap();
    assert_eq!((page.entries.len(), page.entries.iter().all(|(_, taint)| *taint == Taint::assumed())), (7, true));
    for key in [key(10, None), key(11, 7), key(0, None)] {
        assert_eq!(block_on(store.inspect(key)).unwrap(), Taint::assumed());
        assert_eq!(block_on(store.clear(key, clearance())).unwrap(), Taint::assumed());
        assert!(read(&store, key).is_clean());
    }
}

#[test]
fn rd_08_times_are_those_of_the_caller() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    for now in [7, 3, u64::MAX] {
        block_on(store.visit(Visit::mark(key(1, None), Facts::OUTSIDE, Cause::new("tool"), now))).unwrap();
    }
    let known = read(&store, key(1, None));
    assert_eq!((known.first, known.last, known.marks), (3, (1 << 53) - 1, 3));
    assert!(
        !block_on(store.visit(Visit { since: u64::MAX, ..Visit::read(key(1, None), 0) })).unwrap().before.is_clean()
    );
}

#[test]
fn sk_20_too_many_conversations_count_for_the_principal() {
    let Some(server) = Server::start(&[]) else { return };
    let capacity = crate::store::TaintCapacity::new(1000).with_conversations(10);
    let store = block_on(builder(&server).capacity(capacity).connect()).unwrap();
    (0..100).for_each(|n| _ = mark(&store, key(1, n), Facts::OUTSIDE));
    let known = read(&store, key(1, 1000));
    assert_eq!((known.facts, known.coarse, store.coarsenings() > 80), (Facts::OUTSIDE, true, true));
    assert!(server.number(&["HLEN", &server.keys()[0]]) <= 12);
    assert!(read(&store, key(2, 1)).is_clean());
}

#[test]
fn a_clearing_is_in_the_audit() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    mark(&store, key(1, 1), Facts::OUTSIDE);
    block_on(store.clear(key(1, 1), Clearance::new("alice", "a false alarm").unwrap())).unwrap();
    let audit = format!("{:?}", server.command(&["XRANGE", "toolgate:1:audit", "-", "+"]));
    for word in ["alice", "a false alarm", &key(1, 1).principal.to_string()] {
        assert!(audit.contains(word), "{audit}");
    }
}

#[test]
fn a_visit_that_is_dropped_is_made_nevertheless() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    drop(store.visit(Visit::mark(key(1, None), Facts::OUTSIDE, Cause::new("tool"), NOW)));
    eventually("it is marked", || !read(&store, key(1, None)).is_clean());
}

#[test]
fn a_password_is_needed_and_not_shown() {
    let Some(server) = Server::start(&["--requirepass", "secret"]) else { return };
    let with = |password: &str| RedisTaintStore::builder(&format!("redis://:{password}@127.0.0.1:{}", server.port));
    let unknown = StoreError::Rejected("it does not know this user or password");
    assert_eq!(block_on(with("wrong").connect()).unwrap_err(), unknown);
    let somebody = format!("redis://somebody:secret@127.0.0.1:{}", server.port);
    for url in [somebody.clone(), format!("{somebody}/?protocol=resp3")] {
        let error = block_on(RedisTaintStore::builder(&url).connect()).unwrap_err();
        assert_eq!(error, unknown, "{url}");
        let text = error.to_string();
        assert!(text.contains("user or password") && !text.contains("reached") && !text.contains("secret"), "{text}");
    }
    let error = block_on(builder(&server).connect()).unwrap_err();
    assert_eq!(error, StoreError::Rejected("it wants a password"));
    let store = block_on(with("secret").timeout(PATIENT).connect()).unwrap();
    mark(&store, key(1, None), Facts::OUTSIDE);
    assert!(!format!("{:?} {store:?}", with("secret")).contains("secret"));
}

#[test]
fn a_database_that_is_none_is_told() {
    let Some(server) = Server::start(&["--databases", "2"]) else { return };
    let with = |database: &str| {
        let url = format!("{}/{database}", server.url());
        block_on(RedisTaintStore::builder(&url).timeout(PATIENT).connect_timeout(PATIENT).connect())
    };
    mark(&with("1").unwrap(), key(1, None), Facts::OUTSIDE);
    let error = with("2").unwrap_err();
    assert_eq!(error, StoreError::Rejected("it has no such database"));
    assert_eq!(error.to_string(), "the store refuses the connection: it has no such database");
}

#[test]
fn persistence_is_what_the_server_says() {
    for (arguments, forgets) in [(&["--appendonly", "yes"][..], false), (&["--save", "3600 1"], false), (&[], true)] {
        let Some(server) = Server::start(arguments) else { return };
        assert_eq!(connect(&server).forgets_at_restart(), forgets, "{arguments:?}");
    }
    let Some(server) = Server::start(&["--rename-command", "CONFIG", ""]) else { return };
    assert!(connect(&server).forgets_at_restart());
    assert!(!block_on(builder(&server).assume_persistent(true).connect()).unwrap().forgets_at_restart());
}
