use proptest::prelude::*;
use serde_json::Value;

use super::canonical::canonical;
use super::*;
use crate::json::Fault;

fn form(text: &str) -> String {
    String::from_utf8(canonical(text.as_bytes()).unwrap()).unwrap()
}

fn hash(text: &str) -> DefinitionHash {
    DefinitionHash::of(text.as_bytes()).unwrap()
}

#[test]
fn the_examples_of_rfc_8785() {
    let literals = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    assert_eq!(
        form(literals),
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    let order = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    assert_eq!(
        form(order),
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
         \"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
}

#[test]
fn the_numbers_of_rfc_8785() {
    for (bits, text) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(number::to_string(f64::from_bits(bits)), text, "{bits:x}");
    }
}

#[test]
fn strings_have_the_shortest_spelling() {
    for (text, expected) in [
        (r#""\b\t\n\f\r""#, r#""\b\t\n\f\r""#),
        (r#""\u0008\u0009\u000A\u000C\u000D""#, r#""\b\t\n\f\r""#),
        (r#""\u0000\u001F\u000b""#, r#""\u0000\u001f\u000b""#),
        (r#""\u007f\u2028\/""#, "\"\u{7f}\u{2028}/\""),
        (r#""\ud83d\ude00""#, "\"😀\""),
        ("\" e\u{301} \"", "\" e\u{301} \""),
    ] {
        assert_eq!(form(text), expected, "{text}");
    }
}

#[test]
fn numbers_have_one_spelling() {
    for (text, expected) in [
        ("[-0, 0, -0.0, 0e9, 1.0, 10e-1, 0.1e1, 100, 1e2]", "[0,0,0,0,1,1,1,100,100]"),
        ("[9007199254740991, -9007199254740991]", "[9007199254740991,-9007199254740991]"),
        ("[1e20, 1e21, 123e-8, 0.000001, 1e-7]", "[100000000000000000000,1e+21,0.00000123,0.000001,1e-7]"),
    ] {
        assert_eq!(form(text), expected, "{text}");
    }
}

#[test]
fn what_readers_differ_about_has_no_form() {
    let unsafe_at = |offset| DefinitionFault::UnsafeInteger { offset };
    let lone_at = |offset| DefinitionFault::LoneSurrogate { offset };
    for (text, fault) in [
        ("9007199254740992", unsafe_at(0)),
        ("[-9007199254740992]", unsafe_at(1)),
        ("[1,18446744073709551615]", unsafe_at(3)),
        ("100000000000000000000000000000000000000000", unsafe_at(0)),
        (r#"["\ud800"]"#, lone_at(2)),
        (r#"{"a":"x\udc00"}"#, lone_at(6)),
    ] {
        assert_eq!(canonical(text.as_bytes()), Err(fault), "{text}");
    }
    for (text, fault) in [
        (r#"{"a":1,"a":1}"#, Fault::DuplicateKey),
        (r#"{"x":[{"a":1,"\u0061":1}]}"#, Fault::DuplicateKey),
        (r#"{"\ud800":1}"#, Fault::LoneSurrogateInKey),
        ("1e400", Fault::BeyondF64),
        ("NaN", Fault::NotANumber),
        ("{} {}", Fault::TrailingData),
        ("", Fault::Empty),
    ] {
        match canonical(text.as_bytes()) {
            Err(DefinitionFault::Json(error)) => assert_eq!(error.fault(), fault, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn the_hash_is_the_one_that_others_compute() {
    // sha256sum of the form.
    assert_eq!(hash("{}").to_string(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

const TOOL: &str = r#"{
    "name": "read",
    "title": "Read",
    "description": "Reads a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string", "maxLength": 10}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": true},
    "icons": [{"src": "https://h/i.png"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"a": 1},
    "unheard-of": [1, null, ""]
}"#;

#[test]
fn th_144_every_field_counts() {
    let mut pins = Pins::new();
    pins.approve("s", "read", hash(TOOL)).unwrap();
    for (from, to) in [
        (r#""title": "Read""#, r#""title": "read""#),
        ("Reads a file.", "Reads a file. "),
        (r#""maxLength": 10"#, r#""maxLength": 11"#),
        (r#""outputSchema": {"type": "object"}"#, r#""outputSchema": {"type": "object", "x": 1}"#),
        (r#""readOnlyHint": true"#, r#""readOnlyHint": false"#),
        ("i.png", "j.png"),
        ("optional", "required"),
        (r#"{"a": 1}"#, r#"{"a": "1"}"#),
        (r#"[1, null, ""]"#, r#"[1, "", null]"#),
        (r#""annotations": {"readOnlyHint": true},"#, ""),
        (r#""name": "read","#, r#""name": "read", "new": null,"#),
    ] {
        let changed = TOOL.replace(from, to);
        assert_ne!(changed, TOOL, "{from}");
        assert_eq!(pins.check("s", "read", hash(&changed)), PinVerdict::Changed, "{from}");
    }
    assert_eq!(
        pins.check("s", "read", hash(&TOOL.replace(['\n', ' '], "").replace("Readsafile.", "Reads a file."))),
        PinVerdict::Pinned
    );
}

#[test]
fn th_143_a_name_that_is_there_twice_withholds_both() {
    let mut pins = Pins::new();
    pins.approve("s", "a", hash(r#"{"name":"a"}"#)).unwrap();
    let list = |text: &str| definitions(text.as_bytes()).unwrap();
    for (text, verdicts) in [
        (r#"{"tools":[{"name":"a"}]}"#, vec![PinVerdict::Pinned]),
        (r#"{"tools":[{"name":"a"},{"name":"a"}]}"#, vec![PinVerdict::Repeated; 2]),
        (r#"{"tools":[{"name":"a"},{"name":"\u0061","x":1}]}"#, vec![PinVerdict::Repeated; 2]),
        (r#"{"tools":[{"name":"a"},{"name":"A"}]}"#, vec![PinVerdict::Pinned, PinVerdict::New]),
        (r#"{"tools":[{"name":"a"},{"name":"a","x":99999999999999999999}]}"#, vec![PinVerdict::Repeated; 2]),
    ] {
        assert_eq!(pins.check_list("s", &list(text)), verdicts, "{text}");
    }
    let pages = [list(r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#), list(r#"{"tools":[{"name":"a"}]}"#)].concat();
    assert_eq!(pins.check_list("s", &pages), [PinVerdict::Repeated; 2]);
    let unguarded = list(r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"b"}]}"#);
    let verdicts = [PinVerdict::Unguarded, PinVerdict::Repeated, PinVerdict::Repeated];
    assert_eq!(pins.check_list("other", &unguarded), verdicts);
}

#[test]
fn th_145_a_tool_that_takes_another_name_is_new() {
    let mut pins = Pins::new();
    pins.approve("s", "a", hash(r#"{"name":"a"}"#)).unwrap();
    let list = definitions(br#"{"tools":[{"name":"b"}]}"#).unwrap();
    assert_eq!(pins.check_list("s", &list), [PinVerdict::New]);
    // Not even with the hash of the one that it was.
    assert_eq!(pins.check("s", "b", hash(r#"{"name":"a"}"#)), PinVerdict::New);
}

#[test]
fn what_has_no_hash_is_in_quarantine_alone() {
    let text = r#"{"tools":[{"name":"a"},{"name":"b","x":1e400},{"name":"c","c":1,"c":2},{"name":"d","y":"\ud800"},
        {"name":"e","name":"f"},{"name":1},{},[],7,{"name":"g","Name":"h"},{"name":"i","z":9007199254740993}]}"#;
    let list = definitions(text.as_bytes()).unwrap();
    let names = Vec::from_iter(list.iter().map(Definition::name));
    let some = |name| Some(name);
    assert_eq!(names, [some("a"), some("b"), None, some("d"), None, None, None, None, None, None, some("i")]);
    assert_eq!(Vec::from_iter(list.iter().map(|one| one.hash().is_ok()))[..2], [true, false]);
    let reasons = Vec::from_iter(list.iter().filter_map(|one| one.hash().err()).map(DefinitionFault::reason));
    assert_eq!(
        reasons,
        [
            "json.beyond_f64",
            "json.duplicate_key",
            "pin.lone_surrogate",
            "json.duplicate_key",
            "pin.no_name",
            "pin.no_name",
            "pin.not_an_object",
            "pin.not_an_object",
            "pin.ambiguous_name",
            "pin.unsafe_integer",
        ]
    );
    let verdicts = Pins::new().with_required(["s"]).check_list("s", &list);
    assert_eq!(verdicts[0], PinVerdict::New);
    assert!(verdicts[1..].iter().all(|verdict| *verdict == PinVerdict::Unreadable));
}

#[test]
fn lists_are_found_where_they_are() {
    for (text, names) in [
        (r#"{"tools":[]}"#, vec![]),
        (
            r#" {"nextCursor":"x", "tools":[ {"name":"a"} , {"name":"b"} ],"_meta":{"tools":[{"name":"c"}]}}"#,
            vec!["a", "b"],
        ),
        (r#"{"id":1,"jsonrpc":"2.0","result":{"tools":[{"name":"a"}]}}"#, vec!["a"]),
        (r#"{"t\u006fols":[{"name":"a"}]}"#, vec!["a"]),
    ] {
        let found = definitions(text.as_bytes()).unwrap();
        assert_eq!(Vec::from_iter(found.iter().filter_map(Definition::name)), names, "{text}");
        for definition in &found {
            let raw = &text[definition.range()];
            assert_eq!(definition.hash().unwrap(), hash(raw), "{text}");
        }
    }
    for (text, fault) in [
        ("{}", ListFault::NoList),
        ("[]", ListFault::NoList),
        (r#"{"tools":{}}"#, ListFault::NoList),
        (r#"{"result":{"result":{"tools":[]}}}"#, ListFault::NoList),
        (r#"{"Tools":[]}"#, ListFault::AmbiguousKey),
        (r#"{"tools":[],"TOOLS":[]}"#, ListFault::AmbiguousKey),
        (r#"{"Result":{"tools":[]}}"#, ListFault::AmbiguousKey),
        (r#"{"tools":[],"result":{"tools":[]}}"#, ListFault::TwoLists),
    ] {
        assert_eq!(definitions(text.as_bytes()), Err(fault), "{text}");
    }
    for text in ["", "{", r#"{"tools":[]"#, r#"{"tools":[],"tools":[]}"#, r#"{"tools":[{]}"#, r#"{"tools":[]}x"#] {
        assert!(matches!(definitions(text.as_bytes()), Err(ListFault::Json(_))), "{text}");
    }
}

const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[test]
fn lock_files_are_written_in_one_way() {
    let hash = ZEROS.parse().unwrap();
    let names = [("b", "a"), ("a", "b"), ("a", "a.x"), ("a", "B")];
    let mut pins = Pins::new();
    for (server, tool) in names {
        assert_eq!(pins.approve(server, tool, hash), Ok(None));
    }
    let line =
        |server: &str, tool: &str| format!("{{\"server\":\"{server}\",\"tool\":\"{tool}\",\"sha256\":\"{ZEROS}\"}}\n");
    let written = [line("a", "B"), line("a", "a.x"), line("a", "b"), line("b", "a")].concat();
    assert_eq!(pins.write(), written);
    let backwards = Vec::from_iter(written.lines().rev()).join("\r\n");
    assert_eq!(Pins::read(&backwards), Ok(pins));
    assert_eq!(Pins::read(""), Ok(Pins::new()));
    assert_eq!(Pins::new().write(), "");
}

#[test]
fn lock_files_are_read_strictly() {
    let good = format!(r#"{{"server":"s","tool":"t","sha256":"{ZEROS}"}}"#);
    for (text, error) in [
        (format!("{good}\n{good}\n"), "line 2: the tool is pinned in an earlier line"),
        (format!("{good}\n\n"), "line 2: no value"),
        (format!("\n{good}"), "line 1: no value"),
        ("\n".to_owned(), "line 1: no value"),
        (format!("{good}{good}"), "line 1: data after the value"),
        (good.replace("server", "Server"), r#"line 1: there is no member "Server""#),
        (good.replace('}', r#","note":1}"#), r#"line 1: there is no member "note""#),
        (good.replace('}', r#","tool":"t"}"#), "line 1: duplicate key"),
        (good.replace(r#""tool":"t","#, ""), "line 1: `tool` is missing"),
        (good.replace(r#""t""#, "1"), "line 1: `tool` is no string"),
        (good.replace(r#""t""#, r#""\ud800""#), "line 1: `tool` is no string"),
        (good.replace(r#""t""#, r#""t t""#), r#"line 1: `tool`: no tool can have the name "t t""#),
        (good.replace(r#""s""#, r#""s__s""#), "line 1: `server`: a server id does not hold `__`"),
        (good.replace("0000\"", "000\""), "line 1: `sha256`: a hash has 64"),
        (good.replace("0000\"", "000F\""), "line 1: `sha256`: a hash has 64"),
        (good.replace("0000\"", "000é\""), "line 1: `sha256`: a hash has 64"),
        (format!("[{good}]"), "line 1: not an object"),
        (format!("{good}\n=======\n{good}"), "line 2: syntax error"),
    ] {
        let found = Pins::read(&text).unwrap_err().to_string();
        assert!(found.starts_with(error), "{text}: {found}");
    }
}

#[test]
fn approvals_replace_and_are_taken_back() {
    let (one, other) = (hash("1"), hash("2"));
    let mut pins = Pins::new();
    assert!(!pins.guards("s"));
    assert_eq!(pins.approve("s", "t", one), Ok(None));
    assert_eq!(pins.approve("s", "t", other), Ok(Some(one)));
    assert_eq!(pins.check("s", "t", one), PinVerdict::Changed);
    assert_eq!(pins.revoke("s", "x"), None);
    assert_eq!(pins.revoke("s", "t"), Some(other));
    assert!(pins.guards("s") && pins.iter().next().is_none());
    assert!(matches!(pins.approve("s s", "t", one), Err(PinProblem::Server(_))));
    assert!(matches!(pins.approve("s", "", one), Err(PinProblem::Tool(_))));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Value::from),
        "[\\x00-\\x7fé\u{fb33}😀]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[\\x00-\\x7fé\u{fb33}😀]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with members in another order, white space wherever it may be, and every character escaped.
fn otherwise(value: &Value, out: &mut String) {
    let text = |text: &str, out: &mut String| {
        out.push('"');
        text.encode_utf16().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
        out.push('"');
    };
    match value {
        Value::String(content) => text(content, out),
        Value::Array(elements) => {
            out.push_str(" [");
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "\t,\n" } else { " " });
                otherwise(element, out);
            }
            out.push_str("\r]");
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in Vec::from_iter(members).into_iter().rev().enumerate() {
                out.push_str(if at > 0 { " , " } else { "\n" });
                text(name, out);
                out.push_str(" : ");
                otherwise(member, out);
            }
            out.push_str(" }");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

proptest! {
    #[test]
    fn spelling_makes_no_difference(value in json()) {
        let mut spelt = String::new();
        otherwise(&value, &mut spelt);
        let written = form(&value.to_string());
        prop_assert_eq!(&form(&spelt), &written);
        prop_assert_eq!(&form(&serde_json::to_string_pretty(&value).unwrap()), &written);
        // The form is its own, but for 1e17, of which it makes an integer that readers differ about.
        match canonical(written.as_bytes()) {
            Err(fault) => prop_assert_eq!(fault.reason(), "pin.unsafe_integer"),
            Ok(again) => prop_assert_eq!(String::from_utf8(again).unwrap(), written),
        }
    }

    #[test]
    fn anything_else_does(one in json(), other in json()) {
        // Numbers are compared as binary64, as readers keep them.
        let same = as_floats(&one) == as_floats(&other);
        prop_assert_eq!(hash(&one.to_string()) == hash(&other.to_string()), same);
    }

    #[test]
    fn a_change_anywhere_changes_the_hash(value in json(), added in json(), at in any::<prop::sample::Index>()) {
        let mut changed = value.clone();
        let mut places = Vec::new();
        collect(&mut changed, &mut String::new(), &mut places);
        let place = at.get(&places);
        let there = changed.pointer_mut(place).unwrap();
        prop_assume!(as_floats(there) != as_floats(&added));
        *there = added;
        prop_assert_ne!(hash(&value.to_string()), hash(&changed.to_string()));
    }

    #[test]
    fn numbers_are_those_that_serde_reads_back(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
        let text = number::to_string(value);
        prop_assert_eq!(text.parse::<f64>().unwrap(), value);
        prop_assert_eq!(&form(&format!("{value:e}")), &text);
    }

    #[test]
    fn lock_files_read_back(names in proptest::collection::btree_map(("[a-c]{1,2}", "[a-c.]{1,2}"), any::<u8>(), 0..6)) {
        let mut pins = Pins::new();
        for ((server, tool), content) in &names {
            pins.approve(server, tool, hash(&content.to_string())).unwrap();
        }
        prop_assert_eq!(Pins::read(&pins.write()), Ok(pins));
    }

    #[test]
    fn no_text_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in "[\\[\\]{}\",:a0 -]{0,40}") {
        let _ = (definitions(&bytes), DefinitionHash::of(&bytes));
        let _ = (definitions(text.as_bytes()), DefinitionHash::of(text.as_bytes()), Pins::read(&text));
    }
}

fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap() + 0.0),
        Value::Array(elements) => elements.iter().map(as_floats).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), as_floats(member))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// The JSON pointers of all values.
fn collect(value: &mut Value, place: &mut String, places: &mut Vec<String>) {
    places.push(place.clone());
    let length = place.len();
    let mut visit = |step: String, value: &mut Value| {
        place.push('/');
        place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        collect(value, place, places);
        place.truncate(length);
    };
    match value {
        Value::Array(elements) => elements.iter_mut().enumerate().for_each(|(at, value)| visit(at.to_string(), value)),
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| visit(name.clone(), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
