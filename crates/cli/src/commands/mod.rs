//! One file a command.

pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod profiles;
pub(crate) mod schemes;
pub(crate) mod sim;

mod captures;
mod runs;
