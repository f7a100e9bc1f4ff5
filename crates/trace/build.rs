//! Gives the analysis the identity of what decides its results.

fn main() -> std::io::Result<()> {
    gentle_identity::emit(&["units", "wire", "capture", "model"], &["libm"])
}
