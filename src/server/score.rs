//! Trust that is lost.

use std::time::Duration;

use super::level::McpTrustLevel;

/// What a server has done to how far it is trusted. Trust is lost by itself, and regained only from the operator.
///
/// It starts at one half. A finding in the definitions of tools costs 0.25, a call that fails 0.10, and a call that
/// succeeds brings 0.02; never less than 0 nor more than 1. What is above one half goes back to it by 0.01 a day; what
/// is below stays there, however long one waits.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{McpTrustLevel, TrustScore};
///
/// let mut score = TrustScore::new();
/// assert_eq!(score.effective(McpTrustLevel::Trusted), McpTrustLevel::Trusted);
/// // Its tools were listed again, and one of them tells the model what to do.
/// score.register(1);
/// assert_eq!(score.value(), 0.25);
/// assert_eq!(score.effective(McpTrustLevel::Trusted), McpTrustLevel::Sandboxed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustScore {
    /// In units of which one second takes one: nothing is rounded.
    units: u64,
    /// The lowest level at a finding.
    ceiling: Option<McpTrustLevel>,
}

/// One, in units: a hundred days.
const ONE: u64 = 100 * 24 * 60 * 60;
const START: u64 = ONE / 2;
const FINDING: u64 = ONE / 4;
const FAILURE: u64 = ONE / 10;
const SUCCESS: u64 = ONE / 50;
const TRUSTED: u64 = ONE / 10 * 8;
const UNTRUSTED: u64 = ONE / 10 * 4;

/// The findings that one registration is charged for.
const MAX_FINDINGS: usize = 3;

impl Default for TrustScore {
    fn default() -> Self {
        Self { units: START, ceiling: None }
    }
}

impl TrustScore {
    /// Of a server that has done nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The score, between 0 and 1.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.units as f64 / ONE as f64
    }

    /// The level that the score is worth: from 0.8 on trusted, from 0.4 on untrusted, else sandboxed.
    #[must_use]
    pub fn level(&self) -> McpTrustLevel {
        match self.units {
            TRUSTED.. => McpTrustLevel::Trusted,
            UNTRUSTED.. => McpTrustLevel::Untrusted,
            _ => McpTrustLevel::Sandboxed,
        }
    }

    /// How far a server may be trusted of which the operator says this: the lower of that, and of the level that the
    /// score was worth when something was [found](Self::register), at the worst. A score never promotes, and without
    /// a finding nothing is taken away: calls fail for many reasons.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::{McpTrustLevel, TrustScore};
    ///
    /// let mut score = TrustScore::new();
    /// (0..50).for_each(|_| score.succeed());
    /// assert_eq!(score.level(), McpTrustLevel::Trusted);
    /// assert_eq!(score.effective(McpTrustLevel::Untrusted), McpTrustLevel::Untrusted);
    /// ```
    #[must_use]
    pub fn effective(&self, configured: McpTrustLevel) -> McpTrustLevel {
        self.ceiling.map_or(configured, |ceiling| configured.lower(ceiling))
    }

    /// The server's tools were registered, with so many findings in their definitions. Of those three count; none
    /// changes nothing.
    pub fn register(&mut self, findings: usize) {
        if findings == 0 {
            return;
        }
        let charged = findings.min(MAX_FINDINGS) as u64;
        self.units = self.units.saturating_sub(FINDING * charged);
        let level = self.level();
        self.ceiling = Some(self.ceiling.map_or(level, |ceiling| ceiling.lower(level)));
    }

    /// A call has failed.
    pub fn fail(&mut self) {
        self.units = self.units.saturating_sub(FAILURE);
    }

    /// A call has succeeded.
    pub fn succeed(&mut self) {
        self.units = ONE.min(self.units + SUCCESS);
    }

    /// Time has gone by. Parts of a second do not count, so this is to be called with what has gone by since the last
    /// whole one.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::TrustScore;
    ///
    /// let mut score = TrustScore::new();
    /// score.succeed();
    /// score.wait(Duration::from_secs(24 * 60 * 60));
    /// assert_eq!(score.value(), 0.51);
    /// ```
    pub fn wait(&mut self, time: Duration) {
        if self.units > START {
            self.units = START.max(self.units.saturating_sub(time.as_secs()));
        }
    }
}
