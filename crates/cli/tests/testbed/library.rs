//! Library interface of the testbed: files, modules, several machines at a time.

use crate::kernel::{kernel, machine};
use gentle_testbed::Command;
use gentle_testbed::build::{Cache, modules};
use gentle_testbed::machine::{MachineError, run_all};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

fn sh(script: &str) -> Command {
    Command { argv: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()] }
}

static NOT_STOPPED: AtomicBool = AtomicBool::new(false);

#[test]
fn a_directory_of_the_host_can_be_written() {
    let Some(kernel) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    let mut machine = machine(kernel);
    machine.files = Some(folder.path().to_owned());
    let outcome = machine.run(sh("echo from within >/run/gentle/files/note"), &NOT_STOPPED, &|_| {});
    let outcome = outcome.unwrap();
    assert_eq!(outcome.answer.status, 0, "{outcome:?}");
    assert!(outcome.warnings().is_empty(), "{:?}", outcome.warnings());
    let note = std::fs::read_to_string(folder.path().join("note")).unwrap();
    assert_eq!(note, "from within\n");
}

#[test]
fn machines_run_side_by_side_and_answer_in_order() {
    let Some(kernel) = kernel() else { return };
    let tasks = (0..4).map(|n| (machine(kernel.clone()), sh(&format!("sleep {}; echo {n}", 100 - n))));
    let ended = Mutex::new(Vec::new());
    let results = run_all(tasks.collect(), NonZero::new(2).unwrap(), &NOT_STOPPED, &|number, fraction| {
        if fraction == 1.0 {
            ended.lock().unwrap().push(number);
        }
    });
    let answers: Vec<_> = results.into_iter().map(|result| result.unwrap().answer.stdout).collect();
    assert_eq!(answers, [b"0\n", b"1\n", b"2\n", b"3\n"]);
    let mut ended = ended.into_inner().unwrap();
    ended.sort();
    assert_eq!(ended, [0, 1, 2, 3]);
}

#[test]
fn nothing_is_begun_after_a_stop() {
    let Some(kernel) = kernel() else { return };
    let tasks = vec![(machine(kernel), sh("true"))];
    let results = run_all(tasks, NonZero::<usize>::MIN, &AtomicBool::new(true), &|_, _| {});
    assert!(matches!(results[..], [Err(MachineError::Stopped)]), "{results:?}");
}

#[test]
fn modules_are_built_once_and_loaded() {
    let Some(kernel) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    let sources = folder.path().join("hello");
    std::fs::create_dir(&sources).unwrap();
    std::fs::write(sources.join("Kbuild"), "obj-m += hello.o\n").unwrap();
    std::fs::write(sources.join("hello.c"), HELLO).unwrap();
    let cache = Cache::of_user().unwrap();
    let built = modules(&kernel, &sources, &cache, &NOT_STOPPED).unwrap();
    assert_eq!(names(&built), ["hello.ko"]);
    assert_eq!(built, modules(&kernel, &sources, &cache, &NOT_STOPPED).unwrap());
    assert_eq!(std::fs::read_dir(&sources).unwrap().count(), 2, "the sources stay as they were");

    let mut machine = machine(kernel);
    machine.modules = built;
    let outcome = machine.run(sh("cut -d' ' -f1 /proc/modules"), &NOT_STOPPED, &|_| {}).unwrap();
    assert_eq!(outcome.answer.stdout, b"hello\n");
    // The module warns on purpose.
    let warnings = outcome.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("hello"), "{warnings:?}");
}

const HELLO: &str = r#"
#include <linux/module.h>
static int __init hello(void)
{
    WARN(1, "hello from a module\n");
    return 0;
}
module_init(hello);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("says hello");
"#;

#[test]
fn our_queue_disciplines_load_without_a_warning() {
    let Some(kernel) = kernel() else { return };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    let cache = Cache::of_user().unwrap();
    let built = modules(&kernel, &sources, &cache, &NOT_STOPPED).unwrap();
    let mut machine = machine(kernel);
    machine.modules =
        built.into_iter().filter(|path| names(std::slice::from_ref(path))[0].starts_with("sch_")).collect();
    let loaded = names(&machine.modules).join(" ");
    assert_eq!(loaded, "sch_gentle.ko sch_gsp.ko sch_redfavor.ko sch_spa.ko");
    let outcome = machine.run(sh("cut -d' ' -f1 /proc/modules | sort"), &NOT_STOPPED, &|_| {});
    let outcome = outcome.unwrap();
    assert_eq!(outcome.answer.stdout, b"sch_gentle\nsch_gsp\nsch_redfavor\nsch_spa\n");
    assert!(outcome.warnings().is_empty(), "{:?}", outcome.warnings());
}

#[test]
fn a_module_that_does_not_compile_is_explained() {
    let Some(kernel) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("Kbuild"), "obj-m += wrong.o\n").unwrap();
    std::fs::write(folder.path().join("wrong.c"), "int wrong(void) { return; no }\n").unwrap();
    let cache = Cache::of_user().unwrap();
    let error = modules(&kernel, folder.path(), &cache, &NOT_STOPPED).unwrap_err().to_string();
    assert!(error.contains("wrong.c:1"), "{error}");
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    let names = paths.iter().map(|path| Path::file_name(path).unwrap().to_str().unwrap());
    names.collect()
}
