use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// What a client makes of one event. Comments and unknown fields are kept to compare them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Parsed {
    data: Option<Vec<u8>>,
    others: Vec<Vec<u8>>,
}

/// The parser of the standard, over a whole stream: all that blank lines end, and what is left without one.
fn reference(stream: &[u8]) -> (Vec<Parsed>, Parsed) {
    let text = stream.strip_prefix(BOM).unwrap_or(stream);
    let (mut plain, mut previous) = (Vec::new(), 0);
    for &byte in text {
        match byte {
            LF if previous == CR => {}
            CR => plain.push(LF),
            _ => plain.push(byte),
        }
        previous = byte;
    }
    let mut lines: Vec<&[u8]> = plain.split(|byte| *byte == LF).collect();
    lines.pop();
    let (mut all, mut event) = (Vec::new(), Parsed::default());
    for line in lines {
        if line.is_empty() {
            all.push(mem::take(&mut event));
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match (&mut event.data, name) {
            (None, b"data") => event.data = Some(value.to_vec()),
            (Some(data), b"data") => data.extend([b"\n", value].concat()),
            _ => event.others.push(line.to_vec()),
        }
    }
    (all, event)
}

fn dispatched(stream: &[u8]) -> Vec<Vec<u8>> {
    reference(stream).0.into_iter().filter_map(|event| event.data).collect()
}

fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<Bytes>, bool) {
    let mut splitter = Splitter::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = splitter.next() {
            let Ok(event) = event else { return (events, None, true) };
            events.push(event);
        }
        assert!(splitter.held.capacity() <= limit.saturating_add(1) && splitter.chunk.is_empty());
    }
    (events, finish(splitter), false)
}

/// What is left at the end of the stream.
fn finish(mut splitter: Splitter) -> Option<Bytes> {
    let rest = mem::take(&mut splitter.chunk);
    splitter.keep(rest);
    let left = splitter.kept.join();
    (!left.is_empty()).then_some(left)
}

fn joined(events: &[Event], rest: Option<&Bytes>) -> Vec<u8> {
    events.iter().map(Event::raw).chain(rest).flatten().copied().collect()
}

fn raws(events: &[Event]) -> Vec<&[u8]> {
    events.iter().map(|event| &**event.raw()).collect()
}

fn data(events: &[Event]) -> Vec<Bytes> {
    events.iter().filter_map(Event::data).collect()
}

fn only(stream: &[u8]) -> Event {
    let (events, rest, _) = split(usize::MAX, [stream]);
    assert_eq!((events.len(), rest), (1, None), "{stream:?}");
    events[0].clone()
}

fn check(stream: &[u8], chunks: &[&[u8]]) {
    let (events, rest, failed) = split(usize::MAX, chunks.iter().copied());
    assert!(!failed);
    assert_eq!(joined(&events, rest.as_ref()), stream, "{chunks:?}");
    assert_eq!(data(&events), dispatched(stream), "{chunks:?}");
}

fn check_everywhere(stream: &[u8]) {
    (0..=stream.len()).for_each(|at| check(stream, &[&stream[..at], &stream[at..]]));
    check(stream, &stream.chunks(1).collect::<Vec<_>>());
}

#[test]
fn pieces_end_where_a_client_would_act() {
    type Case = (&'static [u8], &'static [&'static [u8]], Option<&'static [u8]>);
    let cases: &[Case] = &[
        (b"", &[], None),
        (b"data: 1\n\ndata: 2\n\n", &[b"data: 1\n\n", b"data: 2\n\n"], None),
        (b"data: 1\r\rdata: 2\r\r", &[b"data: 1\r\r", b"data: 2\r\r"], None),
        (b"data: 1\r\n\r\ndata: 2\r\n\r\n", &[b"data: 1\r\n\r\n", b"data: 2\r\n\r\n"], None),
        (b"data: 1\n\r\ndata: 2\r\n\ndata: 3\n\r", &[b"data: 1\n\r\n", b"data: 2\r\n\n", b"data: 3\n\r"], None),
        (b"\n\r\r\n\n", &[b"\n", b"\r", b"\r\n", b"\n"], None),
        (b": ping\n\n:\nid: 1\n:in\ndata\n\n", &[b": ping\n", b"\n", b":\n", b"id: 1\n:in\ndata\n\n"], None),
        (b"\xEF\xBB\xBF: c\r\ndata: 1\r\n\r\n", &[b"\xEF\xBB\xBF: c\r\n", b"data: 1\r\n\r\n"], None),
        (b"\xEF\xBB\xBF\ndata", &[b"\xEF\xBB\xBF\n"], Some(b"data")),
        (b"\xEF\xBB\n\n", &[b"\xEF\xBB\n\n"], None),
        (b"data: 1\n\ndata: 2\n", &[b"data: 1\n\n"], Some(b"data: 2\n")),
        (b": half", &[], Some(b": half")),
    ];
    for (stream, pieces, rest) in cases {
        let (events, left, _) = split(usize::MAX, [*stream]);
        assert_eq!((raws(&events).as_slice(), left.as_deref()), (*pieces, *rest));
        check_everywhere(stream);
    }
}

#[test]
fn nothing_waits_for_the_line_feed_of_a_carriage_return() {
    let mut splitter = Splitter::new(64);
    let mut give = |chunk: &'static [u8]| {
        splitter.push(Bytes::from_static(chunk));
        let pieces: Vec<_> =
            std::iter::from_fn(|| splitter.next()).map(|piece| piece.unwrap().raw().to_vec()).collect();
        pieces
    };
    assert_eq!(give(b"data: 1\r\n\r"), [b"data: 1\r\n\r"]);
    assert_eq!(give(b""), [b""; 0]);
    assert_eq!(give(b"\n"), [b"\n"], "it is no blank line, and it is not held until the next event");
    assert_eq!(give(b"data: 2\r"), [b""; 0]);
    assert_eq!(give(b"\n"), [b""; 0]);
    assert_eq!(give(b"\r"), [b"data: 2\r\n\r"]);
    assert_eq!(give(b"\ndata: 3\r\r"), [&b"\n"[..], b"data: 3\r\r"]);
    assert_eq!(give(b": ping\r"), [b": ping\r"]);
    assert_eq!(give(b"\n\r\n"), [&b"\n"[..], b"\r\n"]);
}

#[test]
fn data_is_what_the_standard_says() {
    for (event, expected) in [
        (&b"data: x\n\n"[..], Some(&b"x"[..])),
        (b"data:x\n\n", Some(b"x")),
        (b"data:  x \n\n", Some(b" x ")),
        (b"data:\tx\n\n", Some(b"\tx")),
        (b"data\n\n", Some(b"")),
        (b"data:\n\n", Some(b"")),
        (b"data: \n\n", Some(b"")),
        (b"data\ndata\n\n", Some(b"\n")),
        (b"data: a\nid: 1\ndata: b\n\n", Some(b"a\nb")),
        (b"data: a\rdata:b\r\ndata\n\r", Some(b"a\nb\n")),
        (b"data: a:b\n\n", Some(b"a:b")),
        (b"data: \xFF\n\n", Some(b"\xFF")),
        (b"\xEF\xBB\xBFdata: x\n\n", Some(b"x")),
        (b"\xEF\xBB\xBF\xEF\xBB\xBFdata: x\n\n", None),
        (b"id: 1\n\xEF\xBB\xBFdata: x\n\n", None),
        (b"Data: x\n\n", None),
        (b" data: x\n\n", None),
        (b"data : x\n\n", None),
        (b"datax: x\n\n", None),
        (b"dat\n\n", None),
        (b"id: data: x\nevent: e\nretry: 1\n\n", None),
        (b"\n", None),
    ] {
        assert_eq!(only(event).data().as_deref(), expected, "{event:?}");
        check_everywhere(event);
    }
    let (events, ..) = split(99, [&b"data: 1\n\n\xEF\xBB\xBFdata: x\n\n"[..]]);
    assert_eq!(data(&events), [&b"1"[..]], "only the first bytes of the stream can be a byte order mark");
}

#[test]
fn other_data_leaves_all_else_as_it_was() {
    for (event, new, expected) in [
        (&b"data: x\n\n"[..], &b"y"[..], &b"data: y\n\n"[..]),
        (b"data:x\r\r", b"", b"data: \r\r"),
        (b"data\r\n\r\n", b" y", b"data:  y\r\n\r\n"),
        (
            b"id:1\r\ndata: x\revent : e\n:c\xFF\nretry: 5\n\r\n",
            b"y",
            b"id:1\r\ndata: y\revent : e\n:c\xFF\nretry: 5\n\r\n",
        ),
        (b"data: a\r\nid: 1\ndata: b\ndata\nx\n\n", b"y", b"data: y\r\nid: 1\nx\n\n"),
        (b"id\ndata: x\n\n", b"a\nb\r\nc\rd\n", b"id\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"),
        (b"data: x\r\n\r", b"a\nb", b"data: a\r\ndata: b\r\n\r"),
        (b"\xEF\xBB\xBFdata: x\n\n", b"y", b"\xEF\xBB\xBFdata: y\n\n"),
        (b"data: a\rdata: b\n\n", b"y", b"data: y\r\n\n"),
        (b"data: a\nid: 1\rdata: b\n\n", b"y", b"data: y\nid: 1\r\n\n"),
        (b"data: a\rdata: b\r\n\r\n", b"y", b"data: y\r\r\n"),
        (b"id: 1\n\n", b"y", b"id: 1\n\n"),
        (b"\n", b"y", b"\n"),
    ] {
        assert_eq!(only(event).with_data(&[new]), expected, "{event:?}");
    }
}

#[test]
fn the_limit_counts_one_event() {
    for (stream, longest) in [
        (&b"data: 1\n\ndata: 22\n\n\n"[..], 10),
        (b"data: 22\r\n\r\ndata: 1\r\n\r\n", 11),
        (b"data: 22\r\r\ndata: 1\r\r\n", 10),
        (b": ping\n: ping\n: ping\n\ndata: 1\n\n", 9),
        (b"data: 1\n\ndata: 2222", 10),
    ] {
        for size in 1..=stream.len() {
            let (events, rest, failed) = split(longest, stream.chunks(size));
            assert!(!failed, "{stream:?} by {size}");
            assert_eq!(joined(&events, rest.as_ref()), stream);
            let (short, rest, failed) = split(longest - 1, stream.chunks(size));
            assert!(failed && rest.is_none(), "{stream:?} by {size}");
            assert_eq!(data(&short), data(&events)[..data(&short).len()]);
            assert!(stream.starts_with(&joined(&short, None)));
        }
    }
    assert!(split(0, [&b"\n"[..]]).2);
    assert!(!split(0, [&b""[..]]).2);
}

#[test]
fn what_is_too_long_is_passed_over() {
    let stream = b"data: 1\r\n\r\ndata: {\"a\":\"long\r\ndata: long\"}\r\nid: 2\r\n\r\ndata: 3\r\n\r\n";
    for size in 1..=stream.len() {
        let (mut splitter, mut seen, mut failed) = (Splitter::new(20), Vec::new(), 0);
        for chunk in stream.chunks(size) {
            splitter.push(Bytes::copy_from_slice(chunk));
            while let Some(event) = splitter.next() {
                match event {
                    Ok(event) => seen.extend(event.data()),
                    Err(TooLong) => failed += 1,
                }
            }
            assert!(splitter.held() <= 21, "{size}");
        }
        assert_eq!((seen, failed), (vec![Bytes::from_static(b"1"), Bytes::from_static(b"3")], 1), "{size}");
    }
}

#[test]
fn an_end_without_a_blank_line_is_one() {
    for (stream, expected) in
        [("data: 1", "data: 1\n\n"), ("data: 1\n", "data: 1\n\n"), ("data: 1\r", "data: 1\r\n\n"), (": c", ": c\n")]
    {
        let mut splitter = Splitter::new(64);
        splitter.push(stream.into());
        assert!(splitter.next().is_none());
        splitter.close();
        assert_eq!(splitter.next().unwrap().unwrap().raw(), expected);
    }
    let mut splitter = Splitter::new(64);
    splitter.close();
    assert!(splitter.next().is_none());
}

#[test]
fn lines_that_some_take_for_data_are_known() {
    for (event, hides, is_message) in [
        ("data: {}\n\n", false, true),
        ("id: 1\n: {}\ndata: 1\n\n", true, true),
        ("id: 1\u{2028}data: {}\n\n", true, true),
        ("\u{ef}\u{bb}\u{bf}data: {}\n\n", true, true),
        ("event: ping\ndata: {}\n\n", false, false),
        ("event: message\nevent\ndata: {}\n\n", false, true),
        ("event: message\ndata: [\n\n", false, true),
    ] {
        let event = only(event.as_bytes());
        assert_eq!((event.has_json(), event.hides_json(), event.is_message()), (true, hides, is_message), "{event:?}");
    }
    assert!(!only(b"event: ping\ndata: ping\n\n").has_json());
    let event = only(b"id: 1\nid: {}\nretry: 5\nevent: x\n: {}\ndata: {}\n\n");
    assert_eq!(event.without_data().unwrap(), "id: 1\nretry: 5\n\n");
    assert_eq!(event.with_data(&[b"1"]), "id: 1\nretry: 5\nevent: x\ndata: 1\n\n");
    assert_eq!(only(b"event: x\ndata: {}\n\n").without_data(), None);
}

#[test]
fn whole_events_are_not_copied() {
    let chunk = Bytes::from(b"data: 1\n\n: c\nid: 2\ndata: 2\n\ndata: 3".to_vec());
    let inside = |bytes: &Bytes| chunk.as_ptr_range().contains(&bytes.as_ptr());
    let mut splitter = Splitter::new(64);
    splitter.push(chunk.clone());
    let events: Vec<_> = std::iter::from_fn(|| splitter.next()).map(Result::unwrap).collect();
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| inside(event.raw()) && event.data().as_ref().is_none_or(inside)));
    drop(events);
    assert!(chunk.is_unique(), "what is held of a chunk does not keep the rest of it");
}

#[test]
fn chunks_may_be_pushed_ahead_and_left() {
    let mut splitter = Splitter::new(64);
    splitter.push(Bytes::from_static(b"data: 1\n\nda"));
    splitter.push(Bytes::from_static(b"ta: 2\n\ndata: 3\n\nid"));
    assert_eq!(splitter.next().unwrap().unwrap().raw(), "data: 1\n\n");
    splitter.push(Bytes::from_static(b": 4"));
    assert_eq!(splitter.next().unwrap().unwrap().raw(), "data: 2\n\n");
    assert_eq!(finish(splitter).unwrap(), "data: 3\n\nid: 4");
}

#[test]
fn one_byte_at_a_time_costs_one_reading() {
    const SIZE: usize = 1 << 20;
    let stream = Bytes::from([b"data: ", &*vec![b'x'; SIZE], b"\n\n"].concat());
    let mut splitter = Splitter::new(2 * SIZE);
    let mut events = Vec::new();
    let cost = allocation_counter::measure(|| {
        for at in 0..stream.len() {
            splitter.push(stream.slice(at..=at));
            let before = splitter.read;
            events.extend(splitter.next());
            assert_eq!((before, splitter.read, splitter.chunk.len()), (0, 0, 0));
        }
    });
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].as_ref().unwrap().raw(), &stream);
    assert!(cost.count_total < 64 && cost.bytes_total < 8 * SIZE as u64, "{cost:?}");
}

#[test]
fn data_in_pieces_is_the_data() {
    let event = only(b"id: 1\ndata: x\n\n");
    let data = b"a\r\nb\rc\n\r\n\nd";
    for at in 0..=data.len() {
        for to in at..=data.len() {
            let pieces = [&data[..at], &data[at..to], &data[to..]].into_iter().filter(|piece| !piece.is_empty());
            assert_eq!(event.with_data(&pieces.collect::<Vec<_>>()), event.with_data(&[data]), "{at} {to}");
        }
    }
}

fn line_end() -> impl Strategy<Value = &'static [u8]> {
    select(vec![&b"\n"[..], b"\r", b"\r\n"])
}

const LINES: &[u8] = b"||||data|data:|data: |data: x|data:x|data:  y|data: {\"a\":1}|data : no|Data: no|datano|id: 1|id|event: e|retry: 10\
    |other: data: x|:|: ping|:data: x| |\xEF\xBB\xBF|\xEF\xBB\xBFdata: z|\xEF|data: \xFF\xC3|\0";

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let line = select(LINES.split(|byte| *byte == b'|').collect::<Vec<_>>());
    let lines = vec((line, line_end()).prop_map(|(line, end)| [line, end].concat()), 0..16);
    (any::<bool>(), lines, select(vec![&b""[..], b"data", b"id: 1", b":"]))
        .prop_map(|(bom, lines, rest)| [if bom { BOM } else { b"" }, &lines.concat(), rest].concat())
}

fn chunked(stream: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut rest = stream;
    let mut chunks = Vec::new();
    for size in sizes {
        let (chunk, behind) = rest.split_at((*size).min(rest.len()));
        chunks.push(chunk.to_vec());
        rest = behind;
    }
    chunks.push(rest.to_vec());
    chunks
}

proptest! {
    #[test]
    fn a_stream_is_the_same_however_it_is_cut(stream in stream(), sizes in vec(0..9_usize, 0..64)) {
        check_everywhere(&stream);
        let chunks = chunked(&stream, &sizes);
        check(&stream, &chunks.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn noise_is_passed_on(stream in vec(select(b"\r\n:d\xEF\xBB\xBF ".to_vec()), 0..24)) {
        check_everywhere(&stream);
    }

    #[test]
    fn a_limit_is_passed_at_the_same_event_however_it_is_cut(
        stream in stream(), limit in 0..40_usize, sizes in vec(0..9_usize, 0..64),
    ) {
        let (whole, _, failed) = split(limit, [stream.as_slice()]);
        let chunks = chunked(&stream, &sizes);
        let (cut, _, failed_too) = split(limit, chunks.iter().map(Vec::as_slice));
        prop_assert_eq!(failed, failed_too);
        prop_assert_eq!(data(&whole), data(&cut));
    }

    #[test]
    fn edits_touch_nothing_but_data(stream in stream(), new in vec(select(b"ab \r\n:\xFF".to_vec()), 0..12), same in any::<bool>()) {
        let (events, rest, _) = split(usize::MAX, [stream.as_slice()]);
        let edit = |event: &Event| match event.data() {
            Some(data) if same => event.with_data(&[data]),
            _ => event.with_data(&[&new]),
        };
        let edited: Vec<u8> = events.iter().map(edit).chain(rest).flatten().collect();
        let normal = String::from_utf8_lossy(&new).replace("\r\n", "\n").replace('\r', "\n");
        let (mut expected, left) = reference(&stream);
        for event in expected.iter_mut().filter(|_| !same) {
            event.data = event.data.as_ref().map(|_| normal.clone().into_bytes());
        }
        let (found, found_left) = reference(&edited);
        let lossy = |event: &Parsed| (event.data.as_ref().map(|data| String::from_utf8_lossy(data).into_owned()), event.others.clone());
        prop_assert!(found.iter().map(lossy).eq(expected.iter().map(lossy)), "{edited:?}");
        prop_assert_eq!(found_left, left);
    }

    #[test]
    fn data_comes_back_as_it_was_written(lines in vec("[a-z :]{0,4}", 1..5), end in line_end(), blank in line_end()) {
        // A blank line's LF would complete the CR before it.
        prop_assume!(!(end == b"\r" && blank == b"\n"));
        let new = lines.join("\n");
        let event = only(&[b"id: 1", end, b"data: x", end, blank].concat());
        prop_assert_eq!(only(&event.with_data(&[new.as_bytes()])).data().unwrap(), new);
    }
}
