//! Gives the testbed the identity of what decides its results, besides the kernel and its modules.

fn main() -> std::io::Result<()> {
    let crates = ["units", "wire", "capture", "aqm", "tcp", "experiment", "rexmit"];
    gentle_identity::emit(&crates, &["libm", "rand", "rand_xoshiro"])
}
