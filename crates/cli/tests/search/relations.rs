//! Two runs whose scenarios are related, so that their results are.
//!
//! The random numbers of a workload depend on its kind, group and direction, and on the other keys of workloads that have these in
//! common with it. Workloads can therefore be permuted, and one with another kind, group or direction be added, without changing what
//! the others draw.

use crate::case::{Case, Checked, Finding, broken, holds};
use crate::scenario;
use crate::scenarios::{array, number, parse};
use gentle_testkit::draw::Draw;
use serde_json::Value;

/// Checks one of the relations on a random scenario.
pub(crate) fn case(draw: &mut Draw, case: &Case) -> Checked {
    match draw.below(4) {
        0 => idle(draw, case),
        1 => permuted(draw, case),
        2 => scaled(draw, case),
        _ => equal_flows(draw, case),
    }
}

fn run(case: &Case, file: &str, scheme: &str, more: &[&str]) -> Result<Value, Finding> {
    let scheme = format!("--scheme={scheme}");
    let mut args = vec!["sim", file, "--quiet", "--json", &scheme];
    args.extend(more);
    let ran = case.succeed(&args)?;
    let json = parse(&ran.stdout)?;
    Ok(json["results"][0].clone())
}

/// Paths at which two results differ, with their values.
fn difference(one: &Value, two: &Value, path: &str) -> Option<String> {
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let null = Value::Null;
            let of = |map: &serde_json::Map<String, Value>, key: &str| map.get(key).unwrap_or(&null).clone();
            keys.into_iter().find_map(|key| difference(&of(a, key), &of(b, key), &format!("{path}/{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.into_iter().find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}")))
        }
        _ => (one != two).then(|| format!("{path}: {one} and {two}")),
    }
}

/// A workload that sends nothing changes nothing, wherever it stands.
fn idle(draw: &mut Draw, case: &Case) -> Checked {
    let mut scenario = scenario::any(draw);
    let scheme = scenario::scheme(draw, scenario.rates.down);
    scenario.write(case, "scenario.toml");
    let start = format!("start = \"{}us\"\n", scenario.rates.duration_us * 2);
    let (kind, rest) = match draw.below(9) {
        0 => ("poisson", "gap = \"100d\"\nsize = { segments = 1 }\n".to_owned()),
        1 => ("udp", format!("rate = \"1kbit\"\n{start}")),
        2 => ("syn_flood", format!("rate = \"1kbit\"\n{start}")),
        3 => ("long", format!("flows = 3\n{start}")),
        4 => ("voice", format!("calls = 3\n{start}")),
        5 => ("game", format!("players = 3\n{start}")),
        6 => ("dns", format!("gap = \"1s\"\n{start}")),
        7 => ("ping", format!("interval = \"1s\"\n{start}")),
        _ => ("video_call", format!("calls = 3\n{start}")),
    };
    let idle = format!("kind = \"{kind}\"\n{rest}");
    // Workloads of one kind differ only by their other keys, so an added one may take the place of another.
    let same = format!("kind = \"{kind}\"");
    if scenario.workloads.iter().any(|text| text.contains(&same)) {
        return Ok(());
    }
    let place = draw.below(scenario.workloads.len() as u64 + 1) as usize;
    scenario.workloads.insert(place, idle);
    scenario.write(case, "with-idle.toml");
    let mut without = run(case, "scenario.toml", &scheme, &[])?;
    let mut with = run(case, "with-idle.toml", &scheme, &[])?;
    for result in [&mut without, &mut with] {
        // The idle application has a separate row.
        let others = array(&result["applications"]).iter();
        let others = others.filter(|row| row["application"] != *kind).cloned();
        result["applications"] = others.collect();
        // It names applications by their positions.
        result["by_seed"] = Value::Null;
    }
    match difference(&without, &with, "") {
        Some(text) => broken("an idle workload changes nothing", format!("{kind}: {text}")),
        None => Ok(()),
    }
}

/// Schemes without random numbers for which flows are the same or different, whatever their numbers are.
const WITHOUT_HASH: [&str; 9] =
    ["pfifo limit=30", "bfifo limit=30000b", "pfifo_fast", "codel", "las", "srpt", "syn_prio", "spa", "gsp"];

/// A link with a queue that is neither random nor fast.
fn plain_network(draw: &mut Draw, rate: u64, delays_us: [u64; 2], hosts: &str) -> String {
    let up = rate / draw.range(1, 4);
    let [down_delay, up_delay] = delays_us;
    format!(
        "[hosts]\n{hosts}\n[link.down]\nrate = \"{rate}bit\"\ndelay = \"{down_delay}us\"\n\
         [link.up]\nrate = \"{up}bit\"\ndelay = \"{up_delay}us\"\nqdisc = \"pfifo limit=40\"\n"
    )
}

/// The order of workloads does not matter, in total and for each group.
fn permuted(draw: &mut Draw, case: &Case) -> Checked {
    let scheme = draw.pick(&WITHOUT_HASH);
    let rate = draw.magnitude(200_000, 200_000_000);
    let delays = [draw.magnitude(1_000, 100_000), draw.magnitude(1_000, 100_000)];
    let us = (6_000_u64 * 12_000 * 1_000_000 / rate).min(60_000_000);
    let network = plain_network(draw, rate, delays, "");
    let count = draw.range(2, 5);
    let mut workloads: Vec<String> = (0..count)
        .map(|number| {
            if draw.chance(50) {
                let (gap, most) = (us / draw.range(2, 20), draw.magnitude(1, 300));
                let direction = draw.pick(&["down", "up"]);
                return format!(
                    "\n[[workload]]\nkind = \"poisson\"\ngap = \"{gap}us\"\nsize = {{ zipf = 1.7, max = {most} }}\n\
                     rtt = [\"{}us\", \"{}us\"]\ndirection = \"{direction}\"\ngroup = \"{number}\"\n",
                    delays[0] + delays[1],
                    delays[0] + delays[1] + 50_000
                );
            }
            let mut list = String::from("start_s,bytes,rtt_s,direction,initiator\n");
            for _ in 0..draw.range(1, 15) {
                // Nanoseconds, so that no two packets are sent at one time: their order would be the order of the
                // workloads.
                let start = draw.below(us * 1000) as f64 / 1e9;
                let rtt = (delays[0] + delays[1]) as f64 / 1e6 + draw.range(1, 50_000_000) as f64 / 1e9;
                let bytes = draw.magnitude(1, 300_000);
                let [direction, initiator] = [["down", "up"], ["sender", "receiver"]].map(|it| draw.pick(&it));
                list += &format!("{start:.9},{bytes},{rtt:.9},{direction},{initiator}\n");
            }
            let file = format!("flows-{number}.csv");
            case.write(&file, list);
            format!("\n[[workload]]\nkind = \"replay\"\nfile = \"{file}\"\ngroup = \"{number}\"\n")
        })
        .collect();
    let write = |name: &str, workloads: &[String]| {
        case.write(name, format!("duration = \"{us}us\"\n{network}{}", workloads.concat()));
    };
    write("scenario.toml", &workloads);
    let turn = draw.range(1, count - 1) as usize;
    workloads.rotate_left(turn);
    write("permuted.toml", &workloads);
    let [mut one, mut two] = [run(case, "scenario.toml", scheme, &[])?, run(case, "permuted.toml", scheme, &[])?];
    for result in [&mut one, &mut two] {
        if let Some(groups) = result["groups"].as_array_mut() {
            groups.sort_by_key(|group| group["group"].to_string());
        }
        // It names groups by their positions.
        result["by_seed"] = Value::Null;
    }
    match difference(&one, &two, "") {
        Some(text) => broken("the order of workloads does not matter", format!("{scheme}: {text}")),
        None => Ok(()),
    }
}

/// Knobs of ns-2's agents that are times, and their values in milliseconds.
const TIMES: [(&str, u64); 7] = [
    ("initial_rto", 3_000),
    ("rto_fallback", 3_000),
    ("min_rto", 200),
    ("max_rto", 60_000),
    ("timer_granularity", 10),
    ("delack", 100),
    ("delack_max", 100),
];

/// Half the rate and twice all other times, in packets and timers, double all times and change no count. A link of 8 Mb/s
/// sends a byte in a microsecond, so that nothing is rounded; the agents are ns-2's, which have no clock.
fn scaled(draw: &mut Draw, case: &Case) -> Checked {
    let scheme =
        draw.pick(&["pfifo limit=30", "bfifo limit=30000b", "pfifo_fast", "las", "srpt", "syn_prio child=pfifo"]);
    let us = draw.magnitude(500_000, 10_000_000);
    let delays = [draw.magnitude(1_000, 100_000), draw.magnitude(1_000, 100_000)];
    let up = 1 << draw.below(3);
    let flows: Vec<[u64; 4]> = (0..draw.range(1, 60))
        .map(|_| [draw.below(us), draw.magnitude(1, 200_000), draw.range(1, 50_000), draw.below(4)])
        .collect();
    let long = draw.chance(50).then(|| (draw.range(1, 5), draw.below(us / 2)));
    let udp = draw.chance(50).then(|| (draw.range(1, 40), draw.range(60, 1_500), draw.below(us / 2)));
    let write = |name: &str, factor: u64| {
        let hosts: String = TIMES.iter().map(|(knob, ms)| format!("{knob} = \"{}ms\"\n", ms * factor)).collect();
        let mut text = format!(
            "duration = \"{}us\"\ndrain = \"{}s\"\n[hosts]\nprofile = \"ns-2\"\n{hosts}\
             [link.down]\nrate = \"{}bit\"\ndelay = \"{}us\"\n[link.up]\nrate = \"{}bit\"\ndelay = \"{}us\"\n",
            us * factor,
            300 * factor,
            8_000_000 / factor,
            delays[0] * factor,
            8_000_000 / factor / up,
            delays[1] * factor,
        );
        let mut list = String::from("start_s,bytes,rtt_s,direction,initiator\n");
        for [start, bytes, more, ways] in &flows {
            let start = (start * factor) as f64 / 1e6;
            let rtt = ((delays[0] + delays[1] + more) * factor) as f64 / 1e6;
            let direction = ["down", "up"][(ways % 2) as usize];
            let initiator = ["sender", "receiver"][(ways / 2) as usize];
            list += &format!("{start},{bytes},{rtt},{direction},{initiator}\n");
        }
        case.write(&format!("{name}.csv"), list);
        text += &format!("[[workload]]\nkind = \"replay\"\nfile = \"{name}.csv\"\n");
        if let Some((count, start)) = long {
            text += &format!("[[workload]]\nkind = \"long\"\nflows = {count}\nstart = \"{}us\"\n", start * factor);
        }
        if let Some((share, packet, start)) = udp {
            let rate = 8_000_000 / 40 * share / factor;
            text += &format!(
                "[[workload]]\nkind = \"udp\"\nrate = \"{rate}bit\"\npacket = {packet}\njitter = 0\nstart = \"{}us\"\n",
                start * factor
            );
        }
        case.write(&format!("{name}.toml"), text);
    };
    write("one", 1);
    write("two", 2);
    let [one, two] = [run(case, "one.toml", scheme, &[])?, run(case, "two.toml", scheme, &[])?];
    for path in ["/connections", "/completed", "/drops", "/links/down/offered", "/links/up/offered", "/links/down/sent"]
    {
        let [one, two] = [&one, &two].map(|it| it.pointer(path));
        holds("twice as slow changes no count", one == two, || format!("{scheme}: {path}: {one:?} and {two:?}"))?;
    }
    for path in ["/response_time_s/mean", "/handshake_s/mean", "/queue_delay_s/mean", "/retransmission/delay_mean_s"] {
        let [one, two] = [&one, &two].map(|it| number(it, path).unwrap_or_default());
        holds("twice as slow doubles times", (two - 2.0 * one).abs() <= 1e-6 * two + 1e-9, || {
            format!("{scheme}: {path}: {one} and {two}")
        })?;
    }
    Ok(())
}

/// Schemes with a queue for each flow. Hashing lets flows share one in a few of many: the number of queues is much greater
/// than the number of flows.
const FAIR: [&str; 5] = ["fq_codel flows=32768", "gentle flows=32768", "fq", "fq_pie flows=32768", "sfq divisor=65536"];

/// Schemes with one queue.
const SHARED: [&str; 6] = ["pfifo", "bfifo", "codel", "pie", "red", "spa"];

/// Long-lived flows of the same kind get the same rate, under schemes with a queue for each as nearly as its quantum and
/// TCP's window allow. With one queue, a flow's rate varies with its luck, and the run has to be long enough to even it out.
/// A full queue of twice the product of rate and delay makes a window W of three times the share, and a cycle of half of
/// W round trips takes 4.5 times the share in round trips of an empty queue: there are at least 8 cycles for a share of
/// up to 12 packets. With a share of 40 packets there are two or three and each flow has 3 to 10 losses in all; Jain's
/// index, 1/(1 + cv²), was then seen at 0.2, and at 0.97 in ten times the time. Some 660 runs with up to 12 packets had
/// at least 0.846.
///
/// Losses are at random only with random times: exactly periodic flows keep their phases, and one of 24 was seen to lose
/// nothing and to take 86 % of a drop-tail queue (Floyd and Jacobson 1991). The delays of ACKs therefore vary by the time that a
/// packet takes on the link.
fn equal_flows(draw: &mut Draw, case: &Case) -> Checked {
    let flows = draw.range(2, 24);
    let is_fair = draw.chance(60);
    let scheme = if is_fair { draw.pick(&FAIR) } else { draw.pick(&SHARED) };
    let rtt_us = draw.magnitude(5_000, 100_000);
    // A flow's share is a window of so many packets.
    let window = draw.range(4, if is_fair { 40 } else { 12 });
    let rate = flows * window * 12_000 * 1_000_000 / rtt_us;
    let us = (600 * rtt_us).max(10_000_000);
    let service_us = (12_000 * 1_000_000 / rate).max(1);
    let profile = match scheme {
        // FreeBSD's slow start has no HyStart: PIE answers its overshoot by dropping all packets of the flow, and its
        // probability then takes seconds to decay.
        _ if scheme.starts_with("fq_pie") => draw.pick(&["linux-7.2", "linux-3.16"]),
        _ => draw.pick(&["linux-7.2", "freebsd-9.3", "linux-3.16"]),
    };
    // No queue is shorter than the product of rate and delay, so that no flow waits for timeouts.
    let limit = (flows * window * 2).max(60);
    let scheme = match scheme {
        "pfifo" => format!("pfifo limit={limit}"),
        "bfifo" => format!("bfifo limit={}b", limit * 1514),
        "red" => format!("red limit={}b", limit * 1514),
        other => other.to_owned(),
    };
    let text = format!(
        "duration = \"{us}us\"\nwarmup = \"{}us\"\ndrain = \"1s\"\n[hosts]\nprofile = \"{profile}\"\n[link.down]\nrate = \"{rate}bit\"\n\
         delay = \"{}us\"\n[link.up]\nrate = \"{rate}bit\"\ndelay = \"{}us\"\njitter = \"{service_us}us\"\nqdisc = \"pfifo limit=1000\"\n[[workload]]\nkind = \"long\"\n\
         flows = {flows}\nstart = [\"0s\", \"{}us\"]\n",
        us / 4,
        rtt_us / 2,
        rtt_us - rtt_us / 2,
        us / 20,
    );
    case.write("scenario.toml", text);
    let result = run(case, "scenario.toml", &scheme, &[])?;
    let jain = number(&result, "/jain_index").unwrap_or_default();
    let (invariant, least) = match is_fair {
        true => ("fair queues give equal flows equal rates", 0.9),
        false => ("one queue gives equal flows similar rates", 0.7),
    };
    holds(invariant, jain >= least, || format!("{scheme}: Jain's index {jain}, {flows} flows"))?;
    debug_assert!(array(&result["groups"]).is_empty());
    Ok(())
}
