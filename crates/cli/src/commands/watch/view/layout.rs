//! Places of the parts: each gets the lines it needs, the most important first, and further lines while there are any.

use super::canvas::draw as draw_lines;
use super::{View, lists, overview};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

/// Width from which sparklines stand next to the windows.
const SIDE_BY_SIDE: u16 = 140;

/// Width from which the log stands next to the causes.
const TWO_COLUMNS: u16 = 160;

/// Width of the windows where sparklines stand next to them, and of the causes where the log does.
const LEFT: u16 = 86;

/// Spaces between such columns.
const GAP: u16 = 2;

/// Height from which empty lines separate the parts.
const SPACED: u16 = 30;

/// Height from which the keys are shown.
const WITH_KEYS: u16 = 12;

/// Height from which all windows are shown; below it, the chosen one.
const WITH_WINDOWS: u16 = 12;

/// Height from which sparklines are shown, unless they stand next to the windows.
const WITH_SPARKLINES: u16 = 16;

/// Draws the parts of a view.
pub(super) fn draw(view: &View, mut area: Rect, buffer: &mut Buffer) {
    let (columns, height) = (usize::from(area.width), usize::from(area.height));
    let is_spaced = area.height >= SPACED;
    if area.height >= WITH_KEYS {
        let keys = Rect { y: area.bottom() - 1, height: 1, ..area };
        draw_lines(&overview::footer(view, columns), keys, buffer);
        area.height -= 1;
    }
    let mut upper = overview::head(view, columns);
    upper.extend(overview::answer(view, columns).into_iter().take(height.div_ceil(4).min(4)));
    upper.extend(overview::notices(view, columns).into_iter().take(height / 8));
    stack(&upper, is_spaced, &mut area, buffer);

    let is_beside = area.width >= SIDE_BY_SIDE;
    let left = Rect { width: LEFT.min(area.width), ..area };
    let right = Rect { x: area.x + (LEFT + GAP).min(area.width), width: area.width.saturating_sub(LEFT + GAP), ..area };
    let windows_width = if is_beside { left.width } else { area.width };
    let windows = overview::windows(view, usize::from(windows_width), height < usize::from(WITH_WINDOWS));
    if is_beside {
        let rows = windows.len() / 2;
        draw_lines(&overview::sparklines(view, usize::from(right.width), rows), right, buffer);
    }
    stack(&windows, is_spaced, &mut area, buffer);
    if !is_beside && height >= usize::from(WITH_SPARKLINES) {
        let rows = if is_spaced { 2 } else { 1 };
        stack(&overview::sparklines(view, columns, rows), is_spaced, &mut area, buffer);
    }
    match area.width >= TWO_COLUMNS {
        true => {
            let left = Rect { width: left.width, ..area };
            let right = Rect { x: right.x, width: right.width, ..area };
            lower(view, &[Part::Causes, Part::Explanation, Part::Parties], is_spaced, left, buffer);
            lower(view, &[Part::Log], is_spaced, right, buffer);
        }
        false => {
            lower(view, &[Part::Causes, Part::Explanation, Part::Parties, Part::Log], is_spaced, area, buffer);
        }
    }
}

/// Draws lines at the top of an area, and removes their place from it.
fn stack(lines: &[Line<'_>], is_spaced: bool, area: &mut Rect, buffer: &mut Buffer) {
    draw_lines(lines, *area, buffer);
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(u16::from(is_spaced && !lines.is_empty()));
    let used = used.min(area.height);
    area.y += used;
    area.height -= used;
}

/// Part of the lower half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Causes,
    Explanation,
    Parties,
    Log,
}

/// Lines that the parts get, step by step, while there are any.
const STEPS: [(Part, usize); 11] = [
    (Part::Causes, 2),
    (Part::Log, 2),
    (Part::Causes, 4),
    (Part::Explanation, 4),
    (Part::Parties, 3),
    (Part::Causes, 6),
    (Part::Log, 4),
    (Part::Explanation, usize::MAX),
    (Part::Parties, 6),
    (Part::Causes, usize::MAX),
    (Part::Parties, usize::MAX),
];

impl Part {
    /// Lines of the part, at most `height`.
    fn lines(self, view: &View, columns: usize, height: usize) -> Vec<Line<'static>> {
        let mut lines = match self {
            Part::Causes => lists::causes(view, columns, height),
            Part::Explanation => lists::explanation(view, columns, height),
            Part::Parties => lists::parties(view, columns),
            Part::Log => lists::log(view, columns, height),
        };
        lines.truncate(height);
        lines
    }

    /// Fewest lines that are of use: a head needs a row.
    fn least(self) -> usize {
        if self == Part::Explanation { 1 } else { 2 }
    }

    /// Whether an empty line separates the part from the one above it.
    fn is_separate(self) -> bool {
        matches!(self, Part::Parties | Part::Log)
    }
}

/// Draws parts from top to bottom.
fn lower(view: &View, parts: &[Part], is_spaced: bool, mut area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width);
    let gaps = parts.iter().skip(1).filter(|part| is_spaced && part.is_separate()).count();
    let mut rest = usize::from(area.height).saturating_sub(gaps);
    let mut given = vec![0; parts.len()];
    for (part, target) in STEPS.into_iter().chain([(Part::Log, usize::MAX)]) {
        let Some(i) = parts.iter().position(|&other| other == part) else { continue };
        let height = part.lines(view, columns, target.min(given[i] + rest)).len();
        if height >= part.least() {
            let more = height.saturating_sub(given[i]);
            given[i] += more;
            rest -= more;
        }
    }
    for (&part, &height) in parts.iter().zip(&given) {
        if is_spaced && part.is_separate() && part != parts[0] && area.height > 0 {
            area.y += 1;
            area.height -= 1;
        }
        stack(&part.lines(view, columns, height), false, &mut area, buffer);
    }
}
