//! The core, from outside: what it sends, what it never sends, and what it learns.

mod changes;
mod copies;
mod delays;
mod limits;
mod packets;
mod path;
