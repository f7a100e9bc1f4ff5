//! Font, colours, dashes and marks.

use crate::palette::{self, PALETTE};
use plotters::style::RGBColor;
use std::sync::LazyLock;

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

/// Colour around whiskers, which sets them off from dark bars.
pub(super) const OUTLINE: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Variables of `assets/page.css` that replace the colours of text, axes, grid and outlines on a page.
const GROUND: [(RGBColor, &str); 4] = [(INK, "ink"), (MUTED, "muted"), (RULE, "rule"), (OUTLINE, "surface")];

/// Colours of the palette on a light ground.
static COLORS: LazyLock<Vec<RGBColor>> = LazyLock::new(|| {
    let parsed = |color: &crate::palette::Color| {
        let [_, r, g, b] = u32::from_str_radix(&color.light[1..], 16).expect("a test reads the palette").to_be_bytes();
        RGBColor(r, g, b)
    };
    PALETTE.colors.iter().map(parsed).collect()
});

/// Colours as an SVG of this module has them, and the variables that replace them on a page.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    let colors = COLORS.iter().zip(&PALETTE.colors).map(|(color, named)| (*color, format!("--color-{}", named.name)));
    let ground = GROUND.into_iter().map(|(color, name)| (color, format!("--{name}")));
    ground.chain(colors).map(|(RGBColor(r, g, b), name)| (format!("#{r:02X}{g:02X}{b:02X}"), name))
}

/// Dash and gap of a line in hundredths of a millimetre; `None`: a solid line.
pub(super) type Dash = Option<(i32, i32)>;

/// Dashes of series, in the order in which they are used.
const DASHES: [Dash; 5] = [None, Some((180, 90)), Some((60, 60)), Some((320, 90)), Some((30, 80))];

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
    /// Look of our series `index` without a scheme. The first colour of the palette is for schemes: it resembles text.
    fn ours(index: usize) -> Look {
        const MARKS: [Mark; 6] = [Mark::Disc, Mark::Square, Mark::Triangle, Mark::Wedge, Mark::Star, Mark::Plus];
        Look {
            color: COLORS[1 + index % (COLORS.len() - 1)],
            dash: DASHES[index % DASHES.len()],
            mark: MARKS[index % MARKS.len()],
        }
    }

    /// Look of the scheme that a series or category is named after, as on all pages; `None`: it is named after none.
    /// `variant` counts the series of the scheme before this one.
    pub(super) fn scheme(name: &str, variant: usize) -> Option<Look> {
        let look = PALETTE.scheme(name)?;
        let mark = match look.mark {
            palette::Mark::Circle => Mark::Disc,
            palette::Mark::Square => Mark::Square,
            palette::Mark::Triangle => Mark::Triangle,
            palette::Mark::Diamond => Mark::Diamond,
            palette::Mark::Star => Mark::Star,
            palette::Mark::Wye => Mark::Wedge,
            palette::Mark::Cross => Mark::Plus,
            palette::Mark::Asterisk => Mark::Cross,
        };
        let color = PALETTE.color(&look.color).expect("a test reads the palette");
        Some(Look { color: COLORS[color], dash: DASHES[variant % DASHES.len()], mark })
    }

    /// Look of the published series `index`.
    fn published(index: usize) -> Look {
        const MARKS: [Mark; 4] = [Mark::Diamond, Mark::Cross, Mark::Star, Mark::Plus];
        Look { color: INK, dash: Some((60, 60)), mark: MARKS[index % MARKS.len()] }
    }

    /// Looks of series in order, with the name of each and whether it is published. Our series have the looks of schemes if all
    /// are named after schemes.
    pub(super) fn of_all<'a>(series: impl Iterator<Item = (&'a str, bool)> + Clone) -> Vec<Look> {
        let ours = series.clone().filter(|(_, published)| !published).map(|(name, _)| name);
        let of_schemes = ours.clone().all(|name| PALETTE.scheme(name).is_some());
        let [mut count, mut theirs] = [0, 0];
        let look = |(name, published): (&str, bool)| {
            if published {
                theirs += 1;
                return Look::published(theirs - 1);
            }
            let scheme = |name: &str| PALETTE.scheme(name).map(|look| &look.name);
            let variant = ours.clone().take(count).filter(|before| scheme(before) == scheme(name)).count();
            count += 1;
            let of_scheme = Look::scheme(name, variant).filter(|_| of_schemes);
            of_scheme.unwrap_or_else(|| Look::ours(count - 1))
        };
        series.map(look).collect()
    }
}
