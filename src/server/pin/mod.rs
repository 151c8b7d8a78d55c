//! Definitions of tools that an operator has approved.

mod canonical;
mod definition;
mod fault;
mod file;
mod hash;
mod number;
mod page;
mod pins;

pub use self::definition::{Definition, definitions};
pub(crate) use self::definition::{MAX_TOOLS, all_definitions};
pub use self::fault::{DefinitionFault, ListFault};
pub use self::file::{PinError, PinProblem};
pub use self::hash::{DefinitionHash, NoHash};
pub(crate) use self::page::{Page, announces_tools};
pub use self::pins::{PinVerdict, Pins};

#[cfg(test)]
mod tests;
