//! The shapes of an answer.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde::Serialize;

use super::denial::{Addressee, Denial, DenialKind, Subject};
use crate::binding::UnboundRequest;
use crate::http::BodyFault;
use crate::message::Era;
use crate::trust::TrustFault;

/// How a caller is told that nothing was forwarded.
///
/// Closures over [`Denial`] implement it. The gate puts the denial into the response's extensions itself.
///
/// # Example
///
/// ```
/// use bytes::Bytes;
/// use http::Response;
/// use tower_toolgate::answer::{Denial, Negotiate, RespondToDenial};
///
/// let marked = |denial: &Denial| {
///     let mut response = Negotiate.respond(denial);
///     response.headers_mut().insert("x-refused-by", "gate".parse().unwrap());
///     response
/// };
/// fn is_shape(_: impl RespondToDenial) {}
/// is_shape(marked);
/// ```
pub trait RespondToDenial: Send + Sync + 'static {
    /// The response to a denial.
    fn respond(&self, denial: &Denial) -> Response<Bytes>;
}

impl<F> RespondToDenial for F
where
    F: Fn(&Denial) -> Response<Bytes> + Send + Sync + 'static,
{
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        self(denial)
    }
}

/// The shape that the client reads best; see the [module](super). The default.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct Negotiate;

impl RespondToDenial for Negotiate {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        // By the status of these two clients know what to do.
        let by_status =
            matches!(denial.kind(), DenialKind::Binding(UnboundRequest::SessionUnknown(_)) | DenialKind::Header(_));
        let in_band = denial.is_streamable() && !by_status;
        json_rpc_error(denial, in_band)
    }
}

/// HTTP 403 for every denial by a policy, or a rule on sessions or servers, of what has an id, with a JSON-RPC error as its body. Released clients of MCP
/// lose their session by it.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct AlwaysForbidden;

impl RespondToDenial for AlwaysForbidden {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        if denial.kind().is_of_rules() { json_rpc_error(denial, false) } else { Negotiate.respond(denial) }
    }
}

/// HTTP 200 with a JSON-RPC error for every denial by a policy, or a rule on sessions or servers, of what has an id.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct AlwaysInBand;

impl RespondToDenial for AlwaysInBand {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        if denial.kind().is_of_rules() { json_rpc_error(denial, true) } else { Negotiate.respond(denial) }
    }
}

/// A tool's result with `isError` for a denial of a tool call by a policy, or a rule on sessions or servers: models see its text. Else as [`AlwaysInBand`].
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct AsToolError;

impl RespondToDenial for AsToolError {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        match (denial.subject(), denial.id()) {
            (Subject::Tool(_), Some(id)) if denial.kind().is_of_rules() => {
                let text = escaped(&denial.to_string());
                let modern = if denial.era() == Era::Modern { r#""resultType":"complete","# } else { "" };
                let content = format!(r#"[{{"type":"text","text":{text}}}]"#);
                let result = format!(r#"{{{modern}"content":{content},"isError":true}}"#);
                json(StatusCode::OK, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
            }
            _ => AlwaysInBand.respond(denial),
        }
    }
}

/// The answer that a server gives of something that it does not have: whoever may not use a thing does not learn that
/// it exists.
///
/// Whatever is malformed is answered as by [`Negotiate`].
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct is its own constructor")]
pub struct AsUnknown;

impl RespondToDenial for AsUnknown {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        match denial.addressee() {
            Addressee::Id(id) if denial.kind().hides() => json(StatusCode::OK, message(id, &unknown(denial))),
            Addressee::Batch(ids) if !ids.is_empty() && denial.kind().hides() => {
                let own = unknown(denial);
                json(StatusCode::OK, batch(ids, &own, r#"{"code":-32603,"message":"Not processed"}"#))
            }
            _ => Negotiate.respond(denial),
        }
    }
}

/// The error of a server that does not have what was asked for.
fn unknown(denial: &Denial) -> String {
    let (code, message) = match denial.subject() {
        Subject::Tool(name) => (-32602, format!("Unknown tool: {name}")),
        Subject::Prompt(name) => (-32602, format!("Unknown prompt: {name}")),
        Subject::Resource(uri) => (resource_not_found(denial.era()), format!("Resource not found: {uri}")),
        Subject::Method(_) | Subject::Unknown => (-32601, "Method not found".to_owned()),
    };
    format!(r#"{{"code":{code},"message":{}}}"#, escaped(&message))
}

/// The code of a resource that is not there, which 2026-07-28 gave up for that of invalid params.
fn resource_not_found(era: Era) -> i32 {
    match era {
        Era::Legacy => -32002,
        Era::Modern => -32602,
    }
}

/// OAuth's step-up (RFC 6750, section 3.1): a policy's denial is HTTP 403 with a challenge for a scope that would
/// permit the call.
///
/// For hosts whose clients can obtain that scope: others take it for a failed login.
#[derive(Clone, Debug)]
pub struct RequestScope {
    challenge: HeaderValue,
}

impl RequestScope {
    /// A challenge for scopes, separated by blanks, at the authorization server that the metadata's URL leads to.
    ///
    /// # Errors
    ///
    /// One of them has a quote, a backslash, or a byte that is not printable ASCII.
    pub fn new(scope: &str, resource_metadata: &str) -> Result<Self, InvalidChallenge> {
        let fits = |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
        if !fits(scope) || !fits(resource_metadata) {
            return Err(InvalidChallenge);
        }
        let challenge =
            format!(r#"Bearer error="insufficient_scope", scope="{scope}", resource_metadata="{resource_metadata}""#);
        HeaderValue::try_from(challenge).map(|challenge| Self { challenge }).map_err(|_| InvalidChallenge)
    }
}

impl RespondToDenial for RequestScope {
    fn respond(&self, denial: &Denial) -> Response<Bytes> {
        let mut response = AlwaysForbidden.respond(denial);
        if response.status() == StatusCode::FORBIDDEN {
            response.headers_mut().insert(WWW_AUTHENTICATE, self.challenge.clone());
        }
        response
    }
}

/// A challenge that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidChallenge;

impl fmt::Display for InvalidChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scope and URL must be printable ASCII without quotes and backslashes")
    }
}

impl std::error::Error for InvalidChallenge {}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i32,
    message: String,
    data: ErrorData<'a>,
}

#[derive(Serialize)]
struct ErrorData<'a> {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<&'a str>,
}

/// The error object of a denial.
fn error(denial: &Denial) -> String {
    let tool = match denial.subject() {
        Subject::Tool(name) => Some(&**name),
        Subject::Method(_) | Subject::Prompt(_) | Subject::Resource(_) | Subject::Unknown => None,
    };
    let data = ErrorData { reason: denial.reason(), tool, argument: denial.argument() };
    let error = ErrorObject { code: denial.code(), message: denial.to_string(), data };
    serde_json::to_string(&error).unwrap_or_else(|_| r#"{"code":-32603,"message":"refused"}"#.to_owned())
}

fn message(id: &str, error: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// An error for each id of a batch: the one that was refused, and the others.
fn batch(ids: &[(Box<str>, bool)], own: &str, others: &str) -> String {
    let error = |(id, refused): &(Box<str>, bool)| message(id, if *refused { own } else { others });
    format!("[{}]", ids.iter().map(error).collect::<Vec<_>>().join(","))
}

/// A JSON-RPC error for whoever waits; `in_band` says whether its status is 200 where it has an id.
fn json_rpc_error(denial: &Denial, in_band: bool) -> Response<Bytes> {
    let status = if in_band { StatusCode::OK } else { denial.status() };
    let mut response = match denial.addressee() {
        Addressee::Nobody => return empty(),
        Addressee::Batch(ids) if ids.is_empty() => return empty(),
        Addressee::Batch(ids) => {
            let others = Denial::new(DenialKind::Batch, Addressee::Unknown, super::denial::Client::default());
            json(status, batch(ids, &error(denial), &error(&others)))
        }
        Addressee::Id(id) => json(status, message(id, &error(denial))),
        Addressee::Unknown => json(denial.status(), message("null", &error(denial))),
    };
    add_headers(denial, response.headers_mut());
    response
}

fn add_headers(denial: &Denial, headers: &mut http::HeaderMap) {
    if let DenialKind::Body(BodyFault::BudgetExhausted) | DenialKind::Trust(TrustFault::StoreUnavailable) =
        denial.kind()
    {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
}

fn json(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let length = HeaderValue::from(response.body().len());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_LENGTH, length);
    response
}

fn empty() -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn escaped(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| r#""refused""#.to_owned())
}
