//! Values as Redis keeps them: in words, for the scripts and for people.

use crate::trust::{Cause, Facts, Taint};

/// The largest number that scripts can count with.
const MAX: u64 = (1 << 53) - 1;

/// A time or a count as scripts know it.
pub(super) fn clamp(number: u64) -> u64 {
    number.min(MAX)
}

/// What is known of one key, and how often it was cleared before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) taint: Taint,
    pub(super) epoch: u64,
}

impl Known {
    /// For a script.
    pub(super) fn write(&self) -> String {
        let Taint { facts, first, last, marks, cause, coarse } = &self.taint;
        let (first, last, marks, epoch) = (clamp(*first), clamp(*last), clamp(*marks), clamp(self.epoch));
        let (facts, coarse) = (facts.bits(), u8::from(*coarse));
        format!("1 {facts} {first} {last} {marks} {coarse} {epoch} {}", write_cause(cause.as_ref()))
    }

    /// From a script or a field; `None` if it is none, or of another version.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(text).ok()?.splitn(8, ' ');
        if parts.next()? != "1" {
            return None;
        }
        let facts = Facts::from_bits(u16::try_from(number(parts.next()?)?).ok()?);
        let mut next = || number(parts.next()?);
        let (first, last, marks, coarse, epoch) = (next()?, next()?, next()?, next()?, next()?);
        let coarse = (coarse <= 1).then_some(coarse == 1)?;
        let cause = match parts.next()? {
            "-" => None,
            cause => Some(Cause::new(cause.strip_prefix('=')?)),
        };
        Some(Self { taint: Taint { facts, first, last, marks, cause, coarse }, epoch })
    }
}

/// Sorted as `Option<Cause>` is.
pub(super) fn write_cause(cause: Option<&Cause>) -> String {
    cause.map_or_else(|| "-".into(), |cause| format!("={}", cause.as_str()))
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rd_07_sd_08_what_is_written_is_read_and_nothing_else() {
        for cause in [None, Some(""), Some("fetch a page"), Some("-"), Some("a\nb")] {
            let taint = Taint { coarse: cause.is_none(), ..Taint::mark(Facts::OUTSIDE, 7, cause.map(Cause::new)) };
            let known = Known { taint, epoch: 9 };
            assert_eq!(Known::read(known.write().as_bytes()), Some(known));
        }
        for text in [
            "",
            "?",
            "1",
            "2 1 7 7 1 0 9 -",
            "1 1 7 7 1 2 9 -",
            "1 65536 7 7 1 0 9 -",
            "1 1 7 7 1 0 9",
            "1 1 7 7 1 0 9 x",
        ] {
            assert_eq!(Known::read(text.as_bytes()), None, "{text}");
        }
        for text in ["1 +1 7 7 1 0 9 -", "1 1 7 7 1 0 9 -x", "1 1 9007199254740992 7 1 0 9 -", "1 1  7 1 0 9 -"] {
            assert_eq!(Known::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Known::read(b"1 1 7 7 1 0 9 =\xff"), None);
    }
}
