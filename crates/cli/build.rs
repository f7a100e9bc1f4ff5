//! Rebuilds the program when the page of `gentle lab` was rebuilt.

fn main() {
    println!("cargo::rerun-if-changed=../../lab/dist");
}
