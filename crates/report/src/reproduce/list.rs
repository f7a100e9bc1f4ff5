//! List of the papers and their items.

use crate::format::plain;
use crate::terminal::paragraph;
use gentle_papers::Paper;

/// Lists papers with their figures, tables and assumptions, for a terminal that is `width` columns wide.
pub fn list(papers: &[Paper], width: Option<usize>, color: bool) -> String {
    // One width for the names of all papers, so that their titles line up.
    let items: Vec<Vec<(String, String)>> = papers.iter().map(items).collect();
    let names = items.iter().flatten().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (paper, items) in papers.iter().zip(items) {
        let data = paper.data();
        if !text.is_empty() {
            text.push('\n');
        }
        let heading = [data.title, data.authors, data.venue];
        let heading: Vec<String> = heading.into_iter().filter(|part| !part.is_empty()).collect();
        let lead = if color { format!("\x1b[1m{}\x1b[0m ", paper.name) } else { format!("{} ", paper.name) };
        let heading = paragraph(&format!("{} ", paper.name), &heading.join(", "), width);
        text += &heading.replacen(&format!("{} ", paper.name), &lead, 1);
        for (name, title) in items {
            text += &paragraph(&format!("  {name:<names$} "), &title, width);
        }
    }
    text + "\n" + &paragraph("", "Show one: gentle reproduce PAPER ITEM; everything: gentle reproduce all.", width)
}

/// Names and titles of the items of a paper.
fn items(paper: &Paper) -> Vec<(String, String)> {
    let data = paper.data();
    let parts = paper.parts.iter().map(|part| {
        let heading = data.heading(part.id);
        let title = heading.map_or(String::new(), |heading| match heading.source.is_empty() {
            true => heading.title.clone(),
            false => format!("{} ({})", heading.title, heading.source),
        });
        (part.id.to_owned(), title)
    });
    let assumptions = paper.assumptions.iter().map(|variants| {
        let assumption = data.assumptions.iter().find(|known| known.id == variants.id);
        (format!("assumption/{}", variants.id), assumption.map_or(String::new(), |known| known.text.clone()))
    });
    parts.chain(assumptions).map(|(name, title)| (name, plain(&title))).collect()
}
