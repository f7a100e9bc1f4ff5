//! Pages on top of the view: help, and the explanation of the selected cause.

use super::canvas::{Meaning, cut, draw as draw_lines, width, wrap};
use super::{Overlay, View, lists};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

/// Greatest width of the text of a page.
const WIDTH: u16 = 72;

/// Keys and terms.
const HELP: [(&str, &str); 16] = [
    ("1 2 3", "window: the last 10 s, minute, hour"),
    ("Up Down k j", "select a cause"),
    ("Enter", "reason, remedy and check of the cause"),
    ("Tab", "servers, prefixes, ports"),
    ("PgUp PgDn Home", "scroll the log"),
    ("Space p", "pause, resume"),
    ("?", "this page"),
    ("q Esc Ctrl-C", "quit"),
    ("", ""),
    ("attempt", "TCP handshake, counted when its outcome is known"),
    ("slow", "completed after a retransmission, or answered late"),
    ("failed", "refused, or not completed before the client gave up"),
    ("with loss", "completed after the loss of a SYN or SYN/ACK"),
    ("median, 99 %", "time to connect of completed attempts"),
    ("time lost", "time that slow and failed attempts waited"),
    ("bars", "means over 10 s, one bar for each summary"),
];

/// Width of the first column of [`HELP`].
const NAMES: usize = 14;

/// Draws a page in the middle of an area.
pub(super) fn draw(view: &View, overlay: Overlay, area: Rect, buffer: &mut Buffer) {
    // Space for the frame, with a blank on each side.
    let columns = usize::from(area.width.saturating_sub(4).min(WIDTH));
    let (title, lines) = match overlay {
        Overlay::Help => ("Help".to_owned(), help(view, columns)),
        Overlay::Cause => (lists::cause_title(view), lists::explanation(view, columns, usize::MAX)),
    };
    let lines = framed(view, &title, lines, columns, usize::from(area.height));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
    let wide = area.width.min(columns as u16 + 4);
    let place =
        Rect { x: area.x + (area.width - wide) / 2, y: area.y + (area.height - height) / 2, width: wide, height };
    draw_lines(&lines, place, buffer);
}

fn help(view: &View, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, text) in HELP {
        let room = columns.saturating_sub(NAMES + 2);
        for (i, text) in wrap(text, room).into_iter().enumerate() {
            let name = format!("{:<1$}", if i == 0 { name } else { "" }, NAMES + 2);
            lines.push(Line::from(vec![view.look.span(name, Meaning::Head), text.into()]));
        }
    }
    lines
}

/// Lines with a frame of at most `height` lines.
fn framed(view: &View, title: &str, lines: Vec<Line<'static>>, columns: usize, height: usize) -> Vec<Line<'static>> {
    let [corners, side, rule] = if view.look.ascii { ["++++", "|", "-"] } else { ["┌┐└┘", "│", "─"] };
    let corner = |i: usize| corners.chars().nth(i).unwrap_or(' ');
    let title = cut(&format!(" {title} "), columns + 2);
    let fill = rule.repeat((columns + 2).saturating_sub(width(&title)));
    let mut out = vec![Line::from(vec![
        corner(0).to_string().into(),
        view.look.span(title, Meaning::Head),
        format!("{fill}{}", corner(1)).into(),
    ])];
    for mut line in lines.into_iter().take(height.saturating_sub(2)) {
        let fill = " ".repeat(columns.saturating_sub(line.width()));
        line.spans.insert(0, format!("{side} ").into());
        line.push_span(format!("{fill} {side}"));
        out.push(line);
    }
    out.push(Line::from(format!("{}{}{}", corner(2), rule.repeat(columns + 2), corner(3))));
    out
}
