use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::server::reach::{Asked, Unclear};
use McpTrustLevel::{Trusted, Untrusted};

fn reach(sampling: bool, elicitation: bool, roots: bool) -> ReachBack {
    let level = if sampling { Trusted } else { Untrusted };
    let entry = entry(level).with_elicitation_enabled(elicitation);
    let reach = ReachBack::new(&if roots { entry.with_roots([Root::new("file:///srv")]) } else { entry });
    assert_eq!((reach.sampling(), reach.elicitation().is_some()), (sampling, elicitation));
    reach
}

fn withheld(text: &str, reach: ReachBack) -> String {
    let text = Bytes::copy_from_slice(text.as_bytes());
    let edits = reach.withhold(&text, &Bytes::from_static(b"[]"), &|_| true).unwrap();
    String::from_utf8(edits.apply(&text).collect::<Vec<_>>().concat()).unwrap()
}

const KNOWN: [(&str, Reach); 3] =
    [("elicitation", Reach::Elicitation), ("roots", Reach::Roots), ("sampling", Reach::Sampling)];

proptest! {
    #[test]
    fn only_what_may_not_be_asked_for_goes(
        names in Just(vec!["roots", "sampling", "elicitation", "experimental", "x", "y"]).prop_shuffle(),
        count in 0..=6_usize,
        blanks in prop::collection::vec("[ \n\t]{0,2}", 24),
        permitted in any::<(bool, bool, bool)>(),
    ) {
        let reach = reach(permitted.0, permitted.1, permitted.2);
        let mut blank = blanks.iter().cycle();
        let mut blank = || blank.next().cloned().unwrap_or_default();
        let names = &names[..count];
        let member = |name: &&str| format!("{}\"{name}\"{}:{}{{\"a\":[1.50]}}{}", blank(), blank(), blank(), blank());
        let members = Vec::from_iter(names.iter().map(member)).join(",");
        let text = format!(r#"{{"params":{{"capabilities":{{{members}}}}},"method":"initialize"}}"#);
        let left = withheld(&text, reach);
        let value: serde_json::Value = serde_json::from_str(&left).unwrap();
        let stays = |name: &&&str| KNOWN.iter().find(|(known, _)| known == *name).is_none_or(|(_, kind)| reach.permits(*kind));
        let mut expected = Vec::from_iter(names.iter().filter(stays).copied());
        let mut found = Vec::from_iter(value["params"]["capabilities"].as_object().unwrap().keys().map(String::as_str));
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(withheld(&left, reach), left.clone());
        if expected.len() == names.len() {
            prop_assert_eq!(left, text);
        }
    }
}

#[test]
fn messages_say_what_they_ask_for() {
    let none = reach(false, false, false);
    for (text, request, answer) in [
        (r#"{"method":"sampling/createMessage","id":1}"#, Some(Reach::Sampling), None),
        (r#"{"id":1,"method":" Roots/List"}"#, Some(Reach::Roots), None),
        (r#"{"id":1,"method":"elicitation\/create"}"#, Some(Reach::Elicitation), None),
        (r#"{"id":1,"method":"\ud800"}"#, Some(Reach::Other), None),
        (r#"{"id":1,"method":"ping"}"#, None, None),
        (r#"{"method":"notifications/message","params":{"data":{"inputRequests":{"k":{}}}}}"#, None, None),
        (
            r#"{"result":{"structuredContent":{"inputRequests":{"k":{}}},"content":[{"error":{"code":-32042}}]}}"#,
            None,
            None,
        ),
        (r#"{"result":{"inputRequests":{}}}"#, None, None),
        (r#"{"result":{"inputRequests":null}}"#, None, None),
        (r#"{"result":{"inputRequests":[{"method":"roots/list"}]}}"#, None, Some(Reach::Roots)),
        (r#"{"result":{"inputRequests":{"k":"roots/list"}}}"#, None, Some(Reach::Other)),
        (r#"{"result":{"inputRequests":{"k":{"method":7}}}}"#, None, Some(Reach::Other)),
        (r#"{"params":{"task":{"inputRequests":{"k":{"Method":"roots/list"}}}}}"#, None, Some(Reach::Roots)),
        (r#"{"result":{"result":{"task":{"error":{"code":-32042}}}}}"#, None, Some(Reach::Elicitation)),
        (r#"{"id":1,"method":"ping","method":"roots/list","method":"ping"}"#, Some(Reach::Roots), None),
        (r#"{"result":{"a":1,"a":2}}"#, None, None),
        (r#"{"result":{"inputRequests":[{"method":"roots/list"}]},"result":{}}"#, None, Some(Reach::Roots)),
        (
            r#"{"result":{"inputRequests":{"k":{"method":"roots/list"},"k":1},"inputRequests":{}}}"#,
            None,
            Some(Reach::Roots),
        ),
        (r#"{"error":{"code":-32042,"code":1}}"#, None, Some(Reach::Elicitation)),
        (r#"{"error":{"code":"-32042"}}"#, None, Some(Reach::Elicitation)),
        (r#"{"error":{"code":-3.2042e4}}"#, None, Some(Reach::Elicitation)),
        (r#"{"error":{"code":-32000,"data":{"elicitations":null}}}"#, None, Some(Reach::Elicitation)),
        (
            r#"{"error":{"code":-32000,"data":{"inputRequests":{"k":{"method":"sampling/createMessage"}}}}}"#,
            None,
            Some(Reach::Sampling),
        ),
    ] {
        let [asked] = &Asked::read(text.as_bytes(), none).unwrap()[..] else { panic!("{text}") };
        assert_eq!((asked.request, asked.answer), (request, answer), "{text}");
        let all = Asked::read(text.as_bytes(), reach(true, true, true)).unwrap();
        assert_eq!((all[0].request, all[0].answer), (None, None), "{text}");
    }
    let batch = Asked::read(br#" [{"id":1}, {"method":"roots/list"}]"#, none).unwrap();
    assert_eq!((batch[0].range.clone(), batch[1].range.clone(), batch[1].request), (2..10, 12..35, Some(Reach::Roots)));
    for (text, unclear) in [
        ("7", Unclear::NotAMessage),
        ("[7]", Unclear::NotAMessage),
        (r#"{"Result":{}}"#, Unclear::AmbiguousKey),
        (r#"{"result":[]}"#, Unclear::ResultArray),
    ] {
        assert_eq!(Asked::read(text.as_bytes(), none), Err(unclear), "{text}");
    }
    let batch = |length| format!("[{}]", vec!["{}"; length].join(","));
    assert_eq!(Asked::read(batch(1 << 16).as_bytes(), none).unwrap().len(), 1 << 16);
    assert_eq!(Asked::read(batch((1 << 16) + 1).as_bytes(), none), Err(Unclear::TooMany));
}
