//! Prints the specifications that tests and fuzzing begin with, one a line: `fuzz/seed` makes its first corpora of them.

fn main() {
    for spec in gentle_aqm::registry::samples() {
        println!("{spec}");
    }
}
