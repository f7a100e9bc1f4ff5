//! Configures and compiles a kernel tree in place.

use super::{BuildError, Flavour, Observer, Stage, process};
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// `make` for user-mode Linux on x86-64, in `tree`.
pub(super) fn make(tree: &Path) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(tree).args(["ARCH=um", "SUBARCH=x86_64"]);
    make
}

/// Configures the tree: tinyconfig with the fragments of the flavour.
pub(super) fn configure(
    tree: &Path,
    flavour: Flavour,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<(), BuildError> {
    observer.began(Stage::Configure);
    process::run(make(tree).arg("tinyconfig"), stop, &mut |_| {})?;
    let config = tree.join(".config");
    let mut text = fs::read_to_string(&config).map_err(|error| BuildError::file(&config, error))?;
    // The last setting of an option counts, so fragments can be appended.
    for fragment in flavour.fragments() {
        text.push_str(fragment);
    }
    fs::write(&config, text).map_err(|error| BuildError::file(&config, error))?;
    process::run(make(tree).arg("olddefconfig"), stop, &mut |_| {})?;
    let text = fs::read_to_string(&config).map_err(|error| BuildError::file(&config, error))?;
    for option in refused(flavour, &text) {
        observer.note(&format!("this kernel has no {option}; features that need it will fail"));
    }
    Ok(())
}

/// Options of the fragments that a configuration does not have.
fn refused<'a>(flavour: Flavour, config: &str) -> Vec<&'a str> {
    let set: Vec<&str> = config.lines().collect();
    let options = flavour.fragments().iter().flat_map(|fragment| fragment.lines());
    options
        .filter(|line| match line.split_once('=') {
            Some((name, "n")) => set.iter().any(|line| line.split_once('=').is_some_and(|(set, _)| set == name)),
            Some(_) => !line.starts_with('#') && !set.contains(line),
            None => false,
        })
        .collect()
}

/// Compiles the kernel and prepares the tree for building modules.
pub(super) fn compile(
    tree: &Path,
    flavour: Flavour,
    jobs: NonZero<usize>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<(), BuildError> {
    observer.began(Stage::Compile);
    let mut objects = 0;
    let mut line = |line: &str| {
        // The kernel's build prints such a line for each compiled file.
        if line.starts_with("  CC ") {
            objects += 1;
            observer.reached((f64::from(objects) / expected_objects(flavour)).min(1.0));
        }
    };
    let mut make = make(tree);
    make.arg(format!("-j{jobs}")).args(["linux", "modules_prepare"]);
    process::run(&mut make, stop, &mut line)
}

/// Number of files that 7.2.12 compiles; used only for the progress display.
fn expected_objects(flavour: Flavour) -> f64 {
    match flavour {
        Flavour::Plain => 935.0,
        Flavour::Debug => 975.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_a_kernel_lacks_are_found() {
        let fragments = Flavour::Plain.fragments().iter();
        let lines = fragments.flat_map(|fragment| fragment.lines());
        let set: Vec<&str> = lines.filter(|line| !line.ends_with("=n")).collect();
        let mut config = set.join("\n");
        assert_eq!(refused(Flavour::Plain, &config), [""; 0]);
        config = config.replace("CONFIG_NET_SCH_CAKE=y", "# CONFIG_NET_SCH_CAKE is not set");
        config.push_str("\nCONFIG_SSL=y\n");
        assert_eq!(refused(Flavour::Plain, &config), ["CONFIG_SSL=n", "CONFIG_NET_SCH_CAKE=y"]);
    }
}
