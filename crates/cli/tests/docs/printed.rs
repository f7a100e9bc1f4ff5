//! Output of the program in pages of the documentation.
//!
//! There are two forms. A *block* is the output of a command: a code block after a marker that names the command. A *page of claims*
//! is generated for each paper from `claims.md.j2`. `make docs` rewrites both, `make test-all` compares both. Blocks of `gentle testbed`
//! take hours on a real kernel: they are compared and written only by `make docs-kernel`, which also sets DOCS_KERNEL=1.

use super::{root, updates};
use gentle_papers::published::{Claim, Target};
use gentle_papers::{Coverage, PAPERS, Paper, Verdict};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, UndefinedBehavior, Value};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// Width of the terminal shown in pages: about the width of a code block in a browser without a scroll bar.
const COLUMNS: u16 = 107;

/// Standard output of the program, run in the root of the repository.
fn printed(arguments: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gentle"));
    let output = command.args(arguments).current_dir(root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gentle {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Output of the program on a terminal of [`COLUMNS`], run in `folder`.
fn shown(arguments: &[String], folder: &Path) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let size = Winsize { ws_row: 50, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let ours = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gentle"));
    command.args(arguments).env("NO_COLOR", "1").current_dir(folder).stderr(Stdio::null()).stdout(ours);
    let mut running = command.spawn().unwrap();
    // The command holds the other end of the terminal open; without it, reading ends with the program.
    drop(command);
    let mut bytes = Vec::new();
    let mut terminal = File::from(terminal);
    let mut buffer = [0; 4096];
    // Reading a terminal without writers fails with EIO.
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..length]);
    }
    assert!(running.wait().unwrap().success(), "gentle {arguments:?}");
    let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

const MARKER: &str = "<!-- from: gentle ";
const FENCE: &str = "```text\n";

/// Calls `new` with the command of each block of a page; a returned text replaces the contents of the block.
fn with_blocks(name: &str, page: &str, new: impl Fn(&[String]) -> Option<String>) -> String {
    let mut made = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(MARKER) {
        let (before, block) = rest.split_at(at + MARKER.len());
        let (command, block) =
            block.split_once(" -->\n").unwrap_or_else(|| panic!("{name}: a marker does not end with ' -->'"));
        let arguments = shlex::split(command).unwrap_or_else(|| panic!("{name}: {command}"));
        let content =
            block.strip_prefix(FENCE).unwrap_or_else(|| panic!("{name}: expected {FENCE:?} behind {MARKER}{command}"));
        let (old, after) =
            content.split_once("```\n").unwrap_or_else(|| panic!("{name}: the block of {command} has no end"));
        made += before;
        made += command;
        made += " -->\n";
        made += FENCE;
        made += &new(&arguments).unwrap_or_else(|| old.to_owned());
        made += "```\n";
        rest = after;
    }
    made + rest
}

/// Pages with blocks.
const PAGES: [&str; 8] = [
    "README.md",
    "docs/concepts/gentle.md",
    "docs/concepts/model.md",
    "docs/concepts/users.md",
    "docs/getting-started/first-capture.md",
    "docs/getting-started/first-comparison.md",
    "docs/guides/slow-connects.md",
    "docs/research/rexmit.md",
];

#[test]
fn pages_show_what_the_program_prints_now() {
    // README.md writes this capture before it compares.
    let folder = tempfile::TempDir::new().unwrap();
    let example = folder.path().join("example.pcap");
    printed(&["analyze", "--example", "-w", example.to_str().unwrap()].map(str::to_owned));
    std::os::unix::fs::symlink(root().join("docs"), folder.path().join("docs")).unwrap();
    for name in PAGES {
        let path = root().join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        let kernel = std::env::var_os("DOCS_KERNEL").is_some();
        let made = with_blocks(name, &page, |arguments| {
            let of_kernel = arguments.first().is_some_and(|verb| verb == "testbed");
            (!of_kernel || kernel).then(|| shown(arguments, folder.path()))
        });
        compare(name, &path, &page, &made);
    }
    // A page without its marker would not be checked.
    for name in PAGES {
        assert!(std::fs::read_to_string(root().join(name)).unwrap().contains(MARKER), "{name}");
    }
}

/// Head of the generated reference of commands.
const COMMANDS: &str = "# Commands

Every command of gentle with its options, as `gentle COMMAND -h` prints them. `gentle COMMAND --help` and the manual pages
(`gentle man DIRECTORY`) explain them in full. [Output, packets, exit codes, quantities](output.md) has the conventions of all
commands.
";

/// Subcommands of a command, as its help lists them.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Descriptions that wrap are further to the right.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Section of a command, followed by its subcommands.
fn section(command: &[String], folder: &Path) -> String {
    let help = shown(&[command, &["-h".to_owned()]].concat(), folder);
    let name = command.join(" ");
    let level = "#".repeat(1 + command.len());
    let mut text = format!("\n{level} gentle {name}\n\n{FENCE}{help}```\n");
    for subcommand in subcommands(&help) {
        text += &section(&[command, &[subcommand]].concat(), folder);
    }
    text
}

#[test]
fn the_reference_has_every_command_with_its_options() {
    let folder = tempfile::TempDir::new().unwrap();
    let commands = subcommands(&shown(&["--help".to_owned()], folder.path()));
    assert!(commands.len() > 10, "{commands:?}");
    let made = commands
        .iter()
        .fold(COMMANDS.to_owned(), |text, name| text + &section(std::slice::from_ref(name), folder.path()));
    let path = root().join("docs/reference/cli.md");
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    compare("docs/reference/cli.md", &path, &page, &made);
}

fn compare(name: &str, path: &Path, page: &str, made: &str) {
    if updates() {
        std::fs::write(path, made).unwrap();
        return;
    }
    let differs = page.lines().zip(made.lines()).find(|(old, new)| old != new);
    let differs = differs.map_or(String::new(), |(old, new)| format!("\n  {old}\nis now\n  {new}"));
    assert!(page == made, "{name} is out of date; make docs updates it{differs}");
}

#[test]
#[ignore = "make test-all"]
fn full_size_claims_in_pages_are_those_of_the_program() {
    let docs = root().join("docs/research");
    for paper in PAPERS {
        let Some(coverage) = Coverage::of(paper) else {
            continue;
        };
        let name = paper.name;
        let claims = reproduced(paper, &coverage);
        let made = rendered(include_str!("claims.md.j2"), claims).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let path = docs.join(format!("claims/{name}.md"));
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        compare(name, &path, &page, &made);
    }
}

fn rendered(template: &str, claims: Json) -> Result<String, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.render_str(template, Value::from(Serde(claims)))
}

/// Figures and tables of `gentle reproduce PAPER` with their claims, and the number of claims by verdict.
fn reproduced(paper: &Paper, coverage: &Coverage) -> Json {
    let data = paper.data();
    let mut arguments = ["reproduce", paper.name, "--json", "--quiet"].map(str::to_owned).to_vec();
    // Without the assumptions, which have no claims.
    arguments.extend(paper.parts.iter().map(|part| part.id.to_owned()));
    let found: Json = serde_json::from_str(&printed(&arguments)).expect("JSON");
    let mut parts: Vec<Json> = Vec::new();
    for item in found["items"].as_array().expect("items") {
        match item["kind"].as_str() {
            Some("claim") => {
                let part = parts.last_mut().expect("claims follow their figure");
                let claims = part["claims"].as_array_mut().expect("claims");
                let known = data.claims.iter().find(|known| item["id"] == known.id);
                claims.push(row(known.expect("a claim of the paper"), item));
            }
            _ => parts.push(json!({
                "title": item["title"],
                "source": item["source"],
                "claims": [],
            })),
        }
    }
    json!({
        "paper": paper.name,
        "title": found["title"],
        "authors": found["authors"],
        "venue": found["venue"],
        "parts": parts,
        "verdicts": found["verdicts"],
        "not_testable": coverage.without,
    })
}

/// A claim in the words of a table: published and our number with the unit, verdict, and the reason for a difference.
fn row(claim: &Claim, item: &Json) -> Json {
    let unit = unit(claim);
    let ours = item["ours"]["value"].as_f64().map_or("–".to_owned(), significant);
    let interval = item["ours"]["ci95"].as_f64();
    let interval = interval.map_or(String::new(), |ci95| format!(" ± {}", significant(ci95)));
    json!({
        "text": item["title"],
        "published": published(claim),
        "ours": format!("{ours}{interval}{unit}"),
        "verdict": item["verdict"],
        "seeds": item["seeds_to_decide"],
        "reason": item["reason"],
    })
}

/// Unit of a claim behind its number.
fn unit(claim: &Claim) -> String {
    match claim.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

/// Published value or bound of a claim with its unit; empty without one.
fn published(claim: &Claim) -> String {
    let unit = unit(claim);
    match claim.target() {
        None => String::new(),
        Some(Target::Value(value)) => format!("{}{unit}", significant(value)),
        Some(Target::AtMost(bound)) => format!("≤ {}{unit}", significant(bound)),
        Some(Target::AtLeast(bound)) => format!("≥ {}{unit}", significant(bound)),
        Some(Target::Between(low, high)) => {
            format!("{} to {}{unit}", significant(low), significant(high))
        }
    }
}

/// A number with three significant digits, or all digits before the decimal point.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Rows of `crates/sim/tests/kernel/measured.csv` for one type of traffic, one per scheme; or of `simulated.csv`, which has
/// fewer columns.
struct OnKernel {
    rows: Vec<Vec<String>>,
}

/// Columns of `measured.csv`.
const CONNECTIONS: usize = 2;
const MEAN: usize = 4;
const UP_TO_3: usize = 6;
const FROM_4_TO_10: usize = 7;
const FROM_11_TO_100: usize = 8;
const SYN_AGAIN: usize = 13;

const PFIFO: &str = "pfifo limit=50";
const BFIFO: &str = "bfifo limit=75000";
const RED: &str = "red limit=75000 avpkt=1000";
const ARED: &str = "ared limit=75000 avpkt=1000";
const SYN_FIN_PRIO: &str = "syn_fin_prio limit=50 fin=priority maxlen=0 share=100";
const SPA: &str = "spa fin=priority maxlen=0 share=100";
const FQ_CODEL_20: &str = "fq_codel target=20ms";
/// Schemes of the paper, without REDFavor, which the kernel of these measurements did not have.
const OF_THE_PAPER: [&str; 13] = [
    PFIFO,
    BFIFO,
    RED,
    ARED,
    "codel",
    "codel target=20ms",
    "pie",
    "fq_codel",
    FQ_CODEL_20,
    "sfq",
    "syn_prio limit=50",
    SYN_FIN_PRIO,
    SPA,
];

impl OnKernel {
    fn read(traffic: &str) -> OnKernel {
        OnKernel::read_from("measured.csv", traffic)
    }

    fn read_from(name: &str, traffic: &str) -> OnKernel {
        let path = root().join("crates/sim/tests/kernel").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let rows: Vec<Vec<String>> = rows.collect();
        OnKernel { rows: rows.into_iter().filter(|row| row[0] == traffic).collect() }
    }

    fn of(&self, scheme: &str, column: usize) -> f64 {
        let row = self.rows.iter().find(|row| row[1] == scheme);
        let row = row.unwrap_or_else(|| panic!("no measurement of {scheme}"));
        row[column].parse().unwrap()
    }

    fn ratio(&self, scheme: &str, to: &str, column: usize) -> f64 {
        self.of(scheme, column) / self.of(to, column)
    }

    fn saving(&self, scheme: &str, than: &str, column: usize) -> f64 {
        100.0 * (1.0 - self.ratio(scheme, than, column))
    }

    fn worst(&self, schemes: &[&str], column: usize) -> f64 {
        let values = schemes.iter().map(|scheme| self.of(scheme, column));
        values.fold(0.0, f64::max)
    }

    fn best(&self, schemes: &[&str], column: usize) -> f64 {
        let values = schemes.iter().map(|scheme| self.of(scheme, column));
        values.fold(f64::INFINITY, f64::min)
    }

    /// The slowest of `leading` relative to the fastest of the other schemes.
    fn lead(&self, leading: &[&str], column: usize) -> f64 {
        self.worst(leading, column) / self.best(&without(leading), column)
    }

    /// Mean response time relative to the scheme in the middle of those without FQ-CoDel.
    fn to_middle(&self, scheme: &str) -> f64 {
        let others = without(&["fq_codel", FQ_CODEL_20]);
        let mut means: Vec<f64> = others.iter().map(|other| self.of(other, MEAN)).collect();
        means.sort_by(f64::total_cmp);
        self.of(scheme, MEAN) / means[means.len() / 2]
    }

    fn byte_fifo_to_aqms(&self) -> f64 {
        self.of(BFIFO, MEAN) / self.best(&[RED, ARED, "codel", "pie"], MEAN)
    }

    fn syn_again_percent(&self, scheme: &str) -> f64 {
        100.0 * self.ratio_of_columns(scheme, SYN_AGAIN, CONNECTIONS)
    }

    fn ratio_of_columns(&self, scheme: &str, column: usize, to: usize) -> f64 {
        self.of(scheme, column) / self.of(scheme, to)
    }
}

fn without<'a>(schemes: &[&str]) -> Vec<&'a str> {
    let rest = OF_THE_PAPER.iter().copied();
    rest.filter(|scheme| !schemes.contains(scheme)).collect()
}

/// Claims of spa-2018 as measured on the kernel, with the verdict that these numbers give.
fn claims_on_kernel() -> String {
    let (real, short, ten) = (OnKernel::read("real"), OnKernel::read("short"), OnKernel::read("10m"));
    let leading = ["fq_codel", FQ_CODEL_20, "sfq", SPA];
    let short_next = short.best(&without(&["fq_codel", FQ_CODEL_20, "sfq", SYN_FIN_PRIO, SPA]), UP_TO_3);
    let short_lead = |scheme| short.of(scheme, UP_TO_3) / short_next;
    let numbers = [
        ("fig5/all-beat-packet-fifo", real.worst(&without(&[PFIFO]), MEAN) / real.of(PFIFO, MEAN)),
        ("fig5/stand-out", real.lead(&leading, MEAN)),
        ("fig6/stand-out-1-3", real.lead(&leading, UP_TO_3)),
        ("fig5/byte-fifo-beats-aqms", real.byte_fifo_to_aqms()),
        ("fig5/byte-fifo", real.saving(BFIFO, PFIFO, MEAN)),
        ("fig6/byte-fifo-1-3", real.saving(BFIFO, PFIFO, UP_TO_3)),
        ("fig6/spa-4-10", real.saving(SPA, "fq_codel", FROM_4_TO_10)),
        ("fig6/spa-11-100", real.saving(SPA, "fq_codel", FROM_11_TO_100)),
        ("fig9/spa-best", short_lead(SPA)),
        ("fig9/syn-fin-prio-best", short_lead(SYN_FIN_PRIO)),
        ("fig9/sfq-best", short_lead("sfq")),
        ("fig9/fq-codel-best", short_lead(FQ_CODEL_20)),
        ("fig9/fq-codel-5ms", short.to_middle("fq_codel")),
        ("fig9/fq-codel-20ms", short.to_middle(FQ_CODEL_20)),
        ("fig9/byte-fifo-beats-aqms", short.byte_fifo_to_aqms()),
        ("fig9/pie", short.syn_again_percent("pie")),
        ("fig10/far-ahead", ten.lead(&leading, MEAN)),
        ("fig10/byte-fifo", ten.saving(BFIFO, PFIFO, MEAN)),
        ("fig10/byte-fifo-1-3", ten.saving(BFIFO, PFIFO, UP_TO_3)),
    ];
    let data = Paper::by_name("spa-2018").unwrap().data();
    let mut table =
        "| traffic | claim | number | published | kernel | verdict |\n| --- | --- | --- | --- | --- | --- |".to_owned();
    for (id, ours) in numbers {
        let claim = data.claims.iter().find(|claim| claim.id == id);
        let claim = claim.unwrap_or_else(|| panic!("no claim {id}"));
        let traffic = match claim.part() {
            "fig9" => "short",
            "fig10" => "10m",
            _ => "real",
        };
        assert!(claim.target().is_some(), "{id} has a published value");
        let (published, unit) = (published(claim), unit(claim));
        let verdict = Verdict::of_claim(claim, Some(ours), &[]);
        table += &format!(
            "\n| `{traffic}` | {} | {} | {published} | {}{unit} | {verdict} |",
            claim.text,
            claim.quantity,
            significant(ours)
        );
    }
    table
}

#[test]
fn the_claims_on_the_kernel_are_those_of_the_measurements() {
    super::check("research/kernel-proof.md", "claims", &claims_on_kernel());
}

/// Table III of spa-2018, on the kernel and simulated.
fn table_3() -> String {
    let traffics = ["real", "10m", "short"];
    let mut head = "\n| scheme |".to_owned();
    for traffic in traffics {
        head += &format!(" `{traffic}` kernel | simulator | 1–3 seg. kernel | simulator |");
    }
    let rule = "| --- ".repeat(1 + 4 * traffics.len());
    let measured = traffics.map(OnKernel::read);
    let simulated = traffics.map(|traffic| OnKernel::read_from("simulated.csv", traffic));
    let mut table = format!("{head}\n{rule}|");
    for row in &measured[0].rows {
        let scheme = &row[1];
        table += &format!("\n| `{scheme}` |");
        for (kernel, simulator) in measured.iter().zip(&simulated) {
            for (column, of_simulator) in [(MEAN, 2), (UP_TO_3, 3)] {
                let kernel = kernel.of(scheme, column);
                table += &format!(" {kernel} | {} |", simulator.of(scheme, of_simulator));
            }
        }
    }
    table
}

#[test]
fn table_3_on_kernel_and_simulator_is_as_measured() {
    super::check("research/kernel-proof.md", "table 3", &table_3());
}
