//! Drawing surface: lines, areas, marks and text, at positions in hundredths of a millimetre.

use super::style::{Dash, FAMILY, FONT, Mark};
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, DashedPathElement, Drawable, PathElement, PointCollection, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, RGBColor, TextStyle, register_font};
use std::sync::Once;

/// Position: right and down from the upper left corner, in hundredths of a millimetre.
pub(super) type At = (i32, i32);

/// Size of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Titles of axes: 8 points.
    Axis,
    /// Numbers at ticks, names of categories and series: 7.5 points.
    Tick,
}

impl Size {
    /// Height of a line of text.
    pub(super) fn line(self) -> i32 {
        match self {
            Size::Axis => 370,
            Size::Tick => 345,
        }
    }

    /// Size as plotters counts it, which draws text of 1/1.24 of it.
    fn plotters(self) -> f64 {
        let points = match self {
            Size::Axis => 8.0,
            Size::Tick => 7.5,
        };
        points * 2540.0 / 72.0 * 1.24
    }
}

/// Part of a text that is at its position.
pub(super) type Anchor = (HPos, VPos);

/// Width of `text`. The result is 11 % more than [`FONT`] needs, so that fallback fonts, which may be wider, fit too.
pub(super) fn text_width(text: &str, size: Size) -> i32 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let known = register_font(FAMILY, FontStyle::Normal, FONT);
        assert!(known.is_ok(), "the font that is compiled in is readable");
    });
    let font = (FAMILY, size.plotters()).into_font();
    let ((left, _), (right, _)) = font.layout_box(text).expect("the font is registered");
    right - left
}

/// Text that is not wider than `width`: shortened, with an ellipsis at its end, where it has to be.
pub(super) fn fit(text: &str, size: Size, width: i32) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().take(400).collect();
    loop {
        kept.pop();
        let shorter: String = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if kept.is_empty() || text_width(&shorter, size) <= width {
            return shorter;
        }
    }
}

/// Height of a plot in a figure of `width`.
pub(super) fn plot_height(width: i32) -> i32 {
    if is_wide(width) { 6_400 } else { width * 54 / 100 }
}

/// Number of ticks on a horizontal axis in a figure of `width`, about.
pub(super) fn ticks_across(width: i32) -> usize {
    if is_wide(width) { 8 } else { 5 }
}

/// Number of ticks on a vertical axis, about.
pub(super) const TICKS_UP: usize = 5;

/// True for a figure as wide as the text of a page, false for one as wide as a column.
fn is_wide(width: i32) -> bool {
    width > 12_000
}

/// A chart that knows how much space it takes.
pub(super) trait Layout {
    /// Height of the figure.
    fn height(&self) -> i32;

    /// Draws the figure.
    fn draw(&self, canvas: &Canvas<'_>);
}

/// Figure as SVG elements, followed by the end of the element around them.
pub(super) struct Drawing {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) shapes: String,
}

/// Drawing surface of a figure.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl Canvas<'_> {
    /// Draws what `layout` returns for the width of the figure.
    pub(super) fn draw(width: u32, layout: impl FnOnce(i32) -> Box<dyn Layout>) -> Drawing {
        let layout = layout(i32::try_from(width).expect("figures are smaller than 20 km"));
        let height = layout.height().unsigned_abs();
        let mut drawn = String::new();
        {
            let area = SVGBackend::with_string(&mut drawn, (width, height)).into_drawing_area();
            let canvas = Canvas { area };
            layout.draw(&canvas);
            canvas.area.present().expect("a string takes all text");
        }
        let shapes = drawn.split_once('>').map_or("", |(_, shapes)| shapes);
        Drawing { width, height, shapes: shapes.trim_start().to_owned() }
    }

    pub(super) fn line(&self, from: At, to: At, color: RGBColor, width: u32) {
        self.path(vec![from, to], color, width, None);
    }

    /// Draws the head of an arrow at `at` that points to `(dx, dy)`, a unit vector along an axis: the end of an interval
    /// that continues beyond the plot.
    pub(super) fn arrow(&self, at: At, (dx, dy): At, color: RGBColor, width: u32) {
        for side in [-55, 55] {
            let from = (at.0 - 80 * dx + side * dy, at.1 - 80 * dy + side * dx);
            self.line(from, at, color, width);
        }
    }

    pub(super) fn path(&self, points: Vec<At>, color: RGBColor, width: u32, dash: Dash) {
        let style = color.stroke_width(width);
        match dash {
            _ if points.len() < 2 => {}
            None => self.put(&PathElement::new(points, style)),
            Some((dash, gap)) => self.put(&DashedPathElement::new(points, dash, gap, style)),
        }
    }

    pub(super) fn area(&self, corner: At, opposite: At, color: RGBColor) {
        self.put(&Rectangle::new([corner, opposite], color.filled()));
    }

    /// Draws a mark that is `size` wide.
    pub(super) fn mark(&self, (x, y): At, mark: Mark, color: RGBColor, size: i32) {
        let half = (size / 2).max(1);
        let polygon = |corners: &[(i32, i32)]| {
            let corners: Vec<At> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            self.put(&Polygon::new(corners, color.filled()));
        };
        let strokes = |ends: &[(i32, i32)]| {
            for (dx, dy) in ends {
                self.line((x - dx, y - dy), (x + dx, y + dy), color, 35);
            }
        };
        // Areas of the same weight, not of the same width.
        let (side, tip) = (half * 9 / 10, half * 5 / 4);
        match mark {
            Mark::Disc => self.put(&Circle::new((x, y), half.unsigned_abs(), color.filled())),
            Mark::Square => polygon(&[(-side, -side), (side, -side), (side, side), (-side, side)]),
            Mark::Triangle => polygon(&[(0, -tip), (tip, half), (-tip, half)]),
            Mark::Wedge => polygon(&[(0, tip), (tip, -half), (-tip, -half)]),
            Mark::Diamond => polygon(&[(0, -tip), (tip, 0), (0, tip), (-tip, 0)]),
            Mark::Plus => strokes(&[(tip, 0), (0, tip)]),
            Mark::Cross => strokes(&[(half, half), (half, -half)]),
            Mark::Star => strokes(&[(tip, 0), (half * 5 / 8, tip), (half * 5 / 8, -tip)]),
        }
    }

    /// Writes `text` from left to right.
    pub(super) fn text(&self, at: At, anchor: Anchor, text: &str, size: Size, color: RGBColor) {
        self.write(at, anchor, text, size, color, FontTransform::None);
    }

    /// Writes `text` from bottom to top, centred at `at`.
    pub(super) fn text_upwards(&self, at: At, text: &str, size: Size, color: RGBColor) {
        self.write(at, (HPos::Center, VPos::Center), text, size, color, FontTransform::Rotate270);
    }

    fn write(&self, at: At, (h, v): Anchor, text: &str, size: Size, color: RGBColor, turn: FontTransform) {
        let font = (FAMILY, size.plotters()).into_font().transform(turn);
        let style = TextStyle::from(font).color(&color).pos(Pos::new(h, v));
        self.area.draw_text(&printable(text), &style, at).expect("a string takes all text");
    }

    fn put<'b, E>(&self, element: &'b E)
    where
        &'b E: PointCollection<'b, At>,
        E: for<'c> Drawable<SVGBackend<'c>>,
    {
        self.area.draw(element).expect("a string takes all text");
    }
}

/// Text as the content of an element or attribute.
pub(super) fn escaped(text: &str) -> String {
    let text = printable(text);
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Text with spaces for the characters that XML forbids.
fn printable(text: &str) -> String {
    let forbidden = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(forbidden, " ")
}
