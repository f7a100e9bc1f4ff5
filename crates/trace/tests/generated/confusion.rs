//! Confusion matrix of inferred and true outcomes, on generated captures: the tables in `docs/concepts/accuracy.md`.

use gentle_capture::CaptureReader;
use gentle_captures::random::{Connection, generate_with};
use gentle_captures::{Answer, Host};
use gentle_trace::row::{Outcome, Row};
use gentle_trace::{Control, Options};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/accuracy.md");

const VANTAGES: [&str; 3] = ["client", "middle", "server"];
const SEEDS: [&str; 2] = ["1", "2"];

/// Class of an attempt, true or inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Clean,
    Lost,
    Late,
    Refused,
    Rejected,
    Blackholed,
    OneSided,
    Copied,
}

impl Class {
    const ALL: [Class; 8] = [
        Class::Clean,
        Class::Lost,
        Class::Late,
        Class::Refused,
        Class::Rejected,
        Class::Blackholed,
        Class::OneSided,
        Class::Copied,
    ];

    fn name(self) -> &'static str {
        match self {
            Class::Clean => "clean",
            Class::Lost => "lost",
            Class::Late => "late",
            Class::Refused => "refused",
            Class::Rejected => "rejected",
            Class::Blackholed => "blackholed",
            Class::OneSided => "one-sided",
            Class::Copied => "copied",
        }
    }

    fn of_truth(connection: &Connection) -> Class {
        let opening = connection.opening;
        let course = &connection.course;
        let lost = opening.lost != [0; 2];
        match course.answer {
            _ if course.blackholed.is_some() => Class::Blackholed,
            Answer::None => Class::Blackholed,
            Answer::Refuse => Class::Refused,
            Answer::Reject => Class::Rejected,
            Answer::Accept if course.one_sided => Class::OneSided,
            // A spurious retransmission may be lost, too, without effect.
            Answer::Accept if opening.again && (course.late.is_some() || !lost) => Class::Late,
            Answer::Accept if lost => Class::Lost,
            Answer::Accept if opening.copied => Class::Copied,
            Answer::Accept => Class::Clean,
        }
    }

    fn judged(row: &Row) -> Class {
        match row.outcome.expect("its SYN was captured") {
            Outcome::Refused => Class::Refused,
            Outcome::Rejected => Class::Rejected,
            Outcome::Unanswered | Outcome::HalfOpen | Outcome::Challenged => Class::Blackholed,
            Outcome::OneSided => Class::OneSided,
            Outcome::Succeeded if row.handshake_lost > 0 => Class::Lost,
            Outcome::Succeeded if row.handshake_late > 0 => Class::Late,
            Outcome::Succeeded if row.handshake_copies > 0 => Class::Copied,
            // Servers of the generator defer no client, so an attempt taken for deferred counts as one without loss.
            Outcome::Succeeded => Class::Clean,
        }
    }
}

/// Number of attempts by true and inferred class.
#[derive(Debug, Clone, Default)]
struct Table([[u64; Class::ALL.len()]; Class::ALL.len()]);

impl Table {
    fn row(&self, truth: Class) -> [u64; Class::ALL.len()] {
        self.0[truth as usize]
    }

    /// Share of attempts of a class that is inferred correctly.
    fn right(&self, truth: Class) -> f64 {
        let row = self.row(truth);
        row[truth as usize] as f64 / row.iter().sum::<u64>() as f64
    }

    fn add(&mut self, other: &Table) {
        for (row, more) in self.0.iter_mut().zip(other.0) {
            for (cell, more) in row.iter_mut().zip(more) {
                *cell += more;
            }
        }
    }

    fn markdown(&self) -> String {
        let names = Class::ALL.map(Class::name);
        let mut text = format!("| is \\ judged | {} |\n", names.join(" | "));
        text += &format!("| --- |{}\n", " ---: |".repeat(names.len()));
        for class in Class::ALL {
            let cells = self.row(class).map(|n| match n {
                0 => "·".to_owned(),
                n => n.to_string(),
            });
            text += &format!("| {} | {} |\n", class.name(), cells.join(" | "));
        }
        text
    }
}

/// Generates a capture with attempts of all classes, and classifies them.
fn table(vantage: &str, without_timestamps: &str, seed: &str) -> Table {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("capture");
    let options = [
        "--vantage",
        vantage,
        "--no-timestamps",
        without_timestamps,
        "--seed",
        seed,
        "--connections",
        "4k",
        "--packets",
        "60k",
        "--servers",
        "20",
        // Long enough for an ICMPv6 message up to the sequence number that it quotes.
        "--snaplen",
        "128",
        "--syn-loss",
        "0.06",
        "--synack-loss",
        "0.06",
        "--refused",
        "0.04",
        "--rejected",
        "0.04",
        "--unanswered",
        "0",
        "--blackholed",
        "0.04",
        "--late",
        "0.08",
        "--one-sided",
        "0.04",
        "--capture-duplicates",
        "0.02",
    ];
    let mut truth = HashMap::new();
    let mut over = |connection: &Connection| {
        if connection.notes.has_syn() {
            let before = truth.insert(connection.hosts().map(Host::socket), Class::of_truth(connection));
            assert_eq!(before, None, "no port is used twice");
        }
    };
    generate_with(&path, &options, &mut over).expect("it can be written");

    let reader = CaptureReader::open(&path).expect("it is a capture");
    let mut table = Table::default();
    let mut judge = |row: &Row| {
        let end = |address, port| SocketAddr::new(IpAddr::from(address), port);
        let ends = [end(row.client, row.client_port), end(row.server, row.server_port)];
        if row.syn_seen {
            let class = truth.remove(&ends).expect("the generator knows it");
            table.0[class as usize][Class::judged(row) as usize] += 1;
        }
        Ok(())
    };
    let options = Options::default();
    let control = Control::default();
    let analysis =
        gentle_trace::analyze(vec![reader], &options, None, Some(&mut judge), &control).expect("it is not damaged");
    assert!(truth.is_empty(), "every attempt is judged");

    // The servers are alive, and the results agree.
    let outcomes = &analysis.outcomes;
    let judged = |class: Class| table.0.iter().map(|row| row[class as usize]).sum::<u64>();
    assert_eq!(outcomes.refused.attempts, judged(Class::Refused));
    assert_eq!(outcomes.rejected.attempts, judged(Class::Rejected));
    assert_eq!(outcomes.one_sided, judged(Class::OneSided));
    let blackholed = outcomes.blackholed.attempts + outcomes.half_open;
    assert_eq!(blackholed, judged(Class::Blackholed));
    assert_eq!(outcomes.dead.attempts + outcomes.unseen.attempts, 0);
    assert_eq!(outcomes.scans.attempts + outcomes.floods.attempts, 0);
    table
}

/// Part of `docs/concepts/accuracy.md` between the marks.
fn in_the_book(text: &str) -> String {
    const BEGIN: &str = "<!-- confusion: UPDATE_DOCS=1 cargo test -p gentle-trace --test generated -->\n";
    const END: &str = "<!-- end of confusion -->\n";
    let book = std::fs::read_to_string(BOOK).expect("the book is there");
    let (before, rest) = book.split_once(BEGIN).expect("the book has the mark");
    let (found, after) = rest.split_once(END).expect("the book has the end mark");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(BOOK, [before, BEGIN, text, END, after].concat()).expect("the book can be written");
        return text.to_owned();
    }
    found.to_owned()
}

#[test]
fn what_is_judged_is_what_is_true_as_far_as_a_capture_shows() {
    let mut text = String::new();
    let mut places = String::from(
        "| judged right | client, stamps | client | middle, stamps | middle | server, stamps | server |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    // With timestamps, then without; by vantage point.
    let tables: Vec<[Table; 3]> = ["0", "1"]
        .into_iter()
        .map(|without| {
            VANTAGES.map(|vantage| {
                let mut all = Table::default();
                for seed in SEEDS {
                    all.add(&table(vantage, without, seed));
                }
                all
            })
        })
        .collect();
    for (title, tables) in ["With TCP time stamps:", "Without:"].into_iter().zip(&tables) {
        let mut all = Table::default();
        tables.iter().for_each(|table| all.add(table));
        text += &format!("\n{title}\n\n{}", all.markdown());
    }
    for class in [Class::Clean, Class::Lost, Class::Late, Class::Blackholed] {
        let shares: Vec<String> = (0..3)
            .flat_map(|vantage| [&tables[0][vantage], &tables[1][vantage]])
            .map(|table| format!("{:.1} %", 100.0 * table.right(class)))
            .collect();
        places += &format!("| {} | {} |\n", class.name(), shares.join(" | "));
    }
    text += &format!("\nBy vantage point:\n\n{places}\n");
    assert_eq!(in_the_book(&text), text);

    for tables in &tables {
        for table in tables {
            for class in [Class::Refused, Class::Rejected, Class::Blackholed] {
                assert_eq!(table.right(class), 1.0, "{class:?} {table:?}");
            }
            // Attempts without loss are never classed as lost, except for late answers without evidence.
            for class in [Class::Clean, Class::Copied, Class::OneSided] {
                assert_eq!(table.row(class)[Class::Lost as usize], 0, "{class:?} {table:?}");
            }
        }
    }
    // Losses beyond the capture point or of the server's packets are visible; a SYN lost before the capture is not.
    for (at, least) in [(0, 0.9), (1, 0.6), (2, 0.4)] {
        assert!(tables[0][at].right(Class::Lost) > least, "{:?}", tables[0][at]);
        assert!(tables[0][at].right(Class::Late) > 0.9, "{:?}", tables[0][at]);
    }
}
