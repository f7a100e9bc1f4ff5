//! Charts as data: what a figure shows, without how it is drawn.

use crate::estimate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// One panel of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "form", rename_all = "lowercase")]
pub enum Chart {
    /// Curves or points over a numeric axis.
    Curves(Curves),
    /// Bars over categories.
    Bars(Bars),
}

/// Curves or points over a numeric axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Curves {
    /// Name, unique within the figure; part of file names.
    pub id: String,
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub lines: Vec<Line>,
}

/// Bars over categories.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bars {
    /// Name, unique within the figure; part of file names.
    pub id: String,
    /// Title.
    pub title: String,
    /// Categories, from left to right: schemes, for example.
    pub categories: Vec<String>,
    /// Vertical axis.
    pub y: Axis,
    /// True if the series of a category are stacked; else they are side by side.
    pub stacked: bool,
    /// The series, in the order of the legend.
    pub series: Vec<BarSeries>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// Quantity: `response time`.
    pub label: String,
    /// Unit: `s`; empty for a number without one.
    pub unit: String,
    /// Scale.
    pub scale: Scale,
    /// Range to show; `None`: the data's.
    pub range: Option<(f64, f64)>,
}

/// Scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic, base 10; values of 0 and below are not shown.
    Log,
}

/// A curve.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// How the points are drawn.
    pub draw: Draw,
    /// True if the values are the paper's, not ours.
    pub published: bool,
    /// Points in order of `x`.
    pub points: Vec<Point>,
}

/// How the points of a curve are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Connected by lines.
    #[default]
    Line,
    /// Connected by horizontal steps, as distribution functions are.
    Steps,
    /// Connected by lines, each with a mark: few points, such as means by size.
    Marks,
    /// Marks only: single events.
    Points,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Half-width of the 95 % confidence interval of `y`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
}

/// A series of bars.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BarSeries {
    /// Name in the legend; empty for the only series.
    pub label: String,
    /// True if the values are the paper's, not ours.
    pub published: bool,
    /// A value per category.
    pub values: Vec<Estimate>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str, unit: &str) -> Axis {
        Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Axis {
        Axis { scale: Scale::Log, ..Axis::linear(label, unit) }
    }

    /// The axis with a fixed range.
    #[must_use]
    pub fn range(self, from: f64, to: f64) -> Axis {
        Axis { range: Some((from, to)), ..self }
    }
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Point {
        Point { x, y, ci95: None }
    }
}

impl Curves {
    /// A chart without curves.
    pub fn new(id: &str, title: &str, x: Axis, y: Axis) -> Curves {
        Curves { id: id.to_owned(), title: title.to_owned(), x, y, lines: Vec::new() }
    }

    /// Adds a curve. Points that are not finite are left out.
    #[must_use]
    pub fn draw<P: Into<Point>>(mut self, label: &str, draw: Draw, points: impl IntoIterator<Item = P>) -> Curves {
        let points = points.into_iter().map(Into::into);
        self.lines.push(Line {
            label: label.to_owned(),
            draw,
            published: false,
            points: points.filter(|p: &Point| p.x.is_finite() && p.y.is_finite()).collect(),
        });
        self
    }

    /// Adds a curve that is connected by lines.
    #[must_use]
    pub fn line<P: Into<Point>>(self, label: &str, points: impl IntoIterator<Item = P>) -> Curves {
        self.draw(label, Draw::Line, points)
    }

    /// Adds values of the paper, drawn as marks.
    #[must_use]
    pub fn published<P: Into<Point>>(self, label: &str, points: impl IntoIterator<Item = P>) -> Curves {
        let mut curves = self.draw(label, Draw::Points, points);
        if let Some(line) = curves.lines.last_mut() {
            line.published = true;
        }
        curves
    }
}

impl Bars {
    /// A chart without series.
    pub fn new<S: Into<String>>(id: &str, title: &str, categories: impl IntoIterator<Item = S>, y: Axis) -> Bars {
        Bars {
            id: id.to_owned(),
            title: title.to_owned(),
            categories: categories.into_iter().map(Into::into).collect(),
            y,
            stacked: false,
            series: Vec::new(),
        }
    }

    /// Stacks the series of a category.
    #[must_use]
    pub fn stacked(self) -> Bars {
        Bars { stacked: true, ..self }
    }

    /// Adds a series with a value per category.
    #[must_use]
    pub fn series(mut self, label: &str, values: impl IntoIterator<Item = Estimate>) -> Bars {
        self.series.push(BarSeries { label: label.to_owned(), published: false, values: values.into_iter().collect() });
        self
    }

    /// Adds a series of values of the paper; missing ones are `Estimate::default()`.
    #[must_use]
    pub fn published(self, label: &str, values: impl IntoIterator<Item = Estimate>) -> Bars {
        let mut bars = self.series(label, values);
        if let Some(series) = bars.series.last_mut() {
            series.published = true;
        }
        bars
    }
}

impl Chart {
    /// A chart of curves without curves: see [`Curves`].
    pub fn curves(id: &str, title: &str, x: Axis, y: Axis) -> Curves {
        Curves::new(id, title, x, y)
    }

    /// A chart of bars without series: see [`Bars`].
    pub fn bars<S: Into<String>>(id: &str, title: &str, categories: impl IntoIterator<Item = S>, y: Axis) -> Bars {
        Bars::new(id, title, categories, y)
    }

    /// Name, unique within the figure.
    pub fn id(&self) -> &str {
        match self {
            Chart::Curves(curves) => &curves.id,
            Chart::Bars(bars) => &bars.id,
        }
    }

    /// Title.
    pub fn title(&self) -> &str {
        match self {
            Chart::Curves(curves) => &curves.title,
            Chart::Bars(bars) => &bars.title,
        }
    }
}

impl From<Curves> for Chart {
    fn from(curves: Curves) -> Chart {
        Chart::Curves(curves)
    }
}

impl From<Bars> for Chart {
    fn from(bars: Bars) -> Chart {
        Chart::Bars(bars)
    }
}
