//! The Python package, tested by pytest with the extension and the command of the same build.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment that `tests/install` makes.
fn environment() -> PathBuf {
    let script = here().join("tests/install");
    let output = Command::new(&script).arg("--path").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let text = String::from_utf8(output.stdout).unwrap();
    let folder = PathBuf::from(text.trim());
    assert!(
        folder.join("installed").exists(),
        "the Python packages of the tests are not installed; run crates/python/tests/install"
    );
    folder
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folder that cargo puts the results of this build into.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().to_owned()
}

/// The command of this build. Cargo builds it only for tests of its own crate, so it may be missing or old if tests
/// were chosen by name.
fn command() -> PathBuf {
    built().join("gentle").with_extension(std::env::consts::EXE_EXTENSION)
}

/// What to do if the command is missing or older than the code.
fn advice() -> Option<&'static str> {
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let built_at = changed(&command());
    let mut folders = vec![here().join("..")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() && !path.ends_with("python") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && path.iter().any(|part| part == "src")
                && changed(&path) > built_at
            {
                return Some(
                    "the command gentle is missing or older than the code; this builds it as well: \
                     cargo test --workspace --locked --test python --test install",
                );
            }
        }
    }
    None
}

/// A folder with the package as a wheel installs it.
fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("gentle");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(here().join("python/gentle")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    let library = built().join(format!("deps/{DLL_PREFIX}_core{DLL_SUFFIX}"));
    let extension = package.join("_core.abi3.so");
    fs::copy(&library, extension).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    folder
}

/// Runs a program of the environment in this crate's folder.
fn run(program: &str, args: &[&str], prepare: impl FnOnce(&mut Command) -> &mut Command) {
    let mut command = Command::new(environment().join("bin").join(program));
    let command = prepare(command.args(args).current_dir(here()));
    let status = command.status().unwrap();
    if !status.success() {
        let hint = advice().unwrap_or_default();
        panic!("{program} {}: {status}. {hint}", args.join(" "));
    }
}

#[test]
fn the_tests_in_python_pass() {
    let package = package();
    // Doctests of the package next to the extension.
    let args = ["-q", "-p", "no:cacheprovider", "tests", "--pyargs", "gentle"];
    run("pytest", &args, |command| {
        command
            .env("PYTHONPATH", package.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // Notebooks keep a history of what they ran.
            .env("IPYTHONDIR", package.path().join("ipython"))
            .env("GENTLE", self::command())
    });
}

#[test]
fn the_code_is_formatted_and_without_lints() {
    run("ruff", &["format", "--check", "--no-cache", "--quiet"], |command| command);
    run("ruff", &["check", "--no-cache", "--quiet"], |command| command);
}

#[test]
fn types_are_complete() {
    run("mypy", &["--strict", "--cache-dir", "/dev/null", "python"], |command| command);
}
