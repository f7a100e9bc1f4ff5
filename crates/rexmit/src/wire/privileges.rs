//! What the engine may do once its socket is open: nothing that takes a capability.

use super::error::WireError;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// Gives up all capabilities of this thread, and of those that it starts, for good: the open socket hears and sends
/// without any.
pub(super) fn drop_all() -> Result<(), WireError> {
    set_no_new_privs(true).map_err(|error| WireError::call("PR_SET_NO_NEW_PRIVS")(error.into()))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| WireError::call("capset")(error.into()))
}
