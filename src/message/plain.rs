//! JSON-RPC 2.0 without a protocol on top.

use super::{Dialect, DialectRules, Fault, Message, Target, ToolArguments};

/// JSON-RPC 2.0 as its specification has it: the method is the tool, named params are its arguments.
///
/// Notifications are calls like any other, and are judged like them. Positional params satisfy no rule by
/// name: where a rule applies, the call is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlainJsonRpc;

impl PlainJsonRpc {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Dialect for PlainJsonRpc {
    fn rules(&self) -> DialectRules {
        DialectRules::PLAIN
    }

    fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
        if message.method()?.is_empty() {
            return Err(Fault::NameEmpty);
        }
        let name = message.method_name().ok_or(Fault::MethodMissing)?;
        Ok(Target::Tool { name, arguments: ToolArguments::Params })
    }
}
