//! What is passed on, in both directions.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, ORIGIN, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};

/// What concerns one connection only (RFC 9110, section 7.6.1). What a request's `Connection` names besides is not
/// removed: a client must not be able to remove what a gateway has added. That belongs to where requests come in.
const HOP_BY_HOP: [HeaderName; 6] =
    [CONNECTION, HeaderName::from_static("keep-alive"), TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Whether a header is said anew for each connection or message, so that an operator's would contradict it.
pub(in crate::upstream) fn is_of_a_connection(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || *name == CONTENT_LENGTH
}

/// The request's own credentials and place stay here. The operator's headers take the place of the client's.
pub(super) fn for_server(headers: &mut HeaderMap, host: &HeaderValue, own: &HeaderMap) {
    drop_hop_by_hop(headers);
    remove_family(headers, "proxy-");
    // What the body's length is, its size hint knows.
    for name in [AUTHORIZATION, CONTENT_LENGTH, COOKIE, EXPECT, ORIGIN] {
        headers.remove(name);
    }
    headers.insert(HOST, host.clone());
    // What comes back is to be read, not inflated.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for name in own.keys() {
        headers.remove(name);
    }
    headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
}

pub(in crate::upstream) fn for_client(headers: &mut HeaderMap, trusted: bool) {
    drop_named_by_connection(headers);
    drop_hop_by_hop(headers);
    remove_family(headers, "proxy-");
    // Which pages may read an answer is for the gateway to say.
    remove_family(headers, "access-control-");
    if !trusted {
        for name in [LOCATION, SET_COOKIE, WWW_AUTHENTICATE] {
            headers.remove(name);
        }
        for name in OF_BROWSERS {
            headers.remove(name);
        }
    }
}

/// Other ways to send a browser elsewhere, or to change what it keeps of this host and tells others of it.
const OF_BROWSERS: [&str; 8] = [
    "alt-svc",
    "clear-site-data",
    "nel",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "set-cookie2",
    "strict-transport-security",
];

fn remove_family(headers: &mut HeaderMap, prefix: &str) {
    let family: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with(prefix)).cloned().collect();
    family.iter().for_each(|name| {
        headers.remove(name);
    });
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

fn drop_named_by_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in named {
        headers.remove(name);
    }
}
