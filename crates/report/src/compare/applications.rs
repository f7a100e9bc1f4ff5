//! Applications: what the users of calls, games, pages and lookups notice, a table for each.

use super::columns::near;
use super::conclusions::{named, none_is_best, seeds};
use super::metric::{Metric, metric};
use crate::format::{Quantity, capitalized, list};
use gentle_experiment::measure::{Measured, Number};
use gentle_experiment::results::{ApplicationResult, Comparison, Harm, SchemeResult};

/// A number in the results of an application; the compiler refuses a path that they do not have.
type Source = &'static Number;

const DELAY: Source = ApplicationResult::number("delay_s.mean");
const DELAY_P99: Source = ApplicationResult::number("delay_s.p99");
const JITTER: Source = ApplicationResult::number("jitter_s.mean");
const LOSS: Source = ApplicationResult::number("loss.mean");
const USELESS: Source = ApplicationResult::number("useless.mean");
const LATE_FRAMES: Source = ApplicationResult::number("late_frames.mean");
const STALLS: Source = ApplicationResult::number("stalls_per_minute.mean");
const STALLED: Source = ApplicationResult::number("stalled.mean");
const CONNECT: Source = ApplicationResult::number("connect_s.mean");
const TRANSACTION: Source = ApplicationResult::number("transaction_s.mean");
const TRANSACTION_P50: Source = ApplicationResult::number("transaction_s.p50");
const TRANSACTION_P95: Source = ApplicationResult::number("transaction_s.p95");
const TRANSACTION_P99: Source = ApplicationResult::number("transaction_s.p99");
const FAILED: Source = ApplicationResult::number("failed");
const UNFINISHED: Source = ApplicationResult::number("unfinished");
const RATE: Source = ApplicationResult::number("goodput_bps.mean");

/// Column of the tables of a kind: subject, statistic, explanation, number. The first one is what users notice most; the last
/// ones are dropped first if there is little room.
type Column = (&'static str, &'static str, &'static str, Source);

/// A kind of application, and how its results are shown.
pub(super) struct Kind {
    /// Name in scenario files.
    pub(super) name: &'static str,
    /// Title of its tables.
    title: &'static str,
    /// Words before and after the number of the first column in a sentence.
    pub(super) words: (&'static str, &'static str),
    columns: &'static [Column],
}

const JITTER_COLUMN: Column = ("jitter", "mean", "difference between the delays of consecutive packets", JITTER);
const LOST_PACKETS: Column = ("packets", "lost", "packets that did not arrive", LOSS);
const MEAN_DELAY: Column = ("delay", "mean", "from sending a packet to its arrival at the other end", DELAY);
const DELAY_WITHIN: Column =
    ("delay", "99 % within", "99 % of the packets that arrived took at most this long, one way", DELAY_P99);

const KINDS: &[Kind] = &[
    Kind {
        name: "voice",
        title: "Voice calls",
        words: ("voice calls drop out", " times a minute"),
        columns: &[
            ("dropouts", "a minute", "interruptions that a listener notices, for each minute of speech", STALLS),
            DELAY_WITHIN,
            ("speech", "lost", "packets that did not arrive, or too late to be played", USELESS),
            JITTER_COLUMN,
            MEAN_DELAY,
            ("speech", "interrupted", "fraction of the time in which speech was interrupted", STALLED),
        ],
    },
    Kind {
        name: "video_call",
        title: "Video calls",
        words: ("video calls freeze", " times a minute"),
        columns: &[
            ("freezes", "a minute", "times that the picture stood still, for each minute of video", STALLS),
            ("frames", "late", "frames that were complete too late, or never", LATE_FRAMES),
            ("rate", "mean", "payload of the video that arrived, all senders together", RATE),
            DELAY_WITHIN,
            ("picture", "frozen", "fraction of the time in which the picture stood still", STALLED),
            MEAN_DELAY,
            LOST_PACKETS,
            JITTER_COLUMN,
        ],
    },
    Kind {
        name: "game",
        title: "Games",
        words: ("99 % of game packets arrive within", ""),
        columns: &[DELAY_WITHIN, LOST_PACKETS, JITTER_COLUMN, MEAN_DELAY],
    },
    Kind {
        name: "pages",
        title: "Web pages",
        words: ("95 % of web pages load within", ""),
        columns: &[
            ("page load", "95 % within", "95 % of the pages were complete after at most this long", TRANSACTION_P95),
            ("page load", "half within", "half of the pages were complete after at most this long", TRANSACTION_P50),
            ("page load", "mean", "from the click until all objects of the page have arrived", TRANSACTION),
            ("connect", "mean", "from the first SYN until the browser can send its request", CONNECT),
            ("pages", "open", "pages that were loading when the run ended", UNFINISHED),
            ("pages", "given up", "pages whose connection TCP gave up", FAILED),
        ],
    },
    Kind {
        name: "dns",
        title: "DNS lookups",
        words: ("99 % of lookups are answered within", ""),
        columns: &[
            ("lookup", "99 % within", "99 % of the lookups were answered after at most this long", TRANSACTION_P99),
            ("lookup", "half within", "half of the lookups were answered after at most this long", TRANSACTION_P50),
            ("lookup", "mean", "from the first query to the answer, with repetitions", TRANSACTION),
            ("lookups", "failed", "lookups given up after the last attempt", FAILED),
        ],
    },
    Kind {
        name: "ssh",
        title: "SSH sessions",
        words: ("99 % of keystrokes are echoed within", ""),
        columns: &[
            ("echo", "99 % within", "99 % of the keystrokes were echoed after at most this long", TRANSACTION_P99),
            ("echo", "half within", "half of the keystrokes were echoed after at most this long", TRANSACTION_P50),
            ("echo", "mean", "from a keystroke to its echo", TRANSACTION),
        ],
    },
    Kind {
        name: "on_off",
        title: "Downloads with pauses",
        words: ("95 % of downloads finish within", ""),
        columns: &[
            ("download", "95 % within", "95 % of the downloads were complete after at most this long", TRANSACTION_P95),
            ("download", "mean", "from the request until the last byte has arrived", TRANSACTION),
            ("rate", "mean", "payload that arrived, all users together, pauses included", RATE),
            ("downloads", "open", "downloads that were under way when the run ended", UNFINISHED),
        ],
    },
    Kind {
        name: "ping",
        title: "Pings",
        words: ("99 % of pings return within", ""),
        columns: &[
            (
                "round trip",
                "99 % within",
                "99 % of the pings that were answered took at most this long",
                TRANSACTION_P99,
            ),
            (
                "round trip",
                "half within",
                "half of the pings that were answered took at most this long",
                TRANSACTION_P50,
            ),
            ("round trip", "mean", "from sending a ping to its answer", TRANSACTION),
            ("pings", "lost", "pings without an answer", FAILED),
        ],
    },
];

/// Applications of a kind without a line of its own.
const OTHER: Kind = Kind {
    name: "",
    title: "",
    words: ("99 % of packets arrive within", ""),
    columns: &[
        DELAY_WITHIN,
        ("transaction", "95 % within", "95 % of the transactions ended after at most this long", TRANSACTION_P95),
        ("transaction", "mean", "duration of transactions", TRANSACTION),
        LOST_PACKETS,
        JITTER_COLUMN,
        ("rate", "mean", "payload that arrived", RATE),
    ],
};

/// Table of an application.
pub(crate) struct Application {
    /// Title: the kind in words, with the name of the group if there is one.
    pub(crate) title: String,
    /// Columns, in reading order.
    pub(crate) metrics: Vec<Metric>,
    /// Sentence on the first column.
    pub(crate) sentence: Option<String>,
}

/// Tables of all applications that were observed, in the order of the scenario.
pub(crate) fn applications(comparison: &Comparison) -> Vec<Application> {
    let Some(first) = comparison.results.first() else {
        return Vec::new();
    };
    let tables = first.applications.iter().enumerate();
    let tables = tables.map(|(index, result)| {
        let kind = kind(result);
        let mut metrics = columns(kind, index);
        keep_observed(&mut metrics, comparison);
        // Counts are known of applications that were not observed too.
        let observed = |metric: &Metric| metric.quantity != Quantity::Count;
        if !metrics.iter().any(observed) {
            metrics.clear();
        }
        let title = title(kind, result);
        Application { sentence: sentence(comparison, &title, kind, index), title, metrics }
    });
    let tables = tables.filter(|application| !application.metrics.is_empty());
    tables.chain(harm(comparison)).collect()
}

/// Kind of an application.
pub(super) fn kind(result: &ApplicationResult) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == result.kind).unwrap_or(&OTHER)
}

/// Title of an application: its kind in words, with the name of the group if there is one.
pub(super) fn title(kind: &Kind, result: &ApplicationResult) -> String {
    match kind.title {
        "" => result.application.clone(),
        title if result.application == result.kind => title.to_owned(),
        title => format!("{title} ({})", result.application),
    }
}

/// Table of the harm to each part of the traffic; `None`: it was not asked for.
fn harm(comparison: &Comparison) -> Option<Application> {
    let harm = &comparison.results.first()?.harm;
    let metrics = (0..).zip(harm).map(|(rank, harm)| {
        let number = match harm.number.as_str() {
            "goodput_bps.mean" | "links.down.rate_bps.mean" => "rate",
            "links.up.rate_bps.mean" => "rate up",
            number if number.starts_with("delay_s") => "delay",
            number if number.starts_with("links.down.queue_delay_s") => "queue",
            number if number.starts_with("links.up.queue_delay_s") => "queue up",
            _ => "time",
        };
        let (part, name) = (harm.part.clone(), harm.number.clone());
        metric(&harm.part, number, Quantity::Share, move |r| {
            let same = |harm: &&Harm| (&harm.part, &harm.number) == (&part, &name);
            let harm = r.harm.iter().find(same);
            harm.map_or(Measured::default(), |harm| Measured::sampled(harm.harm.mean, harm.harm.ci95))
        })
        .about("part of the delay or time that the rest of the traffic causes, or of the rate that it takes away")
        .rank(rank)
    });
    let mut metrics: Vec<Metric> = metrics.collect();
    keep_observed(&mut metrics, comparison);
    (!metrics.is_empty()).then(|| Application {
        title: "Harm by the rest of the traffic".to_owned(),
        metrics,
        sentence: None,
    })
}

/// Columns of the table of each kind, with its title.
pub(super) fn kinds() -> impl Iterator<Item = (&'static str, Vec<Metric>)> {
    KINDS.iter().map(|kind| (kind.title, columns(kind, 0)))
}

/// Keeps the columns that have a value under any scheme.
pub(super) fn keep_observed(metrics: &mut Vec<Metric>, comparison: &Comparison) {
    metrics.retain(|metric| {
        let values = metric.measure(&comparison.results);
        values.iter().any(|measured| measured.value.is_some())
    });
}

/// Columns of the application `index`: those of its kind, then numbers with a column in the tables of all kinds.
pub(super) fn columns(kind: &Kind, index: usize) -> Vec<Metric> {
    let of_all = ApplicationResult::metrics().into_iter().filter_map(|metric| {
        let column = metric.number.column.filter(|_| metric.number.listed)?;
        Some((column.subject, column.statistic, column.about, metric.number))
    });
    let columns =
        (0..).zip(kind.columns.iter().copied().chain(of_all)).map(|(rank, (subject, statistic, about, number))| {
            let name = format!("applications.{index}.{}", number.path);
            Metric::of_number(subject, statistic, number.quantity, name).about(about).rank(rank)
        });
    columns.collect()
}

/// Sentence on the number that leads the table of an application: the schemes with the best one, the scheme with the
/// worst, and the reference.
fn sentence(comparison: &Comparison, title: &str, kind: &Kind, index: usize) -> Option<String> {
    let lead = columns(kind, index).into_iter().next()?;
    let results = &comparison.results;
    let measured = lead.measure(results);
    let shown = |value: f64| lead.in_words(value);
    let known = || {
        let values = results.iter().zip(&measured);
        values.filter_map(|(r, measured)| Some((r, measured.value?)))
    };
    let ranked = results.iter().zip(&measured).zip(lead.ranked(comparison));
    let ranked = ranked.filter(|(_, ranked)| *ranked);
    let ranked = ranked.filter_map(|((r, measured), _)| Some((r, measured.value?)));
    let (best, least) = ranked.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (worst, most) = known().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (before, after) = kind.words;
    let start = match title == kind.title {
        true => capitalized(before),
        false => format!("{title}: {before}"),
    };
    let start = format!("{start} {}{after}", shown(least));
    if results.len() == 1 {
        return Some(start + ".");
    }
    if shown(least) == shown(most) {
        return Some(start + " with every scheme.");
    }
    let labels = |chosen: Vec<bool>| -> Vec<String> {
        let chosen = results.iter().zip(chosen).filter(|(_, chosen)| *chosen);
        chosen.map(|(r, _)| r.label.clone()).collect()
    };
    let seeds = seeds(comparison);
    let mut equals = labels(lead.best(results));
    let is_best = equals.contains(&best.label);
    equals.retain(|label| *label != best.label);
    let undecided = labels(lead.undecided(results));
    let mut chance = match is_best {
        true => String::new(),
        false => none_is_best(comparison),
    };
    if !equals.is_empty() {
        let are = if equals.len() == 1 { "is" } else { "are" };
        chance += &format!("; {} {are} within {} of it", named(&equals), near());
    }
    if !undecided.is_empty() {
        chance += &format!("; {seeds} cannot tell {} from the best", named(&undecided));
    }
    let aside = if is_best { " (the best)" } else { "" };
    let others = known().filter(|(r, _)| {
        let is_reference = Some(&r.label) == comparison.reference.as_ref();
        !std::ptr::eq(*r, best) && (is_reference || std::ptr::eq(*r, worst))
    });
    let mut others: Vec<(&SchemeResult, f64)> = others.collect();
    others.sort_by(|a, b| a.1.total_cmp(&b.1));
    let others: Vec<String> = (others.iter()).map(|(r, value)| format!("{} with {}", shown(*value), r.label)).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(", {}", list(others)),
    };
    Some(format!("{start} with {}{aside}{others}{chance}.", best.label))
}
