//! Whether what one part of a tree says about another holds.
//!
//! The tree is asked rather than the typed configuration, so that these are told even when a value
//! elsewhere is wrong. Where an answer hangs on a part that is wrong itself, nothing is said.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::places::{Places, element, member};
use super::{Problem, nearest};

/// Every statement about another part that does not hold.
pub(super) fn check(places: &Places, tree: &DeTable<'_>) -> Vec<Problem> {
    let keys = items(tree, "gateway", "api_keys").unwrap_or_default();
    let roles = items(tree, "policy", "roles");
    let servers = items(tree, "mcp", "servers").unwrap_or_default();
    let mut problems = Vec::new();
    let mut add = |place: String, message: String| problems.push(places.problem(place, message));
    duplicates(&keys, "key", str::to_owned, &mut add);
    // Files and hosts may not tell them apart either.
    duplicates(&servers, "id", str::to_ascii_lowercase, &mut add);
    if let Some(roles) = roles {
        roles_of_keys(&keys, &roles, &mut add);
        servers_of_roles(&roles, &servers, &mut add);
        names_of_roles(&roles, &mut add);
        if servers.len() > 1 {
            silent_roles(&roles, &mut add);
        }
    }
    servers.iter().for_each(|server| timeout(server, &mut add));
    let delegations = items(tree, "content_trust", "delegation").unwrap_or_default();
    servers_of_delegations(&delegations, &servers, &mut add);
    let pins = table(tree, "mcp").and_then(|section| table(section, "pins"));
    if let Some(table) = pins {
        servers_of_pins(&Item { place: "mcp.pins".to_owned(), table }, &servers, &mut add);
    }
    if let Some(store) = table(tree, "content_trust").and_then(|section| table(section, "store")) {
        store_fields(store, &mut add);
    }
    problems
}

/// An element of an array of tables, and its path.
struct Item<'t> {
    place: String,
    table: &'t DeTable<'t>,
}

impl<'t> Item<'t> {
    fn text(&self, key: &str) -> Option<&'t str> {
        self.table.get(key)?.get_ref().as_str()
    }

    fn texts(&self, key: &str) -> impl Iterator<Item = (String, &'t str)> {
        let array = self.table.get(key).and_then(|value| value.get_ref().as_array());
        let place = member(&self.place, key);
        let values = array.into_iter().flatten().enumerate();
        values.filter_map(move |(index, value)| Some((element(&place, index), value.get_ref().as_str()?)))
    }
}

/// The message names the other place, because the value may be a secret.
fn duplicates(items: &[Item<'_>], key: &str, known_by: fn(&str) -> String, add: &mut impl FnMut(String, String)) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for item in items {
        let Some(text) = item.text(key).filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        let place = member(&item.place, key);
        match seen.get(&known_by(text)) {
            Some(first) => add(place, format!("the same as `{first}`")),
            None => drop(seen.insert(known_by(text), place)),
        }
    }
}

/// The server behind the gateway is told the roles in a header, with commas between them.
fn names_of_roles(roles: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    for role in roles {
        let name = role.text("name").unwrap_or_default();
        if !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',') {
            add(member(&role.place, "name"), format!("`{name}` must be visible ASCII without commas"));
        }
    }
}

fn roles_of_keys(keys: &[Item<'_>], roles: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    let Some(known) = all_texts(roles, "name") else {
        return;
    };
    for (place, role) in keys.iter().flat_map(|key| key.texts("roles")) {
        if !known.contains(role) && !role.trim().is_empty() {
            add(place, format!("no role of the policy is named `{role}`{}", hint(role, &known)));
        }
    }
}

fn servers_of_roles(roles: &[Item<'_>], servers: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    let Some(known) = all_texts(servers, "id").filter(|known| !known.is_empty()) else {
        return;
    };
    for (place, server) in roles.iter().flat_map(|role| role.texts("servers")) {
        if !server.contains('*') && !known.contains(server) {
            let hint = hint(server, &known);
            add(place, format!("no server has the id `{server}`{hint}"));
        }
    }
}

/// A tool of no server is never called. Those of a pool may be of servers that only the agents know.
fn servers_of_delegations(tools: &[Item<'_>], servers: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    let Some(known) = all_texts(servers, "id").filter(|known| !known.is_empty()) else {
        return;
    };
    for tool in tools {
        let server = tool.text("server").filter(|server| !server.trim().is_empty() && !known.contains(server));
        if let Some(server) = server {
            let hint = hint(server, &known);
            add(member(&tool.place, "server"), format!("no server has the id `{server}`{hint}"));
        }
    }
}

fn servers_of_pins(pins: &Item<'_>, servers: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    let Some(known) = all_texts(servers, "id").filter(|known| !known.is_empty()) else {
        return;
    };
    for (place, server) in pins.texts("servers").filter(|(_, server)| !known.contains(server)) {
        add(place, format!("no server has the id `{server}`{}", hint(server, &known)));
    }
}

fn silent_roles(roles: &[Item<'_>], add: &mut impl FnMut(String, String)) {
    for role in roles {
        let servers = role.table.get("servers");
        if servers.is_none_or(|servers| is_empty_array(servers.get_ref())) {
            let message = "names no `servers`, and several are configured; `servers = [\"*\"]` stands for all";
            add(role.place.clone(), message.to_owned());
        }
    }
}

fn timeout(server: &Item<'_>, add: &mut impl FnMut(String, String)) {
    let transport = table(server.table, "transport");
    let is_foreign = |transport: &DeTable<'_>| transport.contains_key("http") || transport.contains_key("stdio");
    if transport.is_some_and(is_foreign) && !server.table.contains_key("timeout") {
        let message = "missing key `timeout`: a server needs one, such as `timeout = \"30s\"`";
        add(member(&server.place, "timeout"), message.to_owned());
    }
}

fn store_fields(store: &DeTable<'_>, add: &mut impl FnMut(String, String)) {
    let kind = store.get("kind").map_or(Some("memory"), |kind| kind.get_ref().as_str());
    let Some(kind @ ("memory" | "redis" | "file")) = kind else {
        return;
    };
    for (key, owner) in [("url", "redis"), ("path", "file")] {
        let place = format!("content_trust.store.{key}");
        match (store.contains_key(key), kind == owner) {
            (false, true) => add(place, format!("missing key `{key}`: a store of kind `{kind}` needs one")),
            (true, false) => add(place, format!("a store of kind `{kind}` has no `{key}`")),
            (true, true) | (false, false) => {}
        }
    }
}

/// `None` if the section is missing or something else than tables stands there.
fn items<'t>(tree: &'t DeTable<'t>, section: &str, key: &str) -> Option<Vec<Item<'t>>> {
    let Some(array) = table(tree, section)?.get(key) else {
        return Some(Vec::new());
    };
    let place = member(section, key);
    let values = array.get_ref().as_array()?.iter().enumerate();
    values
        .map(|(index, value)| Some(Item { place: element(&place, index), table: value.get_ref().as_table()? }))
        .collect()
}

fn table<'t>(tree: &'t DeTable<'t>, key: &str) -> Option<&'t DeTable<'t>> {
    tree.get(key)?.get_ref().as_table()
}

/// `None` if one of them has no such text: then it cannot be told what is missing among them.
fn all_texts<'t>(items: &[Item<'t>], key: &str) -> Option<BTreeSet<&'t str>> {
    items.iter().map(|item| item.text(key)).collect()
}

fn is_empty_array(value: &DeValue<'_>) -> bool {
    value.as_array().is_some_and(|array| array.is_empty())
}

fn hint(word: &str, known: &BTreeSet<&str>) -> String {
    let meant = nearest::nearest(word, known.iter().copied());
    meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default()
}
