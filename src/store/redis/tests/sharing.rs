//! Several gateways with one server, which may lose what it was told.

use super::*;

#[test]
fn rd_09_two_gateways_mark_at_once_and_both_marks_count() {
    let Some(server) = Server::start(&[]) else { return };
    let stores = [connect(&server), connect(&server)];
    let marking = |(n, store): (u64, RedisTaintStore)| {
        thread::spawn(move || {
            for _ in 0..50 {
                let (facts, cause) = (Facts::step(n as u8).unwrap(), Cause::new(&n.to_string()));
                block_on(store.visit(Visit::mark(key(1, 1), facts, cause, NOW + n))).unwrap();
            }
        })
    };
    let threads: Vec<_> = (0..).zip(stores.iter().cloned()).map(marking).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for store in &stores {
        let known = read(store, key(1, 1));
        assert_eq!(known.facts, Facts::step(0).unwrap() | Facts::step(1).unwrap());
        assert_eq!((known.marks, known.cause), (100, Some(Cause::new("0"))));
    }
}

#[test]
fn rc_03_of_two_gateways_that_refuse_each_other_one_is_refused() {
    let Some(server) = Server::start(&[]) else { return };
    let stores = [connect(&server), connect(&server)];
    for round in 0..50 {
        let all = [(Facts::OUTSIDE, Facts::PRIVATE), (Facts::PRIVATE, Facts::OUTSIDE)];
        let visits: Vec<_> = (stores.iter().zip(all))
            .map(|(store, (marks, refuse))| {
                let visit = Visit::mark(key(round, 1), marks, Cause::new("tool"), NOW);
                store.visit(Visit { refuse: [refuse].into(), ..visit })
            })
            .collect();
        let passed = visits.into_iter().map(|visit| block_on(visit).unwrap());
        assert_eq!(passed.filter(|visited| visited.refused.is_none()).count(), 1);
    }
}

#[test]
fn rd_06_what_was_clean_is_asked_again_and_a_clearing_is_for_all_gateways() {
    let Some(server) = Server::start(&[]) else { return };
    let (one, two) = (connect(&server), connect(&server));
    for (marked, cleared) in [(key(1, None), key(1, None)), (key(1, 1), key(1, 1)), (key(1, 1), key(1, None))] {
        assert!(read(&two, marked).is_clean());
        mark(&one, marked, Facts::OUTSIDE);
        assert_eq!(read(&two, marked).facts, Facts::OUTSIDE);
        assert_eq!(block_on(one.clear(cleared, clearance())).unwrap().facts, Facts::OUTSIDE);
        for store in [&two, &one, &connect(&server)] {
            assert!(read(store, marked).is_clean());
        }
    }
    mark(&two, key(1, 1), Facts::PRIVATE);
    assert_eq!(read(&one, key(1, 1)).facts, Facts::PRIVATE);
}

#[test]
fn rd_05_rd_06_a_server_that_was_restarted_empty_knows_it_again() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (one, two) = (connect(&server), connect(&server));
    mark(&one, key(1, None), Facts::OUTSIDE);
    mark(&one, key(1, 1), Facts::PRIVATE);
    mark(&one, key(2, 1), Facts::OUTSIDE);
    block_on(one.clear(key(2, None), clearance())).unwrap();
    server.restart();
    // A refusal in the very visit that tells it again.
    let visit = Visit::mark(key(1, 1), Facts::step(3).unwrap(), Cause::new("send"), NOW);
    let found = block_on(one.visit(Visit { refuse: [Facts::PRIVATE].into(), ..visit })).unwrap();
    assert_eq!((found.refused, found.before.facts), (Some(0), Facts::OUTSIDE | Facts::PRIVATE));
    let known = read(&two, key(1, 1));
    assert_eq!((known.facts, known.marks), (Facts::OUTSIDE | Facts::PRIVATE, 2));
    assert!(read(&one, key(2, 1)).is_clean());
}

#[test]
fn rd_05_what_was_lost_is_told_again_before_anybody_asks() {
    let Some(mut server) = Server::start(&[]) else { return };
    let one = connect(&server);
    (0..50).for_each(|n| _ = mark(&one, key(n, 1), Facts::OUTSIDE));
    server.restart();
    one.0.session.link.suspect();
    let two = connect(&server);
    eventually("all is told again", || (0..50).all(|n| !read(&two, key(n, 1)).is_clean()));
}

#[test]
fn rd_05_what_is_lost_without_a_restart_is_told_again() {
    let Some(server) = Server::start(&[]) else { return };
    let store = connect(&server);
    mark(&store, key(1, 1), Facts::OUTSIDE);
    server.command(&["FLUSHALL"]);
    assert_eq!(read(&store, key(1, 1)).facts, Facts::OUTSIDE);
    assert_eq!(read(&connect(&server), key(1, 1)).facts, Facts::OUTSIDE);
}

#[test]
fn rd_05_a_clearing_stays_after_the_server_has_lost_it() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (one, two) = (connect(&server), connect(&server));
    mark(&one, key(1, 1), Facts::OUTSIDE);
    block_on(two.clear(key(1, None), clearance())).unwrap();
    assert!(read(&one, key(1, 1)).is_clean());
    server.restart();
    assert!(read(&one, key(1, 1)).is_clean() && read(&two, key(1, 1)).is_clean());
    // What was marked between a loss and a clearing is void for gateways that know the epoch from before.
    mark(&one, key(1, 1), Facts::OUTSIDE);
    block_on(two.clear(key(1, None), clearance())).unwrap();
    assert!(read(&one, key(1, 1)).is_clean());
}

#[test]
fn sk_18_a_server_with_a_file_knows_it_after_a_crash() {
    let Some(mut server) = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]) else { return };
    mark(&connect(&server), key(1, 1), Facts::OUTSIDE);
    server.restart();
    assert_eq!(read(&connect(&server), key(1, 1)).facts, Facts::OUTSIDE);
}

#[test]
fn rd_05_a_mark_fails_unless_enough_replicas_have_it() {
    let Some(primary) = Server::start(&[]) else { return };
    let waiting = || builder(&primary).wait_replicas(1, Duration::from_millis(300)).connect();
    let store = block_on(waiting()).unwrap();
    assert_eq!(try_mark(&store, key(1, None), Facts::OUTSIDE).unwrap_err(), StoreError::Unavailable);
    assert_eq!(read(&store, key(1, None)).facts, Facts::OUTSIDE);
    let port = primary.port.to_string();
    let Some(replica) = Server::start(&["--replicaof", &format!("127.0.0.1 {port}")]) else { return };
    eventually("a replica has it", || try_mark(&store, key(1, None), Facts::PRIVATE).is_ok());
    assert_eq!(block_on(builder(&replica).connect()).unwrap_err(), StoreError::Unfit("it is a replica"));
    drop(primary);
    replica.command(&["REPLICAOF", "NO", "ONE"]);
    assert!(read(&connect(&replica), key(1, None)).facts.contains(Facts::PRIVATE));
}
