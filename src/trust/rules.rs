//! What a session may do once it has received something.

use std::error::Error;
use std::fmt;

use super::{Facts, RuleKind};
use crate::message::method_row;
use crate::policy::GlobSet;

/// What becomes of a call that a rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RuleAction {
    /// It is refused.
    #[default]
    Deny,
    /// It passes, and is told of.
    Flag,
}

/// Rules on what a session may do once it has received something. There are none by default.
///
/// Tools, and methods that are not of MCP, are named by patterns in which `*` stands for any text; methods of MCP, such
/// as `resources/read`, by their names, or by a pattern with a slash.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{RuleAction, SessionRules};
///
/// let rules = SessionRules::new()
///     // What writes, sends or remembers: not after content from outside.
///     .with_sinks(["remember", "send_*"], RuleAction::Deny)?
///     // What cannot be undone: neither.
///     .with_irreversible(["delete_*"])?
///     // What sends: not after private data and content from outside.
///     .with_third_leg(["read_mail"], ["send_*", "http_request"])?
///     // Nobody pays right after the bank account has changed.
///     .with_forbidden_sequence(["set_account", "pay"])?;
/// assert!(!rules.is_empty());
/// # Ok::<(), tower_toolgate::trust::RuleError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SessionRules {
    checks: Vec<Check>,
    marks: Vec<(Calls, Facts)>,
    /// How many steps of sequences there are.
    steps: u8,
}

/// Calls that are refused, or told of, in sessions of which something is known.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) kind: RuleKind,
    pub(crate) action: RuleAction,
    /// All of this must be known of the session.
    pub(crate) known: Facts,
    calls: Calls,
}

/// Which calls a rule is about.
#[derive(Clone, Debug, Default)]
struct Calls {
    tools: GlobSet,
    methods: GlobSet,
}

/// Why a rule is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// A pattern is blank or has control characters.
    Pattern(String),
    /// A sequence has fewer than two steps.
    SequenceTooShort,
    /// All sequences together have more than [`Facts::STEPS`] steps before their last ones.
    TooManySteps,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => write!(f, "'{}' names no call", pattern.escape_debug()),
            Self::SequenceTooShort => f.write_str("a sequence has two steps at least"),
            Self::TooManySteps => write!(f, "all sequences together have more than {} steps", Facts::STEPS),
        }
    }
}

impl Error for RuleError {}

impl SessionRules {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// What writes, sends or remembers is refused, or told of, in a session that has received content from outside.
    ///
    /// # Errors
    ///
    /// [`RuleError::Pattern`].
    pub fn with_sinks<'a>(
        self,
        calls: impl IntoIterator<Item = &'a str>,
        action: RuleAction,
    ) -> Result<Self, RuleError> {
        self.check(RuleKind::TaintedSink, action, Facts::OUTSIDE, Calls::new(calls)?)
    }

    /// What cannot be undone is refused in a session that has received content from outside.
    ///
    /// # Errors
    ///
    /// [`RuleError::Pattern`].
    pub fn with_irreversible<'a>(self, calls: impl IntoIterator<Item = &'a str>) -> Result<Self, RuleError> {
        self.check(RuleKind::TaintedIrreversible, RuleAction::Deny, Facts::OUTSIDE, Calls::new(calls)?)
    }

    /// Of private data, content from outside and sending, a session may have two: what sends is refused after both
    /// others.
    ///
    /// # Errors
    ///
    /// [`RuleError::Pattern`].
    pub fn with_third_leg<'a>(
        mut self,
        private: impl IntoIterator<Item = &'a str>,
        egress: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, RuleError> {
        self.marks.push((Calls::new(private)?, Facts::PRIVATE));
        self.check(RuleKind::ThirdLeg, RuleAction::Deny, Facts::PRIVATE | Facts::OUTSIDE, Calls::new(egress)?)
    }

    /// The last call of a sequence is refused once the session has made all others, in whatever order.
    ///
    /// # Errors
    ///
    /// [`RuleError::Pattern`], [`RuleError::SequenceTooShort`] and [`RuleError::TooManySteps`].
    pub fn with_forbidden_sequence<'a>(mut self, calls: impl IntoIterator<Item = &'a str>) -> Result<Self, RuleError> {
        let calls: Vec<_> = calls.into_iter().collect();
        let Some((last, earlier)) = calls.split_last().filter(|(_, earlier)| !earlier.is_empty()) else {
            return Err(RuleError::SequenceTooShort);
        };
        let mut known = Facts::NONE;
        for step in earlier {
            let fact = Facts::step(self.steps).ok_or(RuleError::TooManySteps)?;
            self.marks.push((Calls::new([*step])?, fact));
            (known, self.steps) = (known | fact, self.steps + 1);
        }
        self.check(RuleKind::ForbiddenSequence, RuleAction::Deny, known, Calls::new([*last])?)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.iter().all(|check| check.calls.is_empty())
    }

    fn check(mut self, kind: RuleKind, action: RuleAction, known: Facts, calls: Calls) -> Result<Self, RuleError> {
        self.checks.push(Check { kind, action, known, calls });
        Ok(self)
    }

    /// What a call says of its session, beside what it brings back.
    pub(crate) fn marks(&self, method: &str, tool: Option<&str>) -> Facts {
        let made = self.marks.iter().filter(|(calls, _)| calls.matches(method, tool));
        made.fold(Facts::NONE, |all, (_, facts)| all | *facts)
    }

    /// The rules that are about a call.
    pub(crate) fn checks<'a>(&'a self, method: &'a str, tool: Option<&'a str>) -> impl Iterator<Item = &'a Check> {
        self.checks.iter().filter(move |check| check.calls.matches(method, tool))
    }
}

impl Calls {
    fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, RuleError> {
        let mut calls = Self::default();
        for pattern in patterns {
            if pattern.trim().is_empty() || pattern.chars().any(char::is_control) {
                return Err(RuleError::Pattern(pattern.to_owned()));
            }
            match method_row(pattern) {
                Some(_) => calls.methods.insert(pattern),
                None => calls.tools.insert(pattern),
            }
            // A pattern with a slash is one of methods as well; without one it would meet all that the protocol needs.
            if pattern.contains('*') && pattern.contains('/') {
                calls.methods.insert(pattern);
            }
        }
        Ok(calls)
    }

    fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.tools.is_empty()
    }

    fn matches(&self, method: &str, tool: Option<&str>) -> bool {
        // What is no method of MCP is as good as a tool.
        let name = tool.or_else(|| method_row(method).is_none().then_some(method));
        name.is_some_and(|name| self.tools.matches(name)) || tool.is_none() && self.methods.matches(method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_about_tools_and_methods() {
        let rules = SessionRules::new().with_sinks(["send_*", "resources/read"], RuleAction::Flag).unwrap();
        let rules = rules.with_third_leg(["read_mail"], ["send_mail"]).unwrap();
        let kinds = |method, tool| rules.checks(method, tool).map(|check| check.kind).collect::<Vec<_>>();
        assert_eq!(kinds("tools/call", Some("send_mail")), [RuleKind::TaintedSink, RuleKind::ThirdLeg]);
        assert_eq!(kinds("tools/call", Some("Send_mail")), []);
        assert_eq!(kinds("resources/read", None), [RuleKind::TaintedSink]);
        // A tool of that name is not the method.
        assert_eq!(kinds("tools/call", Some("resources/read")), []);
        // But a method that is none of MCP's is named like a tool.
        assert_eq!(kinds("send_text", None), [RuleKind::TaintedSink]);
        assert_eq!(rules.marks("tools/call", Some("read_mail")), Facts::PRIVATE);
        assert_eq!(rules.marks("tools/call", Some("send_mail")), Facts::NONE);
        assert!(SessionRules::new().with_sinks([], RuleAction::Deny).unwrap().is_empty());
    }

    #[test]
    fn sequences_have_steps_of_their_own() {
        let rules = SessionRules::new().with_forbidden_sequence(["a", "b", "c"]).unwrap();
        let rules = rules.with_forbidden_sequence(["a", "d"]).unwrap();
        let marks = |tool| rules.marks("tools/call", Some(tool));
        assert_eq!(marks("a").bits().count_ones(), 2);
        let known = |tool| rules.checks("tools/call", Some(tool)).next().unwrap().known;
        assert!((marks("a") | marks("b")).contains(known("c")) && !marks("a").contains(known("c")));
        assert!(marks("a").contains(known("d")));
    }

    #[test]
    fn what_is_no_rule_is_an_error() {
        let none = SessionRules::new;
        assert_eq!(none().with_sinks(["a", " "], RuleAction::Deny).unwrap_err(), RuleError::Pattern(" ".into()));
        assert_eq!(none().with_irreversible(["a\n"]).unwrap_err().to_string(), "'a\\n' names no call");
        for short in [&[][..], &["a"]] {
            assert_eq!(none().with_forbidden_sequence(short.iter().copied()).unwrap_err(), RuleError::SequenceTooShort);
        }
        assert_eq!(none().with_forbidden_sequence(["a"; 16]).unwrap_err(), RuleError::TooManySteps);
        assert!(none().with_forbidden_sequence(["a"; 15]).is_ok());
    }
}
