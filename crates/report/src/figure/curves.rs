//! Charts of curves and points.

use super::axis::{Span, title};
use super::canvas::{self, At, Canvas, Size, TICKS_UP, fit, plot_height, text_width, ticks_across};
use super::legend::{Legend, Sample};
use super::lines::{Place, clipped, steps, thinned};
use super::style::{INK, Look, MUTED, RULE};
use gentle_papers::{Curves, Draw, Line, Point};
use plotters::style::text_anchor::{HPos, VPos};
use std::collections::BTreeSet;

/// Number of points beyond which single events are drawn as dots.
const MANY: usize = 150;

/// Chart of curves with the places of its parts.
pub(super) struct Layout {
    curves: Curves,
    looks: Vec<Look>,
    legend: Legend,
    x: Span,
    y: Span,
    /// Corners of the plot.
    top: i32,
    bottom: i32,
    left: i32,
    right: i32,
}

impl Layout {
    pub(super) fn new(curves: &Curves, width: i32) -> Layout {
        let looks = Look::of_all(curves.lines.iter().map(|line| (line.label.as_str(), line.published)));
        let entries = curves.lines.iter().zip(&looks);
        let entries = entries.map(|(line, look)| (line.label.clone(), *look, sample(line)));
        let legend = Legend::new(entries, width - 200);

        let points = || curves.lines.iter().flat_map(|line| &line.points);
        let across = points().map(|point| point.x);
        let x = Span::new(&curves.x, across, std::iter::empty(), false, ticks_across(width));
        let ends = points().flat_map(|point| <[f64; 2]>::from(interval(point)));
        let y = Span::new(&curves.y, points().map(|point| point.y), ends, false, TICKS_UP);

        let numbers = y.numbers();
        let number = numbers.iter().map(|(_, number)| text_width(number, Size::Tick)).max();
        let left = 150 + Size::Axis.line() + number.unwrap_or(0) + 150;
        let last = x.numbers().last().map_or(0, |(_, number)| text_width(number, Size::Tick));
        let right = width - (last / 2).max(150) - 50;
        let top = legend.height() + 200;
        Layout { curves: curves.clone(), looks, legend, x, y, top, bottom: top + plot_height(width), left, right }
    }

    fn at(&self, (x, y): Place) -> At {
        let across = f64::from(self.right - self.left) * x;
        let down = f64::from(self.bottom - self.top) * (1.0 - y);
        (self.left + across.round() as i32, self.top + down.round() as i32)
    }

    fn place(&self, x: f64, y: f64) -> Option<Place> {
        Some((self.x.place(x)?, self.y.place(y)?))
    }

    fn axes(&self, canvas: &Canvas<'_>) {
        for (tick, number) in self.x.numbers() {
            let Some(place) = self.x.place(tick) else {
                continue;
            };
            let (x, _) = self.at((place, 0.0));
            canvas.line((x, self.top), (x, self.bottom), RULE, 15);
            canvas.line((x, self.bottom), (x, self.bottom + 80), MUTED, 20);
            let at = (x, self.bottom + 130);
            canvas.text(at, (HPos::Center, VPos::Top), &number, Size::Tick, INK);
        }
        for (tick, number) in self.y.numbers() {
            let Some(place) = self.y.place(tick) else {
                continue;
            };
            let (_, y) = self.at((0.0, place));
            canvas.line((self.left, y), (self.right, y), RULE, 15);
            canvas.line((self.left - 80, y), (self.left, y), MUTED, 20);
            let at = (self.left - 130, y);
            canvas.text(at, (HPos::Right, VPos::Center), &number, Size::Tick, INK);
        }
        for tick in &self.x.between {
            let Some(place) = self.x.place(*tick) else {
                continue;
            };
            let (x, _) = self.at((place, 0.0));
            canvas.line((x, self.bottom), (x, self.bottom + 45), MUTED, 15);
        }
        for tick in &self.y.between {
            let Some(place) = self.y.place(*tick) else {
                continue;
            };
            let (_, y) = self.at((0.0, place));
            canvas.line((self.left - 45, y), (self.left, y), MUTED, 15);
        }
        let corners = vec![(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)];
        canvas.path(corners, MUTED, 25, None);

        let label = fit(&title(&self.curves.x), Size::Axis, self.right - self.left);
        let at = (self.left.midpoint(self.right), self.bottom + 130 + Size::Tick.line() + 60);
        canvas.text(at, (HPos::Center, VPos::Top), &label, Size::Axis, INK);
        let label = fit(&title(&self.curves.y), Size::Axis, self.bottom - self.top + 200);
        let at = (50 + Size::Axis.line() / 2, self.top.midpoint(self.bottom));
        canvas.text_upwards(at, &label, Size::Axis, INK);
    }

    fn line(&self, canvas: &Canvas<'_>, line: &Line, look: Look) {
        let places: Vec<Place> = line.points.iter().filter_map(|point| self.place(point.x, point.y)).collect();
        let path = match line.draw {
            Draw::Points => Vec::new(),
            Draw::Line | Draw::Marks => thinned(&places),
            Draw::Steps => thinned(&steps(&places)),
        };
        for part in clipped(&path) {
            let mut points: Vec<At> = part.into_iter().map(|place| self.at(place)).collect();
            points.dedup();
            canvas.path(points, look.color, if line.published { 25 } else { 35 }, look.dash);
        }
        for point in &line.points {
            self.whisker(canvas, point, look);
        }
        if matches!(line.draw, Draw::Marks | Draw::Points) {
            let within = |(x, y): &Place| (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y);
            let visible: Vec<At> = places.into_iter().filter(within).map(|p| self.at(p)).collect();
            let size = match (line.published, visible.len() > MANY) {
                (true, _) => 180,
                (false, true) => 60,
                (false, false) => 140,
            };
            // Marks that cover each other are drawn once.
            let mut drawn = BTreeSet::new();
            for at in visible {
                if drawn.insert((at.0 / 20, at.1 / 20)) {
                    canvas.mark(at, look.mark, look.color, size);
                }
            }
        }
    }

    /// Draws the confidence interval of a point.
    fn whisker(&self, canvas: &Canvas<'_>, point: &Point, look: Look) {
        if point.ci95.is_none_or(|ci95| !ci95.is_finite()) {
            return;
        }
        let (low, high) = interval(point);
        let Some((x, high)) = self.place(point.x, high) else {
            return;
        };
        // The lower end of an interval may be off a logarithmic axis.
        let low = self.y.place(low).unwrap_or(-1.0);
        if !(0.0..=1.0).contains(&x) || high < 0.0 || low > 1.0 {
            return;
        }
        let (x, from) = self.at((x, low.max(0.0)));
        let (_, to) = self.at((0.0, high.min(1.0)));
        canvas.line((x, from), (x, to), look.color, 20);
        for (y, shown, down) in [(from, low >= 0.0, 1), (to, high <= 1.0, -1)] {
            match shown {
                true => canvas.line((x - 50, y), (x + 50, y), look.color, 20),
                false => canvas.arrow((x, y), (0, down), look.color, 20),
            }
        }
    }
}

impl canvas::Layout for Layout {
    fn height(&self) -> i32 {
        self.bottom + 130 + Size::Tick.line() + 60 + Size::Axis.line() + 60
    }

    fn draw(&self, canvas: &Canvas<'_>) {
        self.legend.draw(canvas, (100, 50));
        self.axes(canvas);
        // Published values last: they are few, and must not be covered.
        for published in [false, true] {
            for (line, look) in self.curves.lines.iter().zip(&self.looks) {
                if line.published == published {
                    self.line(canvas, line, *look);
                }
            }
        }
    }
}

impl From<Layout> for Box<dyn canvas::Layout> {
    fn from(layout: Layout) -> Self {
        Box::new(layout)
    }
}

fn interval(point: &Point) -> (f64, f64) {
    let half = point.ci95.filter(|ci95| ci95.is_finite()).unwrap_or(0.0);
    (point.y - half, point.y + half)
}

fn sample(line: &Line) -> Sample {
    match line.draw {
        Draw::Line | Draw::Steps => Sample::Line,
        Draw::Marks => Sample::LineWithMark,
        Draw::Points => Sample::Mark,
    }
}
