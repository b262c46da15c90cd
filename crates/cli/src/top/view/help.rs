//! The page of keys.

use fermi_domain::language::Language;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::text::{cut, fit, style};
use crate::table::Colour;
use crate::top::words::{self, say};

/// Columns of a key.
const KEY: usize = 9;

pub fn draw(language: Language, area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width);
    let title = Line::styled(fit("fermi top", columns), style(Colour::Strong));
    let keys = words::HELP.iter().map(|(key, text)| {
        let text = cut(say(text, language), columns.saturating_sub(KEY));
        Line::from(vec![Span::styled(fit(key, KEY), style(Colour::Strong)), Span::raw(text)])
    });
    super::lines([title].into_iter().chain(keys), area, buffer);
}
