//! Language and structure of the pages that people read, by the rules of `CONTRIBUTING.md`, "Prose".

use super::root;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Words that readers stumble over, and the words to use instead.
const AVOIDED: &[(&str, &str)] = &[
    ("anew", "again"),
    ("goes on", "resumes, continues"),
    ("go on", "resume, continue"),
    ("put off", "deferred"),
    ("in vain", "failed"),
    ("came to nothing", "failed"),
    ("swallowed", "dropped, blackholed"),
    ("beside", "next to, compared with"),
    ("of its own", "its own, separate"),
    ("whoever", "the user that"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("by hand", "manually"),
    ("byte for byte", "byte-identical"),
    ("to the last digit", "identical"),
    ("tips over", "collapses"),
    ("for want of", "without"),
    ("none at all", "none"),
    ("what is left of", "the rest of"),
    ("complains", "reports"),
    ("goes again", "is removed"),
];

/// Abbreviations, and the words of which a page has some where it uses the abbreviation first.
const ABBREVIATIONS: &[(&str, &[&str])] = &[
    ("SYN", &["handshake", "opens a connection", "open a connection", "connection attempt", "first packet"]),
    ("RTO", &["retransmission timeout", "retransmission time-out"]),
    ("RTT", &["round-trip time", "round trip time"]),
    ("AQM", &["active queue management"]),
    ("ECN", &["explicit congestion notification"]),
    ("MSS", &["maximum segment size"]),
    ("BPF", &["small program", "programs in the kernel", "program in the kernel", "in-kernel program"]),
    ("BDP", &["bandwidth-delay product"]),
    ("PMTU", &["path mtu"]),
    ("SRE", &["site reliability"]),
    ("UML", &["user-mode linux"]),
];

/// Most words of pages in a folder, without code and generated tables.
const LENGTHS: &[(&str, usize)] =
    &[("README.md", 1_200), ("docs/getting-started", 800), ("docs/guides", 800), ("docs/concepts", 1_500)];

/// Most words that people wrote of README.md and the manual without research.
const MANUAL: usize = 46_500;

/// Pages that the program writes whole, by how their paths begin.
const GENERATED: [&str; 3] = ["docs/reference/cli.md", "docs/reference/json/", "docs/reference/python.md"];

/// A page as its reader sees it.
struct Page {
    /// Path from the root.
    name: String,
    /// Paragraphs, items and cells, without code.
    prose: Vec<String>,
    /// Number of words, with code in lines and without blocks of code.
    words: usize,
    headings: Vec<(HeadingLevel, String)>,
    links: Vec<String>,
}

/// A page without the tables and blocks that the program wrote.
fn without_generated(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("<!-- table: ") {
        kept += &rest[..at];
        rest = rest[at..].split_once("<!-- end -->").map_or("", |(_, after)| after);
    }
    kept + rest
}

impl Page {
    fn read(name: &str) -> Page {
        let text = std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut page =
            Page { name: name.to_owned(), prose: Vec::new(), words: 0, headings: Vec::new(), links: Vec::new() };
        // Text of the block, with code in lines and without.
        let (mut whole, mut prose) = (String::new(), String::new());
        let mut in_code = false;
        for event in Parser::new_ext(&without_generated(&text), Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Text(text) if !in_code => {
                    whole += &text;
                    prose += &text;
                }
                Event::Code(code) => {
                    whole += &code;
                    prose.push('\u{b7}');
                }
                Event::SoftBreak | Event::HardBreak => {
                    whole.push(' ');
                    prose.push(' ');
                }
                Event::End(
                    end @ (TagEnd::Paragraph
                    | TagEnd::Heading(_)
                    | TagEnd::Item
                    | TagEnd::TableCell
                    | TagEnd::TableHead),
                ) => {
                    page.words += whole.split_whitespace().count();
                    if let TagEnd::Heading(level) = end {
                        page.headings.push((level, whole.trim().to_owned()));
                    }
                    if !prose.is_empty() {
                        page.prose.push(std::mem::take(&mut prose));
                    }
                    whole.clear();
                }
                _ => {}
            }
        }
        page
    }

    /// Anchors of the headings, as GitHub makes them.
    fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let anchors = self.headings.iter().map(|(_, text)| {
            let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
            let number = seen.entry(anchor.clone()).or_default();
            *number += 1;
            match *number {
                1 => anchor,
                more => format!("{anchor}-{}", more - 1),
            }
        });
        anchors.collect()
    }
}

/// Paths from the root of the Markdown files below a folder.
fn below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            found.extend(below(&name));
        } else if Path::new(&name).extension().is_some_and(|ending| ending == "md") {
            found.push(name);
        }
    }
    found
}

/// The pages of the manual.
pub(crate) fn manual() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(below("docs"));
    pages
}

/// All pages that people read.
fn pages() -> Vec<Page> {
    let mut names = manual();
    names.extend(
        [
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "bench/README.md",
            "evaluation/README.md",
        ]
        .map(str::to_owned),
    );
    names.push("kernel/README.md".to_owned());
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = format!("crates/{}/README.md", entry.unwrap().file_name().to_str().unwrap());
        if root().join(&name).exists() {
            names.push(name);
        }
    }
    names.iter().map(|name| Page::read(name)).collect()
}

/// Files of code whose comments and messages people read.
fn sources() -> Vec<PathBuf> {
    let folders = ["crates", "deploy", "evaluation", "fuzz", "kernel", "lab/src", "papers", "scripts", "site"];
    let endings = ["c", "h", "html", "mjs", "py", "rs", "sh", "toml", "ts"];
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = folders.map(|folder| root().join(folder)).to_vec();
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !path.is_symlink() && !["target", "node_modules", "dist"].contains(&name) {
                left.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
                found.push(path);
            }
        }
    }
    found.retain(|path| !path.ends_with("docs/language.rs"));
    found
}

/// Words that have no other meaning in code.
const AVOIDED_IN_CODE: [&str; 10] = [
    "anew",
    "byte for byte",
    "came to nothing",
    "goes on",
    "in vain",
    "none at all",
    "put off",
    "tips over",
    "to the last digit",
    "whoever",
];

/// Places of `word` in `text` that are not part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let ends = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '-');
        ends(text[..at].chars().next_back()) && ends(text[at + word.len()..].chars().next())
    })
}

/// Fails with all `problems`, a line each.
fn none(problems: &str, rule: &str) {
    assert!(problems.is_empty(), "{rule}:\n{problems}");
}

#[test]
fn prose_avoids_words_that_readers_stumble_over() {
    let mut problems = String::new();
    for page in pages() {
        for text in &page.prose {
            let text = text.to_lowercase();
            for (word, instead) in AVOIDED {
                if has_word(&text, word) {
                    let _ = writeln!(problems, "{}: '{word}' (write: {instead}): {text}", page.name);
                }
            }
        }
    }
    none(&problems, "words to avoid");
}

#[test]
fn comments_and_messages_avoid_them_too() {
    let mut problems = String::new();
    let sources = sources();
    assert!(sources.len() > 1_000, "{}", sources.len());
    for path in sources {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in AVOIDED_IN_CODE.iter().filter(|word| has_word(&line, word)) {
                let _ = writeln!(problems, "{}:{}: '{word}'", path.display(), number + 1);
            }
        }
    }
    none(&problems, "words to avoid");
}

#[test]
fn pages_are_short_enough_to_be_read() {
    let mut problems = String::new();
    for page in pages() {
        let limit = LENGTHS.iter().find(|(folder, _)| page.name.starts_with(folder));
        if let Some((_, limit)) = limit.filter(|(_, limit)| page.words > *limit) {
            let _ = writeln!(problems, "{}: {} words; expected at most {limit}", page.name, page.words);
        }
    }
    let others = ["docs/research/"].iter().chain(&GENERATED).collect::<Vec<_>>();
    let written = manual().into_iter().filter(|name| !others.iter().any(|other| name.starts_with(**other)));
    let words: usize = written.map(|name| Page::read(&name).words).sum();
    if words > MANUAL {
        let _ = writeln!(problems, "the manual without research has {words} words; expected at most {MANUAL}");
    }
    none(&problems, "lengths");
}

#[test]
fn headings_are_nouns_or_tasks_in_order() {
    let mut problems = String::new();
    for page in pages() {
        let name = &page.name;
        let titles = page.headings.iter().filter(|(level, _)| *level == HeadingLevel::H1).count();
        if titles != 1 || page.headings[0].0 != HeadingLevel::H1 {
            let _ = writeln!(problems, "{name}: expected one title, at the top");
        }
        for pair in page.headings.windows(2) {
            let [(above, _), (level, text)] = pair else { continue };
            if *level as usize > *above as usize + 1 {
                let _ = writeln!(problems, "{name}: '{text}' skips a level");
            }
        }
        for (_, text) in &page.headings {
            if text.ends_with(['?', '.', ':', '!']) {
                let _ = writeln!(problems, "{name}: '{text}' is a sentence; expected a noun or a task");
            }
        }
    }
    none(&problems, "headings");
}

#[test]
fn abbreviations_are_explained_where_they_first_occur() {
    let mut problems = String::new();
    let taught = ["README.md", "docs/getting-started/", "docs/guides/", "docs/concepts/"];
    for page in pages().iter().filter(|page| taught.iter().any(|place| page.name.starts_with(place))) {
        for (abbreviation, explanations) in ABBREVIATIONS {
            let is_used = |text: &&String| has_word(text, abbreviation);
            let Some(first) = page.prose.iter().find(is_used) else { continue };
            let text = first.to_lowercase();
            if !explanations.iter().any(|words| text.contains(words)) {
                let _ = writeln!(problems, "{}: {abbreviation} ({}): {first}", page.name, explanations.join(" or "));
            }
        }
    }
    none(&problems, "abbreviations without an explanation at their first use");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut problems = String::new();
    let pages = pages();
    for page in &pages {
        let folder = Path::new(&page.name).parent().unwrap();
        for link in page.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let mut target = PathBuf::new();
            for part in folder.join(path).components() {
                match part {
                    std::path::Component::ParentDir => drop(target.pop()),
                    other => target.push(other),
                }
            }
            let target = if path.is_empty() { PathBuf::from(&page.name) } else { target };
            let known = pages.iter().find(|page| Path::new(&page.name) == target);
            if !root().join(&target).exists() {
                let _ = writeln!(problems, "{}: {link}: no such file", page.name);
            } else if !anchor.is_empty()
                && known.is_some_and(|page| !page.anchors().iter().any(|known| known == anchor))
            {
                let _ = writeln!(problems, "{}: {link}: no such heading", page.name);
            }
        }
    }
    none(&problems, "links");
}
