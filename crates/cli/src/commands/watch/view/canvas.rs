//! Lines of text: styles, tables that drop columns, wrapped paragraphs and sparklines.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

/// Space that does not break a line; drawn as a space.
pub(super) const NO_BREAK: char = '\u{a0}';

/// Mark of text that was cut.
const CUT: &str = "..";

/// Spaces between the columns of a table.
const GAP: usize = 2;

/// Heights of a cell in a sparkline, lowest first.
const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Heights in ASCII: the fonts of Linux consoles have few blocks.
const ASCII_BLOCKS: [&str; 8] = [".", ",", "-", ":", "=", "+", "*", "#"];

/// Properties of the terminal and its user.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) color: bool,
    pub(super) ascii: bool,
    pub(super) zone: TimeZone,
}

/// Meaning of a text, which its style shows in addition to its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Plain,
    Head,
    Selected,
    Good,
    Slow,
    Failed,
    /// Warning or mode that must not be missed.
    Alert,
}

impl Look {
    pub(super) fn style(&self, meaning: Meaning) -> Style {
        let colored = |color: Color| if self.color { Style::new().fg(color) } else { Style::new() };
        match meaning {
            Meaning::Plain => Style::new(),
            Meaning::Head | Meaning::Selected => Style::new().add_modifier(Modifier::BOLD),
            Meaning::Good => colored(Color::Green),
            Meaning::Slow => colored(Color::Yellow),
            Meaning::Failed => colored(Color::Red),
            Meaning::Alert => colored(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    pub(super) fn span(&self, text: impl Into<String>, meaning: Meaning) -> Span<'static> {
        Span::styled(text.into(), self.style(meaning))
    }

    pub(super) fn line(&self, text: impl Into<String>, meaning: Meaning) -> Line<'static> {
        Line::from(self.span(text, meaning))
    }

    /// Time of day of a Unix time.
    pub(super) fn time_of_day(&self, unix: f64) -> String {
        let time = Timestamp::from_second(unix as i64).unwrap_or_default();
        time.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string()
    }

    /// Bars of `values`, the latest at the right, in `width` columns and `height` rows. The largest value has full height,
    /// and each value above zero is visible.
    pub(super) fn sparkline(&self, values: &[f64], width: usize, height: usize) -> Vec<String> {
        let blocks = if self.ascii { ASCII_BLOCKS } else { BLOCKS };
        let values = &values[values.len().saturating_sub(width)..];
        let largest = values.iter().copied().fold(0.0, f64::max);
        let eighths = |value: f64| match value > 0.0 && largest > 0.0 {
            true => ((value / largest * (8 * height) as f64).round() as usize).max(1),
            false => 0,
        };
        let row = |below: usize| {
            let bar = |&value: &f64| match eighths(value).saturating_sub(8 * below) {
                0 => " ",
                filled => blocks[filled.min(8) - 1],
            };
            " ".repeat(width - values.len()) + &values.iter().map(bar).collect::<String>()
        };
        (0..height).rev().map(row).collect()
    }
}

/// Draws lines from the top of an area; what exceeds it is left out.
pub(super) fn draw(lines: &[Line<'_>], area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(*buffer.area());
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// Width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Text of at most `columns` columns.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mark = CUT.get(..columns.min(CUT.len())).unwrap_or_default();
    let mut out = String::new();
    let mut room = columns - mark.len();
    for c in text.chars() {
        let needed = width(c.encode_utf8(&mut [0; 4]));
        if needed > room {
            break;
        }
        room -= needed;
        out.push(c);
    }
    out + mark
}

/// Words of a text in lines of at most `columns` columns. A word that is longer is broken.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let needed = width(word);
        if used > 0 && used + 1 + needed > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let needed = width(c.encode_utf8(&mut [0; 4]));
            if used > 0 && used + needed > columns {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(if c == NO_BREAK { ' ' } else { c });
            used += needed;
        }
    }
    lines.push(line);
    lines
}

/// Text whose spaces do not break a line.
pub(super) fn glued(text: &str) -> String {
    text.chars().map(|c| if c == ' ' { NO_BREAK } else { c }).collect()
}

/// Column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Order in which columns are left out where space is short, highest first; 0 is always shown.
    pub(super) rank: u8,
    pub(super) kind: Kind,
}

/// Kinds of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers, aligned to the right, in at least this many columns, so that the table keeps its form as they change.
    Number(usize),
    Text,
    /// Text that is cut to the space left, but not to less than this.
    Flexible(usize),
}

impl Column {
    pub(super) const fn number(head: &'static str, rank: u8, least: usize) -> Column {
        Column { head, rank, kind: Kind::Number(least) }
    }
}

/// Cell of a table.
pub(super) type Cell = (String, Meaning);

/// Lines of a table in `columns` columns, the first of which is its head.
pub(super) fn table(look: &Look, head: &[Column], rows: &[Vec<Cell>], columns: usize) -> Vec<Line<'static>> {
    let widths = widths(head, rows, columns);
    let show = |cells: &mut dyn Iterator<Item = Cell>| {
        let mut line = Line::default();
        for ((text, meaning), (column, &wide)) in cells.zip(head.iter().zip(&widths)) {
            let Some(wide) = wide else { continue };
            if !line.spans.is_empty() {
                line.push_span(Span::raw(" ".repeat(GAP)));
            }
            let text = cut(&text, wide);
            let fill = " ".repeat(wide - width(&text));
            let text = if matches!(column.kind, Kind::Number(_)) { fill + &text } else { text + &fill };
            line.push_span(look.span(text, meaning));
        }
        line
    };
    let first = show(&mut head.iter().map(|column| (column.head.to_owned(), Meaning::Head)));
    std::iter::once(first).chain(rows.iter().map(|row| show(&mut row.iter().cloned()))).collect()
}

/// Widths of the columns that are shown.
fn widths(head: &[Column], rows: &[Vec<Cell>], columns: usize) -> Vec<Option<usize>> {
    let natural = |(i, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(|(text, _)| width(text));
        let least = if let Kind::Number(least) = column.kind { least } else { 0 };
        Some(cells.fold(width(column.head).max(least), usize::max))
    };
    let mut widths: Vec<Option<usize>> = head.iter().enumerate().map(natural).collect();
    loop {
        let shown: usize = widths.iter().flatten().map(|wide| wide + GAP).sum();
        let Some(excess) = shown.saturating_sub(GAP).checked_sub(columns + 1).map(|excess| excess + 1) else {
            return widths;
        };
        for (wide, column) in widths.iter_mut().zip(head) {
            if let (Kind::Flexible(least), Some(wide)) = (column.kind, wide)
                && wide.saturating_sub(excess) >= least.min(*wide)
            {
                *wide -= excess;
                return widths;
            }
        }
        let shown = head.iter().enumerate().filter(|&(i, column)| column.rank > 0 && widths[i].is_some());
        match shown.max_by_key(|(_, column)| column.rank) {
            Some((i, _)) => widths[i] = None,
            None => {
                let is_flexible = |column: &Column| matches!(column.kind, Kind::Flexible(_));
                if let Some(Some(wide)) = head.iter().position(is_flexible).map(|i| &mut widths[i]) {
                    *wide = wide.saturating_sub(excess);
                }
                // The terminal cuts the rest.
                return widths;
            }
        }
    }
}
