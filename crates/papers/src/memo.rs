//! Results that are made once: figures and tables share them, and so do the variants of an assumption that do not
//! change what they depend on.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Shared = Arc<dyn Any + Send + Sync>;

/// A result, once it is made. The thread that makes it holds the lock.
type Slot = Arc<Mutex<Option<Shared>>>;

/// Results by their type and a description of what they were made from.
#[derive(Default)]
pub(crate) struct Memo {
    outer: Option<Arc<Memo>>,
    slots: Mutex<HashMap<(TypeId, String), Slot>>,
}

impl Memo {
    /// An empty memo that knows the results of `outer` too. What is added to it ends with it.
    pub(crate) fn within(outer: &Arc<Memo>) -> Memo {
        Memo { outer: Some(Arc::clone(outer)), ..Memo::default() }
    }

    /// The result of `make`, which is called unless there is a result of this type made from the same. `from` describes
    /// all that the result depends on. A result that another thread is making is awaited; a thread of rayon does other work
    /// meanwhile, so `make` must not wait for such work itself.
    ///
    /// # Errors
    /// `make` was called and failed; its error.
    pub(crate) fn once<T: Send + Sync + 'static, E>(
        &self,
        from: String,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let key = (TypeId::of::<T>(), from);
        let slot = self.find(&key).unwrap_or_else(|| Arc::clone(locked(&self.slots).entry(key).or_default()));
        let mut content = await_lock(&slot);
        if let Some(known) = content.as_ref().and_then(|known| Arc::clone(known).downcast().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        *content = Some(Arc::<T>::clone(&made));
        Ok(made)
    }

    fn find(&self, key: &(TypeId, String)) -> Option<Slot> {
        let outer = || self.outer.as_ref().and_then(|outer| outer.find(key));
        let found = locked(&self.slots).get(key).cloned();
        found.or_else(outer)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex`. A thread of rayon works on something else while another thread holds the lock.
fn await_lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        if let Ok(content) = mutex.try_lock() {
            return content;
        }
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            return locked(mutex);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

    #[test]
    fn threads_that_want_the_same_result_make_it_once() {
        let memo = Memo::default();
        let calls = AtomicU32::new(0);
        let (begun, other_came) = (Barrier::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                memo.once("a".to_owned(), || {
                    begun.wait();
                    while !other_came.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                    Ok::<u32, Infallible>(calls.fetch_add(1, Ordering::SeqCst))
                })
            });
            begun.wait();
            other_came.store(true, Ordering::SeqCst);
            let Ok(found) = memo.once("a".to_owned(), || Ok::<u32, Infallible>(1 + calls.load(Ordering::SeqCst)));
            assert_eq!(*found, 0, "the first thread makes it");
        });
        assert_eq!(calls.into_inner(), 1);
    }

    #[test]
    fn results_that_many_tasks_share_are_made_once_whatever_their_order() {
        let memo = Memo::default();
        let calls = AtomicU32::new(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let shared = |key: u32| {
            let Ok(found) = memo.once(key.to_string(), || {
                calls.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(1));
                Ok::<u32, Infallible>(key)
            });
            *found
        };
        let sums: Vec<u32> = pool.install(|| {
            let tasks = (0..8).into_par_iter();
            tasks.map(|_| (0..20_u32).into_par_iter().map(shared).sum()).collect()
        });
        assert_eq!(sums, [190; 8]);
        assert_eq!(calls.into_inner(), 20);
    }
}
