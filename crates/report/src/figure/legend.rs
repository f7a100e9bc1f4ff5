//! Legend above the data: a sample and a name per series.

use super::canvas::{At, Canvas, Size, fit, text_width};
use super::style::{INK, Look};
use plotters::style::text_anchor::{HPos, VPos};

/// Height of a row.
const ROW: i32 = 400;
/// Distance between a sample and its name.
const GAP: i32 = 120;
/// Distance between entries.
const BETWEEN: i32 = 350;

/// What is drawn beside a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    Area,
    Line,
    LineWithMark,
    Mark,
}

struct Entry {
    name: String,
    look: Look,
    sample: Sample,
    /// Column and row: distances from the upper left corner of the legend.
    at: At,
}

/// Legend of a chart.
pub(super) struct Legend {
    entries: Vec<Entry>,
    /// Width of the samples.
    sample: i32,
    rows: i32,
}

impl Legend {
    /// Legend of at most `width`. A series without a name has no entry.
    pub(super) fn new(series: impl Iterator<Item = (String, Look, Sample)>, width: i32) -> Legend {
        let named: Vec<_> = series.filter(|(name, ..)| !name.is_empty()).collect();
        let lines = named.iter().any(|(.., sample)| matches!(sample, Sample::Line | Sample::LineWithMark));
        let sample = if lines { 700 } else { 300 };
        let room = width - sample - GAP;
        let mut entries: Vec<Entry> = (named.into_iter())
            .map(|(name, look, sample)| Entry { name: fit(&name, Size::Tick, room), look, sample, at: (0, 0) })
            .collect();
        let widths: Vec<i32> =
            entries.iter().map(|entry| sample + GAP + text_width(&entry.name, Size::Tick) + BETWEEN).collect();
        // Columns are easier to read; entries one after the other may need fewer rows.
        let column = widths.iter().copied().max().unwrap_or(1);
        let columns = ((width + BETWEEN) / column).max(1);
        let in_columns: Vec<At> = (0..).take(widths.len()).map(|i| (i % columns * column, i / columns * ROW)).collect();
        let mut in_turn: Vec<At> = Vec::new();
        let (mut x, mut y) = (0, 0);
        for entry in &widths {
            if x > 0 && x + entry > width + BETWEEN {
                (x, y) = (0, y + ROW);
            }
            in_turn.push((x, y));
            x += entry;
        }
        let rows = |places: &[At]| places.last().map_or(0, |(_, y)| y / ROW + 1);
        let places = if rows(&in_turn) < rows(&in_columns) { in_turn } else { in_columns };
        let rows = rows(&places);
        for (entry, at) in entries.iter_mut().zip(places) {
            entry.at = at;
        }
        Legend { entries, sample, rows }
    }

    /// Height, with the distance to the data.
    pub(super) fn height(&self) -> i32 {
        if self.rows == 0 { 0 } else { self.rows * ROW + 150 }
    }

    pub(super) fn draw(&self, canvas: &Canvas<'_>, (left, top): At) {
        for Entry { name, look, sample, at } in &self.entries {
            let (x, y) = (left + at.0, top + at.1 + ROW / 2);
            let middle = (x + self.sample / 2, y);
            match sample {
                Sample::Area => canvas.area((middle.0 - 150, y - 120), (middle.0 + 150, y + 120), look.color),
                Sample::Mark => canvas.mark(middle, look.mark, look.color, 180),
                Sample::Line | Sample::LineWithMark => {
                    canvas.path(vec![(x, y), (x + self.sample, y)], look.color, 35, look.dash);
                    if *sample == Sample::LineWithMark {
                        canvas.mark(middle, look.mark, look.color, 150);
                    }
                }
            }
            let at = (x + self.sample + GAP, y);
            canvas.text(at, (HPos::Left, VPos::Center), name, Size::Tick, INK);
        }
    }
}
