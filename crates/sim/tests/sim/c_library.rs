//! Records do not depend on the C library, although musl's mathematical functions differ from glibc's in the last bit.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "make test-all"]
fn full_size_records_with_musl_are_those_with_glibc() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |target: &str| {
        let output = Command::new(env!("CARGO"))
            .current_dir(&root)
            .args(["run", "--quiet", "--release", "--locked", "-p", "gentle-sim"])
            .args(["--example", "records", "--target", target])
            .args(["--target-dir", "target/c-library"])
            .args(["--", "crates/sim/tests/every-kind.toml"])
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "rustup target add {target}?\n{complaint}");
        String::from_utf8(output.stdout).unwrap()
    };
    let [glibc, musl] =
        ["gnu", "musl"].map(|library| of(&format!("{}-unknown-linux-{library}", std::env::consts::ARCH)));
    assert!(glibc.lines().count() > 20);
    for (glibc, musl) in glibc.lines().zip(musl.lines()) {
        let same = glibc.bytes().zip(musl.bytes()).take_while(|(a, b)| a == b).count();
        let around = |text: &str| text[same.saturating_sub(60)..text.len().min(same + 60)].to_owned();
        assert_eq!(around(glibc), around(musl));
    }
    assert_eq!(glibc, musl);
}
