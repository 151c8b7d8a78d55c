use proptest::prelude::*;
use serde_json::json;

use super::ToolContentOrigin::{Execution, External, Local};
use super::*;

#[test]
fn co_01_to_co_03_exactly_three_names() {
    for (row, value, expected) in [
        ("CO-01", json!("external"), Some(External)),
        ("CO-01", json!("execution"), Some(Execution)),
        ("CO-01", json!("local"), Some(Local)),
        ("CO-02", json!("External"), None),
        ("CO-02", json!(" local"), None),
        ("CO-02", json!(""), None),
        ("CO-02", json!(null), None),
        ("CO-02", json!(0), None),
        ("CO-02", json!([]), None),
        ("CO-02", json!({}), None),
        ("CO-02", json!(["external"]), None),
        ("CO-02", json!({"external": null}), None),
        ("CO-03", json!("constructor"), None),
        ("CO-03", json!("toString"), None),
        ("CO-03", json!("__proto__"), None),
    ] {
        assert_eq!(is_tool_content_origin(&value), expected.is_some(), "{row} {value}");
        assert_eq!(ToolContentOrigin::from_value(&value), expected, "{row} {value}");
        assert_eq!(serde_json::from_value(value.clone()).ok(), expected, "{row} serde {value}");
    }
}

#[test]
fn co_04_the_list_is_the_source_of_spelling() {
    assert_eq!(serde_json::to_value(TOOL_CONTENT_ORIGINS).unwrap(), json!(["external", "execution", "local"]));
    let refusal = serde_json::from_value::<ToolContentOrigin>(json!("trusted")).unwrap_err().to_string();
    assert_eq!(refusal, r#""trusted" is no content origin: one of external, execution, local"#);
    for origin in TOOL_CONTENT_ORIGINS {
        assert_eq!(ToolContentOrigin::from_name(&origin.to_string()), Some(origin));
    }
}

#[test]
fn co_05_to_co_16_classes() {
    let (external, execution, local) = (json!("external"), json!("execution"), json!("local"));
    let strangers = [json!("trusted"), json!(7), json!(null)];
    for [protocol, caller, trusted] in (0..8).map(|bits| [1, 2, 4].map(|bit| bits & bit != 0)) {
        let class = |declared| classify_tool_content_origin(declared, protocol, caller, trusted);
        let case = (protocol, caller, trusted);
        assert_eq!(class(Some(&external)), External, "CO-05 {case:?}");
        assert_eq!(class(Some(&execution)), Execution, "CO-06 {case:?}");
        assert_eq!(class(Some(&local)), Local, "CO-07 CO-17 {case:?}");
        for stranger in &strangers {
            assert_eq!(class(Some(stranger)), External, "CO-08 CO-09 CO-10 {stranger} {case:?}");
        }
        assert!(TOOL_CONTENT_ORIGINS.contains(&class(None)), "CO-16 {case:?}");
    }
    for (row, protocol, caller, trusted, expected) in [
        ("CO-11", true, false, false, External),
        ("CO-11", true, true, false, External),
        ("CO-12", true, false, true, External),
        ("CO-12", true, true, true, External),
        ("CO-13", false, true, false, External),
        ("CO-14", false, true, true, Local),
        ("CO-15", false, false, false, Local),
        ("CO-15", false, false, true, Local),
    ] {
        assert_eq!(classify_tool_content_origin(None, protocol, caller, trusted), expected, "{row}");
    }
}

#[test]
fn co_17_co_18_what_is_declared_counts_and_not_the_distance() {
    // A socket to a process of the deployment, and a loopback address of somebody else's service: the operator says.
    assert_eq!(classify_tool_content_origin(Some(&json!("local")), true, false, false), Local);
    assert_eq!(classify_tool_content_origin(Some(&json!("external")), false, false, true), External);
}

#[test]
fn co_21_to_co_24_pollution() {
    for (row, origin, lenient, strict) in [
        ("CO-21", Some(External), true, true),
        ("CO-22", Some(Execution), false, true),
        ("CO-23", Some(Local), false, false),
        ("CO-24", ToolContentOrigin::from_value(&json!("trusted")), true, true),
        ("CO-24", ToolContentOrigin::from_value(&json!(null)), true, true),
    ] {
        assert_eq!(content_origin_pollutes(origin, false), lenient, "{row}");
        assert_eq!(content_origin_pollutes(origin, true), strict, "{row}");
    }
}

proptest! {
    #[test]
    fn co_25_pollution_is_monotone(
        one in prop::sample::select(&TOOL_CONTENT_ORIGINS[..]),
        other in prop::sample::select(&TOOL_CONTENT_ORIGINS[..]),
        strict: bool,
    ) {
        let (lower, higher) = (one.min(other), one.max(other));
        prop_assert!(content_origin_pollutes(lower, strict) <= content_origin_pollutes(higher, strict));
        prop_assert!(content_origin_pollutes(lower, false) <= content_origin_pollutes(lower, strict));
    }
}

#[derive(Serialize)]
struct Typed {
    name: &'static str,
    #[serde(rename = "contentOrigin", skip_serializing_if = "Option::is_none")]
    declared: Option<&'static str>,
}

#[test]
fn co_53_both_styles_classify_alike() {
    for origin in TOOL_CONTENT_ORIGINS {
        for declared in [None, Some("local"), Some("other")] {
            let typed = with_content_origin(&Typed { name: "ask", declared }, origin).unwrap();
            let mut raw = Map::from_iter([("name".to_owned(), json!("ask"))]);
            declared.iter().for_each(|text| drop(raw.insert(MEMBER.to_owned(), json!(text))));
            let raw = with_content_origin(&raw, origin).unwrap();
            assert_eq!(typed, raw);
            let class = classify_tool_content_origin(declared_content_origin(&typed), true, true, false);
            assert_eq!(class, origin, "{declared:?}");
        }
    }
    assert_eq!(with_content_origin("ask", Local), Err(NoToolDefinition));
    assert_eq!(declared_content_origin(&Map::new()), None);
}
