//! Telling the observer.

use super::guard::Trust;
use crate::identity::Principal;
use crate::observe::{TrustEvent, TrustEventKind};
use crate::store::TaintKey;
use crate::trust::{Taint, Verdict};

impl<T> Trust<T> {
    pub(super) fn on_trust(
        &self,
        kind: TrustEventKind<'_>,
        key: TaintKey,
        principal: Option<&Principal>,
        verdict: Option<&Verdict<'_>>,
        known: Option<&Taint>,
    ) {
        let Some(observer) = &self.observer else { return };
        observer.on_trust(&TrustEvent { kind, key, principal, verdict, known });
    }
}
