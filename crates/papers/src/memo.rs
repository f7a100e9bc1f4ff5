//! Results that are made once: figures and tables share them, and so do the variants of an assumption that do not
//! change what they depend on.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

type Shared = Arc<dyn Any + Send + Sync>;

/// Results by their type and a description of what they were made from.
#[derive(Default)]
pub(crate) struct Memo {
    outer: Option<Arc<Memo>>,
    known: Mutex<HashMap<(TypeId, String), Shared>>,
}

impl Memo {
    /// An empty memo that knows the results of `outer` too. What is added to it ends with it.
    pub(crate) fn within(outer: &Arc<Memo>) -> Memo {
        Memo { outer: Some(Arc::clone(outer)), ..Memo::default() }
    }

    /// The result of `make`, which is called unless there is a result of this type made from the same. `from` describes
    /// all that the result depends on.
    ///
    /// # Errors
    /// `make` was called and failed; its error.
    pub(crate) fn once<T: Send + Sync + 'static, E>(
        &self,
        from: String,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let key = (TypeId::of::<T>(), from);
        if let Some(known) = self.find(&key).and_then(|known| known.downcast().ok()) {
            return Ok(known);
        }
        // Not locked meanwhile: other results are made at the same time.
        let made = Arc::new(make()?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, made.clone());
        Ok(made)
    }

    fn find(&self, key: &(TypeId, String)) -> Option<Shared> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let outer = || self.outer.as_ref().and_then(|outer| outer.find(key));
        known.get(key).cloned().or_else(outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    #[test]
    fn makes_each_result_once() {
        let calls = Cell::new(0);
        let make = |value: u32| {
            calls.set(calls.get() + 1);
            Ok::<u32, Infallible>(value)
        };
        let outer = Arc::new(Memo::default());
        let get = |memo: &Memo, from: &str, value| {
            let Ok(found) = memo.once(from.to_owned(), || make(value));
            *found
        };
        assert_eq!(get(&outer, "a", 1), 1);
        assert_eq!(get(&outer, "a", 2), 1);
        let inner = Memo::within(&outer);
        assert_eq!(get(&inner, "a", 3), 1);
        assert_eq!(get(&inner, "b", 4), 4);
        assert_eq!(get(&outer, "b", 5), 5, "an inner result ends with its memo");
        assert_eq!(calls.get(), 3);
        let Ok(other) = inner.once("a".to_owned(), || Ok::<u64, Infallible>(6));
        assert_eq!(*other, 6, "results of other types are others");
    }

    #[test]
    fn a_failure_is_not_kept() {
        let memo = Memo::default();
        let failed = memo.once::<u32, _>("a".to_owned(), || Err("stopped"));
        assert_eq!(failed, Err("stopped"));
        let made = memo.once("a".to_owned(), || Ok::<u32, &str>(1));
        assert_eq!(made.as_deref(), Ok(&1));
    }
}
