//! The Model Context Protocol.

use super::dialect::{Batches, Dialect, DialectRules, Name, Target, ToolArguments};
use super::method::{Direction, Judged, MethodRow, method_row};
use super::{Fault, Message};
use crate::json::{Argument, Kind, folds_onto};

/// The Model Context Protocol, every revision of it: [`method_table`](super::method_table) says how each method is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mcp;

impl Mcp {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// The members of `params` that some decision or some server depends on.
const RESERVED: &[&str] = &[
    "_meta",
    "argument",
    "arguments",
    "capabilities",
    "clientInfo",
    "context",
    "cursor",
    "inputResponses",
    "level",
    "name",
    "notifications",
    "progress",
    "progressToken",
    "protocolVersion",
    "reason",
    "ref",
    "requestId",
    "requestState",
    "status",
    "task",
    "taskId",
    "uri",
];

impl Dialect for Mcp {
    fn rules(&self) -> DialectRules {
        DialectRules {
            batches: Batches::AcceptUpTo20250326,
            media_types: &["application/json"],
            mcp_transport: true,
            positional_params: false,
            reserved_params: RESERVED,
        }
    }

    fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
        let method = message.method()?;
        let row = method_row(&method);
        check_form(message, &method, row)?;
        let arguments = arguments(message)?;
        match row.map_or(Judged::ByMethods, |row| row.judged) {
            Judged::ByMethods => Ok(Target::Method),
            Judged::Plumbing => Ok(Target::Plumbing),
            Judged::ByTool => Ok(Target::Tool { name: name(message, "name")?, arguments }),
            Judged::ByPrompt => name(message, "name").map(Target::Prompt),
            Judged::ByResource => name(message, "uri").map(Target::Resource),
            Judged::ByTask => name(message, "taskId").map(Target::Task),
            Judged::ByCompletionReference => reference(message),
            Judged::BySubscription => subscription(message),
        }
    }
}

/// Requests have an id and notifications have none; both the method's name and its form must say which it is.
fn check_form(message: &Message<'_>, method: &str, row: Option<&MethodRow>) -> Result<(), Fault> {
    let notification = match row.map(|row| row.direction) {
        Some(Direction::ClientNotification) => true,
        Some(Direction::ClientRequest) => false,
        Some(Direction::Server) | None => method.starts_with("notifications/"),
    };
    match (notification, message.id().is_some()) {
        (true, true) => Err(Fault::NotificationWithId),
        (false, false) => Err(Fault::CallWithoutId),
        (true, false) | (false, true) => Ok(()),
    }
}

fn arguments(message: &Message<'_>) -> Result<ToolArguments, Fault> {
    match message.params().get("arguments").map(|arguments| arguments.kind()) {
        None | Some(Kind::Null) => Ok(ToolArguments::Absent),
        Some(Kind::Object) => Ok(ToolArguments::Nested),
        Some(Kind::Array | Kind::Bool | Kind::Number | Kind::String) => Err(Fault::ArgumentsNotObject),
    }
}

fn name(message: &Message<'_>, member: &str) -> Result<Name, Fault> {
    message.params().get(member).ok_or(Fault::NameMissing)?.try_into()
}

/// A completion's `ref`: `{"type":"ref/prompt","name":…}` or `{"type":"ref/resource","uri":…}`.
fn reference(message: &Message<'_>) -> Result<Target, Fault> {
    let members = object(message, "ref", &["name", "type", "uri"], Fault::ReferenceUnknown)?;
    let member = |name: &str| members.iter().find(|member| member.name() == name).copied();
    let kind = member("type").and_then(|kind| kind.as_str()).and_then(Result::ok);
    let named = |name| member(name).ok_or(Fault::NameMissing).and_then(owned);
    match kind.as_deref() {
        Some("ref/prompt") => named("name").map(Target::Prompt),
        Some("ref/resource") => named("uri").map(Target::Resource),
        Some(_) | None => Err(Fault::ReferenceUnknown),
    }
}

/// A subscription is a read of each URI that it names, and of each task.
fn subscription(message: &Message<'_>) -> Result<Target, Fault> {
    const FILTERS: &[&str] =
        &["promptsListChanged", "resourceSubscriptions", "resourcesListChanged", "taskIds", "toolsListChanged"];
    let mut targets = Vec::new();
    for filter in object(message, "notifications", FILTERS, Fault::SubscriptionMalformed)? {
        let target = match &*filter.name() {
            "resourceSubscriptions" => Target::Resource,
            "taskIds" => Target::Task,
            "promptsListChanged" | "resourcesListChanged" | "toolsListChanged" => continue,
            // A filter that nobody knows may open anything.
            _ => return Ok(Target::Method),
        };
        for element in elements(filter)? {
            targets.push(target(element));
        }
    }
    if targets.is_empty() { Ok(Target::Plumbing) } else { Ok(Target::Several(targets)) }
}

/// The members of an object within `params`, none of which may resemble a reserved name.
fn object<'a>(
    message: &Message<'a>,
    member: &str,
    reserved: &[&str],
    fault: Fault,
) -> Result<Vec<Argument<'a>>, Fault> {
    let object = message.params().get(member).and_then(|member| member.members());
    let Some(Ok(members)) = object else { return Err(fault) };
    let resembles = |member: &Argument<'_>| reserved.iter().any(|reserved| folds_onto(&member.name(), reserved));
    if members.iter().any(resembles) { Err(Fault::FoldedKey) } else { Ok(members) }
}

/// The strings of an array.
fn elements(filter: Argument<'_>) -> Result<Vec<Name>, Fault> {
    let elements = filter.elements().and_then(Result::ok).ok_or(Fault::SubscriptionMalformed)?;
    elements.into_iter().map(owned).collect()
}

/// The name in a member of a nested value, which has offsets of its own.
fn owned(member: Argument<'_>) -> Result<Name, Fault> {
    Name::try_from(member)?;
    let text = member.as_str().and_then(Result::ok).ok_or(Fault::NameNotString)?;
    Ok(Name::from(text.into_owned()))
}
