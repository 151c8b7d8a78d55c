//! Gates.
mod future;
mod gate;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::ArgumentAllowlistLayer;
pub use self::service::ArgumentAllowlistService;
