//! Changes to a text, as ranges of it.

use std::iter;
use std::ops::Range;

use bytes::Bytes;

/// Changes to a text, as ranges of it. Everything else stays as it is, and is not copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits {
    /// By their ranges, which do not overlap.
    edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
struct Edit {
    range: Range<usize>,
    with: Bytes,
}

impl Edits {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Puts something in the place of a range; of an empty one, before what stands there. Changes may come in any
    /// order. They must not overlap: should they, the last takes the place of all that it meets.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: Bytes) {
        let Range { start, end } = range;
        let mut edit = Edit { range: start..end.max(start), with };
        if self.edits.last().is_none_or(|last| last.is_before(&edit.range)) {
            self.edits.push(edit);
            return;
        }
        let first = self.edits.partition_point(|other| other.is_before(&edit.range));
        let met = self.edits.iter().skip(first).take_while(|other| other.range.start < edit.range.end).count();
        debug_assert_eq!(met, 0, "changes overlap");
        for other in self.edits.drain(first..first + met) {
            edit.range = edit.range.start.min(other.range.start)..edit.range.end.max(other.range.end);
        }
        self.edits.insert(first, edit);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Adds changes to other places of the same text.
    pub(crate) fn append(&mut self, other: Self) {
        if self.edits.is_empty() {
            *self = other;
            return;
        }
        other.edits.into_iter().for_each(|Edit { range, with }| self.replace(range, with));
    }

    /// The length that a text of some length has once it is changed.
    #[cfg(test)]
    pub(crate) fn len_of(&self, text_len: usize) -> usize {
        let gone: usize =
            self.edits.iter().map(|edit| edit.range.end.min(text_len) - edit.range.start.min(text_len)).sum();
        let come: usize = self.edits.iter().map(|edit| edit.with.len()).sum();
        text_len - gone + come
    }

    /// The changed text: slices of the text, and what was put between them. No piece is empty.
    pub(crate) fn apply(self, text: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
        let (text, length) = (text.clone(), text.len());
        let end = Edit { range: length..length, with: Bytes::new() };
        let mut at = 0;
        let pieces = self.edits.into_iter().chain(iter::once(end)).flat_map(move |edit| {
            let kept = text.slice(at..edit.range.start.clamp(at, length));
            at = edit.range.end.min(length);
            [kept, edit.with]
        });
        pieces.filter(|piece| !piece.is_empty())
    }
}

impl Edits {
    /// The changed text in pieces: as [`apply`](Self::apply) has them, those that are small joined where there are
    /// many.
    pub(crate) fn pieces(self, text: &Bytes) -> Vec<Bytes> {
        let most = 2 * self.edits.len() + 1;
        let pieces = self.apply(text);
        if most > MAX_PIECES {
            return joined(pieces);
        }
        let mut few = Vec::with_capacity(most);
        few.extend(pieces);
        few
    }
}

/// Joins neighbours that are small as they come: few of many pieces are ever there.
fn joined(pieces: impl Iterator<Item = Bytes>) -> Vec<Bytes> {
    let (mut all, mut run) = (Vec::new(), Vec::new());
    for piece in pieces {
        if piece.len() < LARGE {
            run.extend_from_slice(&piece);
        } else {
            all.extend((!run.is_empty()).then(|| Bytes::from(std::mem::take(&mut run))));
            all.push(piece);
        }
    }
    all.extend((!run.is_empty()).then(|| Bytes::from(run)));
    all
}

impl Edit {
    /// Whether it has its place before a change of `range`: of two at one place, the earlier one; an insertion before
    /// all else.
    fn is_before(&self, range: &Range<usize>) -> bool {
        self.range.end <= range.start && (self.range.start < range.start || self.range.is_empty())
    }
}

/// What goes of the items of an array or the members of an object, with as many commas: at the start those behind them,
/// elsewhere those before.
#[derive(Debug)]
pub(crate) struct Cuts {
    /// Right behind the bracket.
    open: usize,
    /// Where the last item that stays ends.
    kept_to: Option<usize>,
    cut: Option<Range<usize>>,
}

/// Where an array or an object can be added to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    at: usize,
    /// Something stands before.
    comma: bool,
}

impl Cuts {
    /// Of a container whose bracket stands at an offset.
    pub(crate) fn within(bracket: usize) -> Self {
        Self { open: bracket + 1, kept_to: None, cut: None }
    }

    /// This item stays.
    pub(crate) fn keep(&mut self, item: Range<usize>, edits: &mut Edits) {
        if let Some(cut) = self.cut.take() {
            let to = if self.kept_to.is_none() { item.start } else { cut.end };
            edits.replace(cut.start..to, Bytes::new());
        }
        self.kept_to = Some(item.end);
    }

    /// This item goes.
    pub(crate) fn cut(&mut self, item: Range<usize>) {
        let from = self.cut.take().map_or_else(|| self.kept_to.unwrap_or(item.start), |cut| cut.start);
        self.cut = Some(from..item.end);
    }

    /// There are no others: where one could be added.
    pub(crate) fn close(self, edits: &mut Edits) -> Slot {
        let slot = Slot { at: self.kept_to.unwrap_or(self.open), comma: self.kept_to.is_some() };
        if let Some(cut) = self.cut {
            edits.replace(cut, Bytes::new());
        }
        slot
    }
}

impl Slot {
    /// Where it can be added to once something has been.
    pub(crate) fn after(self) -> Self {
        Self { comma: true, ..self }
    }

    /// Adds an item, which is written behind what is there.
    #[cfg(feature = "provenance")]
    pub(crate) fn fill_with(self, edits: &mut Edits, write: impl FnOnce(&mut String)) {
        let mut item = String::with_capacity(ITEM);
        item.push_str(if self.comma { "," } else { "" });
        write(&mut item);
        edits.replace(self.at..self.at, Bytes::from(item));
    }

    /// Adds an item.
    pub(crate) fn fill(self, item: &str, edits: &mut Edits) {
        let with = if self.comma { Bytes::from([",", item].concat()) } else { Bytes::copy_from_slice(item.as_bytes()) };
        edits.replace(self.at..self.at, with);
    }
}

/// What is there for an item before its length is known.
#[cfg(feature = "provenance")]
const ITEM: usize = 256;
/// In how many pieces a text may be handed on.
const MAX_PIECES: usize = 64;
/// The bytes from which on a piece is not copied.
const LARGE: usize = 4096;

/// A text in one piece.
pub(crate) fn join(mut pieces: Vec<Bytes>) -> Bytes {
    match pieces.pop() {
        Some(only) if pieces.is_empty() => only,
        Some(last) => {
            pieces.push(last);
            pieces.concat().into()
        }
        None => Bytes::new(),
    }
}

/// Whether these are not only the same bytes but in the same place: what has not been edited need not be compared.
pub(crate) fn is_the_very(one: &Bytes, other: &Bytes) -> bool {
    one.as_ptr() == other.as_ptr() && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(text: &Bytes, edits: Edits) -> String {
        let length = edits.len_of(text.len());
        let pieces: Vec<_> = edits.apply(text).collect();
        assert!(pieces.iter().all(|piece| !piece.is_empty()), "{pieces:?}");
        let changed = pieces.concat();
        assert_eq!(changed.len(), length);
        String::from_utf8(changed).unwrap()
    }

    fn edits(changes: &[(Range<usize>, &'static str)]) -> Edits {
        let mut edits = Edits::new();
        changes.iter().for_each(|(range, with)| edits.replace(range.clone(), Bytes::from_static(with.as_bytes())));
        edits
    }

    #[test]
    fn changes_are_made_where_they_belong() {
        let text = Bytes::from_static(b"0123456789");
        type Rows<'a> = &'a [(&'a [(Range<usize>, &'static str)], &'a str)];
        let rows: Rows<'_> = &[
            (&[], "0123456789"),
            (&[(0..0, "a")], "a0123456789"),
            (&[(10..10, "a")], "0123456789a"),
            (&[(0..10, "")], ""),
            (&[(0..10, "a")], "a"),
            (&[(2..4, ""), (6..7, "abc")], "0145abc789"),
            (&[(6..7, "abc"), (2..4, "")], "0145abc789"),
            (&[(2..4, "a"), (4..6, "b")], "01ab6789"),
            (&[(4..6, "b"), (2..4, "a")], "01ab6789"),
            (&[(4..6, ""), (4..4, "a")], "0123a6789"),
            (&[(4..4, "a"), (4..6, "")], "0123a6789"),
            (&[(2..4, ""), (4..4, "a")], "01a456789"),
            (&[(4..4, "a"), (2..4, "")], "01a456789"),
            (&[(4..4, "a"), (4..4, "b")], "0123ab456789"),
            (&[(8..20, "a")], "01234567a"),
            (&[(20..30, "a")], "0123456789a"),
        ];
        for (changes, expected) in rows {
            assert_eq!(changed(&text, edits(changes)), *expected, "{changes:?}");
            assert_eq!(edits(changes).is_empty(), changes.is_empty());
        }
    }

    #[test]
    fn what_stays_is_not_copied() {
        let text = Bytes::from(b"0123456789".to_vec());
        let pieces: Vec<_> = edits(&[(2..4, ""), (6..7, "abc")]).apply(&text).collect();
        let at = |piece: &Bytes| piece.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        assert_eq!(pieces, ["01", "45", "abc", "789"]);
        assert_eq!((at(&pieces[0]), at(&pieces[1]), at(&pieces[3])), (0, 4, 7));
        let whole: Vec<_> = Edits::new().apply(&text).collect();
        assert_eq!((whole.len(), at(&whole[0]), whole[0].len()), (1, 0, 10));
        assert_eq!(Edits::new().apply(&Bytes::new()).count(), 0);
    }

    proptest! {
        #[test]
        fn changes_in_any_order_are_those_from_the_back(
            text in "[a-f]{0,30}",
            cuts in prop::collection::btree_set(0..30_usize, 0..8),
            order in any::<prop::sample::Index>(),
        ) {
            let cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            let mut ranges: Vec<_> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let mut expected = text.clone();
            ranges.iter().rev().for_each(|range| expected.replace_range(range.clone(), "X"));
            let turn = if ranges.is_empty() { 0 } else { order.index(ranges.len()) };
            ranges.rotate_left(turn);
            let mut edits = Edits::new();
            ranges.into_iter().for_each(|range| edits.replace(range, Bytes::from_static(b"X")));
            prop_assert_eq!(changed(&Bytes::from(text), edits), expected);
        }
    }
}
