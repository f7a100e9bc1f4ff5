//! Strips a built tree to what is needed to run the kernel and to build modules.

use super::BuildError;
use std::fs;
use std::io;
use std::path::Path;

/// Directories that are kept completely: headers, the build system, its programs.
const WHOLE: [&str; 4] = ["include", "scripts", "arch/um/include", "arch/x86/include"];

/// Directories in which headers and build files are kept at any depth.
const ARCHITECTURES: [&str; 2] = ["arch/um", "arch/x86"];

/// Other files that are kept.
const FILES: [&str; 4] = ["linux", ".config", "Module.symvers", "Makefile"];

/// Removes all other files. Modules link against the symbols of the kernel itself, so vmlinux.symvers is renamed to
/// Module.symvers, where the module build looks for it.
pub(super) fn tidy(tree: &Path) -> Result<(), BuildError> {
    let symbols = tree.join("vmlinux.symvers");
    fs::rename(&symbols, tree.join("Module.symvers")).map_err(|error| BuildError::file(&symbols, error))?;
    below(tree, Path::new("")).map_err(|error| BuildError::file(tree, error))?;
    Ok(())
}

/// Tidies a directory; returns whether anything is left in it.
fn below(tree: &Path, folder: &Path) -> io::Result<bool> {
    let mut left = false;
    for entry in fs::read_dir(tree.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let full = tree.join(&path);
        if WHOLE.iter().any(|whole| path == Path::new(whole)) {
            left = true;
        } else if entry.file_type()?.is_dir() {
            if below(tree, &path)? {
                left = true;
            } else {
                fs::remove_dir(full)?;
            }
        } else if kept(&path) {
            left = true;
        } else {
            fs::remove_file(full)?;
        }
    }
    Ok(left)
}

fn kept(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let describes = name.starts_with("Makefile") || name.starts_with("Kbuild");
    let architecture = ARCHITECTURES.iter().any(|folder| path.starts_with(folder));
    let top = path.components().count() == 1;
    FILES.iter().any(|file| path == Path::new(file))
        || (describes && (top || architecture))
        || (name.ends_with(".h") && architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_the_build_system_stay() {
        let folder = tempfile::TempDir::new().unwrap();
        let tree = folder.path();
        let files = [
            "linux",
            "vmlinux.symvers",
            "Makefile",
            "net/core/dev.o",
            "net/Makefile",
            "include/linux/skbuff.h",
            "scripts/mod/modpost",
            "arch/um/Makefile",
            "arch/um/kernel/time.c",
            "arch/x86/um/shared/sysdep/ptrace_user.h",
            "arch/mips/Makefile",
        ];
        for file in files {
            fs::create_dir_all(tree.join(file).parent().unwrap()).unwrap();
            fs::write(tree.join(file), "").unwrap();
        }
        tidy(tree).unwrap();
        let there = |file: &str| tree.join(file).exists();
        assert!(there("linux") && there("Makefile") && there("Module.symvers"));
        assert!(there("include/linux/skbuff.h") && there("scripts/mod/modpost") && there("arch/um/Makefile"));
        assert!(there("arch/x86/um/shared/sysdep/ptrace_user.h"));
        assert!(!there("arch/mips"));
        assert!(!there("net") && !there("arch/um/kernel") && !there("vmlinux.symvers"));
    }
}
