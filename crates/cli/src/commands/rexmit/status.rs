//! The command `gentle rexmit status`, and the summary at the end of `gentle rexmit`.

use super::kernel;
use crate::args::{RUN, RexmitStatusArgs};
use crate::output::{Terminal, definitions, print, warn};
use gentle_rexmit::{Status, kernel_engine, wire};
use gentle_units::foreign::{plain, visible_json};
use gentle_units::text::plural;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Maximum number of paths in a table; the JSON has all.
const MAX_PATHS: usize = 20;

/// Prefix of the services' directories, followed by the device.
const SERVICES: &str = "gentle-rexmit-";

pub(super) fn run(args: &RexmitStatusArgs) -> anyhow::Result<ExitCode> {
    let mut running = Vec::new();
    for directory in args.run_dir.clone().map_or_else(run_dirs, |one| vec![one]) {
        running.extend(wire::running_engines(&directory, args.interface.as_deref())?);
    }
    // Pins are readable by root only. An interface selects the wire engine.
    let installed = match args.interface {
        Some(_) => Vec::new(),
        None => kernel_engine::status().unwrap_or_else(|error| {
            warn(&error.to_string());
            Vec::new()
        }),
    };
    if args.json {
        let mut all = serde_json::to_value(&running)?;
        if let Some(all) = all.as_array_mut() {
            all.extend(installed.iter().map(kernel::json));
        }
        print(&(visible_json(&serde_json::to_string_pretty(&all)?) + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for status in &running {
        write!(text, "{}{}", summary(status), paths(status))?;
    }
    for status in &installed {
        text.push_str(&kernel::text(status));
    }
    if running.is_empty() && installed.is_empty() {
        text.push_str("no engine is running\n");
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Directories with status sockets: the default of `--run-dir`, and one for each instance of
/// `deploy/systemd/gentle-rexmit@.service`.
fn run_dirs() -> Vec<PathBuf> {
    let own = PathBuf::from(RUN);
    let mut services: Vec<PathBuf> = own
        .parent()
        .and_then(|run| run.read_dir().ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(SERVICES))
        })
        .collect();
    services.sort();
    std::iter::once(own).chain(services).collect()
}

/// Summary of the counters, without the learned paths.
pub(super) fn summary(status: &Status) -> String {
    let c = &status.counters;
    let row = |name: &str, count: u64, meaning: &str| {
        (count > 0).then(|| [name.to_owned(), count.to_string(), meaning.to_owned()])
    };
    let always = |name: &str, count: u64, meaning: &str| Some([name.to_owned(), count.to_string(), meaning.to_owned()]);
    let (sent, late) = match status.dry_run {
        false => ("retransmissions sent", "handshakes answered after a retransmission"),
        true => ("retransmissions that would have been sent", "handshakes answered after a retransmission was due"),
    };
    let rows = [
        always("handshakes", c.syns + c.synacks, "SYNs and SYN/ACKs watched"),
        always("copies", c.copies, sent),
        row("duplicates", c.duplicates, "second packets sent for the setting duplicate"),
        row("answered after", c.answered_after_copy, late),
        row("rescued", c.rescued, "of these, the original was lost"),
        row("unneeded", c.spurious, "of these, the original was answered (spurious retransmission)"),
        row(
            "undecided",
            c.answered_after_copy.saturating_sub(c.rescued + c.spurious),
            "of these, not known, or not yet",
        ),
        row("unseen", c.answered_unseen, "handshakes whose answer took another path"),
        row("refused", c.resets, "handshakes ended by a reset"),
        row("reset", c.abandoned, "handshakes reset by the initiator"),
        row("undeliverable", c.undeliverable, "handshakes ended by an ICMP error"),
        row("unanswered", c.unanswered, "handshakes without an answer"),
        row("by the stack", c.stack_retransmissions, "handshakes that the TCP stack retransmitted itself"),
        row("held: rate", c.held_by_rate, "retransmissions suppressed by the setting budget"),
        row("held: share", c.held_by_share, "retransmissions suppressed by the setting share"),
        row("held: silence", c.held_by_silence, "retransmissions suppressed to unresponsive hosts"),
        row("held: spurious", c.held_by_spurious, "retransmissions suppressed to networks with too many spurious ones"),
        row("held: missed", c.held_by_missed, "retransmissions suppressed because the answer may have been missed"),
        row("with data", c.with_data, "packets ignored because they carry data"),
        row("damaged", c.not_copied, "packets ignored because of a wrong checksum or length"),
        row("malformed", c.malformed, "frames with inconsistent headers"),
        row("forgotten", c.evicted, "handshakes evicted because of the setting table"),
        row("missed", status.missed, "packets lost before the engine because they arrived too fast"),
        row("not sent", c.send_errors, "retransmissions that the system could not send"),
        row("pending", status.pending, "handshakes waiting for an answer"),
    ];
    let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1e3);
    let (known, most) = (seconds(c.saved_ms), seconds(c.saved_ms + c.saved_undecided_ms));
    let saved = match known == most {
        true => ["saved".to_owned(), known, "waiting time avoided".to_owned()],
        false => [
            "saved".to_owned(),
            format!("{known} to {most}"),
            "waiting time avoided; the second if all undecided copies were needed".to_owned(),
        ],
    };
    let unconfined = [
        (status.files_confined, "files", "not confined: this kernel has no Landlock"),
        (status.calls_confined, "system calls", "not confined: this system has no seccomp filters"),
    ];
    let unconfined = unconfined
        .into_iter()
        .filter(|(confined, ..)| !confined)
        .map(|(_, name, meaning)| [name.to_owned(), String::new(), meaning.to_owned()]);
    let rows = rows.into_iter().flatten().chain([saved]).chain(unconfined).collect();
    let width = Terminal::of_stdout().width;
    let interface = plain(&status.interface);
    format!("{interface}\n{}", definitions(rows, width))
}

fn paths(status: &Status) -> String {
    let mut paths: Vec<_> = status.paths.iter().collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.samples));
    let more = paths.len().saturating_sub(MAX_PATHS);
    let ms = |us: u64| us as f64 / 1e3;
    let rows = paths.iter().take(MAX_PATHS).map(|path| {
        [
            path.prefix.to_string(),
            format!("{:.1} ms", ms(path.srtt_us)),
            format!("± {:.1} ms, {}", ms(path.rttvar_us), plural(path.samples, "handshake", "handshakes")),
        ]
    });
    let table = definitions(rows.collect(), Terminal::of_stdout().width);
    match more {
        0 => table,
        more => format!("{table}  and {} (--json lists them)\n", plural(more as u64, "more network", "more networks")),
    }
}
