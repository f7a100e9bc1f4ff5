#![doc = include_str!("../README.md")]

mod apply;
mod cake;
mod command;
mod device;
mod native;
mod netlink;
mod plan;
mod prefix;
mod priority;
mod run;
mod shaper;
mod show;
mod snapshot;
mod state;
mod stock;
mod system;

pub use apply::{Applied, ApplyError, Removed, apply, link_of, remove};
pub use cake::Cake;
pub use command::{Command, Program};
pub use device::{Device, DeviceError, Link};
pub use native::Module;
pub use netlink::NetlinkError;
pub use plan::{
    Backing, Direction, Discipline, Parent, Plan, PlanError, Setup, Under, plan, plan_under,
};
pub use run::RunError;
pub use shaper::{Framing, LinkLayer, Shaper, ShaperKind};
pub use show::{Counter, Qdisc, Shown, show};
pub use state::StateDir;
pub use system::backing_for;
