//! Builds the program anew when the page of `gentle lab` was.

fn main() {
    println!("cargo::rerun-if-changed=../../lab/dist");
}
