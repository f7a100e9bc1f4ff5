//! Output of the program in pages of the documentation.
//!
//! There are two forms. A *block* is the output of a command: a code block after a marker that names the command. A *page with
//! numbers* is generated from a template in `docs/templates/`, whose expressions take numbers from runs of the program, so that
//! sentences agree with the tables. `UPDATE_DOCS=1 cargo test -p gentle --test docs` rewrites both. Blocks of `gentle testbed`
//! take hours on a real kernel: they are compared and written only by `make docs-kernel`, which also sets DOCS_KERNEL=1.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value, context};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Map, Value as Json, json};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Width of the terminal shown in pages: about the width of a code block in a browser without a scroll bar.
const COLUMNS: u16 = 107;

/// Standard output of the program, run in the root of the repository.
fn printed(arguments: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gentle"));
    let output = command
        .args(arguments)
        .current_dir(repository())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gentle {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Output of the program on a terminal of [`COLUMNS`], run in the root of the repository.
fn shown(arguments: &[String]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    let ours = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gentle"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .current_dir(repository())
        .stderr(Stdio::null())
        .stdout(ours);
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
    text.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

const MARKER: &str = "<!-- from: gentle ";
const FENCE: &str = "```text\n";

/// Calls `new` with the command of each block of a page; a returned text replaces the contents of the block.
fn with_blocks(name: &str, page: &str, new: impl Fn(&[String]) -> Option<String>) -> String {
    let mut made = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(MARKER) {
        let (before, block) = rest.split_at(at + MARKER.len());
        let (command, block) = block
            .split_once(" -->\n")
            .unwrap_or_else(|| panic!("{name}: a marker does not end with ' -->'"));
        let arguments = shlex::split(command).unwrap_or_else(|| panic!("{name}: {command}"));
        let content = block
            .strip_prefix(FENCE)
            .unwrap_or_else(|| panic!("{name}: expected {FENCE:?} behind {MARKER}{command}"));
        let (old, after) = content
            .split_once("```\n")
            .unwrap_or_else(|| panic!("{name}: the block of {command} has no end"));
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
const PAGES: [&str; 3] = ["README.md", "docs/kernel-proof.md", "docs/model.md"];

#[test]
fn pages_show_what_the_program_prints_now() {
    for name in PAGES {
        let path = repository().join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        let kernel = std::env::var_os("DOCS_KERNEL").is_some();
        let made = with_blocks(name, &page, |arguments| {
            let of_kernel = arguments.first().is_some_and(|verb| verb == "testbed");
            (!of_kernel || kernel).then(|| shown(arguments))
        });
        compare(name, &path, &page, &made);
    }
    // A page without its marker would not be checked.
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.contains("<!-- from: gentle compare -->"));
}

fn compare(name: &str, path: &Path, page: &str, made: &str) {
    if updates() {
        std::fs::write(path, made).unwrap();
        return;
    }
    let differs = page.lines().zip(made.lines()).find(|(old, new)| old != new);
    let differs = differs.map_or(String::new(), |(old, new)| {
        format!("\n  {old}\nis now\n  {new}")
    });
    assert!(
        page == made,
        "{name} is out of date; UPDATE_DOCS=1 cargo test -p gentle --test docs writes it anew{differs}"
    );
}

/// Templates of pages with numbers.
const TEMPLATES: [&str; 1] = ["spa-2018.md"];

#[test]
fn numbers_in_pages_are_those_of_the_program() {
    for name in TEMPLATES {
        let docs = repository().join("docs");
        let template = std::fs::read_to_string(docs.join("templates").join(name)).unwrap();
        let made = rendered(&template).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let path = docs.join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        compare(name, &path, &page, &made);
    }
}

fn rendered(template: &str) -> Result<String, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .trim_blocks(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_function("compare", compared);
    environment.add_filter("fixed", |x: f64, digits: usize| format!("{x:.digits$}"));
    environment.add_function("less_percent", |now: f64, before: f64| {
        100.0 * (1.0 - now / before)
    });
    environment.render_str(template, context! {})
}

/// Results of `gentle compare --traffic` for a scenario: the numbers of each scheme by its label, and of the first
/// scheme of each name also by that name; `labels` has their order.
fn compared(traffic: String) -> Result<Value, Error> {
    let arguments = ["compare", "--quiet", "--json", "--traffic", &traffic].map(str::to_owned);
    let found: Json = serde_json::from_str(&printed(&arguments))
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))?;
    let schemes = found["results"].as_array().expect("results").iter();
    let mut found: Map<String, Json> = Map::new();
    let mut labels = Vec::new();
    for result in schemes {
        let name = |key| result[key].as_str().expect("a name").to_owned();
        found
            .entry(name("scheme"))
            .or_insert_with(|| numbers(result));
        found.insert(name("label"), numbers(result));
        labels.push(name("label"));
    }
    found.insert("labels".to_owned(), json!(labels));
    Ok(Value::from(Serde(found)))
}

fn numbers(result: &Json) -> Json {
    let number = |pointer: &str| {
        let value = result.pointer(pointer).and_then(Json::as_f64);
        value.unwrap_or_else(|| panic!("no {pointer} in {result}"))
    };
    let size = |class: usize| number(&format!("/response_time_by_size/{class}/mean_s"));
    let delay = number("/retransmission/delay_mean_s");
    let syn_part = number("/retransmission/delay_mean_syn_part_s");
    json!({
        "mean": number("/response_time_s/mean"),
        "s1_3": size(0),
        "s4_10": size(1),
        "s11_100": size(2),
        "rtt_ms": 1e3 * number("/rtt_s/mean"),
        "loss": 100.0 * number("/loss/all"),
        "syn_loss": 100.0 * number("/loss/syn"),
        "syn_again": 100.0 * number("/retransmission/connections_with_syn_loss"),
        "delay": delay,
        "syn_delay": syn_part,
        "syn_share": 100.0 * syn_part / delay,
    })
}
