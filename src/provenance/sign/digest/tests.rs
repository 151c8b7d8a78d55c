use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::json::Fault;

fn of(text: &str) -> [u8; 32] {
    digest(text.as_bytes(), &[]).unwrap()
}

fn without(text: &str, path: &[&str]) -> [u8; 32] {
    digest(text.as_bytes(), path).unwrap()
}

#[test]
fn the_form_is_what_another_program_makes_of_it() {
    // By a program of 30 lines in another language, written after the description.
    let text = r#"{"b":[1,1.0,true,null,false,"\u00e9\ud800"],"a":{"":{}}}"#;
    let hex: String = of(text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "5d099c126330fb5033430bad2673105e628722d285f488cc3d4078508744855f");
}

#[test]
fn what_says_the_same_is_the_same() {
    for (one, other) in [
        (r#"{"a":1,"b":[true,null]}"#, " {\r\n\t\"b\" : [ true , null ] , \"a\" : 1 } "),
        (r#""\u0041\/\n\u00e9\ud83d\ude00""#, "\"A/\\u000aé\u{1F600}\""),
        (r#"{"\u0061":"x"}"#, r#"{"a":"\u0078"}"#),
        (r#""\ud800""#, r#""\uD800""#),
        ("[]", "[ ]"),
    ] {
        assert_eq!(of(one), of(other), "{one} {other}");
    }
}

#[test]
fn what_does_not_is_not() {
    let texts = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "0.0",
        "1",
        "1.0",
        "10e-1",
        "1e0",
        "1E0",
        "1e+0",
        "1e400",
        r#""""#,
        r#""1""#,
        r#""null""#,
        r#""n""#,
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\\ud800""#,
        r#""\ufffd""#,
        r#""e\u0301""#,
        r#""é""#,
        "[]",
        "[[]]",
        "[[],[]]",
        "[[[]]]",
        "[null]",
        "[null,null]",
        "[1,2]",
        "[2,1]",
        "[12]",
        r#"["1","2"]"#,
        r#"["1,2"]"#,
        "{}",
        "[{}]",
        "[{},{}]",
        r#"{"":{}}"#,
        r#"{"":null}"#,
        r#"{"a":null}"#,
        r#"{"a":"b"}"#,
        r#"{"b":"a"}"#,
        r#"{"A":"b"}"#,
        r#"["a","b"]"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":{"b":2},"c":1}"#,
        r#"{"a":{"b":2,"c":1}}"#,
        r#"[{"a":1},{"b":2}]"#,
        r#"[{"a":1,"b":2}]"#,
    ];
    let digests: std::collections::HashSet<_> = texts.iter().map(|text| of(text)).collect();
    assert_eq!(digests.len(), texts.len());
}

#[test]
fn what_readers_disagree_about_is_refused() {
    let deep = "[".repeat(128) + &"]".repeat(128);
    for (text, expected) in [
        (r#"{"a":1,"a":1}"#, Fault::DuplicateKey),
        (r#"[{"a":{"b":1,"\u0062":1}}]"#, Fault::DuplicateKey),
        (r#"[{"\ud800":1}]"#, Fault::LoneSurrogateInKey),
        ("[1] 2", Fault::TrailingData),
        ("[1", Fault::Truncated),
        ("", Fault::Empty),
        (&deep, Fault::TooDeep),
    ] {
        assert_eq!(digest(text.as_bytes(), &[]).map_err(|error| error.fault()), Err(expected), "{text}");
    }
    assert!(digest(&deep.as_bytes()[1..255], &[]).is_ok());
    assert_eq!(digest(b"\"\xFF\"", &[]).map_err(|error| error.fault()), Err(Fault::InvalidUtf8));
}

#[test]
fn what_is_left_out_is_not_there() {
    let path = ["_meta", "a/b"];
    for (text, same) in [
        (r#"{"_meta":{"a/b":{"v":1}},"x":1}"#, r#"{"x":1}"#),
        (r#"{"_meta":{"a\/b":[]},"x":1}"#, r#"{"x":1,"_meta":{}}"#),
        (r#"{"_meta":{"c":{},"a/b":1}}"#, r#"{"_meta":{"c":{}}}"#),
        (r#"{"_meta":{}}"#, "{}"),
    ] {
        assert_eq!(without(text, &path), without(same, &path), "{text}");
        assert_eq!(without(text, &path), without(&text.replace("[]", "{}"), &path), "{text}");
    }
    let untouched = [
        r#"{"_meta":null}"#,
        r#"{"_meta":[]}"#,
        r#"{"_meta":"a/b"}"#,
        r#"{"a/b":1}"#,
        r#"{"_meta":{"A/b":1}}"#,
        r#"{"_META":{"a/b":1}}"#,
        r#"{"_META":{}}"#,
        r#"{"_meta":{"_meta":{"a/b":1}}}"#,
        r#"{"x":{"_meta":{"a/b":1}}}"#,
        r#"{"x":{"_meta":{}}}"#,
        r#"[{"_meta":{"a/b":1}}]"#,
    ];
    for text in untouched {
        assert_eq!(without(text, &path), of(text), "{text}");
        assert_ne!(without(text, &path), of("{}"), "{text}");
    }
    assert_eq!(without(r#"{"sig":"x","v":1}"#, &["sig"]), of(r#"{"v":1}"#));
    assert_eq!(without(r#"{"v":{"sig":1}}"#, &["sig"]), of(r#"{"v":{"sig":1}}"#));
    // Its grammar is judged, and that there is one.
    assert!(digest(br#"{"_meta":{"a/b":{"v":}}}"#, &path).is_err());
    assert!(digest(br#"{"_meta":{"a/b":1,"a/b":1}}"#, &path).is_err());
    assert!(digest(br#"{"_meta":{},"_meta":{"a/b":1}}"#, &path).is_err());
}

/// Writes a value as some serialiser might: `choices` picks white space, order and escapes.
struct Writer {
    out: String,
    choices: u64,
}

impl Writer {
    fn write(value: &Value, choices: u64) -> String {
        let mut writer = Self { out: String::new(), choices };
        writer.value(value);
        writer.out
    }

    fn choose(&mut self, among: usize) -> usize {
        self.choices = self.choices.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.choices >> 33) as usize % among
    }

    fn put(&mut self, text: &str) {
        let space = ["", "", " ", "\n\t", "\r\n  "][self.choose(5)];
        self.out.push_str(space);
        self.out.push_str(text);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(elements) => {
                self.put("[");
                for (at, element) in elements.iter().enumerate() {
                    self.put(if at == 0 { "" } else { "," });
                    self.value(element);
                }
                self.put("]");
            }
            Value::Object(members) => self.object(members),
            Value::String(text) => self.string(text),
            scalar => self.put(&scalar.to_string()),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        let mut members: Vec<_> = members.iter().collect();
        self.put("{");
        while !members.is_empty() {
            let (name, value) = members.swap_remove(self.choose(members.len()));
            self.string(name);
            self.put(":");
            self.value(value);
            self.put(if members.is_empty() { "" } else { "," });
        }
        self.put("}");
    }

    fn string(&mut self, text: &str) {
        self.put("\"");
        for character in text.chars() {
            if self.choose(3) == 0 || character.is_control() || "\"\\".contains(character) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(self.out, "\\u{unit:04x}").unwrap();
                }
            } else {
                self.out.push(character);
            }
        }
        self.out.push('"');
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-2..3_i8).prop_map(Value::from),
        (-1000..1000_i32).prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        "\\PC{0,12}".prop_map(Value::String),
        "[ab]{0,2}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(("[a-c]{0,2}|\\PC{0,6}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// All values that differ from a given one in one place.
fn neighbours(value: &Value) -> Vec<Value> {
    let mut all = vec![json!([value]), json!({ "a": value }), json!(value.to_string())];
    match value {
        Value::Null => all.extend([json!(false), json!(0), json!("")]),
        Value::Bool(is) => all.extend([json!(!is), Value::Null]),
        Value::Number(number) => {
            all.extend([json!(number.as_f64().unwrap_or_default() / 2.0 + 1.25), Value::Null]);
        }
        Value::String(text) => all.extend([json!(format!("{text} ")), json!(format!("a{text}")), Value::Null]),
        Value::Array(elements) => all.extend(elements_changed(elements)),
        Value::Object(members) => all.extend(members_changed(members)),
    }
    all.retain(|other| other != value);
    all
}

fn elements_changed(elements: &[Value]) -> Vec<Value> {
    let mut all = vec![json!({}), Value::from_iter(elements.iter().cloned().chain([Value::Null]))];
    for (at, element) in elements.iter().enumerate() {
        let mut changed = elements.to_vec();
        changed.remove(at);
        all.push(changed.into());
        let mut changed = elements.to_vec();
        changed.swap(at, 0);
        all.push(changed.into());
        all.extend(neighbours(element).into_iter().map(|neighbour| {
            let mut changed = elements.to_vec();
            changed[at] = neighbour;
            changed.into()
        }));
    }
    all
}

fn members_changed(members: &Map<String, Value>) -> Vec<Value> {
    let with = |name: &str, value: Value| {
        let mut changed = members.clone();
        changed.insert(name.into(), value);
        Value::Object(changed)
    };
    let mut all = vec![json!([]), with("new", Value::Null)];
    for (name, value) in members {
        let mut changed = members.clone();
        changed.remove(name);
        all.push(changed.clone().into());
        changed.insert(format!("{name}a"), value.clone());
        all.push(changed.into());
        all.extend(neighbours(value).into_iter().map(|neighbour| with(name, neighbour)));
    }
    all
}

proptest! {
    #[test]
    fn serialisers_do_not_change_it(value in values(), choices: u64) {
        let text = Writer::write(&value, choices);
        let sorted = serde_json::to_string(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
        prop_assert_eq!(of(&text), of(&sorted));
        prop_assert_eq!(of(&text), of(&serde_json::to_string_pretty(&value).unwrap()));
    }

    #[test]
    fn every_change_does(value in values(), choices: u64) {
        let digest = of(&value.to_string());
        for neighbour in neighbours(&value) {
            prop_assert_ne!(of(&Writer::write(&neighbour, choices)), digest, "{} {}", value, neighbour);
        }
    }

    #[test]
    fn two_values_are_one_if_their_digests_are(one in values(), other in values()) {
        prop_assert_eq!(one == other, of(&one.to_string()) == of(&other.to_string()));
    }

    #[test]
    fn halves_of_pairs_are_told_apart(
        one in prop::collection::vec(0xD7FF..0xE001_u16, 0..4), other in prop::collection::vec(0xD7FF..0xE001_u16, 0..4),
    ) {
        let text = |units: &[u16]| units.iter().fold(String::new(), |text, unit| format!("{text}\\u{unit:04x}"));
        let [first, second] = [&one, &other].map(|units| of(&format!("\"{}\"", text(units))));
        prop_assert_eq!(one == other, first == second);
    }
}
