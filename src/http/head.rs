//! What a request's head must be before its body is read.

use std::fmt;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode, Uri};

use crate::message::DialectRules;

/// What a head must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeadFault {
    /// A body where the HTTP method has none.
    BodyNotAllowed,
    /// A charset other than UTF-8.
    CharsetUnsupported,
    /// A content coding other than identity.
    ContentCoding,
    /// No Content-Type.
    ContentTypeMissing,
    /// More than one Content-Type.
    ContentTypeRepeated,
    /// A Content-Type that is not one of the dialect's, or no media type at all.
    ContentTypeUnsupported,
    /// An HTTP method that the dialect does not have.
    MethodNotAllowed,
    /// A header or query that names another method than the request's.
    MethodOverride,
    /// A path that is not `/SERVICE/METHOD` in plain letters, where gRPC names a method by it.
    PathNotCanonical,
    /// A transfer coding other than exactly `chunked`.
    TransferCoding,
    /// A protocol upgrade that is not allowed by name.
    Upgrade,
}

impl HeadFault {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::BodyNotAllowed => "http.body_not_allowed",
            Self::CharsetUnsupported => "http.charset_unsupported",
            Self::ContentCoding => "http.content_coding",
            Self::ContentTypeMissing => "http.content_type_missing",
            Self::ContentTypeRepeated => "http.content_type_repeated",
            Self::ContentTypeUnsupported => "http.content_type_unsupported",
            Self::MethodNotAllowed => "http.method_not_allowed",
            Self::MethodOverride => "http.method_override",
            Self::PathNotCanonical => "http.path_not_canonical",
            Self::TransferCoding => "http.transfer_coding",
            Self::Upgrade => "http.upgrade",
        }
    }

    /// The status of the answer.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::BodyNotAllowed | Self::MethodOverride | Self::PathNotCanonical | Self::Upgrade => {
                StatusCode::BAD_REQUEST
            }
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::CharsetUnsupported
            | Self::ContentCoding
            | Self::ContentTypeMissing
            | Self::ContentTypeRepeated
            | Self::ContentTypeUnsupported
            | Self::TransferCoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }
}

impl fmt::Display for HeadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BodyNotAllowed => "this method has no body",
            Self::CharsetUnsupported => "the charset must be utf-8",
            Self::ContentCoding => "the content coding must be identity",
            Self::ContentTypeMissing => "Content-Type is missing",
            Self::ContentTypeRepeated => "Content-Type is repeated",
            Self::ContentTypeUnsupported => "unsupported media type",
            Self::MethodNotAllowed => "method not allowed",
            Self::MethodOverride => "the method must not be overridden",
            Self::PathNotCanonical => "the path must name a service and a method in plain letters",
            Self::TransferCoding => "the transfer coding must be chunked",
            Self::Upgrade => "protocol upgrades are not accepted",
        })
    }
}

impl std::error::Error for HeadFault {}

/// What happens to a request whose head is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It has no body and is judged by its head: a stream of events, the end of a session.
    Bodiless,
    /// A preflight of CORS: it has no body, carries no identity and can call nothing.
    Preflight,
    /// Its body is read and judged.
    Read,
}

/// Looks at a head. `upgrades` are the protocols that may be upgraded to.
pub(crate) fn admit(head: &Parts, rules: &DialectRules, upgrades: &[Box<str>]) -> Result<Admission, HeadFault> {
    check_common(head, upgrades)?;
    match head.method {
        Method::POST => check_content(&head.headers, rules).map(|()| Admission::Read),
        Method::GET | Method::DELETE if rules.mcp_transport => Ok(Admission::Bodiless),
        Method::OPTIONS if is_preflight(&head.headers) => Ok(Admission::Preflight),
        _ => Err(HeadFault::MethodNotAllowed),
    }
}

/// What no head may ask for, whatever is behind it.
fn check_common(head: &Parts, upgrades: &[Box<str>]) -> Result<(), HeadFault> {
    if names_in_query(&head.uri, &["_method"]) {
        return Err(HeadFault::MethodOverride);
    }
    // One walk over the names costs less than a look-up of each that is seldom there.
    for name in head.headers.keys() {
        match name.as_str() {
            "upgrade" => check_upgrade(&head.headers, upgrades)?,
            "transfer-encoding" => {
                check_coding(&head.headers, header::TRANSFER_ENCODING, "chunked", HeadFault::TransferCoding)?;
            }
            name if name.starts_with('x') && overrides_method(name) => return Err(HeadFault::MethodOverride),
            _ => {}
        }
    }
    Ok(())
}

/// Some hosts read `_` as `-`.
fn overrides_method(name: &str) -> bool {
    const OVERRIDES: [&str; 3] = ["x-http-method", "x-http-method-override", "x-method-override"];
    let letters = name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte });
    OVERRIDES.iter().any(|known| known.len() == name.len() && letters.clone().eq(known.bytes()))
}

/// Looks at the head of a gRPC request (gRPC over HTTP/2, "Requests"): the method that it names, without the leading
/// slash.
pub(crate) fn admit_grpc<'a>(head: &'a Parts, upgrades: &[Box<str>]) -> Result<&'a str, HeadFault> {
    check_common(head, upgrades)?;
    if head.method != Method::POST {
        return Err(HeadFault::MethodNotAllowed);
    }
    let mut types = head.headers.get_all(header::CONTENT_TYPE).iter();
    let grpc = |value: &HeaderValue| value.as_bytes().starts_with(b"application/grpc");
    match (types.next(), types.next()) {
        (None, _) => return Err(HeadFault::ContentTypeMissing),
        (Some(value), None) if grpc(value) => {}
        (Some(_), None) => return Err(HeadFault::ContentTypeUnsupported),
        (Some(_), Some(_)) => return Err(HeadFault::ContentTypeRepeated),
    }
    // A path that needs decoding is one that router and policy may decode differently.
    let plain = |segment: &str| {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        !segment.is_empty() && segment.bytes().all(letter) && segment != "." && segment != ".."
    };
    let path = head.uri.path().strip_prefix('/').unwrap_or_default();
    match path.split_once('/') {
        Some((service, method)) if plain(service) && plain(method) => Ok(path),
        Some(_) | None => Err(HeadFault::PathNotCanonical),
    }
}

/// Whether a client asks for events, and so reads answers from the body, whatever their status.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    let media =
        |item: &str| item.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream");
    let mut values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(media))
}

/// Whether the query has a parameter that some framework takes for one of these, in any spelling that one of them
/// decodes.
pub(crate) fn names_in_query(uri: &Uri, names: &[&str]) -> bool {
    let Some(query) = uri.query() else { return false };
    let named = |pair: &str| {
        let decoded = decode(pair.split('=').next().unwrap_or_default());
        let plain = decoded.split('[').next().unwrap_or_default().replace(['+', ' '], "");
        names.iter().any(|name| plain.eq_ignore_ascii_case(name))
    };
    query.split(['&', ';']).any(named)
}

/// Decodes the escapes of ASCII characters; what else there may be makes no difference here.
fn decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii);
        match byte {
            Some(byte) => decoded.push(char::from(byte)),
            None => decoded.push('%'),
        }
        decoded.push_str(part.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default());
    }
    decoded
}

fn check_upgrade(headers: &HeaderMap, upgrades: &[Box<str>]) -> Result<(), HeadFault> {
    let names = |value: &HeaderValue| {
        let mut protocols = value.to_str().unwrap_or_default().split(',').map(str::trim);
        protocols.all(|protocol| upgrades.iter().any(|allowed| allowed.eq_ignore_ascii_case(protocol)))
    };
    if headers.get_all(header::UPGRADE).iter().all(names) { Ok(()) } else { Err(HeadFault::Upgrade) }
}

/// A coding may be named once, and be the one that changes nothing that we read.
fn check_coding(headers: &HeaderMap, name: HeaderName, harmless: &str, fault: HeadFault) -> Result<(), HeadFault> {
    let mut values = headers.get_all(name).iter();
    let fits = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(harmless.as_bytes());
    match (values.next(), values.next()) {
        (None, _) => Ok(()),
        (Some(value), None) if fits(value) => Ok(()),
        (Some(_), _) => Err(fault),
    }
}

fn check_content(headers: &HeaderMap, rules: &DialectRules) -> Result<(), HeadFault> {
    check_coding(headers, header::CONTENT_ENCODING, "identity", HeadFault::ContentCoding)?;
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(HeadFault::ContentTypeMissing),
        (Some(value), None) => value.to_str().map_err(|_| HeadFault::ContentTypeUnsupported)?,
        (Some(_), Some(_)) => return Err(HeadFault::ContentTypeRepeated),
    };
    if value.contains(',') {
        // A list, or a quoted text that somebody takes for one.
        return Err(HeadFault::ContentTypeUnsupported);
    }
    let mut parts = value.split(';').map(|part| part.trim_matches([' ', '\t']));
    let media = parts.next().unwrap_or_default();
    if !rules.media_types.iter().any(|known| known.eq_ignore_ascii_case(media)) {
        return Err(HeadFault::ContentTypeUnsupported);
    }
    parts.try_for_each(check_parameter)
}

/// RFC 9110, section 5.6.6. Of all parameters only a charset changes how a body is read.
pub(crate) fn check_parameter(parameter: &str) -> Result<(), HeadFault> {
    if parameter.is_empty() {
        return Ok(());
    }
    let (name, value) = parameter.split_once('=').ok_or(HeadFault::ContentTypeUnsupported)?;
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let well_formed = quoted.map_or_else(|| is_token(value), |text| !text.contains(['"', '\\']));
    if !is_token(name) || !well_formed {
        return Err(HeadFault::ContentTypeUnsupported);
    }
    let resembles = name.to_ascii_lowercase().contains("charset");
    let utf_8 = name.eq_ignore_ascii_case("charset") && quoted.unwrap_or(value).eq_ignore_ascii_case("utf-8");
    // A name that only resembles `charset` is read as one by somebody.
    if resembles && !utf_8 { Err(HeadFault::CharsetUnsupported) } else { Ok(()) }
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}

fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether a body is not what its type says until it is decoded.
pub(crate) fn is_coded(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    !headers.get_all(header::CONTENT_ENCODING).iter().all(plain)
}
