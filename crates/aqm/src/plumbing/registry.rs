//! The one list of schemes: parsing, help, docs, the simulator and the testbed all read it.
//!
//! Adding a scheme is one new file with a `SCHEME` and a `build`, and one line in the list below.

use crate::plumbing::options::{OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::spec::Spec;

/// What is known of a scheme before it is built.
#[derive(Debug)]
pub struct Scheme {
    /// Its name, as `tc` has it where `tc` has it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it is described, and which reference the code follows.
    pub source: &'static str,
    /// Its options.
    pub options: &'static [OptionSpec],
    /// The scheme that a wrapper is built over unless `child=` says otherwise; `None`: it wraps nothing.
    pub child: Option<&'static str>,
    /// Checks options against each other; the error says what is wrong and what was expected.
    pub check: fn(&Options) -> Result<(), String>,
}

/// Names are unique in the registry, so they decide.
impl PartialEq for Scheme {
    fn eq(&self, other: &Scheme) -> bool {
        self.name == other.name
    }
}

/// For schemes whose options are independent of each other.
pub(crate) fn any_options(_: &Options) -> Result<(), String> {
    Ok(())
}

macro_rules! schemes {
    ($($module:ident),* $(,)?) => {
        /// Every scheme, in the order in which reports list them.
        pub static SCHEMES: &[&Scheme] = &[$(&crate::schemes::$module::SCHEME),*];

        /// Builds the queue that `spec` describes. `seed` feeds its random decisions and hash keys.
        pub fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
            $(
                if *spec.scheme() == crate::schemes::$module::SCHEME {
                    return crate::schemes::$module::build(spec, seed);
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
}

/// The scheme of that name.
pub fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().copied().find(|scheme| scheme.name == name)
}

/// The names of all schemes, for messages.
pub(crate) fn names() -> String {
    let names: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    names.join(", ")
}
