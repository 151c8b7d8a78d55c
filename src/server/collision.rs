//! Tools that clients could take for each other.

use std::collections::BTreeMap;

/// The longest name of a tool that model vendors take.
const MAX_NAME: usize = 128;

/// A tool as clients name it to a model: server and name joined, and `_` for every character that vendors refuse.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::sanitized_id;
///
/// assert_eq!(sanitized_id("github", "issues.create"), "github_issues_create");
/// ```
#[must_use]
pub fn sanitized_id(server: &str, tool: &str) -> String {
    let is_ordinary = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let qualified = server.chars().chain([':']).chain(tool.chars());
    qualified.map(|c| if is_ordinary(&c) { c } else { '_' }).take(MAX_NAME).collect()
}

/// Tools that clients could take for each other.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::collisions;
///
/// assert_eq!(collisions([("a", "b"), ("a", "c")]), []);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collision<'a> {
    /// What all of them become; see [`sanitized_id`].
    pub id: String,
    /// Server and name of each, in the order in which they were given. There are at least two.
    pub tools: Vec<(&'a str, &'a str)>,
}

/// The tools, given as server and name, that clients could take for each other, in the order of their ids. All of
/// them are to be refused: which one is meant cannot be told. One that is there twice collides with itself.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::collisions;
///
/// let found = collisions([("a.b", "c"), ("a", "b_c"), ("a", "d")]);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].id, "a_b_c");
/// assert_eq!(found[0].tools, [("a.b", "c"), ("a", "b_c")]);
/// ```
#[must_use]
pub fn collisions<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Collision<'a>> {
    let mut named: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (server, tool) in tools {
        named.entry(sanitized_id(server, tool)).or_default().push((server, tool));
    }
    named.into_iter().filter(|(_, tools)| tools.len() > 1).map(|(id, tools)| Collision { id, tools }).collect()
}
