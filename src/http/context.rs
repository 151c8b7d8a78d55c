//! What the layers of one stack share about one request.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, Method, Uri};

use super::{BufferBudget, Reservation};
use crate::message::{Dialect, Inspection, Mirror, ReadError};
use crate::response::Plan;

/// How a layer reads.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) dialect: Arc<dyn Dialect>,
}

impl Reading {
    /// Whether both read alike. Two values of a type without fields are the same dialect.
    fn is(&self, other: &Self) -> bool {
        let (one, two): (&dyn Any, &dyn Any) = (&*self.dialect, &*other.dialect);
        let stateless = size_of_val(one) == 0 && one.type_id() == two.type_id();
        stateless || Arc::ptr_eq(&self.dialect, &other.dialect)
    }
}

/// The context of one request: made by the outermost layer that it meets, in one insertion into the
/// extensions, and used by those further in.
#[derive(Clone, Debug)]
pub(crate) struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    inspection: Inspection,
    reading: Reading,
    method: Method,
    uri: Uri,
    mirror: Mirror,
    /// As long as the bytes are held here they count.
    hold: Option<Arc<Reservation>>,
    plan: Plan,
}

impl Context {
    /// The context of a request of which the body has been received: the one that it carries, if that was made from
    /// the same bytes, under the same head, by the same rules; else a new one, which it carries from now on. With
    /// whether it is new: whoever made it runs its plan.
    pub(crate) fn of(
        head: &mut Parts,
        bytes: &Bytes,
        hold: Option<&Arc<Reservation>>,
        reading: &Reading,
    ) -> Result<(Self, bool), ReadError> {
        let mcp = reading.dialect.rules().mcp_transport;
        let mirror = if mcp { Mirror::read(&head.headers).map_err(ReadError::Mirror)? } else { Mirror::default() };
        let carried = head.extensions.get::<Self>().filter(|context| context.is_of(head, bytes, &mirror, reading));
        if let Some(context) = carried {
            return Ok((context.clone(), false));
        }
        let inspection = Inspection::read(bytes.clone(), &*reading.dialect, &mirror)?;
        let (method, uri) = (head.method.clone(), head.uri.clone());
        let (reading, hold, plan) = (reading.clone(), hold.cloned(), Plan::default());
        let context = Self(Arc::new(Inner { inspection, reading, method, uri, mirror, hold, plan }));
        head.extensions.insert(context.clone());
        Ok((context, true))
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.0.plan
    }

    pub(crate) fn inspection(&self) -> &Inspection {
        &self.0.inspection
    }

    /// What was taken from a budget for the body that the request carries.
    pub(crate) fn taken(extensions: &Extensions, budget: &BufferBudget) -> Option<Arc<Reservation>> {
        let hold = extensions.get::<Self>()?.0.hold.as_ref();
        hold.filter(|hold| hold.budget().is(budget)).cloned()
    }

    fn is_of(&self, head: &Parts, bytes: &Bytes, mirror: &Mirror, reading: &Reading) -> bool {
        self.0.inspection.is_of(bytes)
            && self.0.method == head.method
            && self.0.uri == head.uri
            && self.0.mirror == *mirror
            && self.0.reading.is(reading)
    }
}

/// What the layers of one stack share about a request without a body, for the sake of its response.
#[derive(Clone, Debug)]
pub(crate) struct StreamContext(Arc<Stream>);

#[derive(Debug)]
struct Stream {
    method: Method,
    uri: Uri,
    plan: Plan,
}

impl StreamContext {
    /// The context that the request carries, if it was made for it; else a new one, which it carries from now on.
    /// With whether it is new: whoever made it runs its plan.
    pub(crate) fn of(head: &mut Parts) -> (Self, bool) {
        let carried = head.extensions.get::<Self>();
        if let Some(context) = carried.filter(|Self(of)| of.method == head.method && of.uri == head.uri) {
            return (context.clone(), false);
        }
        let (method, uri, plan) = (head.method.clone(), head.uri.clone(), Plan::default());
        let context = Self(Arc::new(Stream { method, uri, plan }));
        head.extensions.insert(context.clone());
        (context, true)
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.0.plan
    }
}

impl Inspection {
    /// The inspection of the request that these extensions belong to, if a gate has read it.
    ///
    /// It is about the bytes that the gate handed on: behind a middleware that changes the body it is about the old
    /// one.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Context>().map(Context::inspection)
    }
}
