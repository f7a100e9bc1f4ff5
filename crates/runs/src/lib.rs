//! Plans of runs, identities of runs, and stores of runs.
//!
//! A [`Plan`] is a scenario with schemes and seeds. [`execute`] makes its runs on a [`Backend`](gentle_experiment::Backend)
//! and puts them together as a comparison. Each run has a [`RunId`], which depends on all that decides its result and on
//! nothing else. With [`Records`] of a [`Store`], earlier runs of any call and any machine are reused: an interrupted
//! comparison resumes, and copying files combines stores.

mod execute;
mod id;
mod missing;
mod plan;
mod record;
mod store;
mod stored;

pub use execute::{Executed, execute};
pub use id::{Origin, RunId, hash};
pub use missing::{Task, TaskError, missing};
pub use plan::{Plan, UnknownReference, reference};
pub use record::{Found, Record, Records, records_in};
pub use store::{Folder, Memory, Store, StoreError};
pub use stored::Stored;
