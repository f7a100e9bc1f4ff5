//! Prints the seed specifications for tests and fuzzing, one per line; `fuzz/seed` makes its first corpora from them.

fn main() {
    for spec in gentle_aqm::registry::samples() {
        println!("{spec}");
    }
}
