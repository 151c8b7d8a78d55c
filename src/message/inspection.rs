//! What was found in one body, tied to its bytes.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::headers::{HeaderMismatch, Mirror};
use super::read::{self, Body, Record};
use super::{Dialect, Era, Fault};
use crate::json::{self, Member};

/// The calls found in one body, tied to the bytes that they were read from.
///
/// A gate puts it into the request's extensions, where [`Inspection::of`] finds it. It owns its bytes and
/// has no public constructor: whoever holds one holds what a gate has read, and the bytes that the inner
/// service receives. Cloning is cheap.
///
/// # Example
///
/// A service behind a gate that wants to know what is called:
///
/// ```
/// use http::Request;
/// use tower_toolgate::message::{Call, Inspection};
///
/// fn tools<B>(request: &Request<B>) -> Vec<String> {
///     let Some(inspection) = Inspection::of(request.extensions()) else { return Vec::new() };
///     let calls = inspection.messages().flat_map(|message| message.calls());
///     calls
///         .filter_map(|call| match call {
///             Call::Tool { name, .. } => Some(name.into_owned()),
///             _ => None,
///         })
///         .collect()
/// }
/// # assert!(tools(&Request::new(())).is_empty());
/// ```
#[derive(Clone)]
pub struct Inspection(Arc<Inner>);

struct Inner {
    bytes: Bytes,
    body: Body,
    era: Era,
}

/// Why no inspection came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    Json(json::Error),
    Message(Fault),
    Mirror(HeaderMismatch),
}

impl Inspection {
    /// Reads a body, once, and compares the headers that mirror it.
    pub(crate) fn read(bytes: Bytes, dialect: &dyn Dialect, mirror: &Mirror) -> Result<Self, ReadError> {
        let body = read::body(&bytes, dialect, mirror).map_err(|error| match error {
            read::Error::Json(error) => ReadError::Json(error),
            read::Error::Message(fault) => ReadError::Message(fault),
        })?;
        let mut inner = Inner { bytes, body, era: Era::Legacy };
        if dialect.rules().mcp_transport {
            inner.era = inner.check(mirror)?;
        }
        Ok(Self(Arc::new(inner)))
    }

    /// The bytes that were read: those that the inner service receives.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The era of MCP that head and body speak.
    #[must_use]
    pub fn era(&self) -> Era {
        self.0.era
    }

    /// Whether the body is a batch.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.0.body.batch
    }

    /// Whether it was made from these very bytes: same place, same length.
    pub(crate) fn is_of(&self, bytes: &Bytes) -> bool {
        self.0.bytes.as_ptr() == bytes.as_ptr() && self.0.bytes.len() == bytes.len()
    }

    pub(super) fn records(&self) -> &[Record] {
        self.0.body.records.as_slice()
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.0.body.members
    }
}

impl Inner {
    fn check(&self, mirror: &Mirror) -> Result<Era, ReadError> {
        let records = self.body.records.as_slice();
        let messages = records.iter().map(|record| super::Message::new(&self.bytes, &self.body.members, record));
        for message in messages.clone() {
            read::claim(&message).map_err(ReadError::Message)?;
        }
        let era = mirror.check(messages, self.body.batch).map_err(ReadError::Mirror)?;
        read::check_era(records, era).map_err(ReadError::Message)?;
        Ok(era)
    }
}

impl fmt::Debug for Inspection {
    /// What is called, never with which values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<_> = self.messages().flat_map(|message| message.calls().collect::<Vec<_>>()).collect();
        f.debug_struct("Inspection").field("era", &self.era()).field("calls", &calls).finish_non_exhaustive()
    }
}
