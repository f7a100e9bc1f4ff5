//! Completion of option values in shells.

use clap::Arg;
use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use gentle_aqm::{Kind, OptionSpec, Scheme, Spec, registry};
use gentle_experiment::{BUILTIN, Scenario};
use gentle_tcp::Profile;
use std::ffi::OsStr;
use std::path::Path;

/// Adds a completer to arguments for schemes, scenarios, knobs and network devices. clap itself completes paths and
/// fixed lists.
pub(super) fn with_completer(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default();
    let [name] = names else {
        return arg;
    };
    match name.as_str() {
        "SPEC" | "SCHEME" => arg.add(ArgValueCompleter::new(schemes)),
        "TYPE|FILE" => arg.add(ArgValueCompleter::new(traffic)),
        "KNOB=VALUE" => arg.add(ArgValueCompleter::new(knobs)),
        "DEV" => arg.add(ArgValueCompleter::new(devices)),
        _ => arg,
    }
}

fn candidate(value: String, help: &'static str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(StyledStr::from(help)))
}

/// Schemes; after a scheme and a space, the options of the scheme.
fn schemes(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    match written.rsplit_once(' ') {
        None => registry::listed()
            .filter(|scheme| scheme.name.starts_with(written))
            .map(|scheme| candidate(scheme.name.to_owned(), scheme.summary))
            .collect(),
        Some((before, last)) => match registry::for_device(before) {
            Ok(spec) => options(&spec)
                .flat_map(|option| words(option).map(move |word| (word, option.help)))
                .filter(|(word, _)| word.starts_with(last))
                .map(|(word, help)| candidate(format!("{before} {word}"), help))
                .collect(),
            Err(_) => Vec::new(),
        },
    }
}

/// Words that an option of a scheme may begin with: its keywords, or its name and `=`.
fn words(option: &'static OptionSpec) -> impl Iterator<Item = String> {
    let (keywords, name) = match option.kind {
        Kind::Keyword(words) => (words, None),
        _ => (&[][..], Some(format!("{}=", option.name))),
    };
    keywords.iter().map(|word| (*word).to_owned()).chain(name)
}

/// Options of a scheme and of its child that have not been given yet.
fn options(spec: &Spec) -> impl Iterator<Item = &'static OptionSpec> {
    let of = |scheme: &'static Scheme| scheme.options;
    let all: Vec<&Spec> = std::iter::successors(Some(spec), |spec| spec.child()).collect();
    let given = all.iter().flat_map(|spec| spec.options().given());
    let given: Vec<&str> = given.map(|(name, _)| name).collect();
    let schemes: Vec<&Scheme> = all.iter().map(|spec| spec.scheme()).collect();
    schemes.into_iter().flat_map(of).filter(move |option| !given.contains(&option.name))
}

/// Built-in scenarios, scenario files and flow lists.
fn traffic(written: &OsStr) -> Vec<CompletionCandidate> {
    let start = written.to_string_lossy();
    let types = BUILTIN.iter().filter(|name| name.starts_with(&*start));
    let mut candidates: Vec<CompletionCandidate> = types
        .map(|name| {
            let title = Scenario::builtin(name).map(|scenario| StyledStr::from(scenario.title));
            CompletionCandidate::new(*name).help(title)
        })
        .collect();
    let ending = |path: &Path| {
        let ending = path.extension().and_then(OsStr::to_str);
        matches!(ending, Some("toml" | "csv"))
    };
    candidates.extend(PathCompleter::file().filter(ending).complete(written));
    candidates
}

/// Knobs of a TCP profile.
fn knobs(written: &OsStr) -> Vec<CompletionCandidate> {
    let start = written.to_string_lossy();
    let known = Profile::knobs().iter();
    known
        .filter(|knob| knob.name.starts_with(&*start))
        .map(|knob| candidate(format!("{}=", knob.name), knob.help))
        .collect()
}

/// Network devices of this machine.
fn devices(written: &OsStr) -> Vec<CompletionCandidate> {
    let start = written.to_string_lossy();
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten();
    // Devices are links; files belong to the bonding driver.
    let links = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let names = links.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(&*start)).collect();
    names.sort();
    names.into_iter().map(CompletionCandidate::new).collect()
}
