use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Waker;

use proptest::prelude::*;

use super::*;
use crate::store::tests::{NOW, behaves, behaves_as_registry, block_on, clearance, key, mark, read};
use crate::trust::{Cause, Facts};

/// A folder that is removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("toolgate-store-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("taint")
    }

    fn open(&self) -> Result<FileTaintStore, OpenError> {
        FileTaintStore::open(self.file(), 1000)
    }

    /// What is there, by name.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A journal whose writes can fail, before or behind what they write, and are counted.
struct Flaky {
    journal: Journal,
    faults: Arc<Faults>,
}

#[derive(Debug, Default)]
struct Faults {
    torn: AtomicBool,
    all: AtomicBool,
    replacing: AtomicBool,
    appended: AtomicUsize,
    replaced: AtomicUsize,
    /// Whoever holds it holds all writes.
    gate: Mutex<()>,
}

impl Disk for Flaky {
    fn append(&mut self, records: &[u8]) -> io::Result<()> {
        drop(self.faults.gate.lock().unwrap());
        self.faults.appended.fetch_add(1, SeqCst);
        if self.faults.torn.load(SeqCst) {
            self.journal.tear(records);
        }
        if self.faults.torn.load(SeqCst) || self.faults.all.load(SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.journal.append(records)
    }

    fn replace(&mut self, table: &Table) -> io::Result<()> {
        self.faults.replaced.fetch_add(1, SeqCst);
        if self.faults.all.load(SeqCst) || self.faults.replacing.load(SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.journal.replace(table)
    }

    fn length(&self) -> u64 {
        self.journal.length()
    }
}

const EAGER: Pace = Pace { factor: 2, floor: 512, pause: Duration::ZERO };
const PATIENT: Pace = Pace { factor: 2, floor: 1 << 30, pause: Duration::ZERO };

fn flaky(folder: &Folder, pace: Pace) -> (FileTaintStore, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let disk = |journal| Flaky { journal, faults: Arc::clone(&faults) };
    (FileTaintStore::open_at(&folder.file(), 1000.into(), pace, disk).unwrap(), faults)
}

fn try_mark(store: &FileTaintStore, key: TaintKey, facts: Facts) -> Result<Visited, StoreError> {
    block_on(store.visit(Visit::mark(key, facts, Cause::new("tool"), NOW)))
}

#[test]
fn sk_12_sk_13_sk_16_it_does_what_every_store_does() {
    let folders = Mutex::new(Vec::new());
    let open = || {
        let folder = Folder::new();
        let store = folder.open().unwrap();
        folders.lock().unwrap().push(folder);
        store
    };
    behaves(open);
    behaves_as_registry(open);
    let store = open();
    assert!(!store.forgets_at_restart() && store.retention().is_none());
}

#[test]
fn sk_18_a_restart_forgets_nothing() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    mark(&store, key(1, None), Facts::OUTSIDE);
    mark(&store, key(1, 1), Facts::PRIVATE);
    mark(&store, key(2, 1), Facts::PRIVATE);
    mark(&store, key(3, 1), Facts::PRIVATE);
    block_on(store.clear(key(3, None), clearance())).unwrap();
    let known: Vec<_> = [key(1, None), key(1, 1), key(2, 1), key(3, 1)].map(|key| read(&store, key)).into();
    drop(store);
    for _ in 0..2 {
        let store = folder.open().unwrap();
        let again: Vec<_> = [key(1, None), key(1, 1), key(2, 1), key(3, 1)].map(|key| read(&store, key)).into();
        assert_eq!(again, known);
        assert_eq!(store.coarsenings(), 0);
    }
    assert_eq!(folder.names(), ["taint"]);
    let journal = fs::read(folder.file()).unwrap();
    assert!(journal.windows(6).any(|bytes| bytes == b"a test"), "who cleared it, and why, is written");
}

/// Whatever is left of the process, what was acknowledged is in the file.
#[test]
fn sk_18_what_was_acknowledged_is_in_the_file_already() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = folder.open().unwrap();
    for n in 0..20 {
        mark(&store, key(n, n), Facts::OUTSIDE);
        fs::copy(folder.file(), copy.file()).unwrap();
        let copied = copy.open().unwrap();
        assert!((0..=n).all(|n| read(&copied, key(n, n)).facts == Facts::OUTSIDE));
    }
    // Nor does it need anybody who waits.
    drop(store.visit(Visit::mark(key(99, None), Facts::OUTSIDE, Cause::new("tool"), NOW)));
    drop(store);
    assert_eq!(read(&folder.open().unwrap(), key(99, None)).facts, Facts::OUTSIDE);
}

const CHILD: &str = "TOOLGATE_TEST_FILE";

/// Not a test but what one does in another process: it marks, says so, and waits for its end.
#[test]
fn marks_in_another_process() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = FileTaintStore::open(path, 1000).unwrap();
    mark(&store, key(1, 1), Facts::OUTSIDE);
    println!("\nmarked");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn sk_18_a_process_that_is_killed_leaves_what_it_acknowledged_and_no_lock() {
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "store::file::tests::marks_in_another_process"])
        .env(CHILD, folder.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "marked"));
    assert!(matches!(folder.open().unwrap_err().problem(), OpenProblem::InUse));
    child.kill().unwrap();
    child.wait().unwrap();
    #[cfg(not(unix))]
    fs::remove_file(folder.0.join("taint.lock")).unwrap();
    assert_eq!(read(&folder.open().unwrap(), key(1, 1)).facts, Facts::OUTSIDE);
}

#[test]
fn sk_18_sk_19_what_many_threads_mark_while_the_journal_is_replaced_stays() {
    const THREADS: u64 = 4;
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, EAGER);
    let each = |thread: u64| (0..100).map(move |n| key(n % 7 * THREADS + thread, n));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = store.clone();
            scope.spawn(move || each(thread).for_each(|key| _ = mark(&store, key, Facts::OUTSIDE)));
        }
    });
    drop(store);
    assert!(faults.replaced.load(SeqCst) > 0);
    let store = folder.open().unwrap();
    assert!((0..THREADS).flat_map(each).all(|key| read(&store, key).facts == Facts::OUTSIDE));
}

#[test]
fn sk_18_a_torn_end_is_cut_off_and_any_other_damage_is_refused() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    let mut ends = vec![fs::metadata(folder.file()).unwrap().len() as usize];
    for n in 0..4 {
        mark(&store, key(n, (n % 2 == 0).then_some(n)), Facts::OUTSIDE);
        ends.push(fs::metadata(folder.file()).unwrap().len() as usize);
    }
    drop(store);
    let whole = fs::read(folder.file()).unwrap();
    assert_eq!((ends[0], ends[4]), (8, whole.len()));
    for end in 0..=whole.len() {
        fs::write(folder.file(), &whole[..end]).unwrap();
        let store = folder.open();
        if end < 8 {
            assert!(matches!(store.unwrap_err().problem(), OpenProblem::NoJournal), "{end}");
            continue;
        }
        let store = store.unwrap();
        for n in 0..4 {
            let there = !read(&store, key(n, (n % 2 == 0).then_some(n))).is_clean();
            assert_eq!(there, ends[n as usize + 1] <= end, "{n} of {end}");
        }
        // What comes next is found again behind it.
        mark(&store, key(9, None), Facts::PRIVATE);
        drop(store);
        assert_eq!(read(&folder.open().unwrap(), key(9, None)).facts, Facts::PRIVATE);
    }
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(folder.file(), &damaged).unwrap();
        let error = folder.open().unwrap_err();
        match error.problem() {
            OpenProblem::NoJournal => assert!(bit < 7 * 8),
            OpenProblem::Version(version) => assert!(bit / 8 == 7 && *version != 1),
            OpenProblem::Damaged(at) => assert!(ends.contains(&(*at as usize)) && *at as usize <= bit / 8),
            problem => panic!("{problem:?}"),
        }
        assert_eq!(fs::read(folder.file()).unwrap(), damaged, "it is left as it was");
    }
    // A frame that is missing, or there twice.
    for other in [[&whole[..ends[1]], &whole[ends[2]..]].concat(), [&whole[..], &whole[ends[3]..]].concat()] {
        fs::write(folder.file(), other).unwrap();
        assert!(matches!(folder.open().unwrap_err().problem(), OpenProblem::Damaged(_)));
    }
    fs::write(folder.file(), [&whole[..], &[0; 100]].concat()).unwrap();
    assert!(folder.open().is_ok(), "the file grew, and nothing was written yet");
}

#[test]
fn one_store_at_a_time() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    let error = folder.open().unwrap_err();
    assert!(matches!(error.problem(), OpenProblem::InUse) && error.to_string().contains("taint: in use"));
    assert_eq!(folder.names(), ["taint", "taint.lock"]);
    drop(store);
    // What a crash leaves is an address where nobody listens.
    #[cfg(unix)]
    drop(std::os::unix::net::UnixDatagram::bind(folder.0.join("taint.lock")).unwrap());
    let openers: Vec<_> = (0..8)
        .map(|_| {
            let path = folder.file();
            thread::spawn(move || FileTaintStore::open(path, 10))
        })
        .collect();
    let opened: Vec<_> = openers.into_iter().map(|opener| opener.join().unwrap()).collect();
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1);
    drop(opened);
    assert_eq!(folder.names(), ["taint"]);
    let error = FileTaintStore::open(folder.0.join("no/taint"), 10).unwrap_err();
    assert!(matches!(error.problem(), OpenProblem::Io(_)));
}

#[test]
fn sd_01_sd_09_while_nothing_can_be_written_marking_fails_and_nothing_is_forgotten() {
    for torn in [false, true] {
        let folder = Folder::new();
        let (store, faults) = flaky(&folder, PATIENT);
        mark(&store, key(1, 1), Facts::OUTSIDE);
        let fail = |fails| {
            faults.all.store(fails, SeqCst);
            faults.torn.store(fails && torn, SeqCst);
        };
        fail(true);
        assert_eq!(try_mark(&store, key(2, 1), Facts::PRIVATE), Err(StoreError::Unavailable));
        assert_eq!(read(&store, key(2, 1)).facts, Facts::PRIVATE, "known here nevertheless");
        // What was marked already is no better: one rule for all.
        assert_eq!(try_mark(&store, key(1, 1), Facts::OUTSIDE), Err(StoreError::Unavailable));
        assert_eq!(block_on(store.clear(key(1, None), clearance())), Err(StoreError::Unavailable));
        assert_eq!(read(&store, key(1, 1)).facts, Facts::OUTSIDE, "nor is it cleared");
        fail(false);
        assert!(try_mark(&store, key(2, 1), Facts::PRIVATE).is_ok());
        assert!(try_mark(&store, key(3, 1), Facts::OUTSIDE).is_ok());
        drop(store);
        let store = folder.open().unwrap();
        assert_eq!(read(&store, key(1, 1)).facts, Facts::OUTSIDE);
        assert_eq!(read(&store, key(2, 1)).facts, Facts::PRIVATE);
        assert_eq!(read(&store, key(3, 1)).facts, Facts::OUTSIDE);
    }
}

#[test]
fn what_was_acknowledged_outlives_a_write_that_fails_half_way() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, PATIENT);
    mark(&store, key(1, 1), Facts::OUTSIDE);
    faults.torn.store(true, SeqCst);
    faults.replacing.store(true, SeqCst);
    (0..3).for_each(|_| assert!(try_mark(&store, key(2, 1), Facts::PRIVATE).is_err()));
    drop(store);
    let store = folder.open().unwrap();
    assert_eq!((read(&store, key(1, 1)).facts, read(&store, key(2, 1)).facts), (Facts::OUTSIDE, Facts::NONE));
}

#[test]
fn sd_09_what_could_not_be_written_is_written_at_the_end() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, PATIENT);
    faults.all.store(true, SeqCst);
    assert!(try_mark(&store, key(1, 1), Facts::OUTSIDE).is_err());
    faults.all.store(false, SeqCst);
    drop(store);
    assert_eq!(read(&folder.open().unwrap(), key(1, 1)).facts, Facts::OUTSIDE);
}

/// A writer that ends leaves nobody waiting.
#[test]
fn sd_05_after_a_panic_of_the_writer_every_mark_fails() {
    struct Broken;
    impl Disk for Broken {
        fn append(&mut self, _: &[u8]) -> io::Result<()> {
            panic!("as a test wants it")
        }
        fn replace(&mut self, _: &Table) -> io::Result<()> {
            Ok(())
        }
        fn length(&self) -> u64 {
            0
        }
    }
    let folder = Folder::new();
    let store = FileTaintStore::open_at(&folder.file(), 10.into(), PATIENT, |_| Broken).unwrap();
    for _ in 0..3 {
        assert_eq!(try_mark(&store, key(1, 1), Facts::OUTSIDE), Err(StoreError::Unavailable));
    }
    assert_eq!(read(&store, key(1, 1)).facts, Facts::OUTSIDE);
}

#[test]
fn what_is_known_already_is_not_written_but_waited_for() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, PATIENT);
    let minute = NOW.div_ceil(60) * 60;
    let visit = |now| store.visit(Visit::mark(key(1, 1), Facts::OUTSIDE, Cause::new("tool"), now));
    block_on(visit(minute - 59)).unwrap();
    (0..60).for_each(|second| _ = block_on(visit(minute - 59 + second)).unwrap());
    assert_eq!(faults.appended.load(SeqCst), 1);
    assert_eq!(read(&store, key(1, 1)).last, minute, "never too early");
    block_on(visit(minute + 1)).unwrap();
    assert_eq!(faults.appended.load(SeqCst), 2);

    let closed = faults.gate.lock().unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let marks = |facts| store.visit(Visit::mark(key(1, 2), facts, Cause::new("tool"), minute));
    let (mut one, mut same) = (marks(Facts::PRIVATE), marks(Facts::PRIVATE));
    assert!(Pin::new(&mut one).poll(&mut cx).is_pending() && Pin::new(&mut same).poll(&mut cx).is_pending());
    assert_eq!(block_on(store.visit(Visit::read(key(1, 2), minute))).unwrap().before.facts, Facts::PRIVATE);
    drop(closed);
    assert!(block_on(one).is_ok() && block_on(same).is_ok());
}

#[test]
fn visits_that_come_together_share_a_write() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, PATIENT);
    let closed = faults.gate.lock().unwrap();
    let visit = |n| store.visit(Visit::mark(key(n, n), Facts::OUTSIDE, Cause::new("tool"), NOW));
    let visits: Vec<_> = (0..100).map(visit).collect();
    drop(closed);
    assert!(visits.into_iter().all(|visit| block_on(visit).is_ok()));
    assert!(faults.appended.load(SeqCst) <= 2, "{faults:?}");
}

#[test]
fn a_journal_that_is_too_long_is_replaced() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, EAGER);
    for minute in 0..200 {
        let visit = Visit::mark(key(minute % 3, 1), Facts::OUTSIDE, Cause::new("tool"), NOW + 60 * minute);
        block_on(store.visit(visit)).unwrap();
    }
    let known: Vec<_> = (0..3).map(|n| read(&store, key(n, 1))).collect();
    drop(store);
    assert!(faults.replaced.load(SeqCst) > 5, "{faults:?}");
    assert!(fs::metadata(folder.file()).unwrap().len() < 2048);
    let store = folder.open().unwrap();
    assert!(
        (0..3)
            .map(|n| read(&store, key(n, 1)))
            .map(|taint| (taint.facts, taint.last, taint.cause))
            .eq(known.into_iter().map(|taint| (taint.facts, taint.last, taint.cause)))
    );
    assert_eq!(folder.names(), ["taint", "taint.lock"]);
}

#[test]
fn a_replacement_that_fails_leaves_the_journal() {
    let folder = Folder::new();
    let (store, faults) = flaky(&folder, EAGER);
    faults.replacing.store(true, SeqCst);
    (0..100).for_each(|n| assert!(try_mark(&store, key(n, n), Facts::OUTSIDE).is_ok()));
    drop(store);
    assert!((1..100).contains(&faults.replaced.load(SeqCst)));
    fs::write(folder.0.join("taint.new"), "left by a crash").unwrap();
    let store = folder.open().unwrap();
    assert!((0..100).all(|n| read(&store, key(n, n)).facts == Facts::OUTSIDE));
}

/// What is known by a merge alone is not written: so the merge must be.
#[test]
fn sk_18_sk_19_what_was_merged_for_want_of_room_stays_so_with_more() {
    let folder = Folder::new();
    let open = |conversations| {
        let capacity = TaintCapacity::new(1000).with_conversations(conversations);
        FileTaintStore::open(folder.file(), capacity).unwrap()
    };
    let store = open(2);
    mark(&store, key(1, 1), Facts::OUTSIDE);
    mark(&store, key(1, 2), Facts::OUTSIDE);
    drop(store);
    let store = open(1);
    assert!(read(&store, key(1, 3)).coarse);
    mark(&store, key(1, 3), Facts::OUTSIDE);
    drop(store);
    assert_eq!(read(&open(2), key(1, 3)).facts, Facts::OUTSIDE);
}

/// A filter has to keep its size.
#[test]
fn sk_18_sk_19_for_whom_there_was_no_room_is_known_in_a_larger_store() {
    let folder = Folder::new();
    let open = |keys| FileTaintStore::open_at(&folder.file(), TaintCapacity::new(keys), EAGER, |journal| journal);
    let store = open(10).unwrap();
    (0..200).for_each(|n| _ = mark(&store, key(n, None), Facts::OUTSIDE));
    drop(store);
    for keys in [100_000, 3, 1000] {
        let store = open(keys).unwrap();
        assert!((0..200).all(|n| read(&store, key(n, None)).facts.contains(Facts::OUTSIDE)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sk_18_sk_19_what_was_marked_once_is_known_after_any_restart(
        marks in proptest::collection::vec((0..12_u64, proptest::option::weighted(0.8, 0..20_u64), 0..16_u8), 1..150),
        capacities in proptest::collection::vec((0..40_usize, 1..8_usize), 1..4),
        eager in proptest::bool::ANY,
    ) {
        let folder = Folder::new();
        let mut told = Vec::new();
        let each = marks.len().div_ceil(capacities.len());
        for (marks, (keys, conversations)) in marks.chunks(each).zip(capacities) {
            let capacity = TaintCapacity::new(keys).with_conversations(conversations);
            let pace = if eager { EAGER } else { PATIENT };
            let store = FileTaintStore::open_at(&folder.file(), capacity, pace, |journal| journal).unwrap();
            let known = |told: &[(TaintKey, Facts)]| told.iter().all(|(key, facts)| read(&store, *key).facts.contains(*facts));
            prop_assert!(known(&told));
            for (principal, conversation, bit) in marks {
                let (key, facts) = (key(*principal, *conversation), Facts::from_bits(1 << bit));
                mark(&store, key, facts);
                told.push((key, facts));
            }
            prop_assert!(known(&told));
        }
    }
}
