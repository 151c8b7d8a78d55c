//! Causes by number: there are few of them and many entries.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::trust::Cause;

/// How many causes are told apart; those of later entries are [`OTHER`].
const MAX: usize = 4096;

const OTHER: &str = "other";

/// Causes with numbers from 1 on; 0 is none, 1 is "other".
#[derive(Debug)]
pub(super) struct Causes(RwLock<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    numbers: HashMap<Cause, u16>,
    causes: Vec<Cause>,
}

impl Numbered {
    fn add(&mut self, cause: &Cause) -> u16 {
        if let Some(number) = self.numbers.get(cause) {
            return *number;
        }
        match u16::try_from(self.causes.len() + 1) {
            Ok(number) if self.causes.len() < MAX => {
                self.causes.push(cause.clone());
                self.numbers.insert(cause.clone(), number);
                number
            }
            Ok(_) | Err(_) => 1,
        }
    }
}

impl Causes {
    pub(super) fn new() -> Self {
        let mut numbered = Numbered::default();
        numbered.add(&Cause::new(OTHER));
        Self(RwLock::new(numbered))
    }

    pub(super) fn number(&self, cause: Option<&Cause>) -> u16 {
        let Some(cause) = cause else { return 0 };
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).numbers.get(cause).copied();
        known.unwrap_or_else(|| self.0.write().unwrap_or_else(PoisonError::into_inner).add(cause))
    }

    pub(super) fn get(&self, number: u16) -> Option<Cause> {
        let numbered = self.0.read().unwrap_or_else(PoisonError::into_inner);
        numbered.causes.get(usize::from(number.checked_sub(1)?)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sk_20_causes_are_bounded() {
        let causes = Causes::new();
        let numbers: Vec<_> = (0..2 * MAX).map(|n| causes.number(Some(&Cause::new(&n.to_string())))).collect();
        assert_eq!(causes.get(numbers[0]), Some(Cause::new("0")));
        assert_eq!(causes.get(numbers[2 * MAX - 1]), Some(Cause::new(OTHER)));
        assert_eq!((causes.number(None), causes.get(0)), (0, None));
        assert_eq!(causes.0.read().unwrap().causes.len(), MAX);
    }
}
