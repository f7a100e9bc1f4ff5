//! Gives the simulator the identity of what decides its results.

fn main() -> std::io::Result<()> {
    let crates = ["units", "aqm", "tcp", "experiment"];
    gentle_identity::emit(&crates, &["libm", "rand", "rand_xoshiro"])
}
