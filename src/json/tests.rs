use proptest::prelude::*;

use super::*;

fn read(bytes: &[u8]) -> Result<(), Error> {
    let mut reader = Reader::new(bytes)?;
    reader.value()?;
    reader.end()
}

fn fault(bytes: &[u8]) -> Option<Fault> {
    read(bytes).err().map(|error| error.fault())
}

/// What is refused, and why.
const REFUSED: &[(&str, &[u8], Fault)] = &[
    ("nothing", b"", Fault::Empty),
    ("only white space", b" \r\n\t", Fault::Empty),
    ("byte order mark", b"\xEF\xBB\xBF{}", Fault::ByteOrderMark),
    ("utf-16 little endian", b"{\0}\0", Fault::Syntax),
    ("utf-16 with a mark", b"\xFF\xFE{\0}\0", Fault::InvalidUtf8),
    ("invalid byte", b"\"\xFF\"", Fault::InvalidUtf8),
    ("overlong form", b"\"\xC1\xA4\"", Fault::InvalidUtf8),
    ("surrogates in utf-8", b"\"\xED\xA0\xBD\xED\xB8\x80\"", Fault::InvalidUtf8),
    ("duplicate", br#"{"a":1,"a":2}"#, Fault::DuplicateKey),
    ("duplicate by escape", br#"{"name":1,"n\u0061me":2}"#, Fault::DuplicateKey),
    ("duplicate by two escapes", br#"{"\u006eame":1,"n\u0061me":2}"#, Fault::DuplicateKey),
    ("duplicate of an empty name", br#"{"":1,"":2}"#, Fault::DuplicateKey),
    ("duplicate longer than a word", br#"{"a long name":1,"a long name":2}"#, Fault::DuplicateKey),
    ("duplicate three levels down", br#"{"a":{"b":[{"c":{"d":1,"e":2,"d":3}}]}}"#, Fault::DuplicateKey),
    ("duplicate after a closed object", br#"{"a":{"a":1},"a":2}"#, Fault::DuplicateKey),
    ("lone high surrogate in a key", br#"{"\ud800":1}"#, Fault::LoneSurrogateInKey),
    ("lone low surrogate in a key", br#"{"x\udc00":1}"#, Fault::LoneSurrogateInKey),
    ("NaN", b"[NaN]", Fault::NotANumber),
    ("nan", b"[nan]", Fault::NotANumber),
    ("Infinity", b"Infinity", Fault::NotANumber),
    ("-Infinity", b"[-Infinity]", Fault::NotANumber),
    ("beyond f64", b"1e400", Fault::BeyondF64),
    ("beyond f64, negative", b"[-1e400]", Fault::BeyondF64),
    ("trailing letter", b"{}x", Fault::TrailingData),
    ("trailing nul", b"{}\0", Fault::TrailingData),
    ("second value", br#"{}{"a":1}"#, Fault::TrailingData),
    ("second line", b"{}\n{}", Fault::TrailingData),
    ("trailing comma in an object", br#"{"a":1,}"#, Fault::Syntax),
    ("trailing comma in an array", b"[1,]", Fault::Syntax),
    ("leading comma", b"[,1]", Fault::Syntax),
    ("no comma", b"[1 2]", Fault::Syntax),
    ("no colon", br#"{"a" 1}"#, Fault::Syntax),
    ("comment", b"{/*c*/}", Fault::Syntax),
    ("single quotes", b"{'a':1}", Fault::Syntax),
    ("bare key", b"{a:1}", Fault::Syntax),
    ("wrong bracket", b"[1}", Fault::Syntax),
    ("wrong brace", br#"{"a":1]"#, Fault::Syntax),
    ("form feed", b"\x0C{}", Fault::Syntax),
    ("vertical tab", b"\x0B{}", Fault::Syntax),
    ("no-break space", "\u{A0}{}".as_bytes(), Fault::Syntax),
    ("raw line feed in a string", b"\"a\nb\"", Fault::Syntax),
    ("raw tab in a string", b"\"a\tb\"", Fault::Syntax),
    ("raw nul in a string", b"\"a\0b\"", Fault::Syntax),
    ("raw control far into a string", b"\"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\x1F\"", Fault::Syntax),
    ("unknown escape", br#""\a""#, Fault::Syntax),
    ("hexadecimal escape", br#""\x64""#, Fault::Syntax),
    ("bad digits in an escape", br#""\u00g0""#, Fault::Syntax),
    ("sign in an escape", br#""\u+061""#, Fault::Syntax),
    ("leading zero", b"01", Fault::TrailingData),
    ("leading zero in an array", b"[01]", Fault::Syntax),
    ("plus", b"+1", Fault::Syntax),
    ("leading point", b".5", Fault::Syntax),
    ("trailing point", b"[5.]", Fault::Syntax),
    ("empty exponent", b"[1e]", Fault::Syntax),
    ("half an exponent", b"[1e+]", Fault::Syntax),
    ("only a minus", b"[-]", Fault::Syntax),
    ("wrong literal", b"[trux]", Fault::Syntax),
    ("upper case literal", b"[True]", Fault::Syntax),
    ("truncated literal", b"tru", Fault::Truncated),
    ("truncated string", b"\"abc", Fault::Truncated),
    ("truncated escape", b"\"abc\\", Fault::Truncated),
    ("truncated unicode escape", b"\"\\u00", Fault::Truncated),
    ("truncated object", br#"{"a":1"#, Fault::Truncated),
    ("truncated after a name", br#"{"a""#, Fault::Truncated),
    ("truncated after a colon", br#"{"a":"#, Fault::Truncated),
    ("truncated array", b"[1", Fault::Truncated),
    ("truncated number", b"[1.", Fault::Truncated),
];

const ACCEPTED: &[(&str, &[u8])] = &[
    ("scalars", br#"[null,true,false,0,-0,1.5e-3,1E+2,"",{},[]]"#),
    ("white space", b" \r\n\t{ \"a\" : [ 1 , 2 ] } \r\n"),
    ("one name in two objects", br#"[{"a":1},{"a":2}]"#),
    ("one name on two levels", br#"{"a":{"a":{"a":1}}}"#),
    ("names that differ by case", br#"{"a":1,"A":2}"#),
    ("names that differ by a nul", br#"{"a":1,"a\u0000":2,"a\u0000\u0000":3}"#),
    ("names with one beginning", br#"{"abcdefgh":1,"abcdefghi":2,"abcdefg":3}"#),
    ("lone surrogate in a value", br#"["\ud800","\udc00\ud800"]"#),
    ("surrogate pair", br#"{"\ud83d\ude00":"\ud83d\ude00"}"#),
    ("delete", b"\"a\x7Fb\""),
    ("largest f64", b"1.7976931348623157e308"),
    ("far below the smallest f64", b"1e-400"),
    ("2^64", b"18446744073709551616"),
];

#[test]
fn decision_2_every_refusal_of_a_text_has_its_kind() {
    for (name, bytes, expected) in REFUSED {
        assert_eq!(fault(bytes), Some(*expected), "{name}");
    }
}

#[test]
fn what_parsers_agree_on_is_accepted() {
    for (name, bytes) in ACCEPTED {
        assert_eq!(read(bytes), Ok(()), "{name}");
    }
}

#[test]
fn numbers_of_many_digits_are_judged_by_their_value() {
    assert_eq!(fault("1".repeat(308).as_bytes()), None);
    assert_eq!(fault("1".repeat(5000).as_bytes()), Some(Fault::BeyondF64));
    assert_eq!(fault(format!("0.{}", "1".repeat(5000)).as_bytes()), None);
}

#[test]
fn the_128th_open_container_is_refused() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(fault(nested(127).as_bytes()), None);
        assert_eq!(fault(nested(128).as_bytes()), Some(Fault::TooDeep));
        assert_eq!(fault(nested(10_000).as_bytes()), Some(Fault::TooDeep));
    }
    assert_eq!(fault("[".repeat(100_000).as_bytes()), Some(Fault::TooDeep));
    let siblings = format!("[{}[]]", "[],".repeat(10_000));
    assert_eq!(fault(siblings.as_bytes()), None);
}

#[test]
fn large_objects_are_searched_by_a_keyed_hash() {
    for size in [23, 24, 25, 26, 1000] {
        let members = |extra: &str| {
            let names = (0..size).map(|n| format!("\"key number {n}\":{{\"x\":{n}}}"));
            let names: Vec<_> = names.chain([extra.to_owned()]).collect();
            format!("{{{}}}", names.join(","))
        };
        assert_eq!(fault(members(r#""another":1"#).as_bytes()), None, "{size}");
        for duplicate in [0, 1, size / 2, size - 1] {
            let plain = format!(r#""key number {duplicate}":1"#);
            assert_eq!(fault(members(&plain).as_bytes()), Some(Fault::DuplicateKey), "{size} {plain}");
            let escaped = format!(r#""k\u0065y number {duplicate}":1"#);
            assert_eq!(fault(members(&escaped).as_bytes()), Some(Fault::DuplicateKey), "{size} {escaped}");
        }
        let nested = format!(r#"{{"outer":{},"outer2":{}}}"#, members(r#""a":1"#), members(r#""a":1"#));
        assert_eq!(fault(nested.as_bytes()), None, "{size}");
    }
}

#[test]
fn names_fold_as_lenient_parsers_fold_them() {
    for (name, known, expected) in [
        ("Name", "name", true),
        ("param\u{17F}", "params", true),
        ("tas\u{212A}", "task", true),
        ("name\u{0}", "name", true),
        ("\u{85}name", "name", true),
        ("name", "name", false),
        ("names", "name", false),
        ("name ", "name", false),
        ("É", "é", true),
    ] {
        assert_eq!(folds_onto(name, known), expected, "{name:?} {known:?}");
    }
}

/// Any value, written with random white space and escapes.
fn arbitrary_text() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_filter("JSON has no other", |value| value.is_finite()).prop_map(|value| format!("{value:e}")),
        ".{0,80}".prop_map(|value| serde_json::to_string(&value).unwrap()),
    ];
    text.prop_recursive(6, 64, 8, |inner| {
        let names = prop::collection::vec(("[ab\"\\\\\u{1}é]{0,12}", inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..8).prop_map(|values| format!("[{}]", values.join(" ,\n"))),
            names.prop_map(|members| {
                let member =
                    |(name, value): &(String, String)| format!("{}: {value}", serde_json::to_string(name).unwrap());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

/// Whether some object of the text has two members of one name, by a reader that knows nothing of ours.
fn has_duplicate(text: &str) -> bool {
    struct Strict;
    impl<'de> serde::de::DeserializeSeed<'de> for Strict {
        type Value = bool;
        fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
            deserializer.deserialize_any(self)
        }
    }
    impl<'de> serde::de::Visitor<'de> for Strict {
        type Value = bool;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("anything")
        }
        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_str<E>(self, _: &str) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
            let mut found = false;
            while let Some(inner) = seq.next_element_seed(Strict)? {
                found |= inner;
            }
            Ok(found)
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
            let mut names = std::collections::HashSet::new();
            let mut found = false;
            while let Some(name) = map.next_key::<String>()? {
                found |= !names.insert(name);
                found |= map.next_value_seed(Strict)?;
            }
            Ok(found)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde::de::DeserializeSeed::deserialize(Strict, &mut deserializer).unwrap()
}

proptest! {
    #[test]
    fn valid_texts_are_accepted_unless_a_name_repeats(text in arbitrary_text()) {
        let expected = has_duplicate(&text).then_some(Fault::DuplicateKey);
        prop_assert_eq!(fault(text.as_bytes()), expected);
    }

    #[test]
    fn what_is_accepted_serde_json_accepts_as_well(text in r#"[\[\]{}:,"0-9eE.+\-truefalsn \\u\n]{0,40}"#) {
        if read(text.as_bytes()).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok() || text.contains("\\u"));
        } else if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            prop_assert_eq!(fault(text.as_bytes()), Some(Fault::DuplicateKey));
        }
    }

    #[test]
    fn every_prefix_of_a_text_is_refused(text in arbitrary_text(), cut in any::<prop::sample::Index>()) {
        let document = format!("[{text}]");
        let cut = cut.index(document.len());
        prop_assert!(read(&document.as_bytes()[..cut]).is_err());
    }

    #[test]
    fn strings_are_decoded_as_serde_json_decodes_them(value in "\\PC{0,200}") {
        let text = format!("{{\"a\":{}}}", serde_json::to_string(&value).unwrap());
        let owned = OwnedArguments::read(&text).unwrap();
        let argument = owned.arguments().get("a").unwrap();
        prop_assert_eq!(argument.as_str().unwrap().unwrap(), value);
    }
}

fn tolerated(bytes: &[u8]) -> Option<Fault> {
    let read = || {
        let mut reader = Reader::tolerant(bytes)?;
        reader.value()?;
        reader.end()
    };
    read().err().map(|error| error.fault())
}

#[test]
fn decision_2_what_is_passed_on_unread_is_tolerated_only_there() {
    for (name, bytes, expected) in REFUSED {
        let passes = matches!(expected, Fault::BeyondF64 | Fault::DuplicateKey | Fault::LoneSurrogateInKey);
        assert_eq!(tolerated(bytes), Some(*expected).filter(|_| !passes), "{name}");
    }
    for (name, bytes) in ACCEPTED {
        assert_eq!(tolerated(bytes), None, "{name}");
    }
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(tolerated(nested(127).as_bytes()), None);
        assert_eq!(tolerated(nested(128).as_bytes()), Some(Fault::TooDeep));
    }
    assert_eq!(tolerated("1".repeat(5000).as_bytes()), None);
}

#[test]
fn decision_2_names_in_objects_that_are_opened_are_judged_by_every_reader() {
    /// Opens the text's object, and the object `in` of it.
    fn open(text: &str) -> Option<Fault> {
        let read = || {
            let mut reader = Reader::tolerant(text.as_bytes())?;
            reader.open_object()?;
            while let Some(key) = reader.key()? {
                if !key.is(text.as_bytes(), "in") {
                    reader.value()?;
                    continue;
                }
                reader.open_object()?;
                while reader.key()?.is_some() {
                    reader.value()?;
                }
            }
            reader.end()
        };
        read().err().map(|error| error.fault())
    }
    let many: String = (0..30).map(|at| format!(r#""k{at}":{{"a":1,"a":1}},"#)).collect();
    for (text, expected) in [
        (r#"{"a":{"x":1,"x":2},"b":[{"x":1,"x":2}]}"#, None),
        (r#"{"a":{"\ud800":1},"b":1e400,"c":[-1e999]}"#, None),
        (r#"{"a":{"x":1,"x":2},"a":1}"#, Some(Fault::DuplicateKey)),
        (r#"{"a":1,"b":{"x":1,"x":2},"\u0061":1}"#, Some(Fault::DuplicateKey)),
        (r#"{"a":1,"\ud800":1}"#, Some(Fault::LoneSurrogateInKey)),
        (r#"{"in":{"a":{"a":1,"a":{"b":1,"b":1}},"b":1},"a":1,"b":1}"#, None),
        (r#"{"in":{"a":{"b":1,"b":1},"b":{},"a":1}}"#, Some(Fault::DuplicateKey)),
        (r#"{"a":1,"in":{"a":[{"b":1,"b":1}]},"a":1}"#, Some(Fault::DuplicateKey)),
        (r#"{"in":{"\udc00":[]}}"#, Some(Fault::LoneSurrogateInKey)),
        (r#"{"in":{"a":{"x":1 "x":2}}}"#, Some(Fault::Syntax)),
        (&format!(r#"{{{many}"in":{{}}}}"#), None),
        (&format!(r#"{{{many}"k3":1}}"#), Some(Fault::DuplicateKey)),
    ] {
        assert_eq!(open(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn a_tolerant_reader_accepts_what_is_right_but_for_names_and_ranges(
        text in r#"[\[\]{}:,"0-9eE.+\-truefalsn \\u\n]{0,40}"#,
        right in arbitrary_text(),
    ) {
        prop_assert_eq!(tolerated(right.as_bytes()), None);
        let passes = |fault: &Fault| {
            matches!(fault, Fault::BeyondF64 | Fault::DuplicateKey | Fault::LoneSurrogateInKey)
        };
        let expected = fault(text.as_bytes());
        // Behind what is tolerated there may be something that is not.
        prop_assert!(tolerated(text.as_bytes()) == expected || expected.as_ref().is_some_and(passes));
    }
}
