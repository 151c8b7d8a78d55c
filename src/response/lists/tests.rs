use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::Fault;

/// Permits what has an `x` in its name.
fn with_x(entry: &Entry<'_>) -> bool {
    entry.name.contains('x')
}

fn filtered(text: &str, expected: Option<ListKind>, modern: bool) -> Result<String, Unreadable> {
    let text = Bytes::copy_from_slice(text.as_bytes());
    let edits = filter(&text, Asked { list: expected, modern, streamed: false }, &mut with_x)?;
    Ok(String::from_utf8(edits.apply(&text).collect::<Vec<_>>().concat()).unwrap())
}

/// A response with a list of tools in it, and what stands around the list.
fn tools(list: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":{list}}}}}"#)
}

#[test]
fn decision_12_what_is_not_permitted_goes_with_one_comma() {
    const WHITE: &[(&str, &str)] = &[("", ""), (" ", ""), ("", " "), ("\n    ", "\n  "), ("\t\r\n", " \n")];
    for (before, after) in WHITE {
        for size in 0..=5_usize {
            for pattern in 0..1_usize << size {
                let kept = |at: &usize| pattern >> at & 1 == 1;
                let entry = |at: usize| format!(r#"{{"name":"{}{at}","n":{at}}}"#, if kept(&at) { "x" } else { "y" });
                let entries: Vec<_> = (0..size).map(entry).collect();
                let list = format!("[{before}{}{after}]", entries.join(&format!("{after},{before}")));
                let stay: Vec<_> = (0..size).filter(kept).map(entry).collect();
                let expected = format!("[{before}{}{after}]", stay.join(&format!("{after},{before}")));
                let expected = if size == 0 { list.clone() } else { expected };
                let output = filtered(&tools(&list), Some(ListKind::Tools), false);
                assert_eq!(output, Ok(tools(&expected)), "{list:?}");
                let edits = filter(&Bytes::from(tools(&list)), Asked::default(), &mut with_x).unwrap();
                assert_eq!(edits.is_empty(), stay.len() == size, "{list:?}");
            }
        }
    }
}

#[test]
fn decision_12_every_list_is_known_by_its_shape() {
    for (method, member, naming, kind) in [
        ("tools/list", "tools", "name", ListKind::Tools),
        ("prompts/list", "prompts", "name", ListKind::Prompts),
        ("resources/list", "resources", "uri", ListKind::Resources),
        ("resources/templates/list", "resourceTemplates", "uriTemplate", ListKind::ResourceTemplates),
    ] {
        assert_eq!(ListKind::of_method(method), Some(kind));
        let text = format!(r#"{{"result":{{"{member}":[{{"{naming}":"a"}},{{"{naming}":"x"}}],"nextCursor":""}}}}"#);
        let expected = format!(r#"{{"result":{{"{member}":[{{"{naming}":"x"}}],"nextCursor":""}}}}"#);
        for asked in [None, Some(kind)] {
            assert_eq!(filtered(&text, asked, false).as_ref(), Ok(&expected), "{member}");
        }
        let mut seen = Vec::new();
        let mut permits = |entry: &Entry<'_>| {
            seen.push((entry.kind, entry.name.to_owned()));
            true
        };
        assert!(filter(&Bytes::from(text), Asked::default(), &mut permits).unwrap().is_empty());
        assert_eq!(seen, [(kind, "a".to_owned()), (kind, "x".to_owned())]);
        let others = ListKind::ALL.into_iter().filter(|other| *other != kind);
        others.for_each(|other| assert_eq!(filtered(&expected, Some(other), false), Err(Unreadable::NoList)));
    }
    assert_eq!(ListKind::of_method("tools/call"), None);
    let both = r#"{"result":{"tools":[{"name":"a"}],"x":[{"name":"a"}],"prompts":[{"name":"b"},{"name":"x"}]}}"#;
    let expected = r#"{"result":{"tools":[],"x":[{"name":"a"}],"prompts":[{"name":"x"}]}}"#;
    assert_eq!(filtered(both, Some(ListKind::Prompts), false).as_deref(), Ok(expected));
}

#[test]
fn decision_17_what_stays_is_what_came() {
    for (name, text, expected) in [
        ("an escape in the naming key", r#"[{"n\u0061me":"a"},{"n\u0061me":"x"}]"#, r#"[{"n\u0061me":"x"}]"#),
        ("escapes in names", r#"[{"name":"\u0078"},{"name":"\u0061"}]"#, r#"[{"name":"\u0078"}]"#),
        (
            "numbers",
            r#"[{"name":"a"},{"v":[9007199254740993,1e400,-0.0,1.0E+2],"name":"x","w":-1e999}]"#,
            r#"[{"v":[9007199254740993,1e400,-0.0,1.0E+2],"name":"x","w":-1e999}]"#,
        ),
        (
            "names that repeat elsewhere",
            r#"[{"name":"a","s":{"p":1,"p":2}},{"name":"x","s":{"p":1,"p":{"name":1,"name":2}}}]"#,
            r#"[{"name":"x","s":{"p":1,"p":{"name":1,"name":2}}}]"#,
        ),
        (
            "half a pair elsewhere",
            r#"[{"name":"x","title":"\ud800","s":{"\ud800":1}},{"name":"a","title":"\udc00"}]"#,
            r#"[{"name":"x","title":"\ud800","s":{"\ud800":1}}]"#,
        ),
        ("brackets and commas in strings", r#"[{"name":"a],[","d":"},{"},{"name":"x],["}]"#, r#"[{"name":"x],["}]"#),
        (
            "other keys that resemble each other",
            r#"[{"name":"x","Title":1,"title":2},{"name":"y"}]"#,
            r#"[{"name":"x","Title":1,"title":2}]"#,
        ),
    ] {
        assert_eq!(filtered(&tools(text), Some(ListKind::Tools), false), Ok(tools(expected)), "{name}");
    }
    let text = " {\"result\" :\n{ \"z\":1e400,\"tools\": [ {\"name\":\"a\"} , {\"name\":\"x\"} ] , \"nextCursor\" : \"c\\u0061\" , \"a\":{\"b\":1,\"b\":1} } ,\r\n\"id\":9007199254740993, \"v\": 1 }\n";
    let expected = text.replace("{\"name\":\"a\"} , ", "");
    assert_eq!(filtered(text, Some(ListKind::Tools), false), Ok(expected));
}

#[test]
fn decision_12_a_list_is_for_this_caller_alone() {
    let result = |members: &str| format!(r#"{{"id":1,"result":{{{members}}}}}"#);
    let list = r#""tools":[{"name":"x"}]"#;
    for (name, before, modern, after) in [
        ("absent", list.to_owned(), false, list.to_owned()),
        ("absent, modern", list.to_owned(), true, format!(r#""cacheScope":"private",{list}"#)),
        ("absent, modern, spaced", format!(" {list} "), true, format!(r#""cacheScope":"private", {list} "#)),
        ("absent, modern, no list", r#""content":[]"#.to_owned(), true, r#""content":[]"#.to_owned()),
        ("absent, modern, empty", String::new(), true, String::new()),
        ("private", format!(r#""cacheScope":"private",{list}"#), true, format!(r#""cacheScope":"private",{list}"#)),
        (
            "escaped",
            format!(r#""cacheScope":"priv\u0061te",{list}"#),
            true,
            format!(r#""cacheScope":"priv\u0061te",{list}"#),
        ),
        (
            "public before",
            format!(r#""cacheScope":"public",{list}"#),
            false,
            format!(r#""cacheScope":"private",{list}"#),
        ),
        (
            "public behind",
            format!(r#"{list},"cacheScope" : "public" "#),
            true,
            format!(r#"{list},"cacheScope" : "private" "#),
        ),
        ("no string", format!(r#"{list},"cacheScope":null"#), true, format!(r#"{list},"cacheScope":"private""#)),
        (
            "an object",
            format!(r#"{list},"cacheScope":{{"a":[1]}}"#),
            false,
            format!(r#"{list},"cacheScope":"private""#),
        ),
        ("half a pair", format!(r#"{list},"cacheScope":"\ud800""#), false, format!(r#"{list},"cacheScope":"private""#)),
        (
            "an escaped key",
            format!(r#"{list},"c\u0061cheScope":1"#),
            true,
            format!(r#"{list},"c\u0061cheScope":"private""#),
        ),
        (
            "no list",
            r#""cacheScope":"public","tools":{}"#.to_owned(),
            true,
            r#""cacheScope":"public","tools":{}"#.to_owned(),
        ),
        (
            "cut at the start",
            r#""tools":[{"name":"a"}]"#.to_owned(),
            true,
            r#""cacheScope":"private","tools":[]"#.to_owned(),
        ),
        ("resembling, no list", r#""CacheScope":1"#.to_owned(), true, r#""CacheScope":1"#.to_owned()),
    ] {
        assert_eq!(filtered(&result(&before), None, modern), Ok(result(&after)), "{name}");
        let edits = filter(&Bytes::from(result(&before)), Asked { modern, ..Asked::default() }, &mut with_x).unwrap();
        assert_eq!(edits.is_empty(), before == after, "{name}");
    }
}

#[test]
fn decision_12_messages_without_a_result_pass() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"tools","data":{"tools":[1]}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"tools":[{"name":"a"}]}}"#,
        r#"{"method":"a","error":1}"#,
        r#"[{"error":{"code":1}},{"method":"a"}]"#,
        "[]",
    ] {
        for expected in [None, Some(ListKind::Tools)] {
            assert_eq!(filtered(text, expected, true).as_deref(), Ok(text), "{text}");
        }
    }
    for text in ["{}", r#"{"id":1}"#, r#"{"result":{}}"#, r#"{"result":null}"#, r#"{"result":{"tools":{}}}"#] {
        assert_eq!(filtered(text, None, true).as_deref(), Ok(text), "{text}");
        assert_eq!(filtered(text, Some(ListKind::Tools), true), Err(Unreadable::NoList), "{text}");
    }
}

#[test]
fn another_member_of_that_name_is_no_list() {
    let text = r#"{"result":{"prompts":["x",1,null]}}"#;
    assert_eq!(filtered(text, None, false).as_deref(), Ok(text));
}

#[test]
fn decision_4_batches_are_read_message_by_message() {
    let batch = r#"[ {"id":1,"result":{"tools":[{"name":"a"},{"name":"x"}]}} ,{"id":2,"result":{"content":[]}},{"id":3,"error":{}},{"id":4,"result":{"cacheScope":"public","prompts":[{"name":"b"}]}}]"#;
    let expected = r#"[ {"id":1,"result":{"cacheScope":"private","tools":[{"name":"x"}]}} ,{"id":2,"result":{"content":[]}},{"id":3,"error":{}},{"id":4,"result":{"cacheScope":"private","prompts":[]}}]"#;
    assert_eq!(filtered(batch, None, true).as_deref(), Ok(expected));
    assert_eq!(filtered(batch, Some(ListKind::Tools), true), Err(Unreadable::NoList));
    assert_eq!(filtered(r#"[{"error":1},[{"error":1}]]"#, None, true), Err(Unreadable::NotAMessage));
    assert_eq!(filtered(r#"[{"result":{"tools":[{}]}},{"error":1}]"#, None, true), Err(Unreadable::Entry));
}

#[test]
fn decision_1_what_cannot_be_read_exactly_is_not_passed_on() {
    let json = |fault| move |error| matches!(error, Unreadable::Json(error) if error.fault() == fault);
    let is = |expected| move |error| error == expected;
    type Check = Box<dyn Fn(Unreadable) -> bool>;
    let duplicate = || Box::new(json(Fault::DuplicateKey)) as Check;
    let (entry, key) =
        (|| Box::new(is(Unreadable::Entry)) as Check, || Box::new(is(Unreadable::AmbiguousKey)) as Check);
    let two = || Box::new(is(Unreadable::TwoOutcomes)) as Check;
    let rows: Vec<(&str, Check)> = vec![
        ("", Box::new(json(Fault::Empty))),
        ("\u{feff}{}", Box::new(json(Fault::ByteOrderMark))),
        ("{} {}", Box::new(json(Fault::TrailingData))),
        (r#"{"result":{"tools":[{"name":"x"},]}}"#, Box::new(json(Fault::Syntax))),
        (r#"{"result":{"tools":[{"name":"x"}"#, Box::new(json(Fault::Truncated))),
        (r#"{"\ud800":1}"#, Box::new(json(Fault::LoneSurrogateInKey))),
        ("1", Box::new(is(Unreadable::NotAMessage))),
        ("[1]", Box::new(is(Unreadable::NotAMessage))),
        (r#"{"result":{"tools":[]},"result":{}}"#, duplicate()),
        (r#"{"id":1,"id":1}"#, duplicate()),
        (r#"{"result":{"tools":[],"tools":[]}}"#, duplicate()),
        (r#"{"result":{"a":1,"\u0061":1}}"#, duplicate()),
        (r#"{"result":{"tools":[{"name":"x","name":"a"}]}}"#, duplicate()),
        (r#"{"result":{"tools":[{"name":"x","n\u0061me":"a"}]}}"#, duplicate()),
        (r#"{"result":{"tools":[{"name":"x","a":1,"a":1}]}}"#, duplicate()),
        (r#"{"result":{},"error":{}}"#, two()),
        (r#"{"error":null,"result":null}"#, two()),
        (r#"{"result":{"tools":[]},"method":"a"}"#, two()),
        (r#"{"Result":{"tools":[{"name":"a"}]}}"#, key()),
        (r#"{"result":{},"re\u017fult":{"tools":[{"name":"a"}]}}"#, key()),
        (r#"{"error\u0000":{}}"#, key()),
        (r#"{"result":{"Tools":[{"name":"a"}]}}"#, key()),
        (r#"{"result":{"resourcetemplates":[]}}"#, key()),
        (r#"{"result":{"tools":[],"CacheScope":"public"}}"#, key()),
        (r#"{"result":{"cachescope":1,"tools":[]}}"#, key()),
        (r#"{"result":{"tools":[{"name":"x","Name":"a"}]}}"#, key()),
        (r#"{"result":{"tools":[{"name\u0000":"a","name":"x"}]}}"#, key()),
        (r#"{"result":{"resources":[{"uri":"x","URI":"a"}]}}"#, key()),
        (r#"{"result":{"resourceTemplates":[{"uriTemplate":"x","uritemplate":"a"}]}}"#, key()),
        (r#"{"result":{"tools":[{"name":1}]}}"#, entry()),
        (r#"{"result":{"tools":[{"name":null}]}}"#, entry()),
        (r#"{"result":{"tools":[{"title":"x"}]}}"#, entry()),
        (r#"{"result":{"tools":[{"name":"x\ud800"}]}}"#, entry()),
        (r#"{"result":{"tools":[{}]}}"#, entry()),
        (r#"{"result":[{"tools":[1]}]}"#, Box::new(is(Unreadable::ResultArray))),
        (r#"{"result":{"tools":[["name","x"]]}}"#, entry()),
        (r#"{"result":{"tools":["x",[null]]}}"#, entry()),
        (r#"{"result":{"resources":[{"name":"x"}]}}"#, entry()),
    ];
    for text in [r#"{"result":{"tools":["x"]}}"#, r#"{"result":{"tools":[null]}}"#] {
        assert_eq!(filtered(text, Some(ListKind::Tools), false), Err(Unreadable::Entry), "{text}");
    }
    for (text, check) in rows {
        let outcome = filtered(text, None, false);
        assert!(outcome.as_ref().is_err_and(|error| check(*error)), "{text}: {outcome:?}");
        assert!(!outcome.unwrap_err().to_string().is_empty());
    }
    let deep = format!(r#"{{"result":{{"a":{}1{}}}}}"#, "[".repeat(126), "]".repeat(126));
    assert!(filtered(&deep, None, false).is_err_and(json(Fault::TooDeep)));
    let invalid = Bytes::from_static(b"{\"a\":\"\xFF\"}");
    assert!(filter(&invalid, Asked::default(), &mut with_x).is_err_and(json(Fault::InvalidUtf8)));
}

// === properties ===

/// An entry as it is written, and whether it is permitted.
fn some_entry() -> impl Strategy<Value = (String, bool)> {
    let extra = prop::sample::select(vec![
        "",
        r#","inputSchema":{"type":"object","properties":{"name":{}}}"#,
        r#", "n" : 9007199254740993"#,
        r#","t":"\u00e9,]}""#,
    ]);
    let before = prop::sample::select(vec!["", r#""a":[1,{"name":"x"}],"#, " ", "\n\t"]);
    ("[a-c]{0,2}", any::<bool>(), before, extra).prop_map(|(name, permitted, before, extra)| {
        let mark = if permitted { "x" } else { "" };
        (format!(r#"{{{before}"name": "{name}{mark}"{extra}}}"#), permitted)
    })
}

fn white() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "\n  ", "\r\n", "\t"])
}

proptest! {
    #[test]
    fn lists_are_filtered_as_values_are(
        entries in prop::collection::vec((some_entry(), white(), white()), 0..9),
        scope in prop::option::of(prop::sample::select(vec![r#""public""#, r#""private""#, "null"])),
        (first, modern) in (any::<bool>(), any::<bool>()),
        space in white(),
    ) {
        let written = entries.iter().map(|((entry, _), before, after)| format!("{before}{entry}{after}"));
        let list = written.collect::<Vec<_>>().join(",");
        let scope = scope.map(|value| format!(r#""cacheScope":{space}{value}"#));
        let mut members = vec![format!(r#""tools"{space}:{space}[{list}{space}]"#), r#""nextCursor":"n""#.to_owned()];
        scope.clone().into_iter().for_each(|scope| members.insert(if first { 0 } else { 2 }, scope));
        let text = format!(r#"{{"id":1,"result":{{{space}{}}}}}"#, members.join(","));
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        if scope.is_some() || modern {
            expected["result"]["cacheScope"] = json!("private");
        }
        let tools = expected["result"]["tools"].as_array_mut().unwrap();
        tools.retain(|tool| tool["name"].as_str().unwrap().contains('x'));
        let bytes = Bytes::from(text.clone());
        let edits = filter(&bytes, Asked { list: Some(ListKind::Tools), modern, streamed: false }, &mut with_x).unwrap();
        let changes = entries.iter().any(|((_, permitted), ..)| !permitted)
            || scope.as_ref().is_some_and(|scope| !scope.contains("private")) || scope.is_none() && modern;
        prop_assert_eq!(edits.is_empty(), !changes);
        let pieces: Vec<_> = edits.apply(&bytes).collect();
        let output = String::from_utf8(pieces.concat()).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), expected, "{}", output);
        // What stays is the very bytes, in order.
        let mut rest = &*output;
        for ((entry, permitted), ..) in &entries {
            if *permitted {
                let at = rest.find(&**entry);
                prop_assert!(at.is_some(), "{} in {}", entry, output);
                rest = &rest[at.unwrap() + entry.len()..];
            }
        }
        let within = bytes.as_ptr_range();
        let own = |piece: &&Bytes| !within.contains(&piece.as_ptr());
        prop_assert!(pieces.iter().filter(own).count() <= 1);
    }

    #[test]
    fn no_text_is_read_beyond_its_grammar(text in r#"[\[\]{}:,"0-9 xa]{0,20}"#, inside in r#"[\[\]{}:,"0-9 xa]{0,20}"#) {
        for text in [text, tools(&inside), tools(&format!("[{inside}]"))] {
            if let Ok(output) = filtered(&text, None, true) {
                prop_assert!(serde_json::from_str::<Value>(&output).is_ok(), "{}", output);
            }
        }
    }
}
