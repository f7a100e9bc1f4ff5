//! Gentle's own kernel modules for the machines.

use crate::usage::Usage;
use anyhow::Context;
use gentle_testbed::build::{Cache, modules, plugins};
use gentle_testbed::machine::Machine;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Directories of the module source, relative to an ancestor of the program's directory: in the source tree of a build,
/// and as installed by `make install`.
const BESIDE_PROGRAM: [&str; 2] = ["kernel", "share/gentle/kernel"];

/// Directory of DKMS sources, and the prefix of gentle's directory there (kernel/dkms.conf).
const DKMS: &str = "/usr/src";
const DKMS_NAME: &str = "gentle-qdiscs-";

/// Directory below `kernel/` of the module that feeds packets to queues.
const REPLAY: &str = "testing/replay";

/// Directory given with `--modules`, if it contains the source.
pub(super) fn named(folder: &Path) -> anyhow::Result<PathBuf> {
    if holds_source(folder) {
        return Ok(folder.to_owned());
    }
    let folder = folder.display();
    Err(Usage(format!("--modules {folder}: expected the folder kernel/ of gentle's source, with Kbuild and sch_spa.c"))
        .into())
}

/// Source of the modules that came with this program.
pub(super) fn found() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(fs::canonicalize).ok();
    let above = program.iter().flat_map(|program| program.ancestors().skip(1));
    let beside = above.flat_map(|folder| BESIDE_PROGRAM.map(|name| folder.join(name)));
    beside.chain(of_dkms()).find(|folder| holds_source(folder))
}

/// Sources in DKMS, the latest version first.
fn of_dkms() -> Vec<PathBuf> {
    let entries = fs::read_dir(DKMS).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(DKMS_NAME))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders.reverse();
    folders
}

fn holds_source(folder: &Path) -> bool {
    ["Kbuild", "Makefile", "sch_spa.c"].iter().all(|name| folder.join(name).is_file())
}

/// Loads the module that feeds schedules to queues into the machine, before the other modules; builds it if it is not
/// in the cache. Its source is in the source tree only.
pub(super) fn load_replay(machine: &mut Machine, source: &Path, stop: &AtomicBool) -> anyhow::Result<()> {
    let replay = source.join(REPLAY);
    if !replay.is_dir() {
        let source = source.display();
        return Err(Usage(format!(
            "{source}: the module that feeds packets to queues ({REPLAY}) is missing; set --modules to the folder \
             kernel/ of gentle's source tree"
        ))
        .into());
    }
    let built = modules(&machine.kernel, &replay, &Cache::of_user()?, stop)
        .with_context(|| format!("{}: the module cannot be built", replay.display()))?;
    machine.modules.splice(0..0, built);
    Ok(())
}

/// Loads gentle's modules into the machine; builds them if they are not in the cache.
pub(super) fn load(machine: &mut Machine, source: &Path, stop: &AtomicBool) -> anyhow::Result<()> {
    let cache = Cache::of_user()?;
    let trouble = || format!("{}: gentle's kernel modules cannot be built", source.display());
    machine.modules = modules(&machine.kernel, source, &cache, stop).with_context(trouble)?;
    machine.plugins = plugins(source, &cache, stop).with_context(trouble)?;
    Ok(())
}
