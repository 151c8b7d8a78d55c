use proptest::prelude::*;
use serde_json::{Map, Value as Tree};

use super::*;

fn changed(text: &str) -> String {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    let edits = without_media(&bytes).unwrap_or_else(|fault| panic!("{fault:?}: {text}"));
    assert!(edits.is_empty() || may_hold_media(&bytes), "{text}");
    String::from_utf8(edits.apply(&bytes).collect::<Vec<_>>().concat()).unwrap()
}

/// Blocks, and what becomes of them.
const BLOCKS: &[(&str, &str)] = &[
    (r#"{"type":"image","data":"QUJD","mimeType":"image/png"}"#, "[image: image/png, 3 bytes]"),
    (r#"{ "mimeType" : "audio/wav" , "data" : "QQ==" , "type" : "audio" }"#, "[audio: audio/wav, 1 bytes]"),
    (r#"{"type":"image","data":"QUJD"}"#, "[image: 3 bytes]"),
    (r#"{"type":"image"}"#, "[image]"),
    (r#"{"type":"image","url":"https://a.example/b.png","mimeType":"image/png"}"#, "[image: image/png]"),
    (r#"{"type":"image","data":[137,80],"mimeType":null}"#, "[image]"),
    (r#"{"type":"image","data":"QU\/D\nQUI=","mimeType":"image\/png; q=\"x y\""}"#, "[image: image/png, 5 bytes]"),
    (r#"{"type":"image","data":"QUJD","mimeType":"a b\"}"}"#, "[image: 3 bytes]"),
    (r#"{"type":"image","data":"\ud800","mimeType":"x\ny/z"}"#, "[image]"),
    (r#"{"type":"im\u0061ge","d\u0061ta":"QUJD"}"#, "[image: 3 bytes]"),
    (r#"{"Type":"IMAGE","Data":"QUJD","MIMETYPE":"image/png"}"#, "[image: image/png, 3 bytes]"),
    ("{\"type\":\"\u{131}mage\",\"data\":\"QUJD\"}", "[image: 3 bytes]"),
    (r#"{"type":"audio\u0000","data":"QUJD"}"#, "[audio: 3 bytes]"),
    (r#"{"type":"text","text":"x","Type":"image"}"#, "[image]"),
    (r#"{"Type":"text","text":"x","data":"QUJD","type":"resource"}"#, "[file: 3 bytes]"),
    (r#"{"Type":"image","type":"text","text":"x","data":"QUJD"}"#, "[image: 3 bytes]"),
    (r#"{"type":"image","type":"text"}"#, "[image]"),
    (r#"{"type":"text","data":"QUJD","type":"audio","type":"text"}"#, "[audio: 3 bytes]"),
    (r#"{"type":"resource","resource":{"blob":"QUJD"},"resource":{"text":"x"}}"#, "[file: 3 bytes]"),
    (r#"{"type":"video","data":"QUJD","mimeType":"video/mp4"}"#, "[file: video/mp4, 3 bytes]"),
    (r#"{"type":"file","blob":"QUJD","name":"a"}"#, "[file: 3 bytes]"),
    (r#"{"type":["image"],"data":"QUJD"}"#, "[file: 3 bytes]"),
    (r#"{"type":7,"blob":[1]}"#, "[file]"),
    (r#"{"data":""}"#, "[file: 0 bytes]"),
    (r#"{"type":"Text","text":"x","data":"QUJD"}"#, "[file: 3 bytes]"),
    (r#"{"type":"resource_link","uri":"a:b","blob":"QUJD"}"#, "[file: 3 bytes]"),
    (
        r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"application/pdf","blob":"QUJD"}}"#,
        "[file: application/pdf, 3 bytes]",
    ),
    (r#"{"type":"resource","resource":{"uri":"a:b","text":"x","Blob":"QUJD"}}"#, "[file: 3 bytes]"),
    (r#"{"type":"resource","Resource":{"uri":"a:b","blob":[1,2]}}"#, "[file]"),
    (r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}"#, "[image: 3 bytes]"),
    (r#"{"type":"document","source":{"data":"QUJD"}}"#, "[file: 3 bytes]"),
];

/// Blocks that stay.
const OTHERS: &[&str] = &[
    r#"{"type":"text","text":"image data blob"}"#,
    r#"{ "text" : "x\u0061" , "type":"text", "data":"QUJD", "n":1e400 }"#,
    r#"{"type":"t\u0065xt","text":"x","blob":"QUJD","_meta":{"type":"image"}}"#,
    r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"image/png","text":"x","blob":null}}"#,
    r#"{"type":"resource_link","uri":"a:b","name":"data","mimeType":"image/png","icons":[{"src":"data:image/png,x"}]}"#,
    r#"{"type":"tool_use","id":"data","name":"image","input":{"type":"image","data":"QUJD"}}"#,
    r#"{"type":"tool_result","toolUseId":"1","structuredContent":{"type":"image","data":{}}}"#,
    r#"{"type":"json","data":{"data":"QUJD"}}"#,
    r#"{"type":"imag","data":null}"#,
    r#""data""#,
    "null",
];

/// Where content stands.
const PLACES: &[&str] = &[
    r#"{"jsonrpc":"2.0", "id":1,"result":{"content":[@],"isError":false}}"#,
    r#"{"id":1,"result":{"content": @ }}"#,
    r#"{"result":{"content":[ {"type":"text","text":"data"} , @ , {"type":"text","text":"x"} ]},"id":1}"#,
    r#"{"id":1,"result":{"Content":[@]}}"#,
    r#"{"id":1,"result":{"c\u006fntent":[@]}}"#,
    r#"{"id":1,"RESULT":{"content":[@]}}"#,
    r#"{"id":1,"result":{"content":[],"CONTENT":[@]}}"#,
    r#"{"id":1,"result":{"messages":[{"role":"user","content":@}]}}"#,
    r#"{"id":1,"result":{"messages":[{"role":"user","content":[@,@]},{"content":@}]}}"#,
    r#"{"id":1,"result":{"messages":{"role":"user","content":@}}}"#,
    r#"{"id":1,"result":{"content":[{"type":"tool_result","toolUseId":"1","content":[@]}]}}"#,
    r#"{"id":1,"result":{"content":[{"type":"tool_result","content":[{"content":@}]}]}}"#,
    r#"{"id":1,"result":{"taskId":"t","status":"completed","result":{"content":[@]}}}"#,
    r#"{"id":1,"result":{"task":{"taskId":"t","result":{"content":[@]}}}}"#,
    r#"{"id":1,"result":{"tasks":[{"taskId":"t","result":{"content":[@]}}]}}"#,
    r#"{"id":1,"result":{"inputRequests":{"k":{"method":"m","params":{"messages":[{"content":@}]}}}}}"#,
    r#"{"id":1,"result":{"inputRequests":[{"method":"m","params":{"messages":[{"content":@}]}}]}}"#,
    r#"{"id":1,"result":{"task":{"error":{"code":1,"data":{"content":[@]}}}}}"#,
    r#"{"method":"notifications/tasks","params":{"taskId":"t","result":{"content":[@]}}}"#,
    r#"{"method":"notifications/tasks","params":{"task":{"result":{"content":[@]}}}}"#,
    r#"{"id":7,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":@}],"maxTokens":1}}"#,
    r#"{"id":7,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[@]}]}}"#,
    r#"{"id":1,"error":{"code":1,"message":"data","data":{"content":[@],"x":"image"}}}"#,
    r#"[{"id":1,"result":{"content":[@]}} , {"method":"x","params":{"progress":1}},{"id":2,"result":{"content":@}}]"#,
];

#[test]
fn a_text_stands_in_the_place_of_each_medium() {
    for place in PLACES {
        for (block, notice) in BLOCKS {
            let text = format!(r#"{{"type":"text","text":"{notice}"}}"#);
            assert_eq!(changed(&place.replace('@', block)), place.replace('@', &text), "{place}");
        }
        for block in OTHERS {
            let text = place.replace('@', block);
            assert_eq!(changed(&text), text);
        }
    }
}

#[test]
fn what_is_said_of_a_block_stays() {
    let place = |block: &str| format!(r#"{{"id":1,"result":{{"content":[{block}]}}}}"#);
    for (block, left) in [
        (
            r#"{"type":"image","_meta": {"a" : [1e2,"data"]} ,"data":"QUJD"}"#,
            r#"{"type":"text","text":"[image: 3 bytes]","_meta":{"a" : [1e2,"data"]}}"#,
        ),
        (r#"{"_META":{"a":1},"type":"image","_meta":{},"_Meta":3}"#, r#"{"type":"text","text":"[image]","_meta":{}}"#),
        (r#"{"type":"image","_meta":[1]}"#, r#"{"type":"text","text":"[image]"}"#),
        (
            r#"{"type":"image","content":[{"type":"audio"}],"resource":{"blob":"QUJD"}}"#,
            r#"{"type":"text","text":"[image: 3 bytes]"}"#,
        ),
    ] {
        assert_eq!(changed(&place(block)), place(left));
    }
}

#[test]
fn resources_keep_all_but_their_blobs() {
    let place = |item: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":{item},"ttl":1.0}}}}"#);
    for (item, left) in [
        (
            r#"[{"uri":"a:b","mimeType":"image/png","_meta":{"a":1e2},"blob":"QUJD"}]"#,
            r#"[{"uri":"a:b","mimeType":"image/png","_meta":{"a":1e2},"text":"[file: image/png, 3 bytes]"}]"#,
        ),
        (
            r#"[{"uri":"a","text":"x"}, { "blob" : "QUJD" , "uri" : "a:b" } ]"#,
            r#"[{"uri":"a","text":"x"}, { "uri" : "a:b","text":"[file: 3 bytes]" } ]"#,
        ),
        (r#"{"uri":"a:b","blob":"QUJD"}"#, r#"{"uri":"a:b","text":"[file: 3 bytes]"}"#),
        (r#"[{"blob":"QUJD"}]"#, r#"[{"text":"[file: 3 bytes]"}]"#),
        (r#"[{"blob":"QUJD","Blob":"QUI=","uri":"a:b"}]"#, r#"[{"uri":"a:b","text":"[file: 2 bytes]"}]"#),
        (r#"[{"uri":"a:b","bl\u006fb":"QUJD"}]"#, r#"[{"uri":"a:b","text":"[file: 3 bytes]"}]"#),
        (r#"[{"uri":"a:b","text":"x","blob":"QUJD"}]"#, r#"[{"uri":"a:b","text":"x"}]"#),
        (r#"[{"text":null,"blob":"QUJD","uri":"a:b"}]"#, r#"[{"uri":"a:b","text":"[file: 3 bytes]"}]"#),
        (r#"[{"uri":"a:b","data":"QUJD"}]"#, r#"[{"uri":"a:b","text":"[file: 3 bytes]"}]"#),
        (r#"[{"uri":"a:b","blob":{"x":1}}]"#, r#"[{"uri":"a:b","text":"[file]"}]"#),
    ] {
        assert_eq!(changed(&place(item)), place(left));
    }
    for item in [
        r#"[{"uri":"data","text":"x","blob":null}]"#,
        r#"[{"uri":"a:b","text":null,"blob":null}]"#,
        r#"[ {"uri":"a:b", "text":"x", "data":{}} ]"#,
        r#"["data"]"#,
    ] {
        assert_eq!(changed(&place(item)), place(item));
    }
}

/// Their form is the tool's: clients hold it to a schema.
#[test]
fn structures_keep_their_form_and_lose_their_bytes() {
    let places = [
        r#"{"id":1,"result":{"structuredContent":@,"content":[]}}"#,
        r#"{"id":1,"result":{"structuredContent":{"content":[ @ ],"data":"x"}}}"#,
        r#"{"id":1,"result":{"structuredContent":[[@],{"a":{"b":@}}]}}"#,
        r#"{"id":1,"result":{"content":[{"type":"tool_result","toolUseId":"1","structuredContent":@}]}}"#,
        r#"{"method":"notifications/tasks","params":{"result":{"structuredContent":@}}}"#,
    ];
    for (medium, left) in [
        (
            r#"{"type":"image","data":"QUJD","mimeType":"image/png"}"#,
            r#"{"type":"image","data":"","mimeType":"image/png"}"#,
        ),
        (r#"{ "data" : "QUJD" , "type" : "audio" }"#, r#"{ "data" : "" , "type" : "audio" }"#),
        (r#"{"type":"blob","data":"QUJD","mimeType":"a/b"}"#, r#"{"type":"blob","data":"","mimeType":"a/b"}"#),
        (r#"{"uri":"a:b","mimeType":"a/b","blob":"QUJD"}"#, r#"{"uri":"a:b","mimeType":"a/b","blob":""}"#),
        (
            r#"{"source":{"type":"base64","media_type":"a/b","data":"QUJD"}}"#,
            r#"{"source":{"type":"base64","media_type":"a/b","data":""}}"#,
        ),
        (r#"{"Type":"IMAGE","d\u0061ta":"QUJD","data":"QUI="}"#, r#"{"Type":"IMAGE","d\u0061ta":"","data":""}"#),
        (
            r#"{"data":"QUJD","x":{"type":"image","data":"QUJD"},"type":"image"}"#,
            r#"{"data":"","x":{"type":"image","data":""},"type":"image"}"#,
        ),
    ] {
        for place in places {
            assert_eq!(changed(&place.replace('@', medium)), place.replace('@', left), "{place}");
        }
    }
}

#[test]
fn documents_stay() {
    for text in [
        r#"{"id":1,"result":{"structuredContent":{"data":"QUJD","blob":"QUJD","type":"file","x":[["image"]]},"content":[]}}"#,
        r#"{"id":1,"result":{"structuredContent":{"mimeType":"image/png","data":null,"blob":{"type":"image"}}}}"#,
        r#"{"id":1,"result":{"structuredContent":["data",{"data":"QUJD","x":{"mimeType":"image/png"}}]}}"#,
        r#"{"id":1,"result":{"_meta":{"content":[{"type":"image","data":"QUJD"}]}}}"#,
        r#"{"id":1,"result":{"tools":[{"name":"image","inputSchema":{"properties":{"data":{"enum":["image"]}}}}]}}"#,
        r#"{"id":1,"result":{"resources":[{"uri":"a:b","icons":[{"src":"data:image/png;base64,QUJD"}]}]}}"#,
        r#"{"method":"notifications/message","params":{"level":"info","data":"QUJD"}}"#,
        r#"{"method":"notifications/message","params":{"data":{"content":[{"type":"image","data":"QUJD"}]}}}"#,
        r#"{"id":1,"error":{"code":1,"message":"image","data":"QUJD"}}"#,
        r#"{"id":1,"error":{"code":1,"data":[["image"],{"content":[{"type":"image","data":"QUJD"}]}]}}"#,
        r#"{"id":1,"error":{"code":1,"data":{"params":["image"],"result":{"content":{"type":"image"}}}}}"#,
        r#"{"id":1,"error":"image"}"#,
        r#"{"id":1,"result":null,"x":"data","y":{"a":1,"a":2}}"#,
        "[]",
    ] {
        assert_eq!(changed(text), text);
    }
}

#[test]
fn names_may_repeat() {
    let text = r#"{"result":{"a":1,"a":2,"content":[]},"result":{"content":[{"type":"image"}],"content":"\ud83d"}}"#;
    let edited =
        without_media(text.as_bytes()).unwrap().apply(&text.as_bytes().to_vec().into()).collect::<Vec<_>>().concat();
    let expected = text.replace(r#"{"type":"image"}"#, r#"{"type":"text","text":"[image]"}"#);
    assert_eq!(String::from_utf8(edited).unwrap(), expected);
}

#[test]
fn what_cannot_be_told_is_refused() {
    for (text, fault) in [
        (r#""image""#, Unremovable::NotAMessage),
        (r#"["image"]"#, Unremovable::NotAMessage),
        (r#"[[{"result":{"content":[{"type":"image"}]}}]]"#, Unremovable::NotAMessage),
        (r#"{"result":[{"content":[{"type":"image"}]}]}"#, Unremovable::NotAnObject),
        (r#"{"params":[{"content":[{"type":"image"}]}]}"#, Unremovable::NotAnObject),
        // As positions, some readers take these for a type and what it has.
        (r#"{"result":{"content":[["image","QUJD"]]}}"#, Unremovable::NotAnObject),
        (r#"{"result":{"content":[{"type":"resource","resource":["a:b","data"]}]}}"#, Unremovable::NotAnObject),
        (r#"{"result":{"contents":[["a:b","data"]]}}"#, Unremovable::NotAnObject),
        (r#"{"result":{"messages":[["user",{"type":"image"}]]}}"#, Unremovable::NotAnObject),
    ] {
        assert_eq!(without_media(text.as_bytes()).unwrap_err(), fault, "{text}");
        assert!(may_hold_media(text.as_bytes()), "{text}");
    }
    for text in [
        r#"{"result":{"content":[{"type":"image"}]}"#,
        r#"{"result":{"content":[{"type":"image"}]}} {}"#,
        r#"{"result":{"content":[{"type":"im\u0061ge","\ud800":1}]}}"#,
        "\u{feff}{\"data\":1}",
    ] {
        assert!(matches!(without_media(text.as_bytes()), Err(Unremovable::Json(_))), "{text}");
        assert!(may_hold_media(text.as_bytes()), "{text}");
    }
}

#[test]
fn there_may_be_so_many() {
    let blocks = |count: usize| vec![r#"{"type":"image"}"#; count].join(",");
    let items = |count: usize| vec![r#"{"blob":""}"#; count].join(",");
    let message = |result: &str| format!(r#"{{"id":1,"result":{{{result}}}}}"#);
    let (half, most) = (MAX_MEDIA / 2, message(&format!(r#""content":[{}]"#, blocks(MAX_MEDIA))));
    assert_eq!(changed(&most).matches("[image]").count(), MAX_MEDIA);
    for more in [
        message(&format!(r#""content":[{}]"#, blocks(MAX_MEDIA + 1))),
        message(&format!(r#""content":[{}],"contents":[{}]"#, blocks(half), items(half + 1))),
        format!("[{},{}]", message(&format!(r#""content":{}"#, blocks(1))), most),
    ] {
        assert_eq!(without_media(more.as_bytes()).unwrap_err(), Unremovable::TooMany);
    }
}

#[test]
fn blocks_may_be_nested_as_deep_as_anything() {
    let nested = |block: &str| {
        let (open, close) = (r#"{"type":"tool_result","content":["#.repeat(61), "]}".repeat(61));
        format!(r#"{{"id":1,"result":{{"content":[{open}{block}{close}]}}}}"#)
    };
    assert_eq!(changed(&nested(r#"{"type":"image"}"#)), nested(r#"{"type":"text","text":"[image]"}"#));
    let deeper = nested(r#"{"type":"image","content":[{"type":"image"}]}"#);
    assert!(matches!(without_media(deeper.as_bytes()), Err(Unremovable::Json(_))));
}

/// Whether some reader finds a medium, by a reading of its own.
fn finds(tree: &Tree) -> bool {
    match tree {
        Tree::Array(items) => items.iter().any(finds),
        Tree::Object(members) => {
            let within = |(name, value): (&String, &Tree)| !EMBEDDED.contains(&&**name) && finds(value);
            is_medium(members) || members.iter().any(within)
        }
        Tree::Bool(_) | Tree::Null | Tree::Number(_) | Tree::String(_) => false,
    }
}

const EMBEDDED: [&str; 2] = ["resource", "source"];

fn has(members: &Map<String, Tree>, name: &str, means: impl Fn(&Tree) -> bool) -> bool {
    members.iter().any(|(other, value)| other.eq_ignore_ascii_case(name) && means(value))
}

fn is_medium(members: &Map<String, Tree>) -> bool {
    let is_kind =
        |wanted: &str| has(members, "type", |kind| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case(wanted)));
    let is_text = members.get("type").is_some_and(|kind| kind == "text") && !members.contains_key("Type");
    let has_bytes = |members: &Map<String, Tree>| {
        has(members, "blob", |blob| !blob.is_null()) || has(members, "data", Tree::is_string)
    };
    let embeds = EMBEDDED.iter().filter_map(|part| members.get(*part)?.as_object()).any(has_bytes);
    is_kind("image") || is_kind("audio") || !is_text && (has_bytes(members) || embeds)
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["image", "Audio", "text", "TEXT", "resource", "tool_result", "x"][..])
}

fn block() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(&["\"QUJD\"", "\"\\u0061\"", "null", "1e2", "{}", "{\"x\":1}"][..]);
    let leaf = (
        prop::sample::subsequence(
            vec!["type", "Type", "data", "d\\u0041ta", "blob", "Blob", "text", "mimeType", "name", "_meta"],
            0..6,
        ),
        prop::collection::vec((word(), scalar), 10),
    );
    let leaf = leaf.prop_map(|(names, values)| {
        let member = |(name, (word, scalar)): (&&str, &(&str, &str))| {
            let value = if name.eq_ignore_ascii_case("type") { format!("\"{word}\"") } else { (*scalar).to_owned() };
            format!("\"{name}\":{value}")
        };
        format!("{{{}}}", Vec::from_iter(names.iter().zip(&values).map(member)).join(" ,"))
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let part = prop::sample::select(&["content", "resource", "source"][..]);
        (part, word(), prop::collection::vec(inner, 1..3)).prop_map(|(part, kind, inner)| match part {
            "content" => format!(r#"{{"type":"{kind}","content":[{}]}}"#, inner.join(",")),
            _ => format!(r#"{{"{part}":{},"type":"tool_result"}}"#, inner[0]),
        })
    })
}

proptest! {
    #[test]
    fn no_medium_is_left_and_nothing_else_goes(place in prop::sample::select(PLACES), block in block()) {
        let text = place.replace('@', &block);
        let left = changed(&text);
        let tree: Tree = serde_json::from_str(&left).unwrap();
        prop_assert!(!finds(&tree), "{} -> {}", text, left);
        prop_assert_eq!(changed(&left), left.clone());
        if !finds(&serde_json::from_str(&text).unwrap()) {
            prop_assert_eq!(left, text);
        }
    }

    #[test]
    fn texts_are_untouched_byte_for_byte(text in "[a-zA-Z\\[{\":,\u{131}\u{e4} \n]{0,40}", place in prop::sample::select(PLACES), blank in "[ \n\t]{0,3}") {
        let block = format!(r#"{{"type":{blank}"text","text":{}}}"#, serde_json::to_string(&text).unwrap());
        let message = place.replace('@', &block);
        prop_assert_eq!(changed(&message), message);
    }

    #[test]
    fn what_changes_has_been_expected(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..40)) {
        let text = tokens.concat();
        let changes = without_media(text.as_bytes()).is_ok_and(|edits| !edits.is_empty());
        prop_assert!(!changes || may_hold_media(text.as_bytes()));
    }
}

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\"content\":",
    "\"contents\":",
    "\"result\":{",
    "\"type\":",
    "\"image\"",
    "\"data\":",
    "\"blob\":\"QUJD\"",
    "\"text\"",
];
