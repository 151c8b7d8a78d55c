use std::convert::Infallible;

use super::*;
use crate::trust::content_origin_pollutes;

fn pollutes(strict: bool) -> impl Fn(&PoolTool) -> Result<bool, Infallible> {
    move |tool| Ok(content_origin_pollutes(tool.content_origin, strict))
}

fn tool(name: &str, origin: ToolContentOrigin) -> PoolTool {
    PoolTool::new(name).with_content_origin(origin)
}

fn fetch() -> PoolTool {
    tool("web_fetch", ToolContentOrigin::External).with_alias("browse")
}

fn read() -> PoolTool {
    tool("read", ToolContentOrigin::Local)
}

fn face(name: &str) -> Face {
    Face::new(name)
}

fn allow(tools: &[&str]) -> Face {
    face("a").with_allow_tools(tools.iter().copied())
}

#[test]
fn co_26_to_co_30_what_is_not_known_is_external() {
    let (faces, pool) = ([face("a")], [read()]);
    let (faces, pool) = (Some(&faces[..]), Some(&pool[..]));
    for (row, requested, faces, pool, expected) in [
        ("CO-26", None, faces, pool, true),
        ("CO-27", Some("a"), None, pool, true),
        ("CO-28 none", Some("a"), Some(&[][..]), pool, true),
        ("CO-28 another", Some("b"), faces, pool, true),
        ("CO-28 other case", Some("A"), faces, pool, true),
        ("CO-29", Some("a"), faces, None, true),
        ("CO-30", Some("a"), faces, Some(&[][..]), false),
        ("known", Some("a"), faces, pool, false),
    ] {
        assert_eq!(delegation_call_is_external(requested, faces, pool, pollutes(false)), expected, "{row}");
    }
}

#[test]
fn co_31_to_co_45_and_co_49_what_a_face_reaches() {
    let deny = |tools: &[&str]| face("a").with_deny_tools(tools.iter().copied());
    let starts = |face: Face| face.with_can_redelegate(true);
    let sibling = |tools: &[&str]| face("b").with_allow_tools(tools.iter().copied());
    let undeclared = || PoolTool::new("mcp__x__y");
    for (row, faces, pool, expected) in [
        ("CO-31", vec![face("a")], vec![read(), fetch()], true),
        ("CO-32", vec![face("a")], vec![read()], false),
        ("CO-33", vec![allow(&["read"])], vec![read(), fetch()], false),
        ("CO-34", vec![deny(&["web_fetch"])], vec![read(), fetch()], false),
        ("CO-35", vec![allow(&["web_fetch"]).with_deny_tools(["web_fetch"])], vec![fetch()], false),
        ("CO-35 alias", vec![allow(&["web_fetch"]).with_deny_tools(["browse"])], vec![fetch()], false),
        ("CO-36", vec![allow(&[])], vec![read(), fetch()], false),
        ("CO-37", vec![allow(&["browse"])], vec![read(), fetch()], true),
        ("CO-38", vec![deny(&["browse"])], vec![read(), fetch()], false),
        ("CO-39", vec![allow(&["read", "other"])], vec![read()], true),
        ("CO-39 denied too", vec![allow(&["other"]).with_deny_tools(["other"])], vec![read()], false),
        ("CO-40", vec![starts(allow(&["read"])), sibling(&["web_fetch"])], vec![read(), fetch()], true),
        ("CO-40 CO-36", vec![starts(allow(&[])), sibling(&["web_fetch"])], vec![read(), fetch()], true),
        ("CO-40 not allowed", vec![allow(&["read"]), sibling(&["web_fetch"])], vec![read(), fetch()], false),
        ("CO-41", vec![starts(allow(&["read"])), sibling(&["read"])], vec![read(), fetch()], false),
        ("CO-42", vec![starts(allow(&["read"])), face("b")], vec![read(), fetch()], true),
        ("CO-42", vec![starts(allow(&["read"])), face("b")], vec![read()], false),
        ("CO-43", vec![face("a")], vec![fetch()], true),
        ("CO-44", vec![face("a")], vec![undeclared()], true),
        ("CO-45", vec![face("a")], vec![undeclared().with_content_origin(ToolContentOrigin::Local)], false),
        ("CO-49", vec![allow(&["read"]), allow(&["web_fetch"])], vec![read(), fetch()], true),
        ("CO-49 order", vec![allow(&["web_fetch"]), allow(&["read"])], vec![read(), fetch()], true),
        ("CO-49 none", vec![allow(&["read"]), allow(&["read"])], vec![read(), fetch()], false),
    ] {
        let external = delegation_call_is_external(Some("a"), Some(&faces), Some(&pool), pollutes(false));
        assert_eq!(external, expected, "{row}");
    }
}

#[test]
fn co_46_execution_follows_the_deployment() {
    let (faces, pool) = ([face("a")], [tool("run", ToolContentOrigin::Execution)]);
    for strict in [false, true] {
        let external = delegation_call_is_external(Some("a"), Some(&faces), Some(&pool), pollutes(strict));
        assert_eq!(external, strict);
    }
}

#[test]
fn co_47_co_48_nothing_but_the_configuration_is_asked() {
    let (faces, pool) = ([face("a")], [fetch()]);
    let ask = || delegation_call_is_external(Some("a"), Some(&faces), Some(&pool), pollutes(false));
    assert!(ask() && ask());
}

#[test]
fn co_50_what_cannot_be_judged_is_external() {
    let (faces, pool) = ([face("a"), allow(&[]), allow(&["read"])], [read()]);
    let ask = |faces| delegation_call_is_external(Some("a"), Some(faces), Some(&pool[..]), |_| Err("broken"));
    assert!(ask(&faces[..1]));
    assert!(!ask(&faces[1..2]));
    assert!(ask(&faces[2..]));
}

#[test]
fn faces_and_pools_survive_serde() {
    let json = serde_json::json!({"name": "a", "allow_tools": ["t"], "deny_tools": ["d"], "can_redelegate": true});
    let face: Face = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(face, allow(&["t"]).with_deny_tools(["d"]).with_can_redelegate(true));
    assert_eq!(serde_json::to_value(&face).unwrap(), json);
    let json = serde_json::json!({"name": "web_fetch", "aliases": ["browse"], "content_origin": "external"});
    assert_eq!(serde_json::from_value::<PoolTool>(json).unwrap(), fetch());
    for typo in [serde_json::json!({"name": "a", "allow": []}), serde_json::json!({"name": "a", "contentOrigin": 1})] {
        assert!(serde_json::from_value::<Face>(typo.clone()).is_err());
        assert!(serde_json::from_value::<PoolTool>(typo).is_err());
    }
}
