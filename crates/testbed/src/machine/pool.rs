//! Runs several machines at a time.

use super::{Machine, MachineError, Outcome};
use crate::job::Task;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs every task in its machine, at most `parallel` at a time; the results are in the order of the tasks.
///
/// Calls `progress` with the index of the task and the fraction done, 0 to 1; 1 is reported once for each task that was
/// started, when it has ended. After `stop` becomes true no more tasks are started, and running ones end with
/// [`MachineError::Stopped`].
pub fn run_all<T>(
    tasks: Vec<(Machine, T)>,
    parallel: NonZero<usize>,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, f64) + Sync),
) -> Vec<Result<Outcome<T::Answer>, MachineError>>
where
    T: Task + Send,
    T::Answer: Send,
{
    let results: Vec<_> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let tasks: Vec<_> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..parallel.get().min(tasks.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(number) else {
                        return;
                    };
                    let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some((machine, task)) = task else {
                        continue;
                    };
                    if stop.load(Ordering::Relaxed) {
                        continue;
                    }
                    let result = machine.run(task, stop, &|fraction| {
                        progress(number, fraction.clamp(0.0, 1.0));
                    });
                    progress(number, 1.0);
                    *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|result| {
            let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
            result.unwrap_or(Err(MachineError::Stopped))
        })
        .collect()
}
