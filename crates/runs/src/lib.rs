//! What is run, what tells runs apart, and where they are kept.
//!
//! A [`Plan`] is a scenario with schemes and seeds. [`execute`] makes its runs on a [`Backend`](gentle_experiment::Backend)
//! and puts them together as a comparison. Each run has a [`RunId`], which depends on all that decides its result and on
//! nothing else. With [`Records`] of a [`Store`], runs that were made before, by this call or another, on this machine or
//! another, are not made again: a comparison that was stopped goes on, and stores are combined by copying their files.

mod execute;
mod id;
mod plan;
mod record;
mod store;
mod stored;

pub use execute::{Executed, execute};
pub use id::{Origin, RunId, hash};
pub use plan::{Plan, UnknownReference, reference};
pub use record::{Found, Record, Records, records_in};
pub use store::{Folder, Store, StoreError};
pub use stored::Stored;
