//! What the layers of one stack share about one request.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::UPGRADE;
use http::request::Parts;
use http::{Extensions, Method, Uri};

use super::{BufferBudget, Reservation};
use crate::message::{Dialect, Inspection, Mirror, ReadError};
use crate::response::Plan;
#[cfg(feature = "content-trust")]
use crate::trust::{Finding, Found, SessionTaint, Verdict};

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

/// How a layer stands to its neighbours: what lies between two that are joined is known, namely nothing, so that the
/// outer one can do with a response what the inner one wants done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The next layer outwards is joined.
    pub(crate) after: bool,
    /// The next layer inwards is joined.
    pub(crate) before: bool,
}

impl Place {
    pub(crate) fn begins_chain(self) -> bool {
        self.before && !self.after
    }
}

/// The context of one request: made by the outermost layer that it meets, in one insertion into the
/// extensions, and used by those further in.
#[derive(Clone)]
pub(crate) struct Context {
    inner: Arc<Inner>,
    /// What is to be done with the response, where layers are joined.
    plan: Option<Arc<Plan>>,
    #[cfg(feature = "content-trust")]
    found: Option<Arc<dyn Finding>>,
}

#[derive(Debug)]
struct Inner {
    inspection: Inspection,
    reading: Reading,
    method: Method,
    uri: Uri,
    mirror: Mirror,
    /// As long as the bytes are held here they count.
    hold: Option<Arc<Reservation>>,
}

impl Context {
    /// The context of a request of which the body has been received: the one that it carries, if that was made from
    /// the same bytes, under the same head, by the same rules; else a new one, which it carries from now on.
    pub(crate) fn of(
        head: &mut Parts,
        bytes: &Bytes,
        hold: Option<&Arc<Reservation>>,
        reading: &Reading,
        place: Place,
    ) -> Result<Self, ReadError> {
        if place.after && !place.begins_chain() {
            let carried = head.extensions.get::<Self>();
            let same = |context: &&Self| context.inner.inspection.is_of(bytes) && context.inner.reading.is(reading);
            // Nothing stands between: the head is the one that was read.
            if let Some(context) = carried.filter(same) {
                return Ok(context.clone());
            }
        }
        // A plan is of one chain: whoever is in it has the one that it carries, however it reads; nobody else has it.
        let plan = match place {
            _ if place.begins_chain() => Some(Arc::default()),
            _ if place.after => head.extensions.get::<Self>().and_then(|context| context.plan.clone()),
            _ => None,
        };
        let mcp = reading.dialect.rules().mcp_transport;
        let mirror = if mcp { Mirror::read(&head.headers).map_err(ReadError::Mirror)? } else { Mirror::default() };
        let carried = head.extensions.get::<Self>().filter(|context| context.is_of(head, bytes, &mirror, reading));
        if let Some(context) = carried.filter(|_| !place.begins_chain()) {
            return Ok(Self { plan, ..context.clone() });
        }
        #[cfg(feature = "content-trust")]
        let found = carried.and_then(|context| context.found.clone());
        let inner = match carried {
            Some(context) => Arc::clone(&context.inner),
            None => {
                let inspection = Inspection::read(bytes.clone(), &*reading.dialect, &mirror)?;
                let (method, uri) = (head.method.clone(), head.uri.clone());
                Arc::new(Inner { inspection, reading: reading.clone(), method, uri, mirror, hold: hold.cloned() })
            }
        };
        let context = Self {
            inner,
            plan,
            // What a layer further out has found out is true of the same bytes.
            #[cfg(feature = "content-trust")]
            found,
        };
        head.extensions.insert(context.clone());
        Ok(context)
    }

    /// The context of the same request now that its body and its head are changed. What is to be done with the
    /// response stays.
    #[cfg(any(feature = "content-trust", feature = "provenance", feature = "server-trust"))]
    pub(crate) fn reread(&self, head: &mut Parts, bytes: &Bytes) -> Result<Self, ReadError> {
        let Inner { reading, hold, .. } = &*self.inner;
        let mirror = Mirror::read(&head.headers).map_err(ReadError::Mirror)?;
        let inspection = Inspection::read(bytes.clone(), &*reading.dialect, &mirror)?;
        let (reading, method, uri) = (reading.clone(), head.method.clone(), head.uri.clone());
        let inner = Arc::new(Inner { inspection, reading, method, uri, mirror, hold: hold.clone() });
        let context = Self { inner, ..self.clone() };
        head.extensions.insert(context.clone());
        Ok(context)
    }

    /// The context of a request that a layer makes itself, beside the one that this is about. What layers further in want
    /// done with the response is done by nobody.
    #[cfg(feature = "server-trust")]
    pub(crate) fn beside(&self, head: &mut Parts, bytes: &Bytes) -> Result<Self, ReadError> {
        head.extensions.remove::<Self>();
        let context = Self { plan: Some(Arc::default()), ..self.clone() };
        #[cfg(feature = "content-trust")]
        let context = Self { found: None, ..context };
        context.reread(head, bytes)
    }

    pub(crate) fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    #[cfg(feature = "content-trust")]
    pub(crate) fn into_plan(self) -> Option<Arc<Plan>> {
        self.plan
    }

    /// Keeps what a layer has found out with the request.
    #[cfg(feature = "content-trust")]
    pub(crate) fn keep(extensions: &mut Extensions, found: Arc<dyn Finding>) {
        if let Some(context) = extensions.get_mut::<Self>() {
            context.found = Some(found);
        }
    }

    #[cfg(feature = "content-trust")]
    fn found(extensions: &Extensions) -> Option<&Found> {
        extensions.get::<Self>()?.found.as_ref()?.found()
    }

    /// Whether the layer right outside has read the body of a request that asks for nothing else.
    pub(crate) fn is_read(head: &Parts, reading: &Reading) -> bool {
        let read = head.extensions.get::<Self>().is_some_and(|context| context.inner.reading.is(reading));
        read && head.method == Method::POST && !head.headers.contains_key(UPGRADE)
    }

    pub(crate) fn inspection(&self) -> &Inspection {
        &self.inner.inspection
    }

    /// What was taken from a budget for the body that the request carries.
    pub(crate) fn taken(extensions: &Extensions, budget: &BufferBudget) -> Option<Arc<Reservation>> {
        let hold = extensions.get::<Self>()?.inner.hold.as_ref();
        hold.filter(|hold| hold.budget().is(budget)).cloned()
    }

    fn is_of(&self, head: &Parts, bytes: &Bytes, mirror: &Mirror, reading: &Reading) -> bool {
        self.inner.inspection.is_of(bytes)
            && self.inner.method == head.method
            && self.inner.uri == head.uri
            && self.inner.mirror == *mirror
            && self.inner.reading.is(reading)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// What is to be done with the response to a request without a body, where layers are joined.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan(Arc<Plan>);

impl StreamPlan {
    /// The plan of the chain that a layer begins, or is in.
    pub(crate) fn of(head: &mut Parts, place: Place) -> Option<Arc<Plan>> {
        if place.begins_chain() {
            head.extensions.insert(Self(Arc::default()));
        }
        let Self(plan) = head.extensions.get().filter(|_| place.after || place.before)?;
        Some(Arc::clone(plan))
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

#[cfg(feature = "content-trust")]
impl SessionTaint {
    /// What is known of the session of the request that these extensions belong to, if a layer has looked it up.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        Context::found(extensions).map(|found| &found.session)
    }
}

/// What is decided of a stream that nobody asked a question for.
#[cfg(feature = "content-trust")]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "provenance"), expect(dead_code, reason = "nobody asks"))]
pub(crate) struct StreamRuling(pub(crate) crate::trust::Ruling);

#[cfg(feature = "provenance")]
impl crate::trust::Rulings {
    /// What a layer further out has decided of the response to the request that these extensions belong to.
    #[cfg(feature = "content-trust")]
    pub(crate) fn of(extensions: &Extensions) -> Self {
        match (Context::found(extensions), extensions.get::<StreamRuling>()) {
            (Some(found), _) => {
                Self { calls: found.brought.map(|brought| brought.ruling), server: Some(found.of_server) }
            }
            (None, Some(StreamRuling(server))) => Self { calls: None, server: Some(*server) },
            (None, None) => Self::default(),
        }
    }

    #[cfg(not(feature = "content-trust"))]
    pub(crate) fn of(_: &Extensions) -> Self {
        Self::default()
    }
}

#[cfg(feature = "content-trust")]
impl Verdict<'static> {
    /// What the request that these extensions belong to will bring back, if a layer has classified it; of a batch, the
    /// most foreign of all.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        Context::found(extensions)?.verdict()
    }
}
