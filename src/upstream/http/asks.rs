//! What a server asks for in what it sends, and how far that is for this side to answer.

use std::ops::Range;

use crate::server::{Asked, Reach, ReachBack};
use crate::upstream::envelope;

/// The messages of a batch that is looked through. More are passed on as they are: the one revision with batches has
/// few requests of servers.
const MAX_MESSAGES: usize = 1024;

/// One message of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) range: Range<usize>,
    /// It is a request that is not simply passed on.
    pub(super) ask: Option<Ask>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Where the id stands, quotes included.
    pub(super) id: Range<usize>,
    pub(super) fate: Fate,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is for the user, who has some time.
    Elicit,
    Refuse(Reach),
    Roots,
}

/// The messages of a text, if one of them is not simply passed on: none otherwise, and of what cannot be read.
pub(super) fn read(text: &[u8], reach: ReachBack) -> Vec<Message> {
    // With nothing permitted all requests are found, by the very reading that a layer in front finds the refused ones by.
    let found = Asked::read(text, ReachBack::NONE).unwrap_or_default();
    if found.len() > MAX_MESSAGES || found.iter().all(|asked| asked.request.is_none()) {
        return Vec::new();
    }
    let refused = Asked::read(text, reach).unwrap_or_default();
    let messages = found.into_iter().zip(refused).map(|(asked, refused)| Message {
        ask: asked.request.and_then(|kind| ask(text, &asked.range, fate(kind, refused.request)?)),
        range: asked.range,
    });
    let messages: Vec<_> = messages.collect();
    if messages.iter().any(|message| message.ask.is_some()) { messages } else { Vec::new() }
}

fn fate(kind: Reach, refused: Option<Reach>) -> Option<Fate> {
    match (refused, kind) {
        (Some(reach), _) => Some(Fate::Refuse(reach)),
        (None, Reach::Elicitation) => Some(Fate::Elicit),
        (None, Reach::Roots) => Some(Fate::Roots),
        (None, Reach::Other | Reach::Sampling) => None,
    }
}

/// What has no id waits for no answer.
fn ask(text: &[u8], range: &Range<usize>, fate: Fate) -> Option<Ask> {
    let message = text.get(range.clone())?;
    let id = envelope::read(message)?.id?;
    let is_id = |first: &u8| matches!(first, b'"' | b'-' | b'0'..=b'9');
    message.get(id.start).is_some_and(is_id).then(|| Ask { id: range.start + id.start..range.start + id.end, fate })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::server::{McpTransport, McpTrustLevel, Root, ServerEntry};

    fn entry(level: McpTrustLevel) -> ServerEntry {
        ServerEntry::new("a", McpTransport::stdio("a"), Duration::from_secs(1)).with_trust_level(level)
    }

    fn fates(text: &str, reach: ReachBack) -> Vec<(Option<Fate>, &str)> {
        let messages = read(text.as_bytes(), reach);
        messages
            .iter()
            .map(|message| match &message.ask {
                Some(ask) => (Some(ask.fate), &text[ask.id.clone()]),
                None => (None, &text[message.range.clone()]),
            })
            .collect()
    }

    #[test]
    fn requests_are_told_from_all_else() {
        let none = ReachBack::NONE;
        let refused = |reach| Some(Fate::Refuse(reach));
        for (text, fate, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#, refused(Reach::Roots), "7"),
            (r#" {"method":"sampling/createMessage","id":"a\u0062"} "#, refused(Reach::Sampling), r#""a\u0062""#),
            (r#"{"id":-1,"method":" Elicitation/CREATE"}"#, refused(Reach::Elicitation), "-1"),
            (r#"{"id":1,"m\u0065thod":"roots\/list"}"#, refused(Reach::Roots), "1"),
            (r#"{"id":1,"method":"tasks/get"}"#, refused(Reach::Other), "1"),
            (r#"{"id":1,"method":"x","result":{}}"#, refused(Reach::Other), "1"),
        ] {
            assert_eq!(fates(text, none), [(fate, id)], "{text}");
        }
        for text in [
            r#"{"id":1,"method":"ping"}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"method":"roots/list"}"#,
            r#"{"id":null,"method":"roots/list"}"#,
            r#"{"id":{"a":1},"method":"roots/list"}"#,
            r#"{"id":1,"id":2,"method":"roots/list"}"#,
            r#"{"id":1,"method":"roots/list","Method":"ping"}"#,
            r#"{"id":1,"method":7}"#,
            r#"{"id":1,"method":"notifications/message"}"#,
            r#"[{"id":1,"method":"roots/list"},7]"#,
            r#"{"id":1,"method":"roots/list""#,
            "7",
            "",
        ] {
            assert_eq!(fates(text, none), [], "{text}");
        }
    }

    #[test]
    fn what_is_permitted_is_answered_or_waits() {
        let roots = || entry(McpTrustLevel::Untrusted).with_roots([Root::new("file:///srv")]);
        let text = r#"[{"id":1,"method":"roots/list"},{"id":2,"result":{}},{"id":3,"method":"elicitation/create"},{"id":4,"method":"tasks/get"}]"#;
        let answer = r#"{"id":2,"result":{}}"#;
        let refuse = |reach| Some(Fate::Refuse(reach));
        let tasks = r#"{"id":4,"method":"tasks/get"}"#;
        let elicits = roots().with_elicitation_enabled(true);
        for (entry, expected) in [
            (
                roots(),
                [
                    (Some(Fate::Roots), "1"),
                    (None, answer),
                    (refuse(Reach::Elicitation), "3"),
                    (refuse(Reach::Other), "4"),
                ],
            ),
            (elicits, [(Some(Fate::Roots), "1"), (None, answer), (Some(Fate::Elicit), "3"), (None, tasks)]),
            (
                entry(McpTrustLevel::Trusted),
                [(refuse(Reach::Roots), "1"), (None, answer), (refuse(Reach::Elicitation), "3"), (None, tasks)],
            ),
        ] {
            assert_eq!(fates(text, ReachBack::new(&entry)), expected, "{entry:?}");
        }
    }

    #[test]
    fn a_batch_of_many_is_not_looked_through() {
        let batch = |count: usize| format!("[{}]", vec![r#"{"id":1,"method":"x"}"#; count].join(","));
        assert_eq!(read(batch(MAX_MESSAGES).as_bytes(), ReachBack::NONE).len(), MAX_MESSAGES);
        assert_eq!(read(batch(MAX_MESSAGES + 1).as_bytes(), ReachBack::NONE), []);
    }
}
