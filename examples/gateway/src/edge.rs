//! Who may come in at all: hosts, origins, API keys.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, UPGRADE,
    WWW_AUTHENTICATE,
};
use http::uri::Authority;
use http::{Method, StatusCode};
use subtle::ConstantTimeEq;
use tower_toolgate::{HonestHost, Principal, Roles};

use crate::config::{ApiKey, GatewayConfig};
use crate::metrics::Metrics;

/// The headers that tell the server behind the gateway who calls. Only the gateway sets them.
pub(crate) const ROLE: HeaderName = HeaderName::from_static("x-toolgate-role");
pub(crate) const PRINCIPAL: HeaderName = HeaderName::from_static("x-toolgate-principal");
pub(crate) const SESSION: HeaderName = HeaderName::from_static("x-toolgate-session");
const OURS: &str = "x-toolgate-";

/// What decides who may come in.
#[derive(Clone, Debug)]
pub struct Edge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    keys: Vec<Caller>,
    loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The operator believes callers when they name conversations.
    honest: bool,
    metrics: Metrics,
}

#[derive(Clone, Debug)]
struct Caller {
    key: ApiKey,
    roles: Roles,
    principal: Principal,
}

impl Edge {
    /// The edge of a gateway.
    #[must_use]
    pub fn new(config: &GatewayConfig, honest: bool, metrics: Metrics) -> Self {
        let caller = |key: &ApiKey| {
            // Blank subjects are found when the configuration is read.
            let principal = Principal::new("api-key", key.subject.as_str()).ok()?;
            Some(Caller { key: key.clone(), roles: Roles::from_iter(key.roles.iter().map(String::as_str)), principal })
        };
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self(Arc::new(Inner {
            keys: config.api_keys.iter().filter_map(caller).collect(),
            loopback: config.listen.ip().is_loopback(),
            hosts: lower(&config.allowed_hosts),
            origins: lower(&config.allowed_origins),
            honest,
            metrics,
        }))
    }

    /// Whether a browser's page of this origin may call.
    #[must_use]
    pub fn permits_origin(&self, origin: &str) -> bool {
        let listed = self.0.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
        let local = || is_local_origin(origin);
        listed || self.0.loopback && local()
    }

    fn permits_host(&self, host: &str) -> bool {
        let Some(authority) = host.parse::<Authority>().ok().filter(is_plain) else { return false };
        let listed = |known: &String| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(authority.host());
        self.0.hosts.iter().any(listed) || self.0.loopback && is_loopback(&authority)
    }

    /// Looks at hosts and origins; both protect from pages that make a browser speak to this machine.
    fn check_place(&self, request: &Request) -> Result<(), &'static str> {
        let headers = request.headers();
        // The target of a request comes before its Host (RFC 9112, section 3.2.2); one that lies about either is not
        // served.
        let hosts = [single(headers, &HOST)?, request.uri().authority().map(Authority::as_str)];
        let mut hosts = hosts.into_iter().flatten().peekable();
        if hosts.peek().is_none() || !hosts.all(|host| self.permits_host(host)) {
            return Err("this host is not served");
        }
        match single(headers, &ORIGIN)? {
            Some(origin) if !self.permits_origin(origin) => Err("this origin is not permitted"),
            Some(_) | None => Ok(()),
        }
    }

    /// The caller with the key that a request carries. Every key is compared, each in constant time.
    fn caller(&self, headers: &HeaderMap) -> Option<&Caller> {
        let value = single(headers, &AUTHORIZATION).ok().flatten()?;
        let (scheme, token) = value.split_once(' ')?;
        let token = token.trim().as_bytes();
        let same = |caller: &&Caller| bool::from(caller.key.key.expose().as_bytes().ct_eq(token));
        let found = self.0.keys.iter().filter(same).collect::<Vec<_>>();
        found.first().copied().filter(|_| scheme.eq_ignore_ascii_case("bearer"))
    }
}

/// Refuses foreign hosts and origins with 403.
pub async fn guard_place(State(edge): State<Edge>, request: Request, next: Next) -> Response {
    match edge.check_place(&request) {
        Ok(()) => next.run(request).await,
        Err(reason) => refusal(StatusCode::FORBIDDEN, reason),
    }
}

/// Refuses requests without a valid key with 401; puts roles and principal on the others.
pub async fn authenticate(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    drop_named_by_connection(request.headers_mut());
    strip(request.headers_mut());
    let Some(caller) = edge.caller(request.headers()) else {
        edge.0.metrics.count_unauthorized();
        let mut response = refusal(StatusCode::UNAUTHORIZED, "a valid key is required");
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    };
    let (roles, principal) = (caller.roles.clone(), caller.principal.clone());
    let names = roles.names().collect::<Vec<_>>().join(",");
    set(request.headers_mut(), ROLE, &names);
    set(request.headers_mut(), PRINCIPAL, principal.subject());
    request.extensions_mut().insert(roles);
    request.extensions_mut().insert(principal);
    if edge.0.honest {
        request.extensions_mut().insert(HonestHost::new());
    }
    next.run(request).await
}

/// Removes what `Connection` names.
fn drop_named_by_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    // Without a host there is no request, and what is to be switched to is looked at by the gate.
    let kept = [HOST, CONNECTION, UPGRADE];
    for name in named.iter().filter(|name| !kept.contains(name)) {
        headers.remove(name);
    }
}

/// Removes what only the gateway may say, and what some hosts take for it: they read `_` as `-`.
fn strip(headers: &mut HeaderMap) {
    let is_ours = |name: &&HeaderName| name.as_str().replace('_', "-").starts_with(OURS);
    let ours: Vec<_> = headers.keys().filter(is_ours).cloned().collect();
    ours.iter().for_each(|name| {
        headers.remove(name);
    });
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // What no header can carry is left out: the server behind sees nobody rather than somebody else.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| "a header is not plain text"),
        (Some(_), Some(_)) => Err("a header is repeated"),
    }
}

/// RFC 6454: a scheme, a host, perhaps a port, and nothing else.
fn is_local_origin(origin: &str) -> bool {
    let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let authority = place.and_then(|place| place.parse::<Authority>().ok());
    authority.is_some_and(|authority| is_plain(&authority) && is_loopback(&authority))
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether it is a host and perhaps a port, without a user, which `user@localhost` has.
fn is_plain(authority: &Authority) -> bool {
    let port = authority.as_str().strip_prefix(authority.host()).and_then(|port| port.strip_prefix(':'));
    let is_port =
        |port: &str| port.is_empty() || port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit());
    authority.as_str() == authority.host() || port.is_some_and(is_port)
}

/// A JSON-RPC error without an id: nothing of the body has been read.
fn refusal(status: StatusCode, message: &str) -> Response {
    let error =
        serde_json::json!({"jsonrpc": "2.0", "id": null, "error": {"code": status.as_u16(), "message": message}});
    let mut response = Response::new(Body::from(error.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The methods that a page may use.
pub(crate) const CORS_METHODS: [Method; 3] = [Method::DELETE, Method::GET, Method::POST];
