//! What every layer does with a request and its response, around the decision that is its own.

mod builder;
mod enquiry;
mod front;
mod future;
mod guard;
mod headers;
mod parts;
mod pass;
mod passage;
mod tell;

pub(crate) use self::builder::front_methods;
#[cfg(feature = "server-trust")]
pub(crate) use self::enquiry::{Enquiry, Heard};
pub(crate) use self::front::{Front, Protocol};
pub(crate) use self::future::Exchange;
pub(crate) use self::guard::{Admitted, Decided, Guard, Step};
pub(crate) use self::headers::ask_for_plain;
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "server-trust"))]
pub(crate) use self::headers::measure;
pub(crate) use self::parts::{future_of, service_of};
pub(crate) use self::passage::{Passage, Work};
pub(crate) use self::tell::Caller;
