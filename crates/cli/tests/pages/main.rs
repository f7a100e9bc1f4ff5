//! HTML pages in Debian's Chromium and Firefox, driven by Playwright: what they draw, accessibility according to axe, and their
//! buttons. Likewise the page of `gentle lab`, which `lab/build` has to have built before the command, and the site.
//!
//! The pages are made here by the command, as users make them; the `*.spec.mjs` files in this folder test them.
//! `scripts/bootstrap test` and then `install` in this folder, and `site/install`, install the requirements.

mod papers;

use assert_cmd::cargo::cargo_bin;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Folder of this file, with the specifications and the packages installed by npm.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");

/// Captures with deliberate losses.
const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/data");

/// Two groups of workloads and a long-lived flow, to cover every section of a comparison.
const GROUPS: &str = r#"
title = "Two groups and a long-lived flow"
source = "a test of the page"
duration = "20s"

[link.down]
rate = "2mbit"
delay = "20ms"

[link.up]
rate = "1mbit"
delay = "20ms"

[[workload]]
kind = "poisson"
group = "office"
gap = "100ms"
size = { zipf = 1.7, max = 100 }

[[workload]]
kind = "poisson"
group = "branch"
gap = "100ms"
size = { segments = 5 }
tcp = { initial_rto = "3s" }

[[workload]]
kind = "long"
"#;

/// Creation date of the pages: 2026-01-02 03:04 UTC.
const DATE: &str = "1767323040";

fn gentle(folder: &Path, args: &[&str]) -> Output {
    let output = Command::new(cargo_bin("gentle"))
        .current_dir(folder)
        .env("SOURCE_DATE_EPOCH", DATE)
        .args(args)
        .output()
        .expect("the command runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gentle {args:?}: {complaint}");
    output
}

/// Makes every kind of page of the command in `folder`.
fn make_pages(folder: &Path) {
    std::fs::write(folder.join("groups.toml"), GROUPS).unwrap();
    for command in [
        "compare --quiet --duration 30s --seeds 3 --html compare.html --csv compare.csv",
        "sim --quiet --seeds 2 --html sim.html groups.toml",
        "compare --quiet --seeds 1 --traffic groups.toml --scheme pfifo --scheme fq_codel --html groups.html",
        "compare --quiet --duration 40s --seeds 1 --traffic short --scheme pfifo --pcap lossy.pcapng",
        "analyze --quiet --html lossy.html lossy.pcapng",
        "compare --quiet --duration 20s --seeds 2 --traffic home-evening --html home.html",
        "model --html model.html",
        // A figure that takes no simulation.
        "reproduce spa-2018 fig3 --quiet --html .",
    ] {
        gentle(folder, &command.split(' ').collect::<Vec<_>>());
    }
    // The picture in the README is of a comparison with its defaults.
    if std::env::var_os("UPDATE_DOCS").is_some() {
        gentle(folder, &["compare", "--quiet", "--html", "defaults.html"]);
    }
    let capture = |name: &str| format!("{CAPTURES}/{name}");
    let few = [capture("formats/us.pcap"), capture("netns/data.client.pcap")];
    gentle(folder, &["analyze", "--per-file", "--html", "captures.html", &few[0], &few[1]]);
    gentle(folder, &["analyze", "--html", "empty.html", &capture("formats/empty.pcap")]);
}

/// Debian's Chromium, or the one named by the environment.
fn chromium() -> PathBuf {
    browser("Chromium", "CHROMIUM", "/usr/bin/chromium")
}

/// Debian's Firefox, or the one named by the environment.
fn firefox() -> PathBuf {
    browser("Firefox", "FIREFOX", "/usr/bin/firefox-esr")
}

fn browser(name: &str, variable: &str, usual: &str) -> PathBuf {
    let browser = std::env::var_os(variable).map_or_else(|| PathBuf::from(usual), PathBuf::from);
    assert!(
        browser.exists(),
        "{}: there is no {name}; run scripts/bootstrap test, or name one in {variable}",
        browser.display()
    );
    browser
}

/// Held while browsers run: a specification already uses every core.
static BROWSERS: Mutex<()> = Mutex::new(());

/// Runs specifications that Playwright's options choose, with these variables in their environment; the browser reports failures.
fn specifications(options: &[&str], variables: &[(&str, &OsStr)]) {
    let runner = Path::new(HERE).join("node_modules/@playwright/test/cli.js");
    assert!(runner.exists(), "{}: Playwright is missing; run crates/cli/tests/pages/install", runner.display());
    let results = TempDir::new().unwrap();
    // Another test that failed meanwhile does not matter here.
    let _turn = BROWSERS.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = Command::new("node")
        .arg(runner)
        .arg("test")
        .args(options)
        .current_dir(HERE)
        .env("CHROMIUM", chromium())
        .env("PAGES_OUTPUT", results.path())
        .envs(variables.iter().copied())
        .status()
        .expect("node runs; scripts/bootstrap test installs it");
    assert!(outcome.success(), "the browser's report is above");
}

fn pages_hold(options: &[&str]) {
    let folder = TempDir::new().unwrap();
    make_pages(folder.path());
    specifications(options, &[("PAGES", folder.path().as_os_str())]);
}

#[test]
fn pages_hold_in_a_browser() {
    let mut options = vec!["--project=phone dark", "--project=desktop light", "--project=tools"];
    if std::env::var_os("UPDATE_DOCS").is_some() {
        options.push("--update-snapshots");
    }
    pages_hold(&options);
}

#[test]
fn pages_hold_in_firefox() {
    let folder = TempDir::new().unwrap();
    make_pages(folder.path());
    let firefox = firefox();
    let variables = [("PAGES", folder.path().as_os_str()), ("FIREFOX", firefox.as_os_str())];
    specifications(&["--project=firefox phone dark", "--project=firefox desktop light"], &variables);
}

#[test]
#[ignore = "make test-all"]
fn full_size_pages_hold_in_the_other_looks() {
    pages_hold(&[
        "--project=phone light",
        "--project=desktop dark",
        "--project=tablet light",
        "--project=wide dark",
        "--project=zoomed light",
        "--project=forced colours",
    ]);
}

/// A program that ends with this value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `gentle lab` on a free port, and its address.
fn serve_lab() -> (Served, String) {
    let mut served = Served(
        Command::new(cargo_bin("gentle"))
            .args(["lab", "--no-open", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs"),
    );
    let mut line = String::new();
    let stdout = served.0.stdout.take().expect("it is a pipe");
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (served, address.trim_end_matches('.').to_owned())
}

/// Every scheme, with the options that those need that have no default for all.
fn schemes() -> Vec<String> {
    let shaped = |name: &str| match name {
        "tbf" => "tbf rate=1mbit burst=5kb limit=60kb".to_owned(),
        "htb" => "htb rate=1mbit".to_owned(),
        name => name.to_owned(),
    };
    gentle_aqm::registry::listed().map(|scheme| shaped(scheme.name)).collect()
}

/// Traffic both ways over links that lose packets at random.
const LOSSY: &str = r#"
duration = "5s"

[link.down]
rate = "2.4mbit"
delay = "42ms"
loss = 0.01

[link.up]
rate = "400kbit"
delay = "52ms"
bursts = { p = 0.01, r = 0.2 }

[[workload]]
kind = "poisson"
gap = "30ms"
size = { zipf = 1.7, max = 100 }

[[workload]]
kind = "poisson"
direction = "up"
gap = "300ms"
size = { segments = 5 }
"#;

/// Traffic of every kind.
const EVERY_KIND: &str = include_str!("../../../sim/tests/every-kind.toml");

/// Runs of every scheme by the command, for each of three setups of the page.
fn records(folder: &Path) -> serde_json::Value {
    std::fs::write(folder.join("lossy.toml"), LOSSY).unwrap();
    let short = serde_json::json!({ "traffic": "short", "duration": "5s", "profile": "linux-7.2" });
    std::fs::write(folder.join("every.toml"), EVERY_KIND).unwrap();
    let lossy = serde_json::json!({ "toml": LOSSY });
    let every = serde_json::json!({ "toml": EVERY_KIND });
    serde_json::json!([
        { "setup": short, "runs": runs_of_schemes(folder, "short --duration 5s --profile linux-7.2") },
        { "setup": lossy, "runs": runs_of_schemes(folder, "lossy.toml") },
        { "setup": every, "runs": runs_of_schemes(folder, "every.toml") },
    ])
}

/// Runs of every scheme by the command with this traffic, by scheme.
fn runs_of_schemes(folder: &Path, traffic: &str) -> serde_json::Value {
    let records = TempDir::new_in(folder).unwrap();
    let arguments = format!("compare --quiet --traffic {traffic} --seeds 1 --store");
    let mut arguments: Vec<&str> = arguments.split(' ').collect();
    arguments.push(records.path().to_str().unwrap());
    let schemes = schemes();
    for scheme in &schemes {
        arguments.extend(["--scheme", scheme]);
    }
    gentle(folder, &arguments);
    let runs = runs(records.path());
    let run_of = |scheme: &String| {
        let label = scheme.parse::<gentle_aqm::Spec>().unwrap().to_string();
        let run = runs.iter().find(|run| run.scheme == label).unwrap();
        (scheme.clone(), serde_json::to_string(run).unwrap().into())
    };
    serde_json::Value::Object(schemes.iter().map(run_of).collect())
}

/// Writes the command's output for every `step`th capture, among them damaged files and files of other formats, to
/// `captures.json`, and runs of the connections of `router.pcapng` to `replayed.json`.
fn captures(folder: &Path, step: usize) {
    let notes = folder.join("notes.txt");
    std::fs::write(&notes, "12:00:01 IP 192.0.2.1 > 198.51.100.2: Flags [S]\n").unwrap();
    let make = "compare --quiet --traffic real --duration 20s --seeds 1 --scheme pfifo --pcap router.pcapng";
    gentle(folder, &make.split(' ').collect::<Vec<_>>());
    let formats = Path::new(CAPTURES).join("formats");
    let formats = std::fs::read_dir(formats).unwrap();
    let mut formats: Vec<_> = formats.map(|entry| entry.unwrap().path()).collect();
    formats.sort();
    let paths = formats
        .into_iter()
        .filter(|path| !path.ends_with("truth.json"))
        .chain(gentle_testkit::zeek::all())
        .step_by(step)
        .chain([notes, folder.join("router.pcapng")]);
    let flows = folder.join("flows.csv");
    let said = paths.map(|path| {
        let name = path.file_name().unwrap();
        let output = Command::new(cargo_bin("gentle"))
            .current_dir(path.parent().unwrap())
            .args(["analyze", "--quiet", "--flows"])
            .args([flows.as_os_str(), name])
            .output()
            .unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        let error = complaint.trim_end().strip_prefix("error: ");
        serde_json::json!({
            "path": path,
            "text": String::from_utf8(output.stdout).unwrap(),
            "flows": std::fs::read_to_string(&flows).unwrap_or_default(),
            "error": error.filter(|_| !output.status.success()),
        })
    });
    let said: Vec<serde_json::Value> = said.collect();
    std::fs::write(folder.join("captures.json"), serde_json::Value::from(said).to_string()).unwrap();
    let replay = "compare --quiet --from router.pcapng --local 10.2.0.0/16 --rate 5mbit --seeds 1 --store replayed --scheme spa --scheme fq_codel";
    gentle(folder, &replay.split(' ').collect::<Vec<_>>());
    let runs = runs(&folder.join("replayed")).into_iter();
    let runs = runs.map(|run| (run.scheme.clone(), serde_json::to_string(&run).unwrap().into()));
    let runs = serde_json::Value::Object(runs.collect());
    std::fs::write(folder.join("replayed.json"), runs.to_string()).unwrap();
}

/// The runs of a store.
fn runs(folder: &Path) -> Vec<gentle_experiment::RunRecord> {
    let files = std::fs::read_dir(folder.join("records")).unwrap();
    let runs = files.map(|file| {
        let json = std::fs::read(file.unwrap().path()).unwrap();
        gentle_runs::Record::from_json(&json).unwrap().run
    });
    runs.collect()
}

/// True if this Rust can build the page: it has the library for WebAssembly.
fn has_webassembly() -> bool {
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", "wasm32-unknown-unknown"])
        .output()
        .expect("rustc runs");
    let folder = String::from_utf8(library.stdout).unwrap();
    Path::new(folder.trim()).is_dir()
}

/// Specifications of the lab that simulate for half a minute each.
const LONG: &str = "a day of simulated time|the story (fin|pie) shows";

#[test]
fn the_lab_holds_in_a_browser() {
    lab_holds("lab", &format!("--grep-invert={LONG}"), Some(4));
}

#[test]
fn the_lab_holds_in_firefox() {
    lab_holds("firefox lab", "--grep=.", None);
}

#[test]
#[ignore = "make test-all"]
fn full_size_the_lab_holds_for_a_day() {
    lab_holds("lab", &format!("--grep={LONG}|every capture"), Some(1));
}

/// Runs the chosen specifications of the lab in a project of playwright.config.mjs. With `step`, they have the records of the
/// command and its analyses of every `step`th capture.
fn lab_holds(project: &str, chosen: &str, step: Option<usize>) {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/dist");
    if !dist.join("index.html").exists() {
        assert!(!has_webassembly(), "the page is not built; run lab/build");
        let refused = Command::new(cargo_bin("gentle")).arg("lab").output().unwrap();
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert!(complaint.contains("built without the lab; run make lab"), "{complaint}");
        return;
    }
    let folder = TempDir::new().unwrap();
    if let Some(step) = step {
        let records = records(folder.path());
        std::fs::write(folder.path().join("records.json"), records.to_string()).unwrap();
        captures(folder.path(), step);
    }
    let (_served, address) = serve_lab();
    specifications(
        &[&format!("--project={project}"), chosen],
        &[
            ("FIREFOX", firefox().as_os_str()),
            ("PAGES", folder.path().as_os_str()),
            ("LAB", address.as_ref()),
            ("LAB_DIST", dist.as_os_str()),
            ("GENTLE", cargo_bin("gentle").as_os_str()),
        ],
    );
}

/// Folder of the scripts that make the site.
const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../site");

/// Runs a program of the site's environment.
fn site_python(args: &[&OsStr]) -> Output {
    let script = Path::new(SITE).join("install");
    let found = Command::new(script).arg("--path").output().unwrap();
    let environment = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    Command::new(environment.join("bin/python"))
        .args(args)
        .output()
        .expect("site/install has installed Python packages")
}

/// Pages of the manual, each of which takes the browser seconds.
const MANUAL: &str = "(bench|crates|docs|evaluation|kernel)/.*: width, axe";

#[test]
fn the_site_holds_in_a_browser() {
    site_holds(&format!("--grep-invert={MANUAL}"));
}

#[test]
#[ignore = "make test-all"]
fn full_size_the_manual_holds_in_a_browser() {
    site_holds(&format!("--grep={MANUAL}"));
}

/// Builds the site without the results of the notebooks, which the tests of the Python package run.
fn site_holds(pages: &str) {
    let folder = TempDir::new().unwrap();
    let site = folder.path().join("site");
    let build = Command::new(Path::new(SITE).join("build"))
        .arg("--papers")
        .arg(papers::pages())
        .arg(&site)
        .env("GENTLE", cargo_bin("gentle"))
        .env("SITE_URL", "https://gentle.example/")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&build.stderr);
    if !has_webassembly() {
        assert!(complaint.contains("the lab is not built"), "{complaint}");
        return;
    }
    assert!(build.status.success(), "{complaint}");
    specifications(&["--project=site", pages], &[("PAGES", site.as_os_str())]);
}

#[test]
fn the_site_does_not_replace_other_files() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let refused = Command::new(Path::new(SITE).join("build"))
        .arg(folder.path())
        .env("GENTLE", cargo_bin("gentle"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert!(complaint.contains("has other files than a site"), "{complaint}");
    assert!(folder.path().join("thesis.tex").exists());
}

#[test]
fn wrong_links_of_the_site_are_found() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "index.html",
        r##"<h1 id="top"><a href="https://a.example/">1</a></h1>
<a href="other.html#here">2</a> <a href="#top">3</a>
<a href="none.html">4</a>
<a href="other.html#there">5</a>
<a href="/other.html">6</a>
<a href="../other.html">7</a>
<img src="https://a.example/picture.png">
"##,
    );
    write("other.html", r#"<p id="here"></p>"#);
    write("style.css", "p { background: url('//a.example/picture.png') }");
    let check = Path::new(SITE).join("check");
    let found = site_python(&[check.as_os_str(), folder.path().as_os_str()]);
    assert_eq!(found.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&found.stderr),
        "site: index.html:3: none.html leads to no file
site: index.html:4: other.html#there leads to no anchor
site: index.html:5: /other.html is absolute; under another path it leads elsewhere
site: index.html:6: ../other.html leaves the site
site: index.html:7: https://a.example/picture.png is loaded from elsewhere
site: style.css: //a.example/picture.png is loaded from elsewhere
"
    );
}
