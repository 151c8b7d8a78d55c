//! Every method of every revision of MCP, and how a client's use of it is judged.

use std::fmt;

/// The revisions that have a method.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revisions(u8);

impl Revisions {
    /// 2024-11-05.
    pub const V2024_11_05: Self = Self(1);
    /// 2025-03-26.
    pub const V2025_03_26: Self = Self(1 << 1);
    /// 2025-06-18.
    pub const V2025_06_18: Self = Self(1 << 2);
    /// 2025-11-25.
    pub const V2025_11_25: Self = Self(1 << 3);
    /// 2026-07-28.
    pub const V2026_07_28: Self = Self(1 << 4);
    /// Extensions and drafts, in no revision's core.
    pub const EXTENSION: Self = Self(1 << 5);

    const LEGACY: Self = Self(0b0_1111);
    const ALL: Self = Self(0b1_1111);
    const FROM_2025_06_18_TO_2025_11_25: Self = Self(0b0_1100);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Debug for Revisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "extension"];
        let names = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, name)| name);
        f.debug_list().entries(names).finish()
    }
}

/// Who sends a method, and whether it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// A client's notification.
    ClientNotification,
    /// A client's request.
    ClientRequest,
    /// Only a server sends it.
    Server,
}

/// How a client's use of a method is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Judged {
    /// By the prompt or the resource that `params.ref` names.
    ByCompletionReference,
    /// By the role's `methods`.
    ByMethods,
    /// By the role's `prompts`, with `params.name`.
    ByPrompt,
    /// By the role's `resources`, with `params.uri`.
    ByResource,
    /// By the role's `resources`, with each URI in `params.notifications.resourceSubscriptions`; task ids as for
    /// [`ByTask`](Self::ByTask).
    BySubscription,
    /// By who owns the task that `params.taskId` names. A gate that does not know judges by the role's `methods`.
    ByTask,
    /// By the role's `allow`, `deny` and argument rules, with `params.name` and `params.arguments`.
    ByTool,
    /// Passes for every role of the policy that may reach the server.
    Plumbing,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodRow {
    /// The method.
    pub method: &'static str,
    /// Who sends it.
    pub direction: Direction,
    /// How a client's use of it is judged.
    pub judged: Judged,
    /// The member of `params` that the header `Mcp-Name` mirrors.
    pub mirrored: Option<&'static str>,
    /// The revisions that have it.
    pub revisions: Revisions,
}

impl MethodRow {
    /// The member of `params` that a client's use of the method is judged by, if that is one name.
    pub(super) fn subject(&self) -> Option<&'static str> {
        match self.judged {
            Judged::ByPrompt | Judged::ByTool => Some("name"),
            Judged::ByResource => Some("uri"),
            Judged::ByTask => Some("taskId"),
            Judged::ByCompletionReference | Judged::ByMethods | Judged::BySubscription | Judged::Plumbing => None,
        }
    }
}

/// The whole table, sorted by method.
///
/// | method | judged |
/// |---|---|
/// | `initialize`, `server/discover`, `ping`, `logging/setLevel` | plumbing |
/// | `tools/list`, `prompts/list`, `resources/list`, `resources/templates/list` | plumbing |
/// | `notifications/initialized`, `cancelled`, `progress`, `roots/list_changed`, `tasks/status` | plumbing |
/// | `tools/call` | by the tool and its arguments |
/// | `prompts/get` | by the prompt |
/// | `resources/read`, `subscribe`, `unsubscribe`, `resources/directory/read` | by the resource |
/// | `completion/complete` | by the prompt or resource of its `ref` |
/// | `subscriptions/listen` | as a read of each of its URIs |
/// | `tasks/get`, `result`, `cancel`, `update` | by the task's owner, else by `methods` |
/// | `tasks/list`, extensions, drafts, what only servers send | by `methods` |
/// | everything else | by `methods` |
///
/// A method that the revision which a message claims no longer has is judged by `methods` as well.
#[must_use]
pub fn method_table() -> &'static [MethodRow] {
    TABLE
}

/// The row of a method, which is compared byte for byte.
#[must_use]
pub fn method_row(method: &str) -> Option<&'static MethodRow> {
    method_row_of_bytes(method.as_bytes())
}

pub(super) fn method_row_of_bytes(method: &[u8]) -> Option<&'static MethodRow> {
    let at = TABLE.binary_search_by(|row| row.method.as_bytes().cmp(method)).ok()?;
    TABLE.get(at)
}

const fn row(method: &'static str, direction: Direction, judged: Judged, revisions: Revisions) -> MethodRow {
    MethodRow { method, direction, judged, mirrored: None, revisions }
}

const fn mirrored(mut row: MethodRow, member: &'static str) -> MethodRow {
    row.mirrored = Some(member);
    row
}

const TABLE: &[MethodRow] = {
    use Direction::{ClientNotification as Notification, ClientRequest as Request, Server};
    use Judged::{ByCompletionReference, ByMethods, ByPrompt, ByResource, BySubscription, ByTask, ByTool, Plumbing};
    const ALL: Revisions = Revisions::ALL;
    const LEGACY: Revisions = Revisions::LEGACY;
    const TASKS: Revisions = Revisions::V2025_11_25;
    const MODERN: Revisions = Revisions::V2026_07_28;
    const EXTENSION: Revisions = Revisions::EXTENSION;
    const ELICITATION: Revisions = Revisions::FROM_2025_06_18_TO_2025_11_25.and(MODERN);
    &[
        row("completion/complete", Request, ByCompletionReference, ALL),
        row("elicitation/create", Server, ByMethods, ELICITATION),
        row("initialize", Request, Plumbing, LEGACY),
        row("interceptor/invoke", Request, ByMethods, EXTENSION),
        row("interceptors/list", Request, ByMethods, EXTENSION),
        row("logging/setLevel", Request, Plumbing, LEGACY),
        row("notifications/cancelled", Notification, Plumbing, ALL),
        row("notifications/elicitation/complete", Server, ByMethods, TASKS),
        row("notifications/initialized", Notification, Plumbing, LEGACY),
        row("notifications/message", Server, ByMethods, ALL),
        row("notifications/progress", Notification, Plumbing, ALL),
        row("notifications/prompts/list_changed", Server, ByMethods, ALL),
        row("notifications/resources/list_changed", Server, ByMethods, ALL),
        row("notifications/resources/updated", Server, ByMethods, ALL),
        row("notifications/roots/list_changed", Notification, Plumbing, LEGACY),
        row("notifications/subscriptions/acknowledged", Server, ByMethods, MODERN),
        row("notifications/tasks", Server, ByMethods, EXTENSION),
        row("notifications/tasks/status", Notification, Plumbing, TASKS),
        row("notifications/tools/list_changed", Server, ByMethods, ALL),
        row("ping", Request, Plumbing, LEGACY),
        mirrored(row("prompts/get", Request, ByPrompt, ALL), "name"),
        row("prompts/list", Request, Plumbing, ALL),
        row("resources/directory/read", Request, ByResource, EXTENSION),
        row("resources/list", Request, Plumbing, ALL),
        mirrored(row("resources/read", Request, ByResource, ALL), "uri"),
        row("resources/subscribe", Request, ByResource, LEGACY),
        row("resources/templates/list", Request, Plumbing, ALL),
        row("resources/unsubscribe", Request, ByResource, LEGACY),
        row("roots/list", Server, ByMethods, ALL),
        row("sampling/createMessage", Server, ByMethods, ALL),
        row("server/discover", Request, Plumbing, MODERN),
        row("skills/get", Request, ByMethods, EXTENSION),
        row("skills/list", Request, ByMethods, EXTENSION),
        row("subscriptions/listen", Request, BySubscription, MODERN),
        mirrored(row("tasks/cancel", Request, ByTask, TASKS.and(EXTENSION)), "taskId"),
        mirrored(row("tasks/get", Request, ByTask, TASKS.and(EXTENSION)), "taskId"),
        row("tasks/list", Request, ByMethods, TASKS),
        row("tasks/result", Request, ByTask, TASKS),
        mirrored(row("tasks/update", Request, ByTask, EXTENSION), "taskId"),
        mirrored(row("tools/call", Request, ByTool, ALL), "name"),
        row("tools/list", Request, Plumbing, ALL),
        row("tools/resolve", Request, ByMethods, EXTENSION),
    ]
};

/// Notifications and requests of servers that bring nothing but the news that something has changed, or ask for
/// nothing that they have written.
#[cfg(any(feature = "content-trust", feature = "provenance"))]
pub(crate) const EMPTY: &[&str] = &[
    "notifications/elicitation/complete",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
    "ping",
    "roots/list",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(TABLE.is_sorted_by(|one, other| one.method < other.method));
    }

    /// The methods of the schemas of 2025-11-25 and 2026-07-28, and of the extensions and drafts that are known.
    const KNOWN: &[(&str, Revisions)] = &[
        ("completion/complete", Revisions::ALL),
        ("elicitation/create", Revisions::V2025_11_25),
        ("initialize", Revisions::V2025_11_25),
        ("interceptor/invoke", Revisions::EXTENSION),
        ("interceptors/list", Revisions::EXTENSION),
        ("logging/setLevel", Revisions::V2025_11_25),
        ("notifications/cancelled", Revisions::ALL),
        ("notifications/elicitation/complete", Revisions::V2025_11_25),
        ("notifications/initialized", Revisions::V2025_11_25),
        ("notifications/message", Revisions::ALL),
        ("notifications/progress", Revisions::ALL),
        ("notifications/prompts/list_changed", Revisions::ALL),
        ("notifications/resources/list_changed", Revisions::ALL),
        ("notifications/resources/updated", Revisions::ALL),
        ("notifications/roots/list_changed", Revisions::V2025_11_25),
        ("notifications/subscriptions/acknowledged", Revisions::V2026_07_28),
        ("notifications/tasks", Revisions::EXTENSION),
        ("notifications/tasks/status", Revisions::V2025_11_25),
        ("notifications/tools/list_changed", Revisions::ALL),
        ("ping", Revisions::LEGACY),
        ("prompts/get", Revisions::ALL),
        ("prompts/list", Revisions::ALL),
        ("resources/directory/read", Revisions::EXTENSION),
        ("resources/list", Revisions::ALL),
        ("resources/read", Revisions::ALL),
        ("resources/subscribe", Revisions::LEGACY),
        ("resources/templates/list", Revisions::ALL),
        ("resources/unsubscribe", Revisions::LEGACY),
        ("roots/list", Revisions::V2025_11_25),
        ("sampling/createMessage", Revisions::V2025_11_25),
        ("server/discover", Revisions::V2026_07_28),
        ("skills/get", Revisions::EXTENSION),
        ("skills/list", Revisions::EXTENSION),
        ("subscriptions/listen", Revisions::V2026_07_28),
        ("tasks/cancel", Revisions::V2025_11_25),
        ("tasks/get", Revisions::V2025_11_25),
        ("tasks/list", Revisions::V2025_11_25),
        ("tasks/result", Revisions::V2025_11_25),
        ("tasks/update", Revisions::EXTENSION),
        ("tools/call", Revisions::ALL),
        ("tools/list", Revisions::ALL),
        ("tools/resolve", Revisions::EXTENSION),
    ];

    #[test]
    fn decision_6_every_known_method_has_its_row() {
        for (method, revisions) in KNOWN {
            let row = method_row(method).unwrap_or_else(|| panic!("{method}"));
            assert!(row.revisions.contains(*revisions), "{method} {:?}", row.revisions);
        }
        assert_eq!(TABLE.len(), KNOWN.len());
    }

    #[test]
    fn methods_are_compared_byte_for_byte() {
        for method in
            ["tools/call ", "Tools/Call", "tools/Call", "TOOLS/CALL", "tools//call", "", "notifications/../tools/call"]
        {
            assert_eq!(method_row(method), None, "{method:?}");
        }
    }

    #[test]
    fn only_notifications_are_named_like_notifications() {
        for row in TABLE {
            let named = row.method.starts_with("notifications/");
            match row.direction {
                Direction::ClientNotification => assert!(named, "{}", row.method),
                Direction::ClientRequest => assert!(!named, "{}", row.method),
                Direction::Server => {}
            }
        }
    }
}
