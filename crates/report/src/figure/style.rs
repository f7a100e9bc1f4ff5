//! Font, colours, dashes and marks.

use plotters::style::RGBColor;

/// Font of all text, with its licence in `assets/vendor/LICENSE-liberation`.
pub(super) const FONT: &[u8] = include_bytes!("../../assets/vendor/LiberationSans-Regular.ttf");

/// Font families of an SVG, in order of preference: [`FONT`] and fonts with the same widths.
pub(super) const FAMILY: &str = "Liberation Sans, Arimo, Helvetica, Arial, sans-serif";

/// Colour of text and of published values.
pub(super) const INK: RGBColor = RGBColor(0x1c, 0x1e, 0x22);

/// Colour of axes.
pub(super) const MUTED: RGBColor = RGBColor(0x5c, 0x62, 0x6c);

/// Colour of the grid.
pub(super) const RULE: RGBColor = RGBColor(0xe5, 0xe5, 0xe1);

/// Colours of series: those of the pages on a light ground (`assets/page.css`), distinguishable with any colour vision.
const SERIES: [RGBColor; 8] = [
    RGBColor(0x22, 0x92, 0xe7),
    RGBColor(0xb1, 0x35, 0x03),
    RGBColor(0x33, 0x00, 0x8b),
    RGBColor(0xc8, 0x7c, 0x03),
    RGBColor(0x38, 0x58, 0x73),
    RGBColor(0x87, 0x08, 0xca),
    RGBColor(0x71, 0x00, 0x0e),
    RGBColor(0x89, 0x7d, 0x88),
];

/// Colours as an SVG of this module has them, and the variables of `assets/page.css` that replace them on a page.
pub(super) const PALETTE: [(&str, &str); 11] = [
    ("#1C1E22", "--ink"),
    ("#5C626C", "--muted"),
    ("#E5E5E1", "--rule"),
    ("#2292E7", "--s4"),
    ("#B13503", "--s6"),
    ("#33008B", "--s3"),
    ("#C87C03", "--s1"),
    ("#385873", "--s7"),
    ("#8708CA", "--s5"),
    ("#71000E", "--s2"),
    ("#897D88", "--s0"),
];

/// Dash and gap of a line in hundredths of a millimetre; `None`: a solid line.
pub(super) type Dash = Option<(i32, i32)>;

/// Shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Disc,
    Square,
    Triangle,
    Wedge,
    Star,
    Plus,
    Cross,
    Diamond,
}

/// Look of the series `index` of a chart. Two series with the same colour have different dashes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub(super) color: RGBColor,
    pub(super) dash: Dash,
    pub(super) mark: Mark,
}

impl Look {
    /// Look of our series `index`.
    pub(super) fn ours(index: usize) -> Look {
        const DASHES: [Dash; 5] = [None, Some((180, 90)), Some((60, 60)), Some((320, 90)), Some((30, 80))];
        const MARKS: [Mark; 6] = [Mark::Disc, Mark::Square, Mark::Triangle, Mark::Wedge, Mark::Star, Mark::Plus];
        Look {
            color: SERIES[index % SERIES.len()],
            dash: DASHES[index % DASHES.len()],
            mark: MARKS[index % MARKS.len()],
        }
    }

    /// Look of the published series `index`.
    pub(super) fn published(index: usize) -> Look {
        const MARKS: [Mark; 4] = [Mark::Diamond, Mark::Cross, Mark::Star, Mark::Plus];
        Look { color: INK, dash: Some((60, 60)), mark: MARKS[index % MARKS.len()] }
    }

    /// Looks of series in order, told whether each is published.
    pub(super) fn of_all(published: impl Iterator<Item = bool>) -> Vec<Look> {
        let [mut ours, mut theirs] = [0, 0];
        let look = |published| {
            let (count, look): (_, fn(usize) -> Look) = match published {
                true => (&mut theirs, Look::published),
                false => (&mut ours, Look::ours),
            };
            *count += 1;
            look(*count - 1)
        };
        published.map(look).collect()
    }
}
