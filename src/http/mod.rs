//! Bodies, heads and the context that a stack of layers shares.

mod body;
mod budget;
mod collect;
mod context;
mod head;

pub use self::body::{RequestBody, ResponseBody};
pub use self::budget::BufferBudget;
pub(crate) use self::budget::Reservation;
pub use self::collect::BodyFault;
pub(crate) use self::collect::{BodyLimits, Collect, Collected, Lost, Pieces};
#[cfg(feature = "content-trust")]
pub(crate) use self::context::StreamRuling;
pub(crate) use self::context::{Context, Place, Reading, StreamPlan};
pub use self::head::HeadFault;
#[cfg(feature = "content-trust")]
pub(crate) use self::head::names_in_query;
pub(crate) use self::head::{Admission, accepts_events, admit, admit_grpc, check_parameter, is_coded};
