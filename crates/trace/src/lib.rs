//! Capture files to connections to handshake-loss statistics.
