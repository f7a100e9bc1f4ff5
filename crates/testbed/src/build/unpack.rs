//! Unpacks a kernel source, without files that the testbed's configurations never compile.

use super::{BuildError, Observer, Source, SourceProblem, Stage};
use flate2::read::GzDecoder;
use liblzma::read::XzDecoder;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tar::Archive;

/// Directories of which only Kconfig files and Makefiles are kept: most of the source, none of it compiled.
const DESCRIBED_ONLY: [&str; 17] = [
    "Documentation",
    "drivers/accel",
    "drivers/ata",
    "drivers/gpu",
    "drivers/hid",
    "drivers/iio",
    "drivers/infiniband",
    "drivers/media",
    "drivers/misc",
    "drivers/net/ethernet",
    "drivers/net/wireless",
    "drivers/scsi",
    "drivers/staging",
    "drivers/usb",
    "rust",
    "sound",
    "tools/testing",
];

/// Architectures that take part in the build.
const ARCHITECTURES: [&str; 2] = ["um", "x86"];

/// Unpacks or copies `source` into `into`, and returns its version.
pub(super) fn unpack(
    source: &Source,
    into: &Path,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<String, BuildError> {
    observer.began(Stage::Unpack);
    match source {
        Source::Archive(path) => archive(path, into, observer, stop)?,
        Source::Directory(path) => copy(path, Path::new(""), into, stop)?,
    }
    let makefile = into.join("Makefile");
    let makefile = fs::read_to_string(&makefile)
        .map_err(|error| BuildError::source(source.path(), SourceProblem::NoKernelMakefile(error)))?;
    source.version(&makefile)
}

fn archive(path: &Path, into: &Path, observer: &dyn Observer, stop: &AtomicBool) -> Result<(), BuildError> {
    let wrong = |error: io::Error| BuildError::source(path, error);
    let file = File::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len().max(1);
    let position = AtomicU64::new(0);
    let counted = Counted { inner: file, position: &position };
    let reader: Box<dyn Read + '_> = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => Box::new(XzDecoder::new(counted)),
        Some("gz" | "tgz") => Box::new(GzDecoder::new(counted)),
        Some("tar") => Box::new(counted),
        _ => {
            return Err(BuildError::source(path, SourceProblem::UnknownArchive));
        }
    };
    let mut archive = Archive::new(reader);
    for entry in archive.entries().map_err(wrong)? {
        if stop.load(Ordering::Relaxed) {
            return Err(BuildError::Stopped);
        }
        let mut entry = entry.map_err(wrong)?;
        observer.reached(position.load(Ordering::Relaxed) as f64 / length as f64);
        let inner = below_top(&entry.path().map_err(wrong)?);
        let kind = entry.header().entry_type();
        // Hard links are skipped: their targets would include the top directory, and kernel archives have none.
        let Some(inner) = inner.filter(|inner| kind.is_dir() || wanted(inner)) else {
            continue;
        };
        if !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
            continue;
        }
        let target = into.join(&inner);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| BuildError::file(parent, error))?;
        }
        entry.unpack(&target).map_err(|error| BuildError::file(&target, error))?;
    }
    Ok(())
}

/// Path of an archive entry without its first component; `None` for the top directory and for paths with `..` or a
/// root.
fn below_top(path: &Path) -> Option<PathBuf> {
    let mut components = path.components().filter(|c| *c != Component::CurDir);
    components.next()?;
    let rest: PathBuf = components.collect();
    let plain = rest.components().all(|c| matches!(c, Component::Normal(_)));
    (plain && rest != Path::new("")).then_some(rest)
}

/// Whether the build may read the file.
fn wanted(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if ["Kconfig", "Makefile", "Kbuild"].iter().any(|start| name.starts_with(start)) {
        return true;
    }
    let mut components = path.components().map(|component| component.as_os_str());
    if components.next().is_some_and(|top| top == "arch")
        && let Some(architecture) = components.next()
        && components.next().is_some()
    {
        return ARCHITECTURES.iter().any(|wanted| architecture == *wanted);
    }
    !DESCRIBED_ONLY.iter().any(|folder| path.starts_with(folder))
}

/// Copies the wanted files of `from`/`below`.
fn copy(from: &Path, below: &Path, into: &Path, stop: &AtomicBool) -> Result<(), BuildError> {
    let folder = from.join(below);
    let wrong = |error: io::Error| BuildError::source(&folder, error);
    for entry in fs::read_dir(&folder).map_err(wrong)? {
        if stop.load(Ordering::Relaxed) {
            return Err(BuildError::Stopped);
        }
        let entry = entry.map_err(wrong)?;
        let inner = below.join(entry.file_name());
        let (source, target) = (from.join(&inner), into.join(&inner));
        let kind = entry.file_type().map_err(wrong)?;
        let failed = |error: io::Error| BuildError::file(&target, error);
        if inner == Path::new(".git") {
            continue;
        } else if kind.is_dir() {
            fs::create_dir_all(&target).map_err(failed)?;
            copy(from, &inner, into, stop)?;
        } else if kind.is_symlink() && wanted(&inner) {
            let link = fs::read_link(&source).map_err(|error| BuildError::source(&source, error))?;
            std::os::unix::fs::symlink(link, &target).map_err(failed)?;
        } else if kind.is_file() && wanted(&inner) {
            fs::copy(&source, &target).map_err(failed)?;
        }
    }
    Ok(())
}

/// Counts the bytes read.
struct Counted<'a, R> {
    inner: R,
    position: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(bytes)?;
        self.position.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_archives_stay_inside() {
        assert_eq!(below_top(Path::new("linux/net/core/dev.c")), Some("net/core/dev.c".into()));
        assert_eq!(below_top(Path::new("./linux/Makefile")), Some("Makefile".into()));
        assert_eq!(below_top(Path::new("linux")), None);
        assert_eq!(below_top(Path::new("linux/../../etc/passwd")), None);
    }

    #[test]
    fn what_is_never_compiled_is_left_out() {
        for path in [
            "net/sched/sch_fifo.c",
            "arch/um/Kconfig",
            "arch/x86/um/ldt.c",
            "drivers/gpu/drm/Kconfig",
            "Documentation/Kconfig",
            "arch/Kconfig",
        ] {
            assert!(wanted(Path::new(path)), "{path}");
        }
        for path in ["drivers/gpu/drm/drm_drv.c", "arch/arm/kernel/setup.c", "Documentation/index.rst", "sound/last.c"]
        {
            assert!(!wanted(Path::new(path)), "{path}");
        }
    }
}
