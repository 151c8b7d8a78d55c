use proptest::prelude::*;
use serde_json::{from_str, from_value, json, to_value};

use super::*;
use crate::provenance::Provenance::{External, Internal};
use crate::trust::{Classifier, ClassifierConfig, DeclaredServer, DeclaredTool, ToolContentOrigin};

// === building ===

const NONE: ToolLabel = ToolLabel::new();

fn labels<const N: usize>(labels: [(&str, ToolLabel); N]) -> ToolLabels {
    ToolLabels::new(labels).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(tool: &str, label: ToolLabel) -> String {
    ToolLabels::new([(tool, label)]).unwrap_err().to_string()
}

fn untrusted() -> ToolLabel {
    NONE.with_trust(LabelTrust::Untrusted)
}

// === derivation ===

#[test]
fn pv_11_to_pv_17_by_label() {
    let operator = labels([
        ("post", NONE.with_capability(Capability::NetSend)),
        ("inbox", untrusted()),
        ("inbox_file", untrusted().with_capability(Capability::FileRead)),
        ("speak", NONE.with_sink(true)),
        ("diary", NONE.with_confidentiality(Confidentiality::Internal)),
        ("vault", NONE.with_confidentiality(Confidentiality::Secret)),
        ("redact", NONE.with_declassifier(true)),
        ("said", NONE),
        ("strict", NONE.with_min_confidential(Confidentiality::Public).with_actions(FlowResponse::Block)),
    ]);
    for (row, tool, expected) in [
        ("PV-11", "post", Some(External)),
        ("PV-12", "inbox", Some(External)),
        ("PV-12 whatever it can do", "inbox_file", Some(External)),
        ("PV-13", "unheard_of", None),
        ("PV-13", "", None),
        ("PV-13 other case", "Inbox", None),
        ("PV-13 behind a server's name", "kg__said", None),
        ("PV-13 with a space", "said ", None),
        ("PV-14", "speak", Some(Internal)),
        ("PV-14", "run_applescript", Some(Internal)),
        ("PV-14", "remember", Some(Internal)),
        ("PV-15", "diary", Some(Internal)),
        ("PV-15", "vault", Some(Internal)),
        ("PV-15", "recall", Some(Internal)),
        ("PV-15", "read_image_text", Some(Internal)),
        ("PV-16", "web_search", Some(External)),
        ("PV-16", "web_fetch", Some(External)),
        ("PV-16", "fetch", Some(External)),
        ("PV-16", "http_request", Some(External)),
        ("PV-16", "browser", Some(External)),
        ("PV-16", "search", Some(External)),
        ("PV-16", "browse_page", Some(External)),
        ("PV-16", "browse_", Some(External)),
        ("PV-16", "browser_click", Some(External)),
        ("PV-16", "generate_image", Some(External)),
        ("PV-16 behind a server's name", "mcp__kg__web_search", Some(External)),
        ("PV-16 behind a server's name", "kg___search", Some(External)),
        ("PV-16 behind a server's name", "kg:browser", Some(External)),
        ("PV-16 behind a server's name", "ü__browser_click", Some(External)),
        ("PV-16 not the end", "search__all", None),
        ("PV-16 one underscore", "kg_search", None),
        ("PV-16 another word", "research", None),
        ("PV-16 another word", "browse", None),
        ("PV-16 another word", "regenerate_image", None),
        ("PV-16 other case", "Web_Search", None),
        ("PV-17", "read_file", Some(Internal)),
        ("PV-17", "write_file", Some(Internal)),
        ("PV-17", "shell", Some(Internal)),
        ("PV-17", "grep_files", Some(Internal)),
        ("PV-17 trust is for the very name", "kg__read_file", None),
        ("PV-17 trust is for the very name", "kg:shell", None),
        ("PV-22", "redact", Some(Internal)),
        ("PV-22", "said", Some(Internal)),
        ("PV-22", "strict", Some(Internal)),
    ] {
        assert_eq!(operator.provenance(tool), expected, "{row} {tool:?}");
    }
}

#[test]
fn pv_13_pv_17_joined_with_what_a_classifier_says() {
    let config = ClassifierConfig::new()
        .with_exec_is_external(true)
        .with_server(DeclaredServer::own("own"))
        .with_content_origin(DeclaredTool::new(Some("own"), "shell", ToolContentOrigin::Execution));
    let classifier = Classifier::new(&config).unwrap();
    let labels = labels([("said", NONE), ("inbox", untrusted())]);
    for (row, owner, tool, expected) in [
        ("PV-13", Some("own"), "unheard_of", Internal),
        ("PV-13", Some("other"), "unheard_of", External),
        ("PV-13", None, "unheard_of", External),
        ("PV-13", Some("own"), "", External),
        ("PV-17", Some("own"), "read_file", Internal),
        ("PV-17 another's", Some("other"), "read_file", External),
        ("PV-17 what a program prints", Some("own"), "shell", External),
        ("PV-12", Some("own"), "inbox", External),
        ("PV-16", Some("own"), "browser", External),
        ("PV-22", Some("own"), "said", Internal),
        ("PV-22 another's", Some("other"), "said", External),
    ] {
        assert_eq!(labels.derive(tool, &classifier.classify(owner, tool)), expected, "{row} {owner:?} {tool:?}");
    }
}

// === reading ===

#[test]
fn pv_18_pv_20_what_is_malformed_is_refused_with_its_place() {
    let known = "One of net_send, file_read, file_write, process_exec";
    let capability = |found: &str, meant: &str| {
        format!(r#"labels["t"].capability: "{found}" is no capability: did you mean "{meant}"? {known}"#)
    };
    for (label, complaint) in [
        (r#"{"capability": "NET_SEND"}"#, capability("NET_SEND", "net_send")),
        (r#"{"capability": "net_send "}"#, capability("net_send ", "net_send")),
        (r#"{"capability": "net-send"}"#, capability("net-send", "net_send")),
        (r#"{"capability": "fileread"}"#, capability("fileread", "file_read")),
        (r#"{"capability": null}"#, r#"labels["t"].capability: must be a string"#.to_owned()),
        (r#"{"capability": ["net_send"]}"#, r#"labels["t"].capability: must be a string"#.to_owned()),
        (r#"{"capability": {"net_send": null}}"#, r#"labels["t"].capability: must be a string"#.to_owned()),
        (
            r#"{"trust": "Untrusted"}"#,
            r#"labels["t"].trust: "Untrusted" is no trust: did you mean "untrusted"?"#.to_owned(),
        ),
        (r#"{"trust": 1}"#, r#"labels["t"].trust: must be a string"#.to_owned()),
        (r#"{"sink": "true"}"#, r#"labels["t"].sink: must be true or false"#.to_owned()),
        (r#"{"declassifier": 1}"#, r#"labels["t"].declassifier: must be true or false"#.to_owned()),
        (r#"{"confidentiality": "top"}"#, r#"labels["t"].confidentiality: "top" is no confidentiality"#.to_owned()),
        (r#"{"min_confidential": ""}"#, r#"labels["t"].min_confidential: "" is no confidentiality"#.to_owned()),
        (r#"{"actions": "deny"}"#, r#"labels["t"].actions: "deny" is no action"#.to_owned()),
        (r#"{"capabilities": "x"}"#, r#"labels["t"].capabilities: no such field: one of capability, "#.to_owned()),
        (r#"{"sink": true, "sink": false}"#, r#"labels["t"].sink: written twice"#.to_owned()),
        (r#"["net_send"]"#, r#"labels["t"]: must be an object"#.to_owned()),
        (r#"[]"#, r#"labels["t"]: must be an object"#.to_owned()),
        (r#"null"#, r#"labels["t"]: must be an object"#.to_owned()),
        (r#""net_send""#, r#"labels["t"]: must be an object"#.to_owned()),
        (r#"-1"#, r#"labels["t"]: must be an object"#.to_owned()),
    ] {
        let error = from_str::<ToolLabelsConfig>(&format!(r#"{{"t": {label}}}"#)).unwrap_err().to_string();
        assert!(error.starts_with(&complaint), "{label}: {error}");
        let alone = from_str::<ToolLabel>(label).unwrap_err().to_string();
        assert!(alone.starts_with(&complaint.replace(r#"labels["t"]"#, "label")), "{label}: {alone}");
    }
}

#[test]
fn pv_18_in_toml_and_from_values_too() {
    for text in ["[t]\ncapability = 'NET_SEND'", "t = { sink = 1979-05-27 }", "t = [1]", "t = 1.5", "t = []", "[[t]]"] {
        let error = toml::from_str::<ToolLabelsConfig>(text).unwrap_err().to_string();
        assert!(error.contains(r#"labels["t"]"#), "{text}: {error}");
    }
    for (word, valid) in [("net_send", true), ("NET_SEND", false), ("net_send ", false)] {
        assert_eq!(from_value::<Capability>(json!(word)).is_ok(), valid, "{word:?}");
    }
    assert!(from_value::<Capability>(json!({"net_send": null})).is_err());
}

#[test]
fn pv_19_without_labels_the_built_ins_stand() {
    for empty in [ToolLabels::new(ToolLabelsConfig::new()), ToolLabels::new::<&str>([]), Ok(ToolLabels::builtin())] {
        let empty = empty.unwrap();
        assert_eq!((empty.provenance("web_search"), empty.provenance("shell")), (Some(External), Some(Internal)));
        assert_eq!(empty.get("unheard_of"), None);
    }
    assert_eq!(from_str::<ToolLabelsConfig>("{}").unwrap(), ToolLabelsConfig::new());
    assert_eq!(toml::from_str::<ToolLabelsConfig>("").unwrap(), ToolLabelsConfig::new());
}

#[test]
fn pv_20_a_whole_that_is_malformed_is_refused() {
    for (text, complaint) in [
        ("[]", "labels: must be an object"),
        ("null", "labels: must be an object"),
        (r#"[["t", {}]]"#, "labels: must be an object"),
        ("7", "labels: must be an object"),
        (r#"{"t": {}, "t": {"trust": "untrusted"}}"#, r#"labels["t"]: second label for this tool"#),
        (r#"{"t": {}, "\u0074": {}}"#, r#"labels["t"]: second label for this tool"#),
        (r#"{"": {}}"#, r#"labels[""]: a tool's name must not be blank"#),
        (r#"{" ": {}}"#, r#"labels[" "]: a tool's name must not be blank"#),
        (r#"{"a\nb": {}}"#, r#"labels["a\nb"]: control character in "a\nb""#),
        (r#"{"browser": {"declassifier": true}}"#, r#"labels["browser"].declassifier: a built-in cannot"#),
        (r#"{"t": {}"#, "EOF"),
    ] {
        let error = from_str::<ToolLabelsConfig>(text).unwrap_err().to_string();
        assert!(error.starts_with(complaint), "{text}: {error}");
    }
    let twice = ToolLabelsConfig::new().with_label("t", NONE).with_label("t", untrusted());
    assert_eq!(ToolLabels::new(twice).unwrap_err().problem(), &LabelProblem::DuplicateTool);
    let long = refused(&"\n".repeat(2000), NONE);
    assert!(long.len() < 1000, "{}", long.len());
}

#[test]
fn pv_22_what_is_written_reads_as_it_was() {
    let full = untrusted()
        .with_capability(Capability::ProcessExec)
        .with_sink(true)
        .with_confidentiality(Confidentiality::Secret)
        .with_declassifier(true)
        .with_min_confidential(Confidentiality::Internal)
        .with_actions(FlowResponse::Approve);
    let config = ToolLabelsConfig::new().with_label("z", NONE).with_label("a", full);
    assert_eq!(from_str::<ToolLabelsConfig>(&serde_json::to_string(&config).unwrap()).unwrap(), config);
    assert_eq!(
        to_value(full).unwrap(),
        json!({
            "capability": "process_exec", "trust": "untrusted", "sink": true, "confidentiality": "secret",
            "declassifier": true, "min_confidential": "internal", "actions": "approve",
        })
    );
    assert_eq!(ToolLabels::new(config).unwrap().get("a"), Some(full));
}

// === adding to built-ins ===

#[test]
fn pv_21_an_operator_adds_to_a_built_in() {
    let merged = |tool, label| labels([(tool, label)]).get(tool).unwrap();
    let secret = NONE.with_confidentiality(Confidentiality::Secret);
    assert_eq!(merged("recall", secret).confidentiality, Confidentiality::Secret);
    assert_eq!(merged("recall", NONE).confidentiality, Confidentiality::Internal);
    assert!(merged("shell", NONE.with_sink(true)).sink);
    assert!(merged("remember", NONE).sink);
    assert_eq!(merged("shell", untrusted()).provenance(), External);
    assert_eq!(merged("web_search", NONE).provenance(), External);
    assert_eq!(merged("kg__web_search", NONE).provenance(), External);
    assert_eq!(merged("shell", NONE.with_capability(Capability::ProcessExec)), merged("shell", NONE));
    let watched = NONE.with_min_confidential(Confidentiality::Internal).with_actions(FlowResponse::Block);
    assert_eq!(merged("browser", watched).min_confidential, Some(Confidentiality::Internal));
    assert_eq!(merged("browser", watched).actions, Some(FlowResponse::Block));
}

#[test]
fn pv_21_of_every_field_the_stricter_counts() {
    let least = |least| NONE.with_min_confidential(least);
    let act = |actions| NONE.with_actions(actions);
    let (internal, secret) = (least(Confidentiality::Internal), least(Confidentiality::Secret));
    let (allow, block) = (act(FlowResponse::Allow), act(FlowResponse::Block));
    for (one, other, both) in [
        (internal, secret, internal),
        (secret, internal, internal),
        (NONE, secret, secret),
        (secret, NONE, secret),
        (allow, block, block),
        (block, allow, block),
        (block, NONE, block),
        (NONE, allow, allow),
        (NONE.with_declassifier(true), NONE, NONE.with_declassifier(true)),
        (NONE.with_declassifier(true), NONE.with_declassifier(true), NONE.with_declassifier(true)),
        (untrusted(), NONE, untrusted()),
    ] {
        assert_eq!(one.hardened("here", &other), Ok(both), "{one:?} {other:?}");
    }
}

#[test]
fn pv_21_what_would_weaken_a_built_in_is_refused() {
    for (tool, label, complaint) in [
        (
            "web_search",
            NONE.with_capability(Capability::FileRead),
            "capability: this built-in keeps its capability (net_send)",
        ),
        (
            "kg__fetch",
            NONE.with_capability(Capability::FileRead),
            "capability: this built-in keeps its capability (net_send)",
        ),
        (
            "browse_x",
            NONE.with_capability(Capability::FileRead),
            "capability: this built-in keeps its capability (net_send)",
        ),
        (
            "shell",
            NONE.with_capability(Capability::NetSend),
            "capability: this built-in keeps its capability (process_exec)",
        ),
        ("recall", NONE.with_capability(Capability::NetSend), "capability: this built-in keeps its capability (none)"),
        ("recall", NONE.with_declassifier(true), "declassifier: a built-in cannot be made a declassifier"),
    ] {
        let error = refused(tool, label);
        assert!(error.starts_with(&format!("labels[{tool:?}].{complaint}")), "{error}");
    }
}

prop_compose! {
    fn any_label()(
        capability in proptest::option::of(prop_oneof![
            Just(Capability::NetSend), Just(Capability::FileRead), Just(Capability::FileWrite), Just(Capability::ProcessExec),
        ]),
        trust in prop_oneof![Just(LabelTrust::Trusted), Just(LabelTrust::Untrusted)],
        (sink, declassifier) in any::<(bool, bool)>(),
        confidentiality in any_confidentiality(),
        min_confidential in proptest::option::of(any_confidentiality()),
        actions in proptest::option::of(prop_oneof![
            Just(FlowResponse::Allow), Just(FlowResponse::Approve), Just(FlowResponse::Block),
        ]),
    ) -> ToolLabel {
        ToolLabel { capability, trust, sink, confidentiality, declassifier, min_confidential, actions }
    }
}

fn any_confidentiality() -> impl Strategy<Value = Confidentiality> {
    prop_oneof![Just(Confidentiality::Public), Just(Confidentiality::Internal), Just(Confidentiality::Secret)]
}

/// Whether one is nowhere weaker than the other.
fn as_strict(one: &ToolLabel, other: &ToolLabel) -> bool {
    let least = |label: &ToolLabel| label.min_confidential.map_or(u8::MAX, |least| least as u8);
    one.capability == other.capability
        && one.declassifier == other.declassifier
        && one.trust >= other.trust
        && one.sink >= other.sink
        && one.confidentiality >= other.confidentiality
        && least(one) <= least(other)
        && one.actions >= other.actions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn pv_21_no_label_makes_a_built_in_internal_that_is_external(
        tool in "(kg(__|:))?(web_search|fetch|browser|search|browse_[a-z]{0,3}|generate_x)",
        label in any_label(),
    ) {
        if let Ok(labels) = ToolLabels::new([(&tool, label)]) {
            prop_assert_eq!(labels.provenance(&tool), Some(External));
        }
    }

    #[test]
    fn pv_21_adding_only_grows_and_adding_twice_adds_nothing(
        tool in "shell|read_file|recall|remember|read_image_text|web_search",
        label in any_label(),
        other in any_label(),
    ) {
        let builtin = ToolLabels::builtin().get(&tool).unwrap();
        // Otherwise most labels would be refused.
        let fit = |label: ToolLabel| ToolLabel { capability: builtin.capability, declassifier: false, ..label };
        let (label, other) = (fit(label), fit(other));
        let once = builtin.hardened("", &label).unwrap();
        prop_assert!(as_strict(&once, &builtin));
        prop_assert!(once.provenance() >= builtin.provenance());
        prop_assert_eq!(once.hardened("", &label).unwrap(), once);
        let both = once.hardened("", &other).unwrap();
        prop_assert_eq!(builtin.hardened("", &other).unwrap().hardened("", &label).unwrap(), both);
        prop_assert!(as_strict(&both, &once));
    }

    #[test]
    fn pv_20_any_label_survives_being_written(label in any_label()) {
        let config = ToolLabelsConfig::new().with_label("t", label);
        prop_assert_eq!(&from_str::<ToolLabelsConfig>(&serde_json::to_string(&config).unwrap()).unwrap(), &config);
    }
}
