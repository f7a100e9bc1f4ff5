//! The command `gentle qdisc`.

mod table;

use crate::args::{ApplyArgs, QdiscArgs, QdiscCommand, RemoveArgs, SetupArgs, ShowArgs};
use crate::interrupt;
use crate::output::{Terminal, note, print, warn};
use gentle_deploy::{
    Applied, ApplyError, Backing, DeviceQueues, Direction, Framing, Link, Plan, Present, Removed, Saved, Setup, Shaper,
    ShaperKind, StateDir, apply, backing_for, plan, present, remove, show,
};
use gentle_units::foreign::{visible, visible_json};
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Directory of the saved state, which disappears on reboot as the queues do.
const STATE: &str = "/run/gentle";

/// Maximum delay until Ctrl-C is noticed.
const TICK: Duration = Duration::from_millis(50);

/// Escape sequence that moves to the first line and clears below. It changes no other state of the terminal, so none
/// has to be restored.
const REDRAW: &str = "\x1b[H\x1b[J";

pub(crate) fn run(args: &QdiscArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        QdiscCommand::Plan(args) => print_plan(args),
        QdiscCommand::Apply(args) if args.dry_run => print_plan(&args.setup),
        QdiscCommand::Apply(args) => apply_setup(args),
        QdiscCommand::Show(args) => watch(args),
        QdiscCommand::Remove(args) => remove_setup(args),
    }
}

/// Setup and backing for the arguments, and the reason if stock parts replace a module.
fn setup(args: &SetupArgs, (link, present): (Link, Present)) -> (Setup, Backing, Option<String>) {
    let mut missing = None;
    let shaper = args.rate.map(|rate| Shaper {
        kind: args.shaper.unwrap_or(match args.scheme.scheme().linux {
            Some(tc) if tc.shapes => ShaperKind::Cake,
            _ => ShaperKind::Htb,
        }),
        rate,
        framing: Framing { overhead: args.overhead, mpu: args.mpu, linklayer: args.linklayer },
    });
    let backing = match args.backing.as_str() {
        "native" => Backing::Native,
        "auto" => {
            let chosen = backing_for(&args.scheme, Some(&args.dev));
            missing = chosen.missing.map(|missing| {
                let scheme = args.scheme.scheme().name;
                format!("{scheme} is set up without gentle's kernel module: {missing}")
            });
            chosen.backing
        }
        _ => Backing::Stock,
    };
    let setup = Setup {
        dev: args.dev.clone(),
        link,
        present,
        direction: direction(args.ingress),
        shaper,
        scheme: args.scheme.clone(),
    };
    (setup, backing, missing)
}

fn direction(ingress: bool) -> Direction {
    match ingress {
        true => Direction::Ingress,
        false => Direction::Egress,
    }
}

fn print_plan(args: &SetupArgs) -> anyhow::Result<ExitCode> {
    // The plan may be for a device of another machine.
    let found = match present(&args.dev, direction(args.ingress)) {
        Ok(found) => found,
        Err(ApplyError::NoDevice(dev)) => {
            warn(&format!("this machine has no device '{dev}'; the plan assumes Ethernet"));
            (Link::ETHERNET, Present::default())
        }
        Err(error) => return Err(error.into()),
    };
    let (setup, backing, missing) = setup(args, found);
    let plan = plan(&setup, backing)?;
    for note in missing.iter().chain(&plan.differences).chain(&plan.notes) {
        warn(note);
    }
    let mut text = String::new();
    for command in &plan.commands {
        writeln!(text, "{command}")?;
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the remarks about an executed plan, in one line for those that `gentle qdisc plan` prints in detail.
fn notes(args: &SetupArgs, plan: &Plan, missing: Option<&str>) {
    let differences: Vec<&str> = missing.into_iter().chain(plan.differences.iter().map(String::as_str)).collect();
    match differences.as_slice() {
        [] => {}
        [difference] => warn(difference),
        several => {
            let scheme = args.scheme.scheme().name;
            warn(&format!(
                "{scheme} is made of stock parts, which differ from gentle's kernel module; gentle qdisc plan with the \
                 same arguments lists the differences ({} remarks)",
                several.len()
            ));
        }
    }
    for note in &plan.notes {
        warn(note);
    }
}

/// The directory of the saved state. A command that waits for another one reports it.
fn state_dir() -> StateDir {
    StateDir::new(STATE).on_wait(|lock, holder| {
        let holder = holder.map_or("another process".to_owned(), |pid| format!("process {pid}"));
        note(&format!("waiting for {holder}, or a command that it started, which has locked {}", lock.display()));
    })
}

fn apply_setup(args: &ApplyArgs) -> anyhow::Result<ExitCode> {
    let found = present(&args.setup.dev, direction(args.setup.ingress))?;
    let (setup, backing, missing) = setup(&args.setup, found);
    let dev = &setup.dev;
    match apply(&setup, backing, args.replace, &state_dir())? {
        Applied::Unchanged(_) => print(&format!("{dev}: nothing to do, already set up like this\n"))?,
        Applied::Changed { plan, recovered, record_error } => {
            notes(&args.setup, &plan, missing.as_deref());
            if recovered {
                warn(&format!("an earlier change of {dev} was interrupted; the previous qdiscs were restored first"));
            }
            if let Some(error) = record_error {
                let then = match setup.direction {
                    Direction::Egress => "apply or remove will treat it as set up by others",
                    Direction::Ingress => "apply will repeat it",
                };
                warn(&format!("{STATE}: {error}; the setup could not be recorded, so the next {then}"));
            }
            print(&format!("{dev}: set up; see gentle qdisc show {dev}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn remove_setup(args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let dev = &args.dev;
    let directions: &[Direction] = match args.ingress {
        true => &[Direction::Ingress],
        false => &[Direction::Ingress, Direction::Egress],
    };
    let mut text = String::new();
    let saved = match args.discard {
        true => Saved::Discard,
        false => Saved::Restore,
    };
    let mut errors = Vec::new();
    for removed in remove(dev, directions, saved, &state_dir())? {
        let removed = match removed {
            Ok(removed) => removed,
            Err(error) => {
                errors.push(error.to_string());
                continue;
            }
        };
        let now = &removed.dev;
        if now != dev {
            write!(text, "{dev}, which was renamed to ")?;
        }
        writeln!(text, "{now}: {}", sentence(&removed))?;
    }
    if text.is_empty() && errors.is_empty() {
        writeln!(text, "{dev}: nothing to remove")?;
    }
    print(&text)?;
    match errors.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(anyhow::anyhow!(errors.join("\n"))),
    }
}

fn sentence(removed: &Removed) -> String {
    let direction = removed.direction;
    match &removed.restored {
        Some(before) => format!("{direction} removed, {before} restored"),
        None if removed.device_gone => {
            format!("the device no longer exists, nor does its {direction} queue")
        }
        None => format!("{direction} removed"),
    }
}

fn watch(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let Some(interval) = args.watch else {
        print(&shown(args, &show(&args.dev)?, None)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let stop = interrupt::flag()?;
    let redraw = !args.json && Terminal::of_stdout().width.is_some();
    let mut last = None;
    loop {
        let now = show(&args.dev)?;
        let text = shown(args, &now, last.as_ref())?;
        last = Some(now);
        let before = if redraw { REDRAW } else { "" };
        print(&format!("{before}{text}"))?;
        if wait(interval, &stop) {
            return Ok(interrupt::exit_code());
        }
    }
}

/// Waits for `time`; returns whether the wait was interrupted.
fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
    }
    stop.load(Ordering::Relaxed)
}

/// Formats the current counters; `last` are the previous ones, if any.
fn shown(args: &ShowArgs, shown: &DeviceQueues, last: Option<&DeviceQueues>) -> anyhow::Result<String> {
    Ok(match (args.json, args.watch) {
        (true, None) => visible_json(&serde_json::to_string_pretty(shown)?) + "\n",
        (true, Some(_)) => visible_json(&serde_json::to_string(shown)?) + "\n",
        (false, _) => visible(&table::of(shown, last, Terminal::of_stdout().width)),
    })
}
