//! Text for a terminal: tables, paragraphs and lists of values with a limited width, and colours only on request.

use crate::format::{NO_BREAK, plain, unbroken};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

/// Spaces between columns.
pub(crate) const GAP: u16 = 2;

/// Table style with a rule below the head and no other lines.
pub(crate) const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Table without lines that is coloured only on request, whatever stdout is.
pub(crate) fn bare(style: TableStyle, color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
    #[cfg(feature = "full")]
    match color {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    // Without that feature no table has colours.
    let _ = color;
    table
}

/// Aligns names to the left and numbers to the right, with a gap between columns.
pub(crate) fn align(table: &mut Table) {
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { GAP }, 0));
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
}

/// Whether a table drawn by [`align`] fits in `width` terminal columns; `None` is unlimited.
pub(crate) fn fits(table: &Table, width: Option<usize>) -> bool {
    let widths = table.column_max_content_widths();
    let needed: usize = widths.iter().map(|&w| usize::from(w + GAP)).sum();
    width.is_none_or(|width| needed <= width + usize::from(GAP))
}

/// Wraps `text` to `width`; later lines are indented by the width of `lead`.
pub(crate) fn paragraph(lead: &str, text: &str, width: Option<usize>) -> String {
    let mut table = bare(TableStyle::new(), false);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width.saturating_add(1)).unwrap_or(u16::MAX));
    }
    let has_lead = !lead.is_empty();
    let lead = has_lead.then(|| Cell::new(lead));
    table.add_row(lead.into_iter().chain([Cell::new(unbroken(&plain(text)))]));
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if has_lead && i == 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.trim_fmt().replace(NO_BREAK, " ") + "\n"
}

/// Heading on a line of its own, bold with `color`.
pub(crate) fn heading(text: &str, width: Option<usize>, color: bool) -> String {
    let text = paragraph("", text, width);
    match color {
        true => format!("\x1b[1m{}\x1b[0m\n", text.trim_end()),
        false => text,
    }
}

/// Headings with names and values, aligned in one column.
pub(crate) struct Sheet {
    pub(crate) text: String,
    pub(crate) width: Option<usize>,
    pub(crate) color: bool,
}

impl Sheet {
    /// Width of the column of names.
    const NAMES: usize = 24;

    pub(crate) fn new(width: Option<usize>, color: bool) -> Self {
        Self { text: String::new(), width, color }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text += &heading(text, self.width, self.color);
    }

    pub(crate) fn line(&mut self, name: &str, value: &str) {
        // `paragraph` adds the space between name and value.
        let lead = format!("  {name:<0$}", Self::NAMES - 1);
        self.text += &paragraph(&lead, value, self.width);
    }
}
