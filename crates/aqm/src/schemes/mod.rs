//! The queue disciplines, one file each, named as in `tc`.
//!
//! A new scheme is one file with a `SCHEME` and a `build`, and one line in the list below; `lifo` is an example. `cargo
//! fmt` does not see modules that a macro declares, so `make test` passes them to `rustfmt` separately.

use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::scheme::Scheme;
use crate::plumbing::spec::Spec;

macro_rules! schemes {
    ($($module:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// All schemes, in the order of reports; the example at the end is not listed ([`Scheme::listed`]).
        pub static SCHEMES: &[&Scheme] = &[$(&$module::SCHEME),*];

        /// Builds the queue that `spec` describes. `seed` determines its random decisions and hash keys.
        pub fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
            $(
                if *spec.scheme() == $module::SCHEME {
                    return $module::build(spec, seed);
                }
            )*
            unreachable!("a Spec is made from a scheme of this list")
        }
    };
}

schemes! {
    pfifo,
    bfifo,
    pfifo_fast,
    red,
    ared,
    choke,
    redfavor,
    codel,
    fq_codel,
    pie,
    fq_pie,
    fq,
    dualpi2,
    sfq,
    cake,
    syn_prio,
    syn_fin_prio,
    spa,
    gsp,
    gentle,
    las,
    srpt,
    tbf,
    htb,
    lifo,
}
