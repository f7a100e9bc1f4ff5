//! Sources of the kernel.

use super::cache::numbers;
use super::{BuildError, NoSource, Observer, SourceProblem, Stage, download};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// First supported version: user-mode Linux 6.12 stops at the first program that it runs.
const OLDEST: [u64; 2] = [7, 2];

/// Source of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Archive: `.tar`, `.tar.xz` or `.tar.gz`.
    Archive(PathBuf),
    /// Source tree; copied, not changed.
    Directory(PathBuf),
}

impl Source {
    /// Source at a path given by the user.
    pub fn named(path: &Path) -> Result<Source, BuildError> {
        let kind = fs::metadata(path).map_err(|error| BuildError::source(path, error))?;
        if kind.is_dir() {
            if path.join("Makefile").is_file() && path.join("arch/um").is_dir() {
                return Ok(Source::Directory(path.to_owned()));
            }
            return Err(BuildError::source(path, SourceProblem::NotLinux));
        }
        Ok(Source::Archive(path.to_owned()))
    }

    /// Newest source that the distribution has installed (Debian and Ubuntu: `/usr/src/linux-source-*.tar.xz`).
    pub fn installed() -> Option<Source> {
        Source::newest_in(Path::new("/usr/src"))
    }

    fn newest_in(folder: &Path) -> Option<Source> {
        fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                let version = name.strip_prefix("linux-source-")?.strip_suffix(".tar.xz")?;
                let version = numbers(version);
                (version[..] >= OLDEST[..]).then(|| (version, folder.join(&name)))
            })
            .max()
            .map(|(_, path)| Source::Archive(path))
    }

    /// Installed source, or else the distribution's package, downloaded into `folder`.
    pub(super) fn of_distribution(
        folder: &Path,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Source, BuildError> {
        if let Some(source) = Source::installed() {
            return Ok(source);
        }
        observer.began(Stage::Download);
        download::debian(folder, stop)?;
        Source::newest_in(&folder.join("usr/src")).ok_or(BuildError::NoSource(NoSource::EmptyPackage))
    }

    /// Path for messages.
    pub(super) fn path(&self) -> &Path {
        match self {
            Source::Archive(path) | Source::Directory(path) => path,
        }
    }

    /// Version from the tree's Makefile, if it is supported.
    pub(super) fn version(&self, makefile: &str) -> Result<String, BuildError> {
        let value = |name: &str| {
            makefile.lines().find_map(|line| {
                let (key, value) = line.split_once('=')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        };
        let (Some(version), Some(patchlevel), Some(sublevel)) =
            (value("VERSION"), value("PATCHLEVEL"), value("SUBLEVEL"))
        else {
            return Err(BuildError::source(self.path(), SourceProblem::NoVersion));
        };
        let extra = value("EXTRAVERSION").unwrap_or_default();
        let version = format!("{version}.{patchlevel}.{sublevel}{extra}");
        if numbers(&version)[..] < OLDEST[..] {
            let problem = SourceProblem::TooOld { version };
            return Err(BuildError::source(self.path(), problem));
        }
        if version.contains('/') {
            let problem = SourceProblem::SlashInVersion;
            return Err(BuildError::source(self.path(), problem));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(makefile: &str) -> Result<String, BuildError> {
        Source::Directory(PathBuf::from("linux")).version(makefile)
    }

    #[test]
    fn versions_are_read_from_the_makefile() {
        let makefile = "# SPDX\nVERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 12\nEXTRAVERSION =\nNAME = x\n";
        assert_eq!(version(makefile).unwrap(), "7.2.12");
        let makefile = "VERSION = 7\nPATCHLEVEL = 10\nSUBLEVEL = 0\nEXTRAVERSION = -rc1\n";
        assert_eq!(version(makefile).unwrap(), "7.10.0-rc1");
    }

    #[test]
    fn old_and_foreign_sources_are_refused() {
        let makefile = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 95\nEXTRAVERSION =\n";
        assert_eq!(
            version(makefile).unwrap_err().to_string(),
            "linux: Linux 6.12.95 is too old: 7.2 or later was expected"
        );
        let foreign = version("all:\n").unwrap_err().to_string();
        assert!(foreign.contains("not the source"), "{foreign}");
    }

    #[test]
    fn the_newest_installed_source_is_taken() {
        let folder = tempfile::TempDir::new().unwrap();
        assert_eq!(Source::newest_in(folder.path()), None);
        for name in ["linux-source-7.2.tar.xz", "linux-source-7.10.tar.xz", "linux-source-6.1.tar.xz", "linux-config-9"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let newest = folder.path().join("linux-source-7.10.tar.xz");
        assert_eq!(Source::newest_in(folder.path()), Some(Source::Archive(newest)));
    }
}
