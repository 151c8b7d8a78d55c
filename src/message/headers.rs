//! The headers in which MCP mirrors a body (SEP-2243; "Request Metadata" of the Streamable HTTP transport).
//!
//! The body remains the source of truth: a header decides nothing, and one that contradicts the body is
//! refused, since whoever reads it on the way would believe it.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::method::MethodRow;
use super::view::{Message, MessageKind};
use super::{Era, Revision, read};

// Parsed once: a look-up by `&str` would parse and fold the name anew.
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";
const FAMILY: &str = "mcp-";

/// The values of the mirroring headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mirror {
    version: Option<HeaderValue>,
    method: Option<HeaderValue>,
    name: Option<HeaderValue>,
}

/// What is wrong with a mirroring header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MirrorFault {
    /// It says something else than the body.
    Contradicts,
    /// It comes behind the body, where some host adds it to the headers.
    InTrailers,
    /// The revision requires it.
    Missing,
    /// It is there twice.
    Repeated,
    /// It has bytes that a header of plain text has not.
    Undecodable,
}

/// A mirroring header that cannot be believed: code -32020.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMismatch {
    header: &'static str,
    fault: MirrorFault,
}

impl HeaderMismatch {
    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> MirrorFault {
        self.fault
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &'static str {
        self.header
    }

    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self.fault {
            MirrorFault::Contradicts => "header.contradicts",
            MirrorFault::InTrailers => "header.in_trailers",
            MirrorFault::Missing => "header.missing",
            MirrorFault::Repeated => "header.repeated",
            MirrorFault::Undecodable => "header.undecodable",
        }
    }
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.fault {
            MirrorFault::Contradicts => "contradicts the body",
            MirrorFault::InTrailers => "comes behind the body",
            MirrorFault::Missing => "is missing",
            MirrorFault::Repeated => "is repeated",
            MirrorFault::Undecodable => "is not plain text",
        };
        write!(f, "header `{}` {text}", self.header)
    }
}

impl std::error::Error for HeaderMismatch {}

type Result<T> = std::result::Result<T, HeaderMismatch>;

impl Mirror {
    /// Reads the headers: each at most once.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self> {
        let mut mirror = Self::default();
        // One walk over the names costs less than a look-up of each that is seldom there.
        for name in headers.keys().filter(|name| name.as_str().starts_with("mcp")) {
            if !name.as_str().starts_with(FAMILY) {
                // Some hosts read `_` as `-`.
                let resembles = name.as_str().replace('_', "-").starts_with(FAMILY);
                if resembles { Err(mismatch(FAMILY, MirrorFault::Contradicts)) } else { Ok(()) }?;
            } else if *name == VERSION {
                mirror.version = single(headers, name, VERSION.as_str())?;
            } else if *name == METHOD {
                mirror.method = single(headers, name, METHOD.as_str())?;
            } else if *name == NAME {
                mirror.name = single(headers, name, NAME.as_str())?;
            } else {
                let family = if name.as_str().starts_with(PARAM) { PARAM } else { FAMILY };
                single(headers, name, family)?;
            }
        }
        Ok(mirror)
    }

    /// Where there is no body there is nothing to mirror but the revision.
    pub(crate) fn check_bodiless(headers: &HeaderMap) -> Result<()> {
        let mirror = Self::read(headers)?;
        compare(mirror.method.as_ref(), METHOD.as_str(), None, false, false)?;
        compare(mirror.name.as_ref(), NAME.as_str(), None, false, false)
    }

    /// Refuses them behind the body.
    pub(crate) fn check_trailers(trailers: &HeaderMap) -> Result<()> {
        // Some hosts read `_` as `-`.
        if trailers.keys().any(|name| name.as_str().replace('_', "-").starts_with(FAMILY)) {
            return Err(mismatch(FAMILY, MirrorFault::InTrailers));
        }
        Ok(())
    }

    /// Corrects the name that a head mirrors, if it does mirror `old`, now that the body has another one.
    #[cfg(feature = "content-trust")]
    pub(crate) fn correct_name(headers: &mut HeaderMap, old: &str, name: &str) {
        // By a method that no revision knows it may mirror another member.
        if compare(headers.get(&NAME), NAME.as_str(), Some(old), false, true).is_err() {
            return;
        }
        let plain = name.bytes().all(|byte| matches!(byte, b' '..=b'~')) && name.trim() == name;
        let looks_encoded = name.starts_with("=?base64?") && name.ends_with("?=");
        let encoded = || format!("=?base64?{}?=", base64(name.as_bytes()));
        let value = if plain && !looks_encoded { HeaderValue::from_str(name) } else { encoded().try_into() };
        if let (Some(header), Ok(mut value)) = (headers.get_mut(&NAME), value) {
            // Whoever logs headers does not show it.
            value.set_sensitive(true);
            *header = value;
        }
    }

    /// The revision that the head names.
    pub(crate) fn revision(&self) -> Option<Revision> {
        let version = self.version.as_ref()?;
        Some(Revision::parse(version.to_str().unwrap_or_default().trim()))
    }

    /// Compares the headers with the messages of a body: the era that both say it is.
    pub(super) fn check<'a>(&self, mut messages: impl Iterator<Item = Message<'a>>, batch: bool) -> Result<Era> {
        if batch {
            // A batch has no one method or name to mirror.
            compare(self.method.as_ref(), METHOD.as_str(), None, false, false)?;
            compare(self.name.as_ref(), NAME.as_str(), None, false, false)?;
            return messages.try_for_each(|message| self.check_version(&message).map(drop)).map(|()| Era::Legacy);
        }
        let Some(message) = messages.next() else { return Ok(Era::Legacy) };
        let era = self.check_version(&message)?;
        let required = era == Era::Modern && message.kind() == MessageKind::Request;
        let method = message.method().unwrap_or_default();
        compare(self.method.as_ref(), METHOD.as_str(), Some(&method), required, false)?;
        self.check_name(&message, required)?;
        Ok(era)
    }

    fn check_version(&self, message: &Message<'_>) -> Result<Era> {
        // What is no string was refused when the body was read.
        let claim = read::claim(message).unwrap_or_default();
        let era = |version: &str| Revision::parse(version).era();
        match (&self.version, claim) {
            (None, None) => Ok(Era::Legacy),
            (None, Some(claim)) if era(&claim) == Era::Modern => Err(mismatch(VERSION.as_str(), MirrorFault::Missing)),
            (None, Some(_)) => Ok(Era::Legacy),
            (Some(_), None) => Ok(self.revision().map_or(Era::Legacy, Revision::era)),
            (Some(_), Some(claim)) => {
                compare(self.version.as_ref(), VERSION.as_str(), Some(&claim), true, false)?;
                Ok(era(&claim))
            }
        }
    }

    fn check_name(&self, message: &Message<'_>, required: bool) -> Result<()> {
        let row = message.row();
        let mirrored = row.and_then(|row| row.mirrored);
        if self.name.is_none() && !(required && mirrored.is_some()) {
            return Ok(());
        }
        let member =
            |name| message.params().get(name).and_then(|member| member.as_str()).and_then(std::result::Result::ok);
        let body = match row.and_then(MethodRow::subject) {
            Some(name) => member(name),
            // No revision says what the header would mirror here; it must still be something of the body.
            None => ["name", "uri", "taskId"].into_iter().find_map(member),
        };
        compare(self.name.as_ref(), NAME.as_str(), body.as_deref(), required && mirrored.is_some(), true)
    }
}

fn single(headers: &HeaderMap, name: &HeaderName, label: &'static str) -> Result<Option<HeaderValue>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) if value.to_str().is_err() => Err(mismatch(label, MirrorFault::Undecodable)),
        (value, None) => Ok(value.cloned()),
        (_, Some(_)) => Err(mismatch(label, MirrorFault::Repeated)),
    }
}

fn compare(
    value: Option<&HeaderValue>,
    header: &'static str,
    body: Option<&str>,
    required: bool,
    may_be_encoded: bool,
) -> Result<()> {
    let Some(value) = value else {
        return if required { Err(mismatch(header, MirrorFault::Missing)) } else { Ok(()) };
    };
    let value = value.to_str().map_err(|_| mismatch(header, MirrorFault::Undecodable))?;
    let value = value.trim_matches([' ', '\t']);
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let same = |body: &str| match encoded {
        Some(encoded) if may_be_encoded => encoded == base64(body.as_bytes()),
        Some(_) | None => value == body,
    };
    if body.is_some_and(same) { Ok(()) } else { Err(mismatch(header, MirrorFault::Contradicts)) }
}

fn mismatch(header: &'static str, fault: MirrorFault) -> HeaderMismatch {
    HeaderMismatch { header, fault }
}

/// RFC 4648, section 4. The body is encoded, not the header decoded: of two spellings of one value only the canonical
/// one is believed.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let sextet = (bits >> (18 - 6 * at) & 63) as usize;
            let letter = ALPHABET.get(sextet).filter(|_| at <= chunk.len());
            text.push(letter.map_or('=', |letter| char::from(*letter)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("danger", "ZGFuZ2Vy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
