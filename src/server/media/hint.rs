//! Whether there can be a medium in a text, without reading it.

use memchr::memchr_iter;

/// The names by which all media are known, of types or of members. Each begins with another letter.
const NAMES: [&[u8]; 4] = [b"audio", b"blob", b"data", b"image"];

/// Whether there can be a medium in a text: whether some string in it may be one of the names by which media are known.
pub(crate) fn may_hold_media(text: &[u8]) -> bool {
    // Of strings in strings the quotes are found as well: there a slash comes before the second one.
    memchr_iter(b'"', text).any(|quote| {
        let string = text.get(quote + 1..).unwrap_or_default();
        string.first().is_some_and(|first| may_begin(*first)) && may_be_known(string)
    })
}

/// Whether a byte may begin one of the names: most strings are told by it.
fn may_begin(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'a' | b'b' | b'd' | b'i' | b'\\' | ..=0x1F | 0x7F | 0xC2 | 0xC4)
}

/// Whether the string that begins a text may be one of the names.
fn may_be_known(text: &[u8]) -> bool {
    let Some(first) = text.first() else { return false };
    let begins = |name: &&[u8]| name.first().is_some_and(|letter| letter.eq_ignore_ascii_case(first));
    let name = NAMES.into_iter().find(begins).unwrap_or_default();
    let met = name.iter().zip(text).take_while(|(letter, byte)| letter.eq_ignore_ascii_case(byte)).count();
    match text.get(met..).unwrap_or_default() {
        [b'"', ..] => met == name.len() && met > 0,
        rest => is_odd(rest),
    }
}

/// Whether what begins a text may be a letter of a name, or nothing, to some reader: an escape, a control character, or
/// U+0131, the only letter that is not in ASCII and becomes one of the names' once case is folded.
fn is_odd(text: &[u8]) -> bool {
    matches!(
        text,
        [b'\\', b'b' | b'f' | b'n' | b'r' | b't' | b'u', ..]
            | [..=0x1F | 0x7F, ..]
            | [0xC2, 0x80..=0x9F, ..]
            | [0xC4, 0xB1, ..]
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{fold, folds_onto};

    #[test]
    fn names_are_found_however_they_are_written() {
        for text in [
            r#"{"data":1}"#,
            r#"{"a":"image"}"#,
            r#"["AUDIO"]"#,
            r#"{"bl\u006fb":1}"#,
            r#"{"\u0062lob":1}"#,
            "{\"\u{131}mage\":1}",
            r#"{"\u0131mage":1}"#,
            r#"{"da\nta":1}"#,
            r#"{"data\u0000":1}"#,
            "{\"\u{7f}data\":1}",
            "{\"da\u{85}ta\":1}",
            r#"{"a":"\nx"}"#,
            "\u{feff}{\"data\":1}",
            "{\0\"\0d\0a\0t\0a\0\"\0",
            "\0{\0\"\0d\0a\0t\0a\0\"",
        ] {
            assert!(may_hold_media(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "\"",
            r#"{"content":[{"type":"text","text":"an image, audio, blob or data"}]}"#,
            r#"{"text":"{\"data\":\"image\",\"b\":1,\"\\n\":2}"}"#,
            r#"{"text":"line\nline \u00e4","imag":1,"images":2,"database":3,"":4}"#,
            "{\"text\":\"\u{e4}\u{131}\"}",
        ] {
            assert!(!may_hold_media(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn all_other_letters_are_none_of_the_names() {
        let letters = String::from_utf8(NAMES.concat()).unwrap();
        for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii_alphabetic()) {
            let folded = fold(&c.to_string());
            if folded.chars().all(|c| letters.contains(c)) {
                assert!(is_odd(c.to_string().as_bytes()), "{c:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_some_reader_takes_for_a_name_is_found(
            name in prop::sample::select(&NAMES[..]),
            marks in prop::collection::vec((0..6_usize, prop::sample::select(&["\\n", "\\u0000", "\\u0131", "\u{131}", "\u{85}", "\\/", "x"][..])), 0..3),
            upper in any::<u8>(),
        ) {
            let mut letters = Vec::from_iter(name.iter().map(|letter| char::from(*letter).to_string()));
            letters.iter_mut().enumerate().filter(|(at, _)| upper >> at & 1 == 1).for_each(|(_, c)| *c = c.to_uppercase());
            marks.iter().for_each(|(at, mark)| letters.insert((*at).min(letters.len()), (*mark).to_owned()));
            let text = format!("[\"{}\"]", letters.concat());
            let [read] = &serde_json::from_str::<Vec<String>>(&text).unwrap()[..] else { panic!("{text}") };
            let is_name = NAMES.iter().any(|name| {
                let name = str::from_utf8(name).unwrap();
                read == name || folds_onto(read, name)
            });
            prop_assert!(!is_name || may_hold_media(text.as_bytes()), "{}", text);
        }
    }
}
