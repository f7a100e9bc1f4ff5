//! Programs that a kernel build needs.

use super::BuildError;
use std::path::Path;

/// Programs, each with the Debian package that has it.
const NEEDED: [(&str, &str); 6] =
    [("gcc", "gcc"), ("ld", "binutils"), ("make", "make"), ("flex", "flex"), ("bison", "bison"), ("bc", "bc")];

/// Fails with the list of all missing packages.
pub(super) fn check() -> Result<(), BuildError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(BuildError::Processor(std::env::consts::ARCH));
    }
    let mut missing: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| !installed(program)).map(|(_, package)| *package).collect();
    if !Path::new("/usr/include/stdio.h").exists() {
        missing.push("libc6-dev");
    }
    if missing.is_empty() { Ok(()) } else { Err(BuildError::Tools(missing)) }
}

/// Whether a program is found in PATH.
pub(super) fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
