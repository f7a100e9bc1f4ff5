//! Qdiscs of other origin, replaced and restored in a network namespace of this host. The kernel of a host has few kinds; the
//! test program `testbed` does the same in Linux in virtual time.

use crate::case::{Case, Checked, broken};
use gentle_testkit::draw::Draw;
use gentle_testkit::trees::{Kinds, Tree, judge, script};

pub(crate) fn case(draw: &mut Draw, case: &Case) -> Checked {
    let tree = Tree::any(draw, Kinds::Few);
    case.write("setup.sh", script(&tree));
    let Some(printed) = case.in_namespace("setup.sh") else {
        return Ok(());
    };
    judge(&printed).or_else(|(invariant, details)| broken(invariant, details))
}
