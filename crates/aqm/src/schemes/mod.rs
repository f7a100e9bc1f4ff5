//! Queue disciplines, one file each, named as `tc` names them.

pub mod ared;
pub mod bfifo;
pub mod choke;
pub mod codel;
pub mod fq_codel;
pub mod fq_pie;
pub mod gsp;
pub mod pfifo;
pub mod pie;
pub mod red;
pub mod redfavor;
pub mod sfq;
pub mod spa;
pub mod syn_fin_prio;
pub mod syn_prio;
