//! Code shared by the fuzz targets: invariants of captures and analyses for arbitrary input.

pub mod analysis;
pub mod build;
pub mod capture;
pub mod flows;
pub mod quic;
pub mod segment;
