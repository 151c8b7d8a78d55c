//! The Model Context Protocol.

use super::dialect::{Batches, Dialect, DialectRules, Name, Target, ToolArguments};
use super::method::{Direction, Judged, MethodRow, Revisions};
use super::read::claim;
use super::{Era, Fault, Message, Revision};
use crate::json::{Argument, Kind, folds_onto};

/// The Model Context Protocol, every revision of it: [`method_table`](super::method_table) says how each method is
/// judged.
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

/// The things that one message may ask for, each of which is a decision.
const MAX_TARGETS: usize = 100;

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
        let row = message.row();
        check_form(message, &method, row)?;
        let judged = judged(message, row.map_or(Judged::ByMethods, |row| row.judged));
        match row {
            Some(row) if is_gone(message, row)? => and_method(judged),
            Some(_) | None => judged,
        }
    }
}

fn judged(message: &Message<'_>, judged: Judged) -> Result<Target, Fault> {
    let arguments = arguments(message)?;
    match judged {
        Judged::ByMethods => Ok(Target::Method),
        Judged::Plumbing => Ok(Target::Plumbing),
        Judged::ByTool => Ok(Target::Tool { name: message.param_name("name")?, arguments }),
        Judged::ByPrompt => message.param_name("name").map(Target::Prompt),
        Judged::ByResource => message.param_name("uri").map(Target::Resource),
        Judged::ByTask => message.param_name("taskId").map(Target::Task),
        Judged::ByCompletionReference => reference(message),
        Judged::BySubscription => subscription(message),
    }
}

/// Whether a message claims a revision that has no such method any more. Plumbing stays what it is: its server says so.
fn is_gone(message: &Message<'_>, row: &MethodRow) -> Result<bool, Fault> {
    let modern = claim(message)?.is_some_and(|claim| Revision::parse(&claim).era() == Era::Modern);
    let known = [Revisions::V2026_07_28, Revisions::EXTENSION].iter().any(|known| row.revisions.contains(*known));
    Ok(modern && !known && row.judged != Judged::Plumbing)
}

/// What the claimed revision does not have must be permitted by name, whatever it is for a server that does not read
/// the claim.
fn and_method(judged: Result<Target, Fault>) -> Result<Target, Fault> {
    match judged {
        Ok(target) => Ok(Target::Several(vec![Target::Method, target])),
        Err(Fault::NameMissing) => Ok(Target::Method),
        Err(fault) => Err(fault),
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

/// A completion's `ref`: `{"type":"ref/prompt","name":…}` or `{"type":"ref/resource","uri":…}`.
fn reference(message: &Message<'_>) -> Result<Target, Fault> {
    let members = object(message, "ref", &["name", "type", "uri"], Fault::ReferenceUnknown)?;
    let member = |name: &str| members.iter().find(|member| member.name() == name).copied();
    let kind = member("type").and_then(|kind| kind.as_str()).and_then(Result::ok);
    let named = |name| member(name).ok_or(Fault::NameMissing).and_then(Name::try_from);
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
            _ => {
                targets.push(Target::Method);
                continue;
            }
        };
        for element in elements(filter)? {
            targets.push(target(element));
        }
    }
    if targets.len() > MAX_TARGETS {
        return Err(Fault::TooManyTargets);
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
    if elements.len() > MAX_TARGETS {
        return Err(Fault::TooManyTargets);
    }
    elements.into_iter().map(Name::try_from).collect()
}
