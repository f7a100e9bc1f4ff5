//! The kernel engine: settings and status.

use crate::args::{DelayArgs, RexmitKernelCommand, RexmitKernelInstallArgs};
use crate::output::{Terminal, definitions, print};
use crate::usage::Usage;
use gentle_rexmit::kernel_engine::{
    self, Network, Settings, Status, Treatment, default_cgroup, learned_network, unlearned_delay,
};
use gentle_rexmit::{PathRecord, Timing};
use gentle_units::Nanos;
use gentle_units::foreign::{plain, visible_json};
use ipnet::IpNet;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Version of the format of [`json()`]: raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

pub(super) fn run(command: &RexmitKernelCommand) -> anyhow::Result<ExitCode> {
    match command {
        RexmitKernelCommand::Install(args) => install(args),
        RexmitKernelCommand::Status(args) => show(args.json),
        RexmitKernelCommand::Remove(args) => remove(args.cgroup.as_deref()),
    }
}

fn install(args: &RexmitKernelInstallArgs) -> anyhow::Result<ExitCode> {
    check(&args.delay)?;
    let timing = super::timing(&args.delay)?;
    let learned = super::learned(args.delay.learned.as_deref())?;
    let selection = super::selection(&args.handshakes);
    let settings = Settings {
        delay: unlearned_delay(&timing),
        syn: selection.client,
        syn_ack: selection.server,
        ports: selection.ports.into_iter().map(|ports| ports.0).collect(),
        networks: networks(&selection.only, &selection.except, &learned, &timing),
        others: match selection.only.is_empty() {
            true => Treatment::Default,
            false => Treatment::Exclude,
        },
        extend_retries: true,
    };
    let cgroup = args.cgroup.clone().unwrap_or_else(default_cgroup);
    kernel_engine::install(&settings, &cgroup)?;
    for status in kernel_engine::status()? {
        if std::fs::canonicalize(&cgroup).is_ok_and(|cgroup| cgroup == status.cgroup) {
            print(&text(&status))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Rejects options that have no effect together with the others.
fn check(args: &DelayArgs) -> Result<(), Usage> {
    if args.delay.is_some() && args.learned.is_some() {
        let usage = "--delay sets one delay for all networks, --learned one for each network; leave one of them out";
        return Err(Usage(usage.to_owned()));
    }
    let bounds = [("--min", args.min.is_some()), ("--max", args.max.is_some()), ("--edge", args.edge)];
    match bounds.into_iter().find(|(_, given)| *given) {
        Some((option, _)) if args.learned.is_none() => Err(Usage(format!(
            "{option} bounds learned delays, and the kernel engine learns none; give a wire engine's file with \
             --learned"
        ))),
        _ => Ok(()),
    }
}

fn show(as_json: bool) -> anyhow::Result<ExitCode> {
    let installed = kernel_engine::status()?;
    print(&match (as_json, installed.is_empty()) {
        (true, _) => {
            let all: Vec<Value> = installed.iter().map(json).collect();
            visible_json(&serde_json::to_string_pretty(&all)?) + "\n"
        }
        (false, true) => "no program is installed\n".to_owned(),
        (false, false) => installed.iter().map(text).collect(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn remove(cgroup: Option<&Path>) -> anyhow::Result<ExitCode> {
    let removed = kernel_engine::remove(cgroup)?;
    if removed == 0 {
        print("no program was installed\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Status of an installed program as text.
pub(super) fn text(status: &Status) -> String {
    let settings = &status.settings;
    let sides = [(settings.syn, "SYNs"), (settings.syn_ack, "SYN/ACKs")];
    let sides: Vec<&str> = sides.iter().filter_map(|(wanted, name)| wanted.then_some(*name)).collect();
    let row = |name: &str, value: String, meaning: &str| [name.to_owned(), value, meaning.to_owned()];
    let mut rows = vec![row(
        "delay",
        Nanos(settings.delay.as_nanos() as u64).to_string(),
        &format!("initial RTO of {}", sides.join(" and ")),
    )];
    if !settings.ports.is_empty() {
        let ports = settings.ports.iter().map(|range| gentle_rexmit::Ports(range.clone()).to_string());
        let ports: Vec<String> = ports.collect();
        rows.push(row("ports", ports.join(","), "server ports; other connections keep their RTO"));
    }
    if !settings.networks.is_empty() {
        let rest = match settings.others {
            Treatment::Exclude => "with their own settings; all others keep their RTO",
            _ => "with their own settings",
        };
        rows.push(row("networks", settings.networks.len().to_string(), rest));
    }
    rows.push(row("SYNs", status.syns.to_string(), "sent with this initial RTO"));
    rows.push(row("SYN/ACKs", status.syn_acks.to_string(), "sent with this initial RTO"));
    let state = match status.in_force {
        true => "",
        false => " (the control group no longer exists; gentle rexmit kernel remove cleans up)",
    };
    let table = definitions(rows, Terminal::of_stdout().width);
    let cgroup = plain(&status.cgroup.display().to_string());
    format!("kernel, {cgroup}{state}\n{table}")
}

/// Status of an installed program as JSON.
pub(super) fn json(status: &Status) -> Value {
    let settings = &status.settings;
    let ms = |delay: Duration| delay.as_secs_f64() * 1e3;
    let delay = |treatment| match treatment {
        Treatment::Default => json!(ms(settings.delay)),
        Treatment::Delay(delay) => json!(ms(delay)),
        Treatment::Exclude => Value::Null,
    };
    let networks = settings
        .networks
        .iter()
        .map(|network| json!({ "prefix": network.prefix, "delay_ms": delay(network.treatment) }));
    let ports = settings.ports.iter().map(|range| json!([range.start(), range.end()]));
    json!({
        "version": VERSION,
        "engine": "kernel",
        "cgroup": status.cgroup,
        "in_force": status.in_force,
        "client": settings.syn,
        "server": settings.syn_ack,
        "delay_ms": delay(settings.others),
        "ports": ports.collect::<Vec<_>>(),
        "networks": networks.collect::<Vec<_>>(),
        "counters": { "syns": status.syns, "synacks": status.syn_acks },
    })
}

/// Networks that are selected, excluded, or have a learned delay; the longest prefix decides.
fn networks(only: &[IpNet], except: &[IpNet], learned: &[PathRecord], timing: &Timing) -> Vec<Network> {
    let within = |prefixes: &[IpNet], prefix: &IpNet| prefixes.iter().any(|all| all.contains(prefix));
    let treated = |prefix: &IpNet, treatment| Network { prefix: *prefix, treatment };
    // Exclusions take precedence.
    let chosen = only.iter().filter(|prefix| !within(except, prefix));
    let known = learned
        .iter()
        .filter(|record| (only.is_empty() || within(only, &record.prefix)) && !within(except, &record.prefix));
    chosen
        .map(|prefix| treated(prefix, Treatment::Default))
        .chain(known.map(|record| learned_network(record, timing)))
        .chain(except.iter().map(|prefix| treated(prefix, Treatment::Exclude)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn record(prefix: &str) -> PathRecord {
        PathRecord { prefix: net(prefix), srtt_us: 40_000, rttvar_us: 5_000, tail_us: 0, samples: 9, measured_ns: 0 }
    }

    #[test]
    fn exceptions_beat_choices_and_what_was_learned() {
        let timing = Timing::LEARNED;
        let learned = [record("10.0.1.0/24"), record("10.9.1.0/24"), record("192.0.2.0/24")];
        let networks = networks(&[net("10.0.0.0/8"), net("10.9.7.0/24")], &[net("10.9.0.0/16")], &learned, &timing);
        let delay = Treatment::Delay(Duration::from_millis(60));
        let expected =
            [("10.0.0.0/8", Treatment::Default), ("10.0.1.0/24", delay), ("10.9.0.0/16", Treatment::Exclude)];
        assert_eq!(networks, expected.map(|(prefix, treatment)| Network { prefix: net(prefix), treatment }));
    }
}
