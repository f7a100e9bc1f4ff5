#![doc = include_str!("../README.md")]

mod apply;
mod cake;
mod command;
mod configured;
mod counter;
mod device;
mod native;
mod netlink;
mod packages;
mod plan;
mod prefix;
mod priority;
mod run;
mod scene;
mod shaper;
mod show;
mod snapshot;
mod state;
mod stock;
mod system;

pub use apply::{Applied, ApplyError, Removed, apply, remove};
pub use cake::Cake;
pub use command::{Command, Program};
pub use counter::Counter;
pub use device::{Device, DeviceError, Link};
pub use netlink::NetlinkError;
pub use plan::{
    Backing, Direction, Discipline, Parent, Plan, PlanError, Present, Setup, Under, plan,
    plan_under,
};
pub use run::RunError;
pub use scene::present;
pub use shaper::{Framing, LinkLayer, Shaper, ShaperKind};
pub use show::{Qdisc, Shown, show};
pub use state::StateDir;
pub use system::{Chosen, backing_for};
