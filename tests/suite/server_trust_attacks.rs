//! What servers have tried, and what honest ones say.

use allocation_counter::measure;
use http::Response;
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::answer::DenialKind;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::McpTrustLevel::{Trusted, Untrusted};
use tower_toolgate::server::{ListFault, Reach, Root, ServerEntry, ServerRefusal, definitions};

use super::lists::ask;
use super::server_trust::*;
use super::server_trust_enquiry::*;
use super::support::*;

const OWN: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":[1e400]}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn untrusted() -> ServerEntry {
    entry(Untrusted).with_tool_allowlist(["read"])
}

/// A server of which definitions are compared, and nothing else is withheld.
fn free() -> ServerTrustLayer {
    let entry = entry(Trusted).with_elicitation_enabled(true).with_roots([Root::new("file:///srv")]);
    layer(&entry.with_media_passthrough(true)).with_pins(pins())
}

/// The answer to a request with the id 7, which nobody has made here.
fn stray(definitions: &[&str]) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[{}],"x":-0.0}}}}"#, definitions.join(" , "))
}

#[test]
fn a_list_has_no_more_tools_than_can_be_held() {
    const MOST: usize = 1 << 16;
    let list = |items: usize| format!(r#"{{"tools":[{}]}}"#, vec!["0"; items].join(","));
    assert_eq!(definitions(list(MOST).as_bytes()).map(|found| found.len()), Ok(MOST));
    assert_eq!(definitions(list(MOST + 1).as_bytes()), Err(ListFault::TooMany));
    let event = |lists: &[usize]| {
        let lists = lists.iter().map(|items| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, list(*items)));
        format!("data: [{}]\n\n", Vec::from_iter(lists).join(","))
    };
    for (lists, text) in [(&[MOST][..], event(&[MOST])), (&[MOST + 1], String::new()), (&[MOST, 1], String::new())] {
        assert!(sent(&pinned(), get(), events(&event(lists)), &[]).text() == text, "{lists:?}");
    }
    let most = vec!["{}"; MOST - 1];
    let one_more = [&most[..], &[READ, "{}"]].concat();
    for (pages, reason) in [
        (&[&[&most[..], &[READ]].concat()[..]][..], ""),
        (&[&one_more[..]], "server.list_unavailable"),
        (&[&most[..], &[READ, "{}"]], "server.list_unavailable"),
    ] {
        assert_eq!(judged(&pinned(), "read", pages), (pages.len(), reason));
    }
}

/// What one event on the stream of a GET costs in bytes that are allocated.
fn cost(layer: &ServerTrustLayer, event: &str) -> u64 {
    let stream = events(event);
    measure(|| drop(sent(layer, get(), stream, &[]))).bytes_total
}

#[test]
fn what_is_remembered_of_a_list_costs_later_events_nothing() {
    let names = Vec::from_iter((0..2000).flat_map(|at| [format!("a.{at}"), format!("a_{at}")]));
    let colliding = Vec::from_iter(names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)));
    let layer = attested();
    let event = format!("data: {NEWS}\n\n");
    cost(&layer, &event);
    let before = cost(&layer, &event);
    let list = list(&colliding).replace(r#","nextCursor":"c""#, "");
    let exchange = sent(&layer, ask("tools/list"), json(&list), &[]);
    assert!(exchange.text().contains(r#""tools":[]"#));
    assert!(cost(&layer, &event) < before + 4096, "{before} and {}", cost(&layer, &event));
    // It is remembered, all the same.
    let page = |tools: &str| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"tools\":[{tools}]}}}}\n\n");
    assert_eq!(sent(&layer, get(), events(&page(&colliding[0])), &[]).text(), page(""));
    assert_eq!(judged(&layer, "a.7", &[&[]]), (0, "server.tool_collision"));
}

#[test]
fn what_holds_a_task_is_known_by_any_case() {
    let asked = r#"{"k":{"method":"sampling/createMessage"}}"#;
    let results = [
        format!(r#"{{"Task":{{"inputRequests":{asked}}}}}"#),
        format!(r#"{{"ta\u017fk":{{"inputRequests":{asked}}}}}"#),
        format!(r#"{{"task":{{"RESULT":{{"inputRequests":{asked}}}}}}}"#),
        format!(r#"{{"tasks":[{{}},{{"inputRequests":{asked}}}]}}"#),
        format!(r#"{{"Tasks":{{"inputRequests":{asked}}}}}"#),
    ];
    for (result, reach) in results.iter().map(|result| (&**result, Reach::Sampling)).chain([
        (r#"{"Error":{"code":-32042}}"#, Reach::Elicitation),
        (r#"{"task":{"ERROR":{"data":{"elicitations":[]}}}}"#, Reach::Elicitation),
    ]) {
        let refused = DenialKind::Server(ServerRefusal::ReachBack(reach));
        for message in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{result}}}"#),
        ] {
            let exchange = send(&layer(&untrusted()), streamable(PING), json(&message));
            assert_eq!(*exchange.denial().kind(), refused, "{message}");
            let exchange = send(&layer(&untrusted()), streamable(PING), events(&format!("data: {message}\n\n")));
            assert!(exchange.text().starts_with(r#"data: {"jsonrpc":"2.0","id":1,"error""#), "{}", exchange.text());
        }
    }
}

#[test]
fn a_message_may_be_accepted_with_a_word() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let long = "x".repeat(65);
    let rows = [
        (202, "text/plain", "Accepted", true),
        (202, "text/html; charset=utf-8", "Accepted", true),
        (202, "application/json", "null", true),
        (202, "application/json", "\"Accepted\"", true),
        (202, "application/json", "{\"x\":1e400}", true),
        (200, "text/plain", "Accepted", false),
        (202, "text/plain", &long, false),
        (202, "text/plain", r#"{"method":"roots/list"}"#, false),
        (202, "application/json; charset=utf-16", "[", false),
        (200, "application/json", "null", false),
    ];
    for (status, media, body, passes) in rows {
        for coded in [false, true] {
            let mut answer = Response::new(Full::from(body.to_owned()));
            *answer.status_mut() = status.try_into().unwrap();
            answer.headers_mut().insert("content-type", media.parse().unwrap());
            if coded {
                answer.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            }
            let exchange = send(&layer(&untrusted()), streamable(note), answer);
            let expected = if passes && !coded { (status, body) } else { (502, "") };
            let text = if exchange.status() == 502 { "" } else { exchange.text() };
            assert_eq!((exchange.status().as_u16(), text), expected, "{media} {body} {coded}");
        }
    }
}

#[test]
fn lists_in_answers_to_other_requests_lose_the_same() {
    let (pinned, exposed) = ([READ], [READ, EVIL]);
    for (row, layer, left) in [
        ("pins", pinned_too(), &pinned[..]),
        ("pins of a server that may ask for all", free(), &pinned[..]),
        ("an allowlist", layer(&untrusted()), &exposed[..]),
    ] {
        let other = READ.replace("read", "other");
        for (shown, left) in [(vec![READ, &other], &left[..1]), (vec![EVIL, &other], &left[1..])] {
            let stream = |list: &str| format!(": hi\n\ndata: {NEWS}\n\nid: 1\ndata: {list}\n\ndata: {OWN}\n\n");
            let (all, left) = (stray(&shown), stray(left));
            for request in [call("read"), streamable(PING), ask("x/y").with_header("accept", STREAMABLE)] {
                let exchange = sent(&layer, request, events(&stream(&all)), &[READ]);
                assert_eq!(exchange.text(), stream(&left), "{row}");
            }
            let exchange = sent(&layer, streamable(PING), json(&all), &[READ]);
            assert_eq!(exchange.text(), left, "{row}");
            assert_eq!(exchange.header("content-length"), Some(&*left.len().to_string()), "{row}");
            let batch = format!("[{OWN},{all}]");
            assert_eq!(sent(&layer, streamable(PING), json(&batch), &[READ]).text(), format!("[{OWN},{left}]"));
        }
        // It says nothing of what the server lists.
        assert_eq!(judged(&layer, "read", &[&[READ]]).1, "", "{row}");
    }
}

fn pinned_too() -> ServerTrustLayer {
    layer(&untrusted()).with_pins(pins())
}

#[test]
fn such_a_list_is_known_however_it_is_written() {
    for tools in [r#""t\u006fols" : [ "#, "\"tools\"\t:\r\n[ "] {
        let list = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{{tools}{rest}]}}}}"#);
        let exchange = sent(&free(), streamable(PING), json(&list(EVIL)), &[]);
        assert_eq!(exchange.text(), list(""));
    }
    for tools in ["Tools", "TOOLS", "tool\u{17f}", r"tool\u017f", r"to\u0000ols"] {
        let list = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"{tools}":[{EVIL}]}}}}"#);
        let exchange = sent(&free(), streamable(PING), json(&list), &[]);
        assert_eq!(exchange.denial().reason(), "upstream.invalid_answer", "{tools}");
    }
}

#[test]
fn what_is_no_list_of_tools_stays_as_it_is() {
    for result in [
        r#"{"content":[{"type":"text","text":"{\"tools\":[{\"name\":\"evil\"}]}"}],"tools":7}"#,
        r#"{"tools" : ["evil", 1e400,null], "a":[ ]}"#,
        r#"{"structuredContent":{"tools":[{"name":"evil"}]},"tools":{"name":"evil"}}"#,
        r#"{"capabilities":{"tools":{"listChanged":true}},"toolsets":[{"name":"evil"}]}"#,
    ] {
        let answer = format!(r#"{{ "jsonrpc":"2.0","id":1, "error":null,"result":{result}}}"#);
        let answer = if result.contains("\"tools\" :") { answer.replace("\"error\":null,", "") } else { answer };
        for layer in [free(), layer(&untrusted())] {
            assert_eq!(sent(&layer, streamable(PING), json(&answer), &[]).text(), answer);
            let stream = format!("data: {answer}\n\n");
            assert_eq!(sent(&layer, streamable(PING), events(&stream), &[]).text(), stream);
        }
    }
}

#[test]
fn such_a_list_is_hidden_by_layers_that_are_joined() {
    use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
    use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
    let role = RoleConfig::new("analyst").with_servers(["files"]).with_allow(["*"]).with_methods(["ping"]);
    let gate = || {
        let policy = Policy::new(&PolicyConfig::new().with_role(role.clone())).unwrap();
        ArgumentAllowlistLayer::new(policy).with_server(tower_toolgate::Server::new("files"))
    };
    type Twice = RequestBody<Inner>;
    let stream = |list: &str| format!("data: {list}\n\ndata: {OWN}\n\n");
    let answer = || events(&stream(&stray(&[EVIL, READ])));
    for exchange in [
        through::<_, Twice, _, _, _>(|mock| free().join(gate()).layer(mock), streamable(PING), answer()),
        through::<_, Twice, _, _, _>(|mock| gate().join(free()).layer(mock), streamable(PING), answer()),
        through::<_, Twice, _, _, _>(|mock| gate().layer(free().layer(mock)), streamable(PING), answer()),
    ] {
        assert_eq!(exchange.text(), stream(&stray(&[])), "a name that is there twice hides both");
    }
}
