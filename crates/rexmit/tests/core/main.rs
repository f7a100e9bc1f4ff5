//! Tests of the core through its public interface: copies sent, copies not sent, and learned paths.

mod changes;
mod copies;
mod delays;
mod dry_run;
mod limits;
mod packets;
mod path;
