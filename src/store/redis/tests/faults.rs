//! A server that is gone, stands still, is full or not fit.

use std::net::TcpListener;

use super::*;

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn sd_05_a_server_that_stands_still_is_a_failure_in_time() {
    let Some(server) = Server::start(&[]) else { return };
    let store = block_on(builder(&server).timeout(SHORT).connect_timeout(SHORT).connect()).unwrap();
    eventually("a visit in time", || try_read(&store, key(1, None)).is_ok());
    server.pause();
    for _ in 0..5 {
        assert_eq!(try_read(&store, key(1, None)).unwrap_err(), StoreError::TimedOut);
    }
    assert_eq!(try_mark(&store, key(1, 1), Facts::OUTSIDE).unwrap_err(), StoreError::TimedOut);
    assert_eq!(block_on(builder(&server).connect_timeout(SHORT).connect()).unwrap_err(), StoreError::TimedOut);
    server.resume();
    eventually("it answers again", || try_read(&store, key(1, None)).is_ok());
    eventually("what timed out is marked", || try_read(&store, key(1, 1)).is_ok_and(|taint| !taint.is_clean()));
    assert_eq!(read(&connect(&server), key(1, 1)).facts, Facts::OUTSIDE);
}

#[test]
fn sd_05_sd_07_a_server_that_is_gone_is_a_failure_of_everything() {
    let Some(mut server) = Server::start(&[]) else { return };
    let store = block_on(builder(&server).timeout(Duration::from_secs(2)).connect()).unwrap();
    mark(&store, key(1, None), Facts::OUTSIDE);
    server.kill();
    let failed = |error| matches!(error, StoreError::Unavailable | StoreError::TimedOut);
    assert!(failed(try_read(&store, key(1, None)).unwrap_err()));
    assert!(failed(try_mark(&store, key(1, None), Facts::OUTSIDE).unwrap_err()));
    assert!(failed(block_on(store.inspect(key(1, None))).unwrap_err()));
    assert!(failed(block_on(store.list(None, 1)).unwrap_err()));
    assert!(failed(block_on(store.clear(key(1, None), clearance())).unwrap_err()));
    assert_eq!(block_on(builder(&server).connect()).unwrap_err(), StoreError::Unavailable);
    server.restart();
    eventually("it is there again", || try_read(&store, key(1, None)).is_ok());
    assert_eq!(read(&store, key(1, None)).facts, Facts::OUTSIDE);
}

#[test]
fn sd_09_what_was_marked_while_nothing_worked_is_told_without_being_asked() {
    let Some(mut server) = Server::start(&[]) else { return };
    let store = block_on(builder(&server).timeout(Duration::from_secs(2)).connect()).unwrap();
    server.kill();
    (0..5).for_each(|n| _ = try_mark(&store, key(n, 1), Facts::OUTSIDE).unwrap_err());
    server.restart();
    let other = connect(&server);
    eventually("it is told", || (0..5).all(|n| read(&other, key(n, 1)).facts == Facts::OUTSIDE));
    eventually("it is settled", || store.0.session.cache.visits(true).is_empty());
}

#[test]
fn rd_03_a_server_that_evicts_is_not_fit() {
    let evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(server) = Server::start(&evicting) else { return };
    let unfit = StoreError::Unfit("`maxmemory-policy` is not `noeviction`");
    for acknowledged in [false, true] {
        let error = block_on(builder(&server).acknowledge_no_eviction(acknowledged).connect()).unwrap_err();
        assert_eq!(error, unfit);
    }
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let store = connect(&server);
    mark(&store, key(1, None), Facts::OUTSIDE);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
    store.0.session.link.suspect();
    eventually("it is found", || try_read(&store, key(1, None)) == Err(unfit.clone()));
    assert_eq!(try_mark(&store, key(1, None), Facts::OUTSIDE), Err(unfit.clone()));
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    eventually("it is fit again", || try_read(&store, key(1, None)).is_ok());
}

#[test]
fn rd_03_a_server_that_does_not_say_must_be_acknowledged() {
    let Some(server) = Server::start(&[]) else { return };
    server.command(&["ACL", "SETUSER", "gate", "on", ">pw", "~*", "+@all", "-info", "-config"]);
    let gate = || RedisTaintStore::builder(&format!("redis://gate:pw@127.0.0.1:{}", server.port)).timeout(PATIENT);
    assert!(matches!(block_on(gate().connect()).unwrap_err(), StoreError::Unfit(why) if why.contains("acknowledged")));
    let store = block_on(gate().acknowledge_no_eviction(true).connect()).unwrap();
    mark(&store, key(1, None), Facts::OUTSIDE);
    assert_eq!(read(&store, key(1, None)).facts, Facts::OUTSIDE);
}

#[test]
fn rd_04_a_primary_that_becomes_a_replica_is_not_read() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    mark(&store, key(1, None), Facts::OUTSIDE);
    let unfit = StoreError::Unfit("it is a replica");
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(try_read(&store, key(1, None)), Err(unfit.clone()));
    assert_eq!(try_mark(&store, key(2, None), Facts::OUTSIDE), Err(unfit.clone()));
    server.command(&["REPLICAOF", "NO", "ONE"]);
    eventually("it is a primary again", || try_read(&store, key(2, None)).is_ok_and(|taint| !taint.is_clean()));
}

#[test]
fn rd_03_a_full_server_takes_no_marks_but_is_read() {
    let Some(server) = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "noeviction"]) else { return };
    let store = connect(&server);
    mark(&store, key(1, None), Facts::OUTSIDE);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(try_mark(&store, key(2, None), Facts::OUTSIDE), Err(StoreError::Unavailable));
    assert_eq!(try_read(&store, key(1, None)).unwrap().facts, Facts::OUTSIDE);
    assert!(try_read(&store, key(3, None)).unwrap().is_clean());
    // What the mark left behind is known here, and not written beyond what the server has room for.
    assert_eq!(try_read(&store, key(2, None)).unwrap().facts, Facts::OUTSIDE);
    assert_eq!(server.keys().len(), 1);
    block_on(store.clear(key(1, None), clearance())).unwrap_err();
    server.command(&["CONFIG", "SET", "maxmemory", "100mb"]);
    assert_eq!(read(&store, key(2, None)).facts, Facts::OUTSIDE);
}

#[test]
fn an_address_that_is_none_and_a_server_that_says_nothing_are_failures() {
    let connect = |url: &str| block_on(RedisTaintStore::builder(url).connect_timeout(SHORT).connect()).unwrap_err();
    assert!(matches!(connect("localhost"), StoreError::Unfit(_)));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://127.0.0.1:{}", silent.local_addr().unwrap().port());
    assert_eq!(connect(&url), StoreError::TimedOut);
    drop(silent);
    assert_eq!(connect(&url), StoreError::Unavailable);
}
