//! Downloads the kernel source package with apt and dpkg, without root and without changing their state.
//!
//! Mirror and keys come from the host's Debian sources; only the suite differs.

use super::{BuildError, NoSource, process, tools};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Suite that has the package; also used on earlier releases, since a source package works on any.
const SUITE: &str = "trixie-backports";
const PACKAGE: &str = "linux-source-7.2";

/// Downloads the package and unpacks it into `folder`.
pub(super) fn debian(folder: &Path, stop: &AtomicBool) -> Result<(), BuildError> {
    for program in ["apt-get", "dpkg"] {
        if !tools::installed(program) {
            return Err(BuildError::NoSource(NoSource::NoProgram(program)));
        }
    }
    let source = debian_source(Path::new("/etc/apt"));
    let source = source.ok_or(BuildError::NoSource(NoSource::NoMirror))?;
    for part in ["lists/partial", "cache/archives/partial"] {
        let path = folder.join(part);
        fs::create_dir_all(&path).map_err(|error| BuildError::file(&path, error))?;
    }
    let list = folder.join("suite.sources");
    fs::write(&list, source).map_err(|error| BuildError::file(&list, error))?;
    let option = |name: &str, path: &Path| format!("{name}={}", path.display());
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(["-q", "-o", &option("Dir::Etc::sourcelist", &list)])
            .args(["-o", "Dir::Etc::sourceparts=-"])
            .args(["-o", &option("Dir::State::lists", &folder.join("lists"))])
            .args(["-o", &option("Dir::Cache", &folder.join("cache"))])
            // The cache belongs to the user; apt's sandbox user may not write there.
            .args(["-o", "APT::Sandbox::User="])
            .args(arguments)
            .current_dir(folder);
        apt
    };
    process::run(&mut apt(&["update"]), stop, &mut |_| {})?;
    process::run(&mut apt(&["download", PACKAGE]), stop, &mut |_| {})?;
    let package = package_in(folder)?;
    let mut unpack = Command::new("dpkg");
    unpack.arg("-x").arg(&package).arg(folder);
    process::run(&mut unpack, stop, &mut |_| {})
}

fn package_in(folder: &Path) -> Result<std::path::PathBuf, BuildError> {
    let entries = fs::read_dir(folder).map_err(|error| BuildError::file(folder, error))?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| BuildError::NoPackage(folder.to_owned()))
}

/// A Debian source of the host's configuration, with the suite replaced.
fn debian_source(apt: &Path) -> Option<String> {
    let mut files: Vec<_> = fs::read_dir(apt.join("sources.list.d"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    files.push(apt.join("sources.list"));
    files.iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        match path.extension()?.to_str()? {
            "sources" => text.split("\n\n").find_map(of_stanza),
            "list" => text.lines().find_map(of_line),
            _ => None,
        }
    })
}

/// Parses a deb822-style stanza of sources.list(5).
fn of_stanza(stanza: &str) -> Option<String> {
    let field = |name: &str| {
        stanza.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let uri = field("URIs")?.split_whitespace().find(|uri| is_debian(uri))?;
    let enabled = field("Enabled").is_none_or(|value| value != "no");
    let binary = field("Types")?.split_whitespace().any(|kind| kind == "deb");
    (enabled && binary).then(|| with(uri, field("Signed-By")))
}

/// Parses a one-line entry of sources.list(5).
fn of_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let uri = rest.split_whitespace().next().filter(|uri| is_debian(uri))?;
    let key = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    Some(with(uri, key))
}

/// Whether a URI is a Debian mirror, which ends in `/debian`; security mirrors have no backports.
fn is_debian(uri: &str) -> bool {
    uri.trim_end_matches('/').ends_with("/debian")
}

fn with(uri: &str, key: Option<&str>) -> String {
    let mut stanza = format!("Types: deb\nURIs: {uri}\nSuites: {SUITE}\nComponents: main\n");
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        stanza.push_str(&format!("Signed-By: {key}\n"));
    }
    stanza
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_sources_are_understood() {
        let stanza = "Types: deb deb-src\n# a remark\nURIs: https://mirror.example/debian/\nSuites: bookworm \
                      bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/k.gpg";
        let line = "deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] https://mirror.example/debian/ bookworm main";
        let wanted = "Types: deb\nURIs: https://mirror.example/debian/\nSuites: trixie-backports\nComponents: main\n\
                      Signed-By: /usr/share/keyrings/k.gpg\n";
        assert_eq!(of_stanza(stanza).as_deref(), Some(wanted));
        assert_eq!(of_line(line).as_deref(), Some(wanted));
    }

    #[test]
    fn other_sources_are_passed_over() {
        assert_eq!(of_line("# deb https://mirror.example/debian bookworm main"), None);
        assert_eq!(of_line("deb https://mirror.example/debian-security bookworm-security main"), None);
        assert_eq!(of_stanza("Types: deb-src\nURIs: https://mirror.example/debian"), None);
        assert_eq!(of_stanza("Types: deb\nURIs: https://mirror.example/debian\nEnabled: no"), None);
    }
}
