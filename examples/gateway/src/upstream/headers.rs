//! What is passed on, in both directions.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::uri::Authority;

/// What concerns one connection only (RFC 9110, section 7.6.1). What `Connection` names besides is removed where the
/// request comes in, before it is judged: a client must not be able to remove what the gateway adds.
const HOP_BY_HOP: [HeaderName; 6] =
    [CONNECTION, HeaderName::from_static("keep-alive"), TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The request's own credentials and place stay here; the server learns who calls from the gateway's headers.
pub(super) fn for_server(headers: &mut HeaderMap, authority: &Authority) {
    drop_hop_by_hop(headers);
    remove_family(headers, "proxy-");
    for name in [AUTHORIZATION, COOKIE, ORIGIN] {
        headers.remove(name);
    }
    match HeaderValue::from_str(authority.as_str()) {
        Ok(host) => headers.insert(HOST, host),
        Err(_) => headers.remove(HOST),
    };
    // What comes back is to be read, not inflated.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

pub(super) fn for_client(headers: &mut HeaderMap) {
    drop_named_by_connection(headers);
    drop_hop_by_hop(headers);
    remove_family(headers, "proxy-");
    // Which pages may read an answer is for the gateway to say.
    remove_family(headers, "access-control-");
}

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

/// Removes what `Connection` names.
pub(crate) fn drop_named_by_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    // Without a host there is no request, and what is to be switched to is looked at by the gate.
    for name in named.iter().filter(|name| ![HOST, CONNECTION, UPGRADE].contains(name)) {
        headers.remove(name);
    }
}
