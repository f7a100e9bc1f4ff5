//! Charts of bars: upright where the names of the categories have room below them, else from left to right.

use super::axis::{Span, title};
use super::canvas::{self, At, Canvas, Size, fit, plot_height, text_width, ticks_across};
use super::legend::{Legend, Sample};
use super::style::{INK, Look, MUTED, OUTLINE, RULE};
use gentle_papers::Bars;
use plotters::style::text_anchor::{HPos, VPos};

/// Thickness of a bar that lies: at most, and at least where there are many.
const THICK: i32 = 250;
const THIN: i32 = 110;
/// Distance between the categories of bars that lie.
const BETWEEN: i32 = 160;
/// Height of a plot beyond which its bars become thinner.
const TALL: i32 = 14_000;

/// Chart of bars with the places of its parts.
pub(super) struct Layout {
    bars: Bars,
    looks: Vec<Look>,
    /// Looks of the categories, if they are schemes with one bar each.
    schemes: Vec<Look>,
    legend: Legend,
    names: Vec<String>,
    values: Span,
    upright: bool,
    /// Thickness of a bar that lies.
    bar: i32,
    /// Corners of the plot.
    top: i32,
    bottom: i32,
    left: i32,
    right: i32,
}

impl Layout {
    pub(super) fn new(bars: &Bars, width: i32) -> Layout {
        let looks = Look::of_all(bars.series.iter().map(|series| (series.label.as_str(), series.published)));
        let entries = bars.series.iter().zip(&looks).map(|(series, look)| {
            let sample = if series.published { Sample::Mark } else { Sample::Area };
            (series.label.clone(), *look, sample)
        });
        let legend = Legend::new(entries, width - 200);
        let (values, intervals) = ends(bars);
        let values = Span::new(&bars.y, values.into_iter(), intervals.into_iter(), true, ticks_across(width));

        let numbers = values.numbers();
        let number = numbers.iter().map(|(_, number)| text_width(number, Size::Tick)).max().unwrap_or(0);
        let widest = bars.categories.iter().map(|name| text_width(name, Size::Tick)).max().unwrap_or(0);
        let count = i32::try_from(bars.categories.len().max(1)).unwrap_or(i32::MAX);
        let left = 150 + Size::Axis.line() + number + 150;
        let upright = widest + 200 <= (width - left - 150) / count;

        let beside = i32::try_from(beside(bars)).map_or(1_000, |beside| beside.min(1_000));
        let bar = ((TALL / count - BETWEEN) / beside).clamp(THIN, THICK);
        let top = legend.height() + 200;
        let (left, right, bottom) = match upright {
            true => (left, width - 150, top + plot_height(width)),
            false => {
                let last = numbers.last().map_or(0, |(_, number)| text_width(number, Size::Tick));
                let left = 100 + widest.min(width * 45 / 100) + 130;
                let category = beside * bar + BETWEEN;
                (left, width - (last / 2).max(150) - 50, top + category.saturating_mul(count.min(2_000)))
            }
        };
        let room = if upright { i32::MAX } else { left - 230 };
        let names = bars.categories.iter().map(|name| fit(name, Size::Tick, room)).collect();
        let mut ours = bars.series.iter().filter(|series| !series.published);
        let single = ours.next().is_some_and(|series| series.label.is_empty()) && ours.next().is_none();
        let schemes = bars.categories.iter().filter(|_| single).map(|name| Look::scheme(name, 0));
        let schemes = schemes.collect::<Option<Vec<Look>>>().unwrap_or_default();
        Layout { bars: bars.clone(), looks, schemes, legend, names, values, upright, bar, top, bottom, left, right }
    }

    /// Position on the canvas. `category` is 0 at the start of the first category and 1 at the end of the last one.
    fn at(&self, category: f64, value: f64) -> At {
        let (width, height) = (f64::from(self.right - self.left), f64::from(self.bottom - self.top));
        let (across, down) = match self.upright {
            true => (width * category, height * (1.0 - value)),
            false => (width * value, height * category),
        };
        (self.left + across.round() as i32, self.top + down.round() as i32)
    }

    fn axes(&self, canvas: &Canvas<'_>) {
        for (tick, number) in self.values.numbers() {
            let Some(place) = self.values.place(tick) else {
                continue;
            };
            let (x, y) = self.at(0.0, place);
            match self.upright {
                true => {
                    canvas.line((self.left, y), (self.right, y), RULE, 15);
                    let at = (self.left - 130, y);
                    canvas.text(at, (HPos::Right, VPos::Center), &number, Size::Tick, INK);
                }
                false => {
                    canvas.line((x, self.top), (x, self.bottom), RULE, 15);
                    canvas.line((x, self.bottom), (x, self.bottom + 80), MUTED, 20);
                    let at = (x, self.bottom + 130);
                    canvas.text(at, (HPos::Center, VPos::Top), &number, Size::Tick, INK);
                }
            }
        }
        let label = title(&self.bars.y);
        if self.upright {
            let label = fit(&label, Size::Axis, self.bottom - self.top + 200);
            let at = (50 + Size::Axis.line() / 2, self.top.midpoint(self.bottom));
            canvas.text_upwards(at, &label, Size::Axis, INK);
        } else {
            let label = fit(&label, Size::Axis, self.right - 100);
            let half = text_width(&label, Size::Axis) / 2;
            // Below the middle of the axis, and on the canvas.
            let x = self.left.midpoint(self.right).min(self.right + 100 - half).max(half + 50);
            let at = (x, self.bottom + 130 + Size::Tick.line() + 60);
            canvas.text(at, (HPos::Center, VPos::Top), &label, Size::Axis, INK);
        }
        for (i, name) in self.names.iter().enumerate() {
            let (x, y) = self.at(self.middle(i), 0.0);
            match self.upright {
                true => canvas.text((x, self.bottom + 130), (HPos::Center, VPos::Top), name, Size::Tick, INK),
                false => canvas.text((self.left - 130, y), (HPos::Right, VPos::Center), name, Size::Tick, INK),
            }
        }
    }

    /// Line at which the bars start.
    fn ground(&self, canvas: &Canvas<'_>) {
        let ground = self.values.ground();
        canvas.line(self.at(0.0, ground), self.at(1.0, ground), MUTED, 25);
    }

    /// Middle of category `i`.
    fn middle(&self, i: usize) -> f64 {
        (i as f64 + 0.5) / self.names.len().max(1) as f64
    }

    /// Thickness of a bar as a part of the plot.
    fn thickness(&self) -> f64 {
        let categories = self.names.len().max(1) as f64;
        let bars = beside(&self.bars) as f64;
        let part = match self.upright {
            true => 0.7 / bars,
            false => f64::from(self.bar) / (f64::from(self.bar) * bars + f64::from(BETWEEN)),
        };
        // A few bars do not become boards.
        match self.upright {
            true => (part / categories).min(1_200.0 / f64::from(self.right - self.left)),
            false => part / categories,
        }
    }

    /// Middle of the bar `bar` of category `i`.
    fn lane(&self, i: usize, bar: usize) -> f64 {
        let bars = beside(&self.bars) as f64;
        self.middle(i) + (bar as f64 + 0.5 - bars / 2.0) * self.thickness()
    }

    fn bar(&self, canvas: &Canvas<'_>, lane: f64, from: f64, to: f64, look: Look) {
        let half = 0.46 * self.thickness();
        let [from, to] = [from, to].map(|place| place.clamp(0.0, 1.0));
        let (a, b) = (self.at(lane - half, from), self.at(lane + half, to));
        let corner = (a.0.min(b.0), a.1.min(b.1));
        canvas.area(corner, (a.0.max(b.0), a.1.max(b.1)), look.color);
    }

    fn whisker(&self, canvas: &Canvas<'_>, lane: f64, low: f64, high: f64) {
        let (dx, dy) = if self.upright { (55, 0) } else { (0, 55) };
        let within = |place: &f64| (0.0..=1.0).contains(place);
        // One stroke: a bar across each end that is within the plot, and the line between the ends.
        let mut stroke = Vec::new();
        for (end, turn) in [(low, 1), (high, -1)] {
            let (x, y) = self.at(lane, end.clamp(0.0, 1.0));
            let across = [(x + turn * dx, y + turn * dy), (x - turn * dx, y - turn * dy)];
            match (within(&end), turn) {
                (false, _) => stroke.push((x, y)),
                (true, 1) => stroke.extend([across[0], across[1], (x, y)]),
                (true, _) => stroke.extend([(x, y), across[0], across[1]]),
            }
        }
        canvas.path(stroke.clone(), OUTLINE, 66, None);
        canvas.path(stroke, INK, 22, None);
        for (end, sign) in [(low, -1), (high, 1)] {
            // Quantities that are never negative have no interval below 0.
            if !within(&end) && (sign > 0 || self.values.ground() > 0.0) {
                let out = if self.upright { (0, -sign) } else { (sign, 0) };
                canvas.arrow(self.at(lane, end.clamp(0.0, 1.0)), out, INK, 22);
            }
        }
    }

    /// Draws our values of category `i`.
    fn ours(&self, canvas: &Canvas<'_>, i: usize) {
        let ours = self.bars.series.iter().zip(&self.looks).filter(|(series, _)| !series.published);
        let mut below = 0.0;
        let mut whiskers = Vec::new();
        for (bar, (series, look)) in ours.enumerate() {
            let lane = self.lane(i, if self.bars.stacked { 0 } else { bar });
            let Some(estimate) = series.values.get(i) else {
                continue;
            };
            let Some(value) = estimate.value.filter(|value| value.is_finite()) else {
                self.missing(canvas, lane);
                continue;
            };
            let (from, to) = if self.bars.stacked { (below, below + value) } else { (0.0, value) };
            below = to;
            let place = |value| self.values.place(value);
            let Some(end) = place(to) else { continue };
            let look = self.schemes.get(i).unwrap_or(look);
            self.bar(canvas, lane, place(from).unwrap_or_else(|| self.values.ground()), end, *look);
            if let Some(half) = estimate.ci95.filter(|half| half.is_finite()) {
                whiskers.push((lane, place(to - half).unwrap_or(-1.0), place(to + half).unwrap_or(2.0)));
            }
        }
        for (lane, low, high) in whiskers {
            self.whisker(canvas, lane, low, high);
        }
    }

    /// Marks a bar without a value.
    fn missing(&self, canvas: &Canvas<'_>, lane: f64) {
        let (x, y) = self.at(lane, self.values.ground());
        match self.upright {
            true => canvas.text((x, y - 60), (HPos::Center, VPos::Bottom), "–", Size::Tick, MUTED),
            false => canvas.text((x + 80, y), (HPos::Left, VPos::Center), "–", Size::Tick, MUTED),
        }
    }

    /// Draws the published values of category `i`: on the bar with the same place in the order, if there are as many.
    fn published(&self, canvas: &Canvas<'_>, i: usize) {
        let published = self.bars.series.iter().zip(&self.looks).filter(|(series, _)| series.published);
        let count = published.clone().count();
        for (bar, (series, look)) in published.enumerate() {
            let lane = match count == beside(&self.bars) && !self.bars.stacked {
                true => self.lane(i, bar),
                false => self.middle(i),
            };
            let Some(estimate) = series.values.get(i) else {
                continue;
            };
            let place = |value: Option<f64>| self.values.place(value.filter(|value| value.is_finite())?);
            let Some(end) = place(estimate.value).filter(|end| (0.0..=1.0).contains(end)) else {
                continue;
            };
            if let (Some(value), Some(half)) = (estimate.value, estimate.ci95) {
                let [low, high] = [value - half, value + half].map(|end| place(Some(end)));
                self.whisker(canvas, lane, low.unwrap_or(-1.0), high.unwrap_or(2.0));
            }
            // A ring of the ground's colour would not follow a dark theme; the mark is larger than the bar's whisker.
            canvas.mark(self.at(lane, end), look.mark, look.color, 170);
        }
    }
}

impl canvas::Layout for Layout {
    fn height(&self) -> i32 {
        let below = if self.upright { 0 } else { 60 + Size::Axis.line() };
        self.bottom + 130 + Size::Tick.line() + below + 60
    }

    fn draw(&self, canvas: &Canvas<'_>) {
        self.legend.draw(canvas, (100, 50));
        self.axes(canvas);
        for i in 0..self.names.len() {
            self.ours(canvas, i);
        }
        self.ground(canvas);
        for i in 0..self.names.len() {
            self.published(canvas, i);
        }
    }
}

impl From<Layout> for Box<dyn canvas::Layout> {
    fn from(layout: Layout) -> Self {
        Box::new(layout)
    }
}

/// Number of bars beside each other in a category.
fn beside(bars: &Bars) -> usize {
    let ours = bars.series.iter().filter(|series| !series.published).count();
    if bars.stacked { 1 } else { ours.max(1) }
}

/// Ends of all bars with the published values, and ends of all intervals.
fn ends(bars: &Bars) -> (Vec<f64>, Vec<f64>) {
    let (mut values, mut intervals) = (Vec::new(), Vec::new());
    for i in 0..bars.categories.len() {
        let mut below = 0.0;
        for series in &bars.series {
            let Some(estimate) = series.values.get(i) else {
                continue;
            };
            let Some(value) = estimate.value else {
                continue;
            };
            let stacked = bars.stacked && !series.published;
            let end = if stacked { below + value } else { value };
            if stacked {
                below = end;
            }
            values.push(end);
            if let Some(half) = estimate.ci95.filter(|half| half.is_finite()) {
                intervals.extend([end - half, end + half].map(|end| end.max(value.min(0.0))));
            }
        }
    }
    (values, intervals)
}
