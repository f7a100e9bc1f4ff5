//! Command `gentle qdisc` on real devices. Each test has its own network namespace, which requires root; without root,
//! or if the kernel lacks a queue, a test says so and is skipped.
#![cfg(target_os = "linux")]

mod apply;
mod concurrent;
mod directory;
mod ingress;
mod namespace;
mod openwrt;
mod origin;
mod plan;
mod refused;
mod renamed;
mod show;
