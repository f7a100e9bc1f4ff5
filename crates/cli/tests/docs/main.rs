//! Documentation in sync with the program: the tables of options and knobs, and the numbers in pages ([`printed`]).
//!
//! `make docs` rewrites them; the surrounding prose is kept, and follows the rules of [`language`].

mod language;
#[cfg(unix)]
mod printed;
mod schema;

use gentle_aqm::{Scheme, registry};
use gentle_experiment::Scenario;
use gentle_experiment::measure::{Judged, Metric};
use gentle_experiment::results::{ApplicationResult, GroupLinkResult, GroupResult, SchemeResult};
use gentle_report::Column;
use gentle_report::connections::COLUMNS;
use gentle_tcp::Profile;
use std::fmt::Write as _;
use std::path::Path;

/// Escapes the separator of cells.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn options(scheme: &Scheme) -> String {
    let mut table = String::from("| option | default | accepts | |\n| --- | --- | --- | --- |\n");
    for option in scheme.options {
        let default = option.default.map_or_else(|| "unset".to_owned(), |text| format!("`{text}`"));
        let accepts = cell(&option.kind.to_string());
        let _ = writeln!(table, "| `{}` | {default} | {accepts} | {} |", option.name, cell(option.help));
    }
    if let Some(Scheme { name: child, .. }) = scheme.child {
        let (accepts, help) = match scheme.shaper {
            Some(_) => ("any scheme with its options", "the scheme beneath; what follows belongs to it"),
            None => ("any scheme that stores packets", "the scheme beneath; its options are accepted too"),
        };
        let _ = writeln!(table, "| `child` | `{child}` | {accepts} | {help} |");
    }
    let _ = write!(table, "\nSource: {}.", scheme.source);
    table
}

fn knobs() -> String {
    let mut table = String::from("| knob |");
    for name in Profile::NAMES {
        let _ = write!(table, " `{name}` |");
    }
    let _ = writeln!(table, " |\n| ---{} |", " | ---".repeat(Profile::NAMES.len() + 1));
    for knob in Profile::knobs() {
        let _ = write!(table, "| `{}` |", knob.name);
        for name in Profile::NAMES {
            let value = Profile::by_name(name).unwrap().get(knob.name).unwrap();
            let _ = write!(table, " {} |", cell(&value));
        }
        let _ = writeln!(table, " {} ({}) |", cell(knob.help), cell(knob.takes));
    }
    table.trim_end().to_owned()
}

fn profiles() -> String {
    let mut table = String::from("| profile | stands for |\n| --- | --- |");
    for (i, name) in Profile::NAMES.iter().enumerate() {
        let summary = cell(Profile::summary(name).unwrap());
        let default = if i == 0 { "; the default" } else { "" };
        let _ = write!(table, "\n| `{name}` | {summary}{default} |");
    }
    table
}

/// Tables of the meanings of columns, with headings of this level.
fn columns(heading: &str, tables: &[(&str, Vec<Column>)]) -> String {
    let mut text = String::new();
    for (title, columns) in tables {
        let _ = write!(text, "{heading} {title}\n\n| column | meaning |\n| --- | --- |\n");
        for Column { head, meaning } in columns {
            let _ = writeln!(text, "| `{head}` | {} |", cell(meaning));
        }
        text += "\n";
    }
    text.trim_end().to_owned()
}

/// The root of the tree.
fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether pages are written instead of compared.
fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

const END: &str = "\n<!-- end -->";

fn begin(name: &str) -> String {
    format!("<!-- table: {name} -->\n")
}

/// `text` with `table` between the markers for `name`; `None`: it has no such markers.
fn with_table(text: &str, name: &str, table: &str) -> Option<String> {
    let begin = begin(name);
    let from = text.find(&begin)? + begin.len();
    let to = from + text[from..].find(END)?;
    Some([&text[..from], table, &text[to..]].concat())
}

/// Compares the part of `file` between the markers for `name` with `expected`, or puts it there.
fn check(file: &str, name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let written =
        with_table(&text, name, expected).unwrap_or_else(|| panic!("docs/{file} has no table of {name}; {HOW}"));
    if updates() {
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert!(text == written, "docs/{file}: {name} is out of date; {HOW}");
}

const HOW: &str = "make docs updates it";

/// The page on schemes with the tables of `schemes`. One that it does not have yet gets a section at the end.
fn page_on_schemes(page: &str, schemes: &[&Scheme]) -> String {
    schemes.iter().fold(page.to_owned(), |page, scheme| {
        let table = options(scheme);
        with_table(&page, scheme.name, &table).unwrap_or_else(|| {
            let Scheme { name, summary, .. } = scheme;
            let mut summary = summary.to_string();
            if let Some(first) = summary.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            let begin = begin(name);
            format!("{page}\n## {name}\n\n{summary}.\n\n{begin}{table}{END}\n")
        })
    })
}

#[test]
fn every_scheme_is_in_the_book_with_its_options() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemes.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let listed: Vec<&Scheme> = registry::listed().collect();
    let written = page_on_schemes(&page, &listed);
    if updates() {
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert!(page == written, "docs/reference/schemes.md is out of date; {HOW}");
}

#[test]
fn every_column_is_explained() {
    let compared = gentle_report::compare::columns();
    let analyzed = gentle_report::analyze::columns();
    check("reference/columns.md", "columns", &columns("###", &compared));
    check("reference/analysis.md", "columns", &columns("####", &analyzed));
    for (title, columns) in compared.into_iter().chain(analyzed) {
        for Column { head, meaning } in columns {
            assert!(meaning.len() > 10, "{title}: {head}: {meaning}");
        }
    }
}

/// Descriptions in a JSON Schema of the fields on a `path`, from the outermost on.
fn described(root: &serde_json::Value, path: &str) -> String {
    let mut node = root;
    let mut words: Vec<String> = Vec::new();
    for name in path.split('.') {
        let definition = node["anyOf"][0]["$ref"].as_str().or_else(|| node["$ref"].as_str());
        if let Some(place) = definition.and_then(|place| root.pointer(place.trim_start_matches('#'))) {
            node = place;
        }
        node = &node["properties"][name];
        words.push(node["description"].as_str().unwrap_or_else(|| panic!("{path} is not in the schema")).to_owned());
    }
    words.join(" ").replace("[`", "`").replace("`]", "`").replace('\n', " ")
}

/// Table of the metrics of results of the type `T`.
fn metrics<T: schemars::JsonSchema>(title: &str, metrics: &[Metric]) -> String {
    let schema = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = schema.into_root_schema_for::<T>().to_value();
    let mut table = format!("### {title}\n\n| name | better | meaning |\n| --- | --- | --- |\n");
    for Metric { name, number, .. } in metrics.iter().filter(|metric| metric.number.listed) {
        let better = match number.judged {
            Judged::Lower => "lower",
            Judged::Higher => "higher",
            Judged::Either => "",
            Judged::Shown => continue,
        };
        let _ = writeln!(table, "| `{name}` | {better} | {} |", cell(&described(&schema, name)));
    }
    table
}

#[test]
fn every_metric_is_in_the_book() {
    let tables = [
        metrics::<SchemeResult>("Of a scheme", &SchemeResult::metrics()),
        metrics::<GroupResult>("Of a group (`groups.0.…`)", &GroupResult::metrics()),
        metrics::<GroupLinkResult>("Of a group on a link (`groups.0.links.down.…`)", &GroupLinkResult::metrics()),
        metrics::<ApplicationResult>("Of an application (`applications.0.…`)", &ApplicationResult::metrics()),
    ];
    check("reference/json.md", "metrics", tables.join("\n").trim_end());
}

#[test]
fn every_column_of_connections_is_in_the_book() {
    let rows = COLUMNS.iter().map(|column| format!("\n| `{}` | {} |", column.name, cell(column.about)));
    check(
        "reference/connections.md",
        "connections",
        &format!("| column | meaning |\n| --- | --- |{}", rows.collect::<String>()),
    );
}

#[test]
fn a_new_scheme_gets_a_section() {
    let page = page_on_schemes("# Schemes\n", registry::SCHEMES);
    for scheme in registry::SCHEMES {
        let section =
            page.split("\n## ").find(|part| part.strip_prefix(scheme.name).is_some_and(|rest| rest.starts_with('\n')));
        let section = section.unwrap_or_else(|| panic!("no section on {}", scheme.name));
        for option in scheme.options {
            assert!(section.contains(&format!("| `{}` |", option.name)), "{section}");
        }
    }
    assert_eq!(page_on_schemes(&page, registry::SCHEMES), page);
}

#[test]
fn every_profile_is_in_the_book_with_its_knobs() {
    check("reference/tcp-profiles.md", "profiles", &profiles());
    check("reference/tcp-profiles.md", "knobs", &knobs());
}

/// The tables of counters and metrics are hand-written, because the program has no short text for their causes.
#[cfg(target_os = "linux")]
#[test]
fn every_counter_and_metric_of_watch_is_in_the_book() {
    let page = std::fs::read_to_string(root().join("docs/reference/watch.md")).unwrap();
    let metrics = gentle_watch::Metrics::new().text().unwrap();
    let metrics = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let kinds = gentle_host::FindingKind::ALL.iter().map(|kind| kind.name());
    let missing: Vec<&str> = metrics.chain(kinds).filter(|name| !page.contains(&format!("`{name}"))).collect();
    assert_eq!(missing, [""; 0]);
}

/// Paths of the tree in the text of a page: in backquotes, without spaces, and below a folder of the top.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let top = text.split('/').next().unwrap_or_default();
        let is_path = text.contains('/') && !text.contains([' ', '<', '*', '$', '=']) && !text.contains("NAME");
        is_path && root().join(top).is_dir() && top != "target"
    })
}

#[test]
fn files_that_engineers_are_sent_to_exist() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let missing: Vec<&str> = paths(&text).filter(|path| !root().join(path).exists()).collect();
        assert_eq!(missing, [""; 0], "{page}");
        assert!(paths(&text).count() > 20, "{page}: few paths found");
    }
}

#[test]
fn the_contents_name_every_page() {
    let index = std::fs::read_to_string(root().join("docs/index.md")).unwrap();
    for page in language::manual() {
        let name = page.strip_prefix("docs/").unwrap_or_default();
        assert!(name.is_empty() || name == "index.md" || index.contains(&format!("({name})")), "{name}");
    }
}

/// The guide for new schemes shows the file of the example.
#[test]
fn the_guide_shows_the_example_of_a_scheme() {
    let guide = include_str!("../../../../docs/guides/write-a-scheme.md");
    let example = include_str!("../../../aqm/src/schemes/lifo.rs");
    let shown = guide.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of Rust");
    assert!(example.contains(shown.trim_end()), "docs/guides/write-a-scheme.md differs from lifo.rs");
}

/// The scenario of docs/research/rexmit.md has the connections and links of `real`, in two groups.
#[test]
fn the_example_of_two_groups_is_a_scenario() {
    let text = include_str!("../../../../docs/guides/few.toml");
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Scenario::from_toml("few.toml", text, &none).unwrap();
    assert_eq!(scenario.groups(), ["one in ten", "the others"]);
    let real = Scenario::builtin("real").unwrap();
    assert_eq!(scenario.duration, real.duration);
    for (link, of_real) in scenario.links.iter().zip(&real.links) {
        assert_eq!((link.rate, link.delay, &link.qdisc), (of_real.rate, of_real.delay, &of_real.qdisc));
    }
    // Both groups together have the arrival rate of the original workload.
    let arrivals = |scenario: &Scenario| scenario.schedule(1).count() as f64;
    let ratio = arrivals(&scenario) / arrivals(&real);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let [initiator, responder] = scenario.profiles(&scenario.workloads[0]);
    assert_eq!(initiator.initial_rto.as_millis(), 400);
    assert_eq!(responder, scenario.profile);
}
