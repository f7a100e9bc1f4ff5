//! Damaged files and command lines: refused with a sentence that names the file, or read; never a panic, a hang, or memory
//! without bound.
//!
//! A result that damage changes silently is a finding for the stores of sweeps, whose files have digests, but not for other files: no
//! reader can know. (Captures under `--strict` are tested by `gentle-capture`.)

use crate::case::{Case, Checked, Finding, holds};
use crate::scenario;
use gentle_testkit::draw::Draw;
use std::path::{Path, PathBuf};

/// A scenario that runs in milliseconds, for commands that need one.
const BRIEF: &str = "duration = \"2s\"\ndrain = \"5s\"\nschemes = [\"pfifo limit=5\", \"codel\"]\n[hosts]\nmss = 1448\n\
    [link.down]\nrate = \"1mbit\"\ndelay = \"10ms\"\nloss = 0.02\n[link.up]\nrate = \"1mbit\"\ndelay = \"10ms\"\n\
    [[workload]]\nkind = \"poisson\"\ngap = \"100ms\"\nsize = { zipf = 1.5, max = 20 }\ngroup = \"a\"\n\
    [[workload]]\nkind = \"voice\"\n";

const GRID: &str = "traffic = \"scenario.toml\"\nschemes = [\"pfifo limit=5\", \"codel\"]\nseeds = [1, 2]\nbins = [3, 10]\n\
    [axes]\nrate = { from = \"1mbit\", to = \"2mbit\", steps = 2 }\nlink.down.delay = [\"5ms\", \"20ms\"]\n";

pub(crate) fn case(draw: &mut Draw, case: &Case) -> Checked {
    case.write("scenario.toml", BRIEF);
    match draw.below(7) {
        0 => scenario_file(draw, case),
        1 => flow_list(draw, case),
        2 => grid(draw, case),
        3 => command_line(draw, case),
        4 => capture(draw, case),
        5 => record(draw, case),
        _ => store(draw, case),
    }
}

/// Runs a command on a damaged file; an error has to name it.
fn on(case: &Case, file: &str, args: &[&str]) -> Checked {
    let ran = case.gentle(args)?;
    holds("an error names the file", ran.status.success() || ran.stderr.contains(file), || {
        format!("{}: no '{file}' in: {}", ran.line, ran.stderr)
    })
}

fn scenario_file(draw: &mut Draw, case: &Case) -> Checked {
    let scenario = scenario::any(draw);
    scenario.write(case, "damaged.toml");
    case.write("damaged.toml", damaged_text(draw, &scenario.toml()));
    // So short that a rate of 10^15 b/s does not matter.
    on(case, "damaged.toml", &["sim", "damaged.toml", "--quiet", "--duration=1us"])
}

fn flow_list(draw: &mut Draw, case: &Case) -> Checked {
    let columns = "start_s,bytes,rtt_s,direction,initiator\n";
    let rows = (0..draw.range(1, 6)).map(|row| format!("0.{row},{},0.05,down,sender\n", 1000 * row + 1));
    let list = columns.to_owned() + &rows.collect::<String>();
    case.write("damaged.csv", damaged_text(draw, &list));
    on(
        case,
        "damaged.csv",
        &["compare", "--traffic=damaged.csv", "--scheme=pfifo", "--seeds=1", "--quiet", "--duration=1ms"],
    )
}

fn grid(draw: &mut Draw, case: &Case) -> Checked {
    // A grid can ask for any number of runs: a run that takes long is no finding, so the grid names no scenario that exists.
    let grid = GRID.replace("scenario.toml", "missing.toml");
    case.write("damaged.toml", damaged_text(draw, &grid));
    let ran = case.gentle(&["sweep", "damaged.toml", "--store=store", "--quiet"])?;
    let named = ran.stderr.contains("damaged.toml") || ran.stderr.contains("missing.toml");
    holds("an error names the file", ran.status.success() || named, || format!("{}: {}", ran.line, ran.stderr))
}

/// Command lines; the words before `|` stay, because without them a command would work for minutes.
const LINES: [&str; 14] = [
    "sim scenario.toml --quiet --duration=1ms --seeds=1 | --scheme codel --rate 2mbit --load 50% --first-seed 3 --bins 1,2 --tcp iw=4 --profile ns-2 --threads 2 --csv out.csv",
    "compare --traffic scenario.toml --quiet --duration=1ms --seeds=2 | --scheme spa --scheme codel --reference codel --up-rate 1mbit --html out.html --json",
    "schemes | codel",
    "profiles | linux-7.2",
    "model | --loss 0.01 --rtt 100ms --segments 10",
    "analyze example.pcap --quiet | --rate 10mbit --local 10.0.0.0/8 --direction local --idle-timeout 5s --memory-limit 1mb --top 3 --vantage middle --json",
    "analyze example.pcap --quiet | --connections rows.csv --flows flows.csv --anonymize=secret --interface 0 --per-file",
    "analyze example.pcap --quiet | --record found --continue name --threads 1 --full",
    "compare --quiet --duration=1ms --seeds=1 --scheme=pfifo --from example.pcap | --rate 10mbit --local 10.0.0.0/8 --up-rate 2mbit --load 10%",
    "merge | records --reference codel --csv out.csv --json",
    "schema | compare",
    "completions | bash",
    "qdisc plan | eth0 spa --rate 19mbit --overhead 40 --linklayer atm --ingress --shaper tbf",
    "qdisc plan | eth0 cake --rate 19mbit --backing stock",
];

fn command_line(draw: &mut Draw, case: &Case) -> Checked {
    let (fixed, changed) = draw.pick(&LINES).split_once('|').expect("a separator");
    case.gentle(&["analyze", "--example", "--write=example.pcap"])?;
    let mut words: Vec<String> = changed.split_whitespace().map(str::to_owned).collect();
    for _ in 0..draw.range(1, 3) {
        let place = draw.below(words.len() as u64) as usize;
        match draw.below(5) {
            0 => words[place] = odd_value(draw),
            1 => words[place] = damaged_text(draw, &words[place].clone()),
            2 => drop(words.remove(place)),
            3 => words.insert(place, words[place].clone()),
            _ => words.rotate_left(place),
        }
        if words.is_empty() {
            words.push(String::new());
        }
    }
    // An argument cannot have a zero byte; a line break in a name divides the error that quotes it.
    let words = words.iter().map(|word| word.replace(['\0', '\r', '\n'], ""));
    let words: Vec<String> = fixed.split_whitespace().map(str::to_owned).chain(words).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    case.gentle(&words).map(drop)
}

/// Captures in the repository, of all formats.
fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/data");
    let mut found: Vec<PathBuf> = ["formats", "netns", "other", "causes"]
        .iter()
        .filter_map(|name| std::fs::read_dir(folder.join(name)).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    found.sort();
    found
}

fn capture(draw: &mut Draw, case: &Case) -> Checked {
    let all = captures();
    let [one, other] = [0, 1].map(|_| all[draw.below(all.len() as u64) as usize].clone());
    let read = |path: &Path| std::fs::read(path).expect("a capture of the repository");
    case.write("damaged.pcap", damaged_bytes(draw, read(&one), &read(&other)));
    let more: &[&str] = match draw.below(6) {
        0 => &[],
        1 => &["--strict"],
        2 => &["--full"],
        3 => &["--inner", "--json"],
        4 => &["--connections=rows.parquet", "--flows=flows.csv"],
        _ => &["--html=page.html", "--anonymize"],
    };
    on(case, "damaged.pcap", &[&["analyze", "damaged.pcap", "--quiet"], more].concat())?;
    let from = [
        "compare",
        "--from=damaged.pcap",
        "--rate=100mbit",
        "--scheme=pfifo",
        "--seeds=1",
        "--quiet",
        "--duration=1ms",
    ];
    match draw.chance(20) {
        true => on(case, "damaged.pcap", &from),
        false => Ok(()),
    }
}

/// Damages one of the files in a folder.
fn damage_one_of(draw: &mut Draw, case: &Case, folder: &str) -> Result<String, Finding> {
    let mut files = Vec::new();
    let mut folders = vec![case.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => files.push(path),
            }
        }
    }
    files.sort();
    let [one, other] = [0, 1].map(|_| files[draw.below(files.len() as u64) as usize].clone());
    let [bytes, others] = [&one, &other].map(|path| std::fs::read(path).expect("a file"));
    let damaged = match (draw.chance(50), String::from_utf8(bytes.clone())) {
        (true, Ok(text)) => damaged_text(draw, &text).into_bytes(),
        _ => damaged_bytes(draw, bytes, &others),
    };
    std::fs::write(&one, damaged).expect("a file");
    let name = one.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

fn record(draw: &mut Draw, case: &Case) -> Checked {
    case.succeed(&["analyze", "--example", "--write=example.pcap"])?;
    case.succeed(&["analyze", "example.pcap", "--record=records", "--quiet"])?;
    let name = damage_one_of(draw, case, "records")?;
    on(case, &name, &["merge", "records"])
}

fn store(draw: &mut Draw, case: &Case) -> Checked {
    if draw.chance(50) {
        let compare =
            ["compare", "--traffic=scenario.toml", "--seeds=2", "--store=store", "--quiet", "--csv=table.csv"];
        case.succeed(&compare)?;
        let table = case.read("table.csv");
        let name = damage_one_of(draw, case, "store")?;
        on(case, &name, &compare)?;
        return holds("a damaged record gives the same table", case.read("table.csv") == table, || name);
    }
    case.write("grid.toml", GRID);
    let sweep = ["sweep", "grid.toml", "--store=store", "--quiet", "--csv=table.csv"];
    case.succeed(&sweep)?;
    let table = case.read("table.csv");
    let name = damage_one_of(draw, case, "store")?;
    on(case, &name, &sweep)?;
    holds("a damaged store gives the same table or an error", case.read("table.csv") == table, || name)
}

/// Values at which programs break.
const ODD: [&str; 30] = [
    "",
    "0",
    "-1",
    "1",
    "65536",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e999",
    "-0.0",
    "NaN",
    "inf",
    "1e-320",
    "0x10",
    "1_000",
    " 7 ",
    "٣",
    "ß",
    "\u{feff}1",
    "\u{202e}",
    "\u{1b}[31m",
    "\r\n",
    "'",
    "\"",
    "\\",
    "99999999999s",
    "1ns",
    "0.0000001bit",
    "=1+1",
];

fn odd_value(draw: &mut Draw) -> String {
    draw.pick(&ODD).to_owned()
}

/// Text with some words, lines or characters changed.
fn damaged_text(draw: &mut Draw, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..draw.range(1, 3) {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            lines.push(String::new());
        }
        let place = draw.below(lines.len() as u64) as usize;
        match draw.below(6) {
            // The value of a key, or the field of a table.
            0 | 1 => {
                let parts: Vec<&str> =
                    lines[place].split_inclusive(|c: char| !c.is_alphanumeric() && c != '.').collect();
                if !parts.is_empty() {
                    let part = draw.below(parts.len() as u64) as usize;
                    let odd = odd_value(draw);
                    let kept: String = parts[part].chars().filter(|c| !c.is_alphanumeric() && *c != '.').collect();
                    let changed = parts.iter().enumerate().map(|(index, text)| match index == part {
                        true => format!("{odd}{kept}"),
                        false => (*text).to_owned(),
                    });
                    let changed: String = changed.collect();
                    lines[place] = changed;
                }
            }
            2 => drop(lines.remove(place)),
            3 => lines.insert(place, lines[place].clone()),
            4 => {
                let other = draw.below(lines.len() as u64) as usize;
                lines.swap(place, other);
            }
            _ => {
                let odd = odd_value(draw);
                let mut characters: Vec<char> = lines[place].chars().collect();
                let at = draw.below(characters.len() as u64 + 1) as usize;
                let end = (at + draw.below(3) as usize).min(characters.len());
                characters.splice(at..end, odd.chars());
                lines[place] = characters.into_iter().collect();
            }
        }
        text = lines.concat();
    }
    text
}

/// Bytes with bits flipped, numbers replaced, and parts cut, repeated or taken from another file.
fn damaged_bytes(draw: &mut Draw, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
    for _ in 0..draw.magnitude(1, 30) {
        if bytes.is_empty() {
            return bytes;
        }
        let length = bytes.len() as u64;
        // Headers are where the structure is.
        let place = match draw.chance(40) {
            true => draw.below(length.min(120)),
            false => draw.below(length),
        } as usize;
        let end = (place + draw.magnitude(1, 400) as usize).min(bytes.len());
        match draw.below(6) {
            0 => bytes[place] ^= 1 << draw.below(8),
            1 => bytes[place] = draw.below(256) as u8,
            2 => {
                let odd: u32 = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff, 0x0100_0000][draw.below(7) as usize];
                let odd = odd.to_le_bytes();
                let end = (place + 4).min(bytes.len());
                bytes[place..end].copy_from_slice(&odd[..end - place]);
            }
            3 => drop(bytes.drain(place..end)),
            4 => {
                let part = bytes[place..end].to_vec();
                bytes.splice(place..place, part);
            }
            _ => {
                let from = (draw.below(other.len() as u64 + 1) as usize).min(other.len());
                let part = other[from..(from + end - place).min(other.len())].to_vec();
                bytes.splice(place..end, part);
            }
        }
    }
    if draw.chance(25) {
        bytes.truncate(draw.below(bytes.len() as u64 + 1) as usize);
    }
    bytes
}
