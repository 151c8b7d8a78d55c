//! Media of a server: only where its entry says so, however it is trusted, and whatever other layers there are.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::message::PlainJsonRpc;
use tower_toolgate::server::McpTrustLevel::{self, Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{Root, ServerEntry};

use super::server_trust::*;
use super::support::*;

/// A server that may be called, and may ask for all that its level permits, so that only its media are looked at if it is
/// trusted.
fn server(level: McpTrustLevel, media: bool) -> ServerEntry {
    let entry = entry(level).with_tool_allowlist(["a"]).with_elicitation_enabled(true);
    entry.with_roots([Root::new("file:///srv")]).with_media_passthrough(media)
}

/// Entries, and whether media pass.
fn entries() -> [(&'static str, ServerEntry, bool); 6] {
    [
        ("trusted with the flag", server(Trusted, true), true),
        ("untrusted with the flag", server(Untrusted, true), true),
        ("sandboxed with the flag", server(Sandboxed, true), false),
        ("trusted", server(Trusted, false), false),
        ("untrusted", server(Untrusted, false), false),
        ("sandboxed", server(Sandboxed, false), false),
    ]
}

const IMAGE: &str = r#"{"type":"image","data":"QUJD\/\/8=","mimeType":"image/png"}"#;
const NOTICE: &str = r#"{"type":"text","text":"[image: image/png, 5 bytes]"}"#;

/// Messages of a server, each with the one that is handed on without media.
fn messages() -> Vec<(String, String)> {
    let pairs = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\nb"}, @ ],"x":1e400}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":@}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"Content":@}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t","result":{"content":[@]}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":{"content":[@]}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","result":{"content":[@]}}}"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/x"} , {"jsonrpc":"2.0","id":1,"result":{"content":[@,@]}}]"#,
    ];
    let mut messages = Vec::from(pairs.map(|message| (message.replace('@', IMAGE), message.replace('@', NOTICE))));
    let read = |part: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":[{{"uri":"a:b",{part}}}]}}}}"#);
    messages.push((read(r#""blob":"QUJD""#), read(r#""text":"[file: 3 bytes]""#)));
    messages
}

const TEXTS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"an image,\n\"data\" \u00e4"}],"x":1e400}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"type":"file","data":"QUJD"},"content":[]}}"#,
    r#" {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"image","level":"info"}}"#,
];

fn call() -> Request<Full<Bytes>> {
    streamable(tool_call("1", "a", "{}"))
}

/// What a client gets for what a server sends: in JSON, as an event, and on the stream of a GET.
#[track_caller]
fn hands_on(row: &str, layer: &ServerTrustLayer, sent: &str, left: &str) {
    let exchange = send(layer, call(), json(sent));
    assert_eq!(exchange.text(), left, "{row}");
    assert_eq!(exchange.header("content-length"), Some(&*left.len().to_string()), "{row}");
    let event = |message: &str| format!(": hi\n\nid: 7\r\nevent: message\r\ndata: {message}\r\n\r\ndata: x\n\n");
    for request in [call(), get()] {
        let exchange = send(layer, request, events(&event(sent)));
        let changes = sent != left;
        let text = exchange.text();
        let kept = if changes { text.replace("\r\n", "\n") } else { text.to_owned() };
        let expected = if changes { event(left).replace("\r\n", "\n") } else { event(sent) };
        assert_eq!(kept, expected, "{row}");
    }
}

#[test]
fn media_pass_only_where_the_entry_says_so() {
    for (row, entry, passes) in entries() {
        for (sent, left) in messages() {
            hands_on(row, &layer(&entry), &sent, if passes { &sent } else { &left });
        }
        for text in TEXTS {
            hands_on(row, &layer(&entry), text, text);
        }
    }
}

#[test]
fn events_may_be_cut_anywhere() {
    for (sent, left) in messages() {
        let event = |message: &str| format!(": hi\n\nid: 7\ndata: {message}\n\n: bye\n\n");
        let (text, expected) = (event(&sent).into_bytes(), event(&left));
        let cuts = (1..text.len()).map(|at| Vec::from(<[_; 2]>::from(text.split_at(at))));
        let bytes = text.chunks(1).collect();
        for frames in cuts.chain([bytes]) {
            for request in [call(), get()] {
                let frames = frames.iter().map(|frame| Bytes::copy_from_slice(frame));
                let script = Script::of(frames);
                let answer = Response::builder().header("content-type", "text/event-stream").body(script).unwrap();
                let layer = layer(&server(Trusted, false));
                let exchange = through::<_, Inner, _, _, _>(|mock| layer.layer(mock), request, answer);
                assert_eq!(exchange.text(), expected);
            }
        }
    }
}

#[test]
fn requests_of_a_server_lose_their_media() {
    let asked = |block: &str| {
        let message = format!(r#"{{"role":"user","content":{block}}}"#);
        let params = format!(r#"{{"messages":[{message}],"maxTokens":1}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{params}}}"#)
    };
    let input = |block: &str| {
        let messages = format!(r#"[{{"role":"user","content":[{block}]}}]"#);
        let asked = format!(r#"{{"k":{{"method":"sampling/createMessage","params":{{"messages":{messages}}}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"inputRequests":{asked}}}}}"#)
    };
    for media in [true, false] {
        let layer = layer(&server(Trusted, media));
        let left = if media { IMAGE } else { NOTICE };
        hands_on("asked", &layer, &asked(IMAGE), &asked(left));
        hands_on("input", &layer, &input(IMAGE), &input(left));
    }
}

#[test]
fn what_cannot_be_read_is_never_passed() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":[{"type":"image"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[["image","QUJD"]]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image"}]}"#,
    ] {
        let layer = layer(&server(Trusted, false));
        let exchange = send(&layer, call(), json(body));
        assert_eq!(exchange.denial().reason(), "upstream.invalid_answer", "{body}");
        let exchange = send(&layer, call(), events(&format!("data: {body}\n\n")));
        assert!(exchange.text().starts_with(r#"data: {"jsonrpc":"2.0","id":1,"error""#), "{}", exchange.text());
        assert!(!exchange.text().contains("image"), "{}", exchange.text());
        assert_eq!(send(&layer, get(), events(&format!("data: {body}\n\n"))).text(), "", "{body}");
    }
    let (sent, _) = &messages()[0];
    for (media, kind, coding) in [
        (false, "application/json", Some("gzip")),
        (false, "text/event-stream", Some("gzip")),
        (false, "text/plain", None),
        (false, "application/json; charset=utf-16", None),
        (true, "application/json", Some("gzip")),
        (true, "text/plain", None),
    ] {
        let mut answer = json(sent);
        answer.headers_mut().insert("content-type", kind.parse().unwrap());
        coding.and_then(|coding| answer.headers_mut().insert("content-encoding", coding.parse().unwrap()));
        let exchange = send(&layer(&server(Trusted, media)), call().with_header("accept-encoding", "gzip"), answer);
        let asked = &exchange.seen.as_ref().unwrap().head.headers["accept-encoding"];
        if media {
            assert_eq!((exchange.text(), asked.as_bytes()), (&**sent, &b"gzip"[..]), "{kind}");
        } else {
            assert_eq!(exchange.denial().reason(), "upstream.invalid_answer", "{kind}");
            assert_eq!((exchange.text().contains("QUJD"), asked.as_bytes()), (false, &b"identity"[..]), "{kind}");
        }
    }
}

#[test]
fn what_hides_from_some_readers_of_events_is_not_passed() {
    let (sent, _) = &messages()[0];
    for line in ["Data: ", "data : ", " data:", "\u{feff}data: "] {
        let text = format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n{line}{sent}\n\n");
        let exchange = send(&layer(&server(Trusted, false)), get(), events(&text));
        assert!(!exchange.text().contains("QUJD"), "{line:?}: {}", exchange.text());
    }
}

#[test]
fn other_protocols_are_left_alone() {
    let (sent, _) = &messages()[0];
    let layer = layer(&server(Sandboxed, false)).with_dialect(PlainJsonRpc::new());
    let request = post_text(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    assert_eq!(send(&layer, request, json(sent)).text(), sent);
}

#[cfg(all(feature = "content-trust", feature = "provenance"))]
mod joined {
    use serde_json::Value;
    use tower_toolgate::Principal;
    use tower_toolgate::http::RequestBody;
    use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
    use tower_toolgate::provenance::{FenceMode, MediaPolicy, Provenance, SigningKey, StructuredContent, TagVerifier};
    use tower_toolgate::store::MemoryTaintStore;

    use super::super::content_trust::{by, is_tainted, trust};
    use super::super::provenance::{KEY, tags};
    use super::*;

    const SECRET: &str = "a secret that both of the ends know";

    fn key() -> SigningKey {
        SigningKey::new(SECRET).unwrap()
    }

    fn signing() -> ProvenanceTagLayer {
        tags(Provenance::External).with_signing_key(key())
    }

    fn modern(tool: &str) -> Request<Full<Bytes>> {
        by("ana", streamable(tool_call("1", tool, "{}")).with_header("mcp-protocol-version", "2025-11-25"))
    }

    /// The same in JSON and as an event, tags and signature left as they come.
    fn arranged(
        tags: &ProvenanceTagLayer,
        entry: &ServerEntry,
        sent: &str,
    ) -> impl Iterator<Item = (&'static str, String)> {
        type Twice = RequestBody<Inner>;
        let (trust, event) = (layer(entry), format!("data: {sent}\n\n"));
        let answers = [("json", json(sent)), ("event", events(&event))];
        Vec::from(answers.map(|(form, answer)| {
            let again = || answer.clone();
            let outside = trust.clone().join(tags.clone());
            let inside = tags.clone().join(trust.clone());
            let outside = through::<_, Twice, _, _, _>(|mock| outside.layer(mock), modern("a"), again());
            let inside = through::<_, Twice, _, _, _>(|mock| inside.layer(mock), modern("a"), again());
            [outside, inside].map(|exchange| {
                let text = exchange.text().trim_end();
                (form, text.strip_prefix("data: ").unwrap_or(text).to_owned())
            })
        }))
        .into_iter()
        .flatten()
    }

    #[test]
    fn tags_are_written_and_verify() {
        let sent =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"x"}},{IMAGE}]}}}}"#);
        let verifier = TagVerifier::new(key());
        let ana = Principal::new("key", "ana").unwrap();
        for (form, text) in arranged(&signing(), &server(Trusted, false), &sent) {
            let got: Value = serde_json::from_str(&text).unwrap();
            let [first, second] = &got["result"]["content"].as_array().unwrap()[..] else { panic!("{text}") };
            assert_eq!(
                (&first["text"], &second["text"]),
                (&"x".into(), &"[image: image/png, 5 bytes]".into()),
                "{form}"
            );
            for part in [&got["result"], first, second] {
                assert_eq!(part["_meta"][KEY]["origin"], "external", "{form}: {text}");
            }
            assert!(verifier.verify(Some(&ana), text.as_bytes()).is_ok(), "{form}: {text}");
            let forged = text.replacen("5 bytes", "6 bytes", 1);
            assert!(verifier.verify(Some(&ana), forged.as_bytes()).is_err(), "{form}");
        }
        for (form, text) in arranged(&signing(), &server(Trusted, true), &sent) {
            assert!(text.contains(r#""data":"QUJD\/\/8=""#), "{form}: {text}");
            assert!(verifier.verify(Some(&ana), text.as_bytes()).is_ok(), "{form}: {text}");
        }
    }

    #[test]
    fn whatever_is_made_of_media_elsewhere_they_are_gone() {
        for media in [MediaPolicy::Pass, MediaPolicy::Notice, MediaPolicy::Drop] {
            let fencing =
                tags(Provenance::External).with_fence(FenceMode::Delimit, StructuredContent::TextOnly).unwrap();
            for (sent, _) in messages().into_iter().filter(|(sent, _)| !sent.contains("Content")) {
                for (form, text) in arranged(&fencing.clone().with_media(media), &server(Untrusted, false), &sent) {
                    assert!(!text.contains("QUJD"), "{form}: {text}");
                    assert!(text.contains(KEY), "{form}: {text}");
                }
            }
        }
    }

    #[test]
    fn sessions_are_marked_as_if_media_had_passed() {
        type Thrice = RequestBody<RequestBody<Inner>>;
        let store = MemoryTaintStore::new(100);
        let layer = layer(&server(Trusted, false)).join(trust(&store).join(signing()));
        let (sent, left) = &messages()[0];
        assert!(!is_tainted(&store, "ana"));
        let exchange = through::<_, Thrice, _, _, _>(|mock| layer.layer(mock), modern("scrape"), json(sent));
        let [got, left] = [exchange.text(), left].map(|text| text.replace("1e400", "1"));
        let [got, left]: [Value; 2] = [got, left].map(|text| serde_json::from_str(&text).unwrap());
        assert_eq!(got["result"]["content"][1]["text"], left["result"]["content"][1]["text"]);
        assert!(is_tainted(&store, "ana"));
    }
}
