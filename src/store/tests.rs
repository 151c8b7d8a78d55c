//! What every store does alike.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use super::*;

/// Waits for a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut cx) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

pub(crate) const NOW: u64 = 1_700_000_000;

/// A key by numbers: of a principal, of a conversation. Spread as digests are.
pub(crate) fn key(principal: u64, conversation: impl Into<Option<u64>>) -> TaintKey {
    let bytes = |number: u64| {
        let number = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (u128::from(number) << 64 | u128::from(number)).to_be_bytes()
    };
    TaintKey {
        principal: PrincipalKey::from_bytes(bytes(principal)),
        conversation: conversation.into().map(|number| ConversationKey::from_bytes(bytes(number))),
    }
}

pub(crate) fn read(store: &impl TaintStore, key: TaintKey) -> Taint {
    block_on(store.visit(Visit::read(key, NOW))).unwrap().before
}

pub(crate) fn mark(store: &impl TaintStore, key: TaintKey, facts: Facts) -> Visited {
    block_on(store.visit(Visit::mark(key, facts, Cause::new("tool"), NOW))).unwrap()
}

pub(crate) fn clearance() -> Clearance {
    Clearance::new("ops", "a test").unwrap()
}

/// The table of what every store does. Each row takes an empty store of its own, with room for some hundred keys.
pub(crate) fn behaves<S: TaintStore>(store: impl Fn() -> S) {
    for (name, row) in rows::<S>() {
        println!("{name}");
        row(&store());
    }
}

/// As [`behaves`], of what operators do.
pub(crate) fn behaves_as_registry<S: TaintRegistry>(store: impl Fn() -> S) {
    clearing(&store());
    paging(&store());
}

type Row<S> = (&'static str, fn(&S));

fn rows<S: TaintStore>() -> [Row<S>; 8] {
    [
        ("SK-01 nobody sees what others did", apart),
        ("SK-06 conversations are apart, and read with their principal", conversations),
        ("SK-12 marks are joined and stay", joined),
        ("SK-13 nothing lowers what is known", monotone),
        ("SK-16 the first cause is kept, later ones are counted", causes),
        ("a refused visit marks nothing", refused),
        ("a window counts what was renewed in it", window),
        ("RC-03 of two visits that refuse each other one is refused", linear),
    ]
}

fn apart<S: TaintStore>(store: &S) {
    mark(store, key(1, None), Facts::OUTSIDE);
    mark(store, key(1, 5), Facts::OUTSIDE);
    assert_eq!(read(store, key(2, None)), Taint::default());
    assert_eq!(read(store, key(2, 5)), Taint::default());
}

fn conversations<S: TaintStore>(store: &S) {
    mark(store, key(1, 1), Facts::OUTSIDE);
    assert!(read(store, key(1, 2)).is_clean());
    assert!(read(store, key(1, None)).is_clean());
    mark(store, key(1, None), Facts::PRIVATE);
    assert_eq!(read(store, key(1, 1)).facts, Facts::OUTSIDE | Facts::PRIVATE);
    assert_eq!(read(store, key(1, 2)).facts, Facts::PRIVATE);
    assert_eq!(read(store, key(1, None)).facts, Facts::PRIVATE);
}

fn joined<S: TaintStore>(store: &S) {
    let found = mark(store, key(1, None), Facts::OUTSIDE);
    assert_eq!(found, Visited { before: Taint::default(), refused: None });
    let found = mark(&store.clone(), key(1, None), Facts::PRIVATE);
    assert_eq!((found.before.facts, found.before.coarse), (Facts::OUTSIDE, false));
    assert_eq!(read(store, key(1, None)).facts, Facts::OUTSIDE | Facts::PRIVATE);
}

fn monotone<S: TaintStore>(store: &S) {
    mark(store, key(1, 1), Facts::OUTSIDE);
    let early = Visit { now: 0, ..Visit::mark(key(1, 1), Facts::PRIVATE, Cause::new("early"), 0) };
    for visit in [Visit::read(key(1, 1), 0), early, Visit::read(key(1, 1), u64::MAX)] {
        block_on(store.visit(visit)).unwrap();
        assert!(read(store, key(1, 1)).facts.contains(Facts::OUTSIDE));
    }
    let known = read(store, key(1, 1));
    assert!(known.last >= NOW && known.first == 0, "{known:?}");
}

fn causes<S: TaintStore>(store: &S) {
    for (cause, later) in [("one", 0), ("two", 1), ("three", 2)] {
        block_on(store.visit(Visit::mark(key(1, None), Facts::OUTSIDE, Cause::new(cause), NOW + later))).unwrap();
    }
    let known = read(store, key(1, None));
    assert_eq!((known.cause, known.marks, known.first), (Some(Cause::new("one")), 3, NOW));
}

fn refused<S: TaintStore>(store: &S) {
    let refuse: Box<[Facts]> = [Facts::PRIVATE | Facts::OUTSIDE, Facts::OUTSIDE].into();
    let visit = Visit { refuse, ..Visit::mark(key(1, 1), Facts::PRIVATE, Cause::new("send"), NOW) };
    mark(store, key(1, None), Facts::OUTSIDE);
    let found = block_on(store.visit(visit.clone())).unwrap();
    assert_eq!((found.refused, found.before.facts), (Some(1), Facts::OUTSIDE));
    assert_eq!(read(store, key(1, 1)).facts, Facts::OUTSIDE);
    let found = block_on(store.visit(Visit { key: key(2, 1), ..visit })).unwrap();
    assert_eq!((found.refused, read(store, key(2, 1)).facts), (None, Facts::PRIVATE));
}

fn window<S: TaintStore>(store: &S) {
    let mark = |key, facts, now| block_on(store.visit(Visit::mark(key, facts, Cause::new("tool"), now))).unwrap();
    mark(key(1, None), Facts::OUTSIDE, NOW - 1000);
    mark(key(1, 1), Facts::PRIVATE, NOW);
    let since = |since| block_on(store.visit(Visit { since, ..Visit::read(key(1, 1), NOW) })).unwrap().before.facts;
    assert_eq!(since(NOW - 1000), Facts::OUTSIDE | Facts::PRIVATE);
    assert_eq!(since(NOW - 500), Facts::PRIVATE);
    assert_eq!(since(NOW + 500), Facts::NONE);
    mark(key(1, None), Facts::OUTSIDE, NOW);
    assert_eq!(since(NOW - 500), Facts::OUTSIDE | Facts::PRIVATE);
}

/// Each of two marks what the other refuses: that both pass would be a gap between looking and marking.
fn linear<S: TaintStore>(store: &S) {
    for round in 0..20 {
        let visit = |marks: Facts, refuse: Facts| {
            let (store, refuse) = (store.clone(), [refuse].into());
            let visit = Visit { refuse, ..Visit::mark(key(round, 1), marks, Cause::new("tool"), NOW) };
            thread::spawn(move || block_on(store.visit(visit)).unwrap().refused.is_none())
        };
        let both = [visit(Facts::OUTSIDE, Facts::PRIVATE), visit(Facts::PRIVATE, Facts::OUTSIDE)];
        let passed = both.into_iter().filter_map(|one| one.join().ok()).filter(|passed| *passed).count();
        assert_eq!(passed, 1);
    }
}

fn clearing<S: TaintRegistry>(store: &S) {
    let marked = [(None, Facts::OUTSIDE), (Some(1), Facts::PRIVATE), (Some(2), Facts::PRIVATE)];
    marked.into_iter().for_each(|(conversation, facts)| _ = mark(store, key(1, conversation), facts));
    mark(store, key(2, 1), Facts::OUTSIDE);
    assert_eq!(block_on(store.inspect(key(1, 1))).unwrap().facts, Facts::PRIVATE);
    let known = block_on(store.clear(key(1, 1), clearance())).unwrap();
    assert_eq!((known.facts, known.marks), (Facts::PRIVATE, 1));
    assert_eq!(read(store, key(1, 1)).facts, Facts::OUTSIDE);
    let known = block_on(store.clear(key(1, None), clearance())).unwrap();
    assert_eq!((known.facts, known.marks), (Facts::OUTSIDE | Facts::PRIVATE, 2));
    assert!((0..3).all(|conversation| read(store, key(1, conversation)).is_clean()));
    assert_eq!(read(store, key(2, 1)).facts, Facts::OUTSIDE);
    assert!(block_on(store.clear(key(1, None), clearance())).unwrap().is_clean());
}

/// What was there all the time is on exactly one page, whatever comes and goes.
fn paging<S: TaintRegistry>(store: &S) {
    (0..40).for_each(|n| _ = mark(store, key(n, (n % 2 == 0).then_some(n)), Facts::OUTSIDE));
    let (mut seen, mut after) = (Vec::new(), None);
    for round in 0.. {
        let page = block_on(store.list(after, 7)).unwrap();
        assert!(page.entries.len() <= 7);
        seen.extend(page.entries.into_iter().map(|(key, taint)| (key, taint.facts)));
        mark(store, key(1000 + round, None), Facts::PRIVATE);
        block_on(store.clear(key(1000 + round / 2, None), clearance())).unwrap();
        after = page.next.map(|next| Cursor::new(next.as_str()));
        if after.is_none() {
            break;
        }
    }
    for n in 0..40 {
        let entry = (key(n, (n % 2 == 0).then_some(n)), Facts::OUTSIDE);
        assert_eq!(seen.iter().filter(|other| **other == entry).count(), 1, "{n}");
    }
    assert_eq!(block_on(store.list(Some(Cursor::new("x")), 1)).unwrap_err(), StoreError::NoSuchCursor);
}
