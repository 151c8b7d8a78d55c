//! What servers have tried, and what honest ones say.

use tower_toolgate::server::{ListFault, definitions};

use super::server_trust::*;
use super::server_trust_enquiry::*;

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
