//! What the fuzz targets share: what has to hold of a capture that was read, and of an analysis, whatever the bytes were.

pub mod analysis;
pub mod build;
pub mod capture;
pub mod flows;
pub mod quic;
pub mod segment;
