//! Whose requests are whose.

use crate::Principal;

/// Whether both are one. A token that was renewed in between makes nobody another.
pub(super) fn same_user(one: Option<&Principal>, other: Option<&Principal>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => names(one) == names(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn names(principal: &Principal) -> (Option<&str>, &str, Option<&str>, &str) {
    (principal.tenant(), principal.method(), principal.issuer(), principal.subject())
}
