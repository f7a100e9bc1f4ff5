#![doc = include_str!("../README.md")]

mod cake;
mod command;
mod device;
mod native;
mod plan;
mod prefix;
mod priority;
mod shaper;
mod stock;

pub use cake::Cake;
pub use command::{Command, Program};
pub use device::{Device, DeviceError, Link};
pub use native::Module;
pub use plan::{
    Backing, Direction, Discipline, Parent, Plan, PlanError, Setup, Under, plan, plan_under,
};
pub use shaper::{Framing, LinkLayer, Shaper, ShaperKind};
