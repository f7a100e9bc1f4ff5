//! Random scenarios, as text of scenario files.

use crate::case::Case;
use gentle_aqm::{Kind, OptionSpec, Spec, registry};
use gentle_tcp::Profile;
use gentle_testkit::draw::Draw;
use std::collections::BTreeSet;

/// A scenario whose parts a relation can change.
pub(crate) struct Scenario {
    /// Keys before the first table.
    pub(crate) head: String,
    /// Tables of the hosts and links.
    pub(crate) network: String,
    /// A table for each workload.
    pub(crate) workloads: Vec<String>,
    /// Files to which the scenario refers.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) rates: Rates,
}

/// Rates of the links and length of the run.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    /// Bits per second.
    pub(crate) down: u64,
    pub(crate) up: u64,
    pub(crate) duration_us: u64,
    pub(crate) warmup_us: u64,
    /// Sum of the links' delays.
    pub(crate) rtt_us: u64,
    /// Packets that the links may offer in the run, about.
    pub(crate) packets: u64,
    /// Neither a trace nor changes of a rate.
    pub(crate) constant: bool,
    /// A rate changes. A packet that is being sent then leaves at the earlier rate.
    pub(crate) changes: bool,
}

impl Scenario {
    pub(crate) fn toml(&self) -> String {
        let workloads = self.workloads.iter().map(|it| format!("\n[[workload]]\n{it}"));
        format!("{}\n{}{}", self.head, self.network, workloads.collect::<String>())
    }

    /// Writes the scenario and the files to which it refers.
    pub(crate) fn write(&self, case: &Case, name: &str) {
        case.write(name, self.toml());
        for (name, text) in &self.files {
            case.write(name, text);
        }
    }
}

/// Any scenario that runs within seconds.
pub(crate) fn any(draw: &mut Draw) -> Scenario {
    let packets = draw.magnitude(300, 12_000);
    let down = draw.magnitude(100_000, 10_000_000_000);
    let up = (down / draw.magnitude(1, 100)).max(50_000);
    let duration_us = (packets * 12_000 * 1_000_000 / down).clamp(5_000, 120_000_000);
    let rtt_us = draw.magnitude(1_000, 500_000);
    let mut rates = Rates { down, up, duration_us, warmup_us: 0, rtt_us, packets, constant: true, changes: false };
    let mut files = Vec::new();
    let mut head = format!("duration = \"{duration_us}us\"\n");
    if draw.chance(30) {
        rates.warmup_us = duration_us / draw.range(2, 10);
        head += &format!("warmup = \"{}us\"\n", rates.warmup_us);
    }
    head += &format!("drain = \"{}us\"\n", draw.magnitude(1_000, 60_000_000));
    let mut network = String::from("[hosts]\n");
    network += &format!("profile = \"{}\"\n", draw.pick(Profile::NAMES));
    let knobs: BTreeSet<String> = (0..draw.below(4)).map(|_| knob(draw)).collect();
    let mut names = BTreeSet::new();
    for knob in knobs {
        if names.insert(knob.split(' ').next().map(str::to_owned)) {
            network += &format!("{knob}\n");
        }
    }
    let down_delay = rtt_us * draw.below(101) / 100;
    for (name, rate, delay) in [("down", down, down_delay), ("up", up, rtt_us - down_delay)] {
        network += &format!("[link.{name}]\ndelay = \"{delay}us\"\n");
        if draw.chance(8) {
            let file = format!("{name}.trace");
            network += &format!("trace = \"{file}\"\n");
            files.push((file, trace(draw, rate)));
            rates.constant = false;
        } else {
            network += &format!("rate = \"{rate}bit\"\n");
            if draw.chance(12) {
                network += &format!("changes = [{}]\n", changes(draw, rate, duration_us));
                rates.constant = false;
                rates.changes = true;
            }
        }
        let scheme = match name {
            "up" if draw.chance(30) => "as down".to_owned(),
            _ => scheme(draw, rate),
        };
        network += &format!("qdisc = \"{scheme}\"\n");
        network += &disturbance(draw, delay);
    }
    let access = draw.chance(20).then(|| draw.range(2, 20));
    if let Some(hosts) = access {
        let rate = down.max(up) * draw.range(2, 4);
        network += &format!("[access]\nrate = \"{rate}bit\"\nhosts = {hosts}\n");
    }
    let load = draw.magnitude(5, 150);
    let count = draw.range(1, 4);
    let workloads = (0..count).map(|_| workload(draw, &rates, load as f64 / 100.0 / count as f64, access, &mut files));
    Scenario { workloads: workloads.collect(), head, network, files, rates }
}

/// Losses, jitter and reordering of a link.
fn disturbance(draw: &mut Draw, delay_us: u64) -> String {
    let mut text = String::new();
    match draw.below(10) {
        8 => text += &format!("loss = {}\n", draw.magnitude(1, 2_000) as f64 / 10_000.0),
        9 => {
            let [p, r, bad, good] = [1_000, 5_000, 10_000, 100].map(|most| draw.magnitude(1, most) as f64 / 10_000.0);
            text += &format!("bursts = {{ p = {p}, r = {r}, bad = {bad}, good = {good} }}\n");
        }
        _ => {}
    }
    if delay_us > 1 && draw.chance(15) {
        text += &format!("jitter = \"{}us\"\n", draw.range(1, delay_us));
    }
    if delay_us > 0 && draw.chance(10) {
        text += &format!("reorder = {}\n", draw.magnitude(1, 1_000) as f64 / 10_000.0);
    }
    if draw.chance(15) {
        text += &format!("overhead = {}\n", draw.below(100));
    }
    text
}

fn changes(draw: &mut Draw, rate: u64, duration_us: u64) -> String {
    let count = draw.range(1, 4);
    let changes = (1..=count).map(|number| {
        let at = duration_us * number / (count + 2) + 1;
        let rate = draw.magnitude((rate / 10).max(1), rate * 2);
        format!("{{ at = \"{at}us\", rate = \"{rate}bit\" }}")
    });
    changes.collect::<Vec<_>>().join(", ")
}

/// Opportunities of a trace of up to two seconds whose mean rate is about `rate`.
fn trace(draw: &mut Draw, rate: u64) -> String {
    let length_ms = draw.range(1, 2_000);
    let opportunities = (rate * length_ms / 1000 / 12_032).clamp(1, 5_000);
    let mut times: Vec<u64> = (0..opportunities.min(60)).map(|_| draw.range(1, length_ms)).collect();
    // A long list repeats the drawn times, so that few choices describe it.
    while (times.len() as u64) < opportunities {
        let again = times.len().min(opportunities as usize - times.len());
        times.extend_from_within(..again);
    }
    times.push(length_ms);
    times.sort_unstable();
    times.iter().map(|ms| format!("{ms}\n")).collect()
}

/// A knob of TCP with a value that a stack could have, as a line of TOML.
pub(crate) fn knob(draw: &mut Draw) -> String {
    let all = Profile::knobs();
    let knob = &all[draw.below(all.len() as u64) as usize];
    let value = match (knob.name, knob.takes) {
        ("mss", _) => draw.range(200, 9_000).to_string(),
        (_, "bytes") => format!("{}b", draw.magnitude(2_000, 16_000_000)),
        (_, "time") => format!("{}us", draw.magnitude(1_000, 10_000_000)),
        (_, "true or false") => draw.pick(&["true", "false"]).to_owned(),
        (_, "number") => draw.below(33).to_string(),
        (_, words) => {
            let words: Vec<&str> = words.split([',', ' ']).filter(|it| !["", "or"].contains(it)).collect();
            draw.pick(&words).to_owned()
        }
    };
    let mut profile = Profile::default();
    match profile.set(knob.name, &value) {
        Ok(()) => format!("{} = \"{value}\"", knob.name),
        Err(_) => "initial_rto = \"1s\"".to_owned(),
    }
}

/// A scheme with random options that it accepts, for a link of `rate` bits per second.
pub(crate) fn scheme(draw: &mut Draw, rate: u64) -> String {
    let all: Vec<_> = registry::listed().collect();
    let scheme = all[draw.below(all.len() as u64) as usize];
    let mut text = scheme.name.to_owned();
    let with = |text: &str, more: &str| {
        let longer = format!("{text} {more}");
        longer.parse::<Spec>().is_ok().then_some(longer)
    };
    // A shaper needs its rate first, and everything after `child=` belongs to the child.
    if scheme.shaper.is_some() {
        text += &format!(" rate={}bit", draw.magnitude((rate / 4).max(8), rate * 2));
        if draw.chance(50) {
            text = with(&text, &format!("burst={}b", draw.magnitude(2_000, 200_000))).unwrap_or(text);
        }
        let others = all.iter().filter(|it| it.shaper.is_none() && it.name != "cake");
        let others: Vec<&str> = others.map(|it| it.name).collect();
        let child = draw.pick(&others);
        return with(&text, &format!("child={child}")).unwrap_or(text);
    }
    if let Some(preset) = scheme.presets.get(draw.below(4) as usize) {
        text = with(&text, preset.name).unwrap_or(text);
    }
    if !scheme.options.is_empty() {
        for _ in 0..draw.below(4) {
            let option = &scheme.options[draw.below(scheme.options.len() as u64) as usize];
            text = with(&text, &value(draw, option, rate)).unwrap_or(text);
        }
    }
    // Options that are only accepted together.
    match text.parse::<Spec>() {
        Ok(_) => text,
        Err(_) => "fq_codel".to_owned(),
    }
}

fn value(draw: &mut Draw, option: &OptionSpec, rate: u64) -> String {
    let name = option.name;
    let text = match option.kind {
        Kind::Time(least, most) => format!("{}ns", draw.magnitude(least.0, most.0)),
        Kind::Size(least, most) => format!("{}b", draw.magnitude(least, most)),
        Kind::Count(least, most) => draw.magnitude(least, most).to_string(),
        Kind::Integer(least, most) => {
            let step = draw.below(101) as i64;
            (least + (most - least) / 100 * step).to_string()
        }
        Kind::Real(least, most) => (least + (most - least) * draw.below(101) as f64 / 100.0).to_string(),
        Kind::Rate(least, most) => {
            let [least, most] = [least, most].map(|rate| rate.bits_per_second());
            let wide = draw.magnitude((rate / 10).max(1), rate * 2);
            format!("{}bit", wide.clamp(least, most))
        }
        Kind::Threshold => match draw.below(3) {
            0 => format!("{}us", draw.magnitude(1, 10_000_000)),
            1 => format!("{}b", draw.magnitude(1, 1 << 30)),
            _ => format!("{}p", draw.magnitude(1, 1_000_000)),
        },
        Kind::Flag => draw.pick(&["on", "off"]).to_owned(),
        Kind::Choice(words) => draw.pick(words).to_owned(),
        Kind::Keyword(words) => return draw.pick(words).to_owned(),
        Kind::List { length, least, most } => {
            let numbers = (0..length).map(|_| draw.range(least, most).to_string());
            numbers.collect::<Vec<_>>().join(",")
        }
    };
    format!("{name}={text}")
}

/// Workloads that open connections with their own size, and those that react, send datagrams or attack.
const TRAFFIC: [&str; 14] = [
    "poisson",
    "long",
    "udp",
    "replay",
    "web",
    "pages",
    "ssh",
    "on_off",
    "voice",
    "game",
    "dns",
    "ping",
    "video_call",
    "syn_flood",
];

/// A workload that offers about `load` to its link.
fn workload(
    draw: &mut Draw,
    rates: &Rates,
    load: f64,
    access: Option<u64>,
    files: &mut Vec<(String, String)>,
) -> String {
    let kind = draw.pick(&TRAFFIC);
    let up = draw.chance(25);
    let rate = if up { rates.up } else { rates.down } as f64 * load;
    let packets = ((rates.packets as f64 * load) as u64).max(1);
    let us = rates.duration_us;
    let mut text = format!("kind = \"{kind}\"\n");
    if up {
        text += "direction = \"up\"\n";
    }
    let is_dialogue = ["pages", "ssh", "on_off"].contains(&kind);
    let is_tcp = is_dialogue || ["poisson", "long", "replay", "web"].contains(&kind);
    if is_tcp && !is_dialogue && draw.chance(40) {
        text += "initiator = \"receiver\"\n";
    }
    if is_tcp && draw.chance(15) {
        text += &format!("tcp = {{ {} }}\n", knob(draw));
    }
    if is_tcp && draw.chance(10) {
        text += &format!("initiator_tcp = {{ {} }}\n", knob(draw));
    }
    if draw.chance(30) {
        text += &format!("group = \"{}\"\n", draw.pick(&["a", "b", "calls"]));
    }
    if !matches!(kind, "udp" | "syn_flood") && draw.chance(30) {
        let least = rates.rtt_us + draw.magnitude(1, 300_000);
        let most = least + draw.below(200_000);
        text += &format!("rtt = [\"{least}us\", \"{most}us\"]\n");
    }
    if draw.chance(20) {
        text += &format!("dscp = {}\n", draw.below(64));
    }
    if draw.chance(20) {
        text += &format!("host = {}\n", draw.below(access.unwrap_or(200)));
    }
    if kind != "syn_flood" && draw.chance(10) {
        text += &format!("tunnel = {}\n", draw.range(1, 255));
    }
    // Start and stop of what has them.
    let start = us * draw.below(60) / 100;
    let mut times = format!("start = \"{start}us\"\n");
    if draw.chance(20) {
        times += &format!("stop = \"{}us\"\n", start + 1 + us * draw.below(60) / 100);
    }
    let gap = |mean_segments: f64| {
        let seconds = mean_segments * 12_000.0 / rate.max(1.0);
        ((seconds * 1e6) as u64).max(1)
    };
    text += &match kind {
        "poisson" => {
            let (size, mean) = sizes(draw, packets);
            format!("gap = \"{}us\"\nsize = {size}\n", gap(mean))
        }
        "web" => {
            let (size, mean) = sizes(draw, packets);
            let [sessions, pages, objects] = [5, 5, 6].map(|most| draw.range(1, most));
            format!(
                "sessions = {sessions}\nsession_gap = \"{}us\"\npages = {pages}\npage_gap = \"{}us\"\nobjects = {objects}\n\
                 object_gap = \"{}us\"\nsize = {size}\n",
                us / sessions + 1,
                gap(mean * objects as f64),
                us / 50 + 1,
            )
        }
        "long" => format!("flows = {}\n{times}", draw.magnitude(1, 40)),
        "udp" => {
            let packet = draw.range(60, 1_500);
            let rate = (rate * packet as f64 / 1500.0) as u64;
            format!("rate = \"{}bit\"\npacket = {packet}\n{}{times}", rate.max(1_000), jitter(draw))
        }
        "syn_flood" => {
            format!("rate = \"{}bit\"\n{}{times}", ((rate / 20.0) as u64).max(1_000), jitter(draw))
        }
        "replay" => {
            let file = format!("flows-{}.csv", files.len());
            files.push((file.clone(), flow_list(draw, rates, packets)));
            format!("file = \"{file}\"\n")
        }
        "pages" => format!(
            "users = {}\nthink = \"{}us\"\npages = {}\nobjects = {}\nobject = {}\ndocument = {}\n",
            draw.range(1, 6),
            draw.magnitude(1_000, us.max(1_001)),
            draw.range(1, 8),
            draw.range(1, 20),
            draw.magnitude(100, packets * 300 + 101),
            draw.magnitude(100, packets * 300 + 101),
        ),
        "ssh" => format!("sessions = {}\n", draw.range(1, 20)),
        "on_off" => {
            let (size, _) = sizes(draw, packets);
            format!(
                "users = {}\nsize = {size}\noff = \"{}us\"\n",
                draw.range(1, 6),
                draw.magnitude(1_000, us.max(1_001))
            )
        }
        "voice" => format!("calls = {}\n{times}", draw.range(1, 5)),
        "game" => format!("players = {}\n{times}", draw.range(1, 5)),
        "dns" => format!("gap = \"{}us\"\n{times}", (us / draw.range(1, 100)).max(1_000)),
        "ping" => format!("interval = \"{}us\"\n{times}", us / draw.range(1, 100) + 100),
        _ => format!("calls = {}\n{times}", draw.range(1, 3)),
    };
    text
}

fn jitter(draw: &mut Draw) -> String {
    match draw.below(4) {
        2 => "jitter = 0\n".to_owned(),
        3 => format!("jitter = {}\n", draw.below(101) as f64 / 100.0),
        _ => String::new(),
    }
}

/// Sizes of connections, at most `most` segments, and their approximate mean.
fn sizes(draw: &mut Draw, most: u64) -> (String, f64) {
    let most = most.clamp(2, 6_000);
    match draw.below(3) {
        0 => {
            let segments = draw.magnitude(1, most / 2 + 1);
            (format!("{{ segments = {segments} }}"), segments as f64)
        }
        1 => {
            let exponent = draw.range(110, 300) as f64 / 100.0;
            let power = |k: u64, exponent: f64| (k as f64).powf(exponent);
            let weights: f64 = (1..=most).map(|k| power(k, -exponent)).sum();
            let mean = (1..=most).map(|k| power(k, 1.0 - exponent)).sum::<f64>() / weights;
            (format!("{{ zipf = {exponent}, max = {most} }}"), mean)
        }
        _ => {
            let mean = draw.magnitude(1, most / 4 + 1);
            let shape = draw.range(110, 300) as f64 / 100.0;
            (format!("{{ pareto = {shape}, mean = {mean} }}"), mean as f64)
        }
    }
}

/// A flow list of about `packets` full segments.
fn flow_list(draw: &mut Draw, rates: &Rates, packets: u64) -> String {
    let count = draw.range(1, 40);
    let columns = draw.chance(50);
    let mut text = String::from(if columns { "start_s,bytes,rtt_s,direction,initiator\n" } else { "start_s,bytes\n" });
    for _ in 0..count {
        let start = draw.below(rates.duration_us) as f64 / 1e6;
        let bytes = draw.magnitude(1, packets * 1_448 * 2 / count + 1);
        text += &format!("{start},{bytes}");
        if columns {
            let rtt = (rates.rtt_us + draw.range(1, 200_000)) as f64 / 1e6;
            let direction = draw.pick(&["", "down", "up"]);
            let initiator = draw.pick(&["", "sender", "receiver"]);
            text += &format!(",{rtt},{direction},{initiator}");
        }
        text += "\n";
    }
    text
}
