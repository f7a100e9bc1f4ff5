//! Charts as vector graphics for papers and pages: SVG.
//!
//! The same chart gives the same bytes on every machine: text is measured in the font that is compiled in. That font is the
//! drawing's first choice, followed by fonts with the same widths. Lines and marks differ in dash and shape as well as in
//! colour, so that prints in grey are legible.

mod axis;
mod bars;
mod canvas;
mod curves;
mod describe;
mod legend;
mod lines;
mod style;

use canvas::{Canvas, Drawing, escaped};
use describe::describe;
use gentle_papers::Chart;

/// Width of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Column of a paper with two columns, 85 mm.
    Column,
    /// Both columns of a paper, 170 mm.
    Text,
}

impl Width {
    /// Width in hundredths of a millimetre.
    fn hundredths(self) -> u32 {
        match self {
            Width::Column => 8_500,
            Width::Text => 17_000,
        }
    }
}

/// Width of a figure on a page, in hundredths of a millimetre: legible on a telephone, and enlarged on a large screen.
const ON_PAGE: u32 = 10_000;

/// Draws a chart as an SVG file.
pub fn svg(chart: &Chart, width: Width) -> String {
    let Drawing { width, height, shapes } = draw(chart, width.hundredths());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{}</title>\n<desc>{}</desc>\n{shapes}",
        f64::from(width) / 100.0,
        f64::from(height) / 100.0,
        escaped(chart.title()),
        escaped(&describe(chart)),
    )
}

/// Draws a chart as an element of a page, in the colours of the page. `item` is the name of the figure or table.
pub(crate) fn inline(chart: &Chart, item: &str) -> String {
    let Drawing { width, height, shapes } = draw(chart, ON_PAGE);
    let shapes = style::variables().fold(shapes, |shapes, (color, variable)| {
        shapes.replace(&format!("\"{color}\""), &format!("\"var({variable})\""))
    });
    let name = format!("{item}, {}. {}", chart.title(), describe(chart));
    format!(
        "<svg class=\"figure\" role=\"img\" aria-label=\"{}\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {width} {height}\">\n{shapes}",
        escaped(&name),
        f64::from(width) / 100.0,
        f64::from(height) / 100.0,
    )
}

fn draw(chart: &Chart, width: u32) -> Drawing {
    Canvas::draw(width, |width| match chart {
        Chart::Curves(curves) => curves::Layout::new(curves, width).into(),
        Chart::Bars(bars) => bars::Layout::new(bars, width).into(),
    })
}
