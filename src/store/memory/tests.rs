use std::collections::HashMap;

use allocation_counter::measure;
use proptest::prelude::*;

use super::*;
use crate::store::tests::{NOW, behaves, behaves_as_registry, block_on, clearance, key, mark, read};
use crate::trust::Cause;

const BOTH: Facts = Facts::from_bits(3);

#[test]
fn sk_12_sk_13_sk_16_it_does_what_every_store_does() {
    behaves(|| MemoryTaintStore::new(1000));
    behaves_as_registry(|| MemoryTaintStore::new(1000));
    let store = MemoryTaintStore::new(1);
    assert!(store.forgets_at_restart() && store.retention().is_none());
}

/// Marks of some principals and conversations.
fn marks() -> impl Strategy<Value = Vec<(u64, Option<u64>, u8)>> {
    proptest::collection::vec((0..12_u64, proptest::option::weighted(0.8, 0..20_u64), 0..16_u8), 0..300)
}

proptest! {
    #[test]
    fn sk_19_sk_20_what_was_marked_once_is_known_ever_after(keys in 0..40_usize, conversations in 1..8_usize, marks in marks()) {
        let store = MemoryTaintStore::new(TaintCapacity::new(keys).with_conversations(conversations));
        let mut told: HashMap<TaintKey, Facts> = HashMap::new();
        for (principal, conversation, bit) in marks {
            let (key, facts) = (key(principal, conversation), Facts::from_bits(1 << bit));
            mark(&store, key, facts);
            *told.entry(key).or_default() |= facts;
            for (key, facts) in &told {
                prop_assert!(read(&store, *key).facts.contains(*facts));
            }
            prop_assert!(store.0.used() <= keys);
            prop_assert_eq!(store.0.used(), store.0.after(None, usize::MAX).len());
        }
        let coarse = told.keys().any(|key| read(&store, *key).coarse);
        prop_assert_eq!(coarse, store.coarsenings() > 0);
    }

    #[test]
    fn sk_22_a_flood_of_one_leaves_others_exact(flood in 0..600_u64, before in 0..15_u64, facts in 1..4_u16) {
        let store = MemoryTaintStore::new(256);
        (0..before).for_each(|n| _ = mark(&store, key(2, n), Facts::OUTSIDE));
        let known: Vec<_> = (0..before).map(|n| read(&store, key(2, n))).collect();
        (0..flood).for_each(|n| _ = mark(&store, key(1, n), Facts::from_bits(facts)));
        prop_assert!((0..before).map(|n| read(&store, key(2, n))).eq(known));
        mark(&store, key(2, 100), Facts::PRIVATE);
        prop_assert_eq!((read(&store, key(2, 100)).facts, read(&store, key(2, 100)).coarse), (Facts::PRIVATE, false));
        prop_assert!(read(&store, key(2, 101)).is_clean() && read(&store, key(3, None)).is_clean());
    }
}

#[test]
fn sk_21_a_principal_with_too_many_conversations_is_merged_and_counted() {
    let store = MemoryTaintStore::new(TaintCapacity::new(100).with_conversations(2));
    mark(&store, key(1, 1), Facts::OUTSIDE);
    mark(&store, key(1, 2), Facts::PRIVATE);
    assert_eq!((store.coarsenings(), read(&store, key(1, 3)).is_clean()), (0, true));
    mark(&store, key(1, 3), Facts::PRIVATE);
    assert_eq!((store.coarsenings(), store.0.used()), (1, 1));
    let known = read(&store, key(1, 99));
    assert_eq!((known.facts, known.coarse, known.marks), (BOTH, true, 3));
    assert_eq!(known.cause, Some(Cause::new("tool")));
    mark(&store, key(1, 4), Facts::PRIVATE);
    assert_eq!((store.coarsenings(), store.0.used()), (1, 1));
    // No window passes what was merged: nobody knows any more when which part of it was.
    let visit = Visit { since: NOW * 2, ..Visit::read(key(1, 1), NOW * 2) };
    assert_eq!(block_on(store.visit(visit)).unwrap().before.facts, BOTH);
}

#[test]
fn sk_20_sk_21_for_whom_there_is_no_room_too_much_is_known() {
    let store = MemoryTaintStore::new(TaintCapacity::new(4).with_conversations(3));
    (0..4).for_each(|n| _ = mark(&store, key(n, 1), Facts::OUTSIDE));
    mark(&store, key(9, 1), Facts::PRIVATE);
    assert_eq!((store.coarsenings(), store.0.used()), (1, 4));
    let known = read(&store, key(9, 2));
    assert_eq!((known.facts, known.coarse, known.cause), (Facts::PRIVATE, true, None));
    assert!((0..4).all(|n| !read(&store, key(n, 1)).coarse));
    // Whoever has a row is merged into it.
    mark(&store, key(0, 2), Facts::PRIVATE);
    assert_eq!((read(&store, key(0, 3)).facts, store.0.used()), (BOTH, 4));
    // The filter cannot forget, and says so.
    let known = block_on(store.clear(key(9, None), clearance())).unwrap();
    assert_eq!((known.facts, known.coarse), (Facts::PRIVATE, true));
    assert!(read(&store, key(9, None)).coarse);
    assert!(block_on(store.inspect(key(9, None))).unwrap().coarse);
    // Room that was made is used.
    assert_eq!(block_on(store.clear(key(1, None), clearance())).unwrap().facts, Facts::OUTSIDE);
    mark(&store, key(8, 1), Facts::OUTSIDE);
    assert!(read(&store, key(8, 2)).is_clean());
}

#[test]
fn a_time_that_is_too_late_is_not_the_end_of_a_mark() {
    let store = MemoryTaintStore::new(4);
    block_on(store.visit(Visit::mark(key(1, None), Facts::OUTSIDE, Cause::new("tool"), u64::MAX))).unwrap();
    let late = Visit { since: u64::MAX - 1, ..Visit::read(key(1, None), u64::MAX) };
    assert!(!block_on(store.visit(late)).unwrap().before.is_clean());
}

/// What so many keys take at once, some of them for whom there is no room.
fn bytes(keys: u64, principals: u64) -> u64 {
    let info = measure(|| {
        let store = MemoryTaintStore::new(usize::try_from(keys).unwrap());
        let key = |n| if principals < keys { key(n % principals, n) } else { key(n, None) };
        let mark = |n| store.visit(Visit::mark(key(n), Facts::OUTSIDE, Cause::new("tool"), NOW)).into_inner();
        assert!((0..keys).all(|n| mark(n).is_ok()));
        assert_eq!((store.0.used() as u64, store.coarsenings()), (keys, 0));
        assert!((keys..keys + keys / 10).all(|n| mark(n).is_ok()));
        assert!(store.0.used() as u64 <= keys && store.coarsenings() > 0);
    });
    println!("{keys} keys of {principals}: {} bytes at once", info.bytes_max);
    info.bytes_max
}

#[test]
fn sk_20_a_million_marked_keys_take_64_mib_at_most() {
    // A tenth of each; the benchmark has the million.
    for principals in [100_000, 50_000, 1_000, 20] {
        assert!(bytes(100_000, principals) <= (64 << 20) / 10);
    }
}

#[test]
fn sk_20_ten_times_the_keys_take_no_more() {
    let bytes = |times: u64| {
        let info = measure(|| {
            let store = MemoryTaintStore::new(10_000);
            let mark = |n| store.visit(Visit::mark(key(n, n), Facts::OUTSIDE, Cause::new("tool"), NOW)).into_inner();
            assert!((0..times * 10_000).all(|n| mark(n).is_ok()));
            assert_eq!(store.0.used(), 10_000);
        });
        info.bytes_max
    };
    let (once, ten_times) = (bytes(1), bytes(10));
    assert!(ten_times < once + once / 100, "{once} {ten_times}");
}
