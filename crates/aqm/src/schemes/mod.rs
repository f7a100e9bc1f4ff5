//! Queue disciplines, one file each, named as `tc` names them, and the one list of them.
//!
//! Adding a scheme is one file here with a `SCHEME` and a `build`, and one line in the list below; `lifo` is the example.
//! Modules that a macro declares are unknown to `cargo fmt`; `make test` has `rustfmt` look at them.

use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::scheme::Scheme;
use crate::plumbing::spec::Spec;

macro_rules! schemes {
    ($($(#[$condition:meta])* $module:ident),* $(,)?) => {
        $($(#[$condition])* pub mod $module;)*

        /// Every scheme, in the order in which reports list them.
        pub static SCHEMES: &[&Scheme] = &[$($(#[$condition])* &$module::SCHEME),*];

        /// Builds the queue that `spec` describes. `seed` feeds its random decisions and hash keys.
        pub fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
            $(
                $(#[$condition])*
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
    red,
    ared,
    choke,
    redfavor,
    codel,
    fq_codel,
    pie,
    fq_pie,
    sfq,
    syn_prio,
    syn_fin_prio,
    spa,
    gsp,
    #[cfg(feature = "exercise")]
    lifo,
}
