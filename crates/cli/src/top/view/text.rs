//! Texts that fill so many columns, and the colours of what they mean.

use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use crate::plain::plain;
use crate::table::{self, Colour};

/// The text in exactly so many columns, cut or filled up; without anything that a terminal would obey.
pub fn fit(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let pad = " ".repeat(columns.saturating_sub(text.width()));
    format!("{text}{pad}")
}

/// The same at the right of its columns.
pub fn right(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let pad = " ".repeat(columns.saturating_sub(text.width()));
    format!("{pad}{text}")
}

/// At most so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if columns == 0 { String::new() } else { table::cut(&plain(text), columns) }
}

pub fn style(colour: Colour) -> Style {
    match colour {
        Colour::Plain => Style::new(),
        Colour::Faint => Style::new().add_modifier(Modifier::DIM),
        Colour::Strong => Style::new().add_modifier(Modifier::BOLD),
        Colour::Good => Style::new().fg(Color::Green),
        Colour::Busy => Style::new().fg(Color::Yellow),
        Colour::Bad => Style::new().fg(Color::Red),
    }
}

/// Seconds of a step in at most seven columns.
pub fn seconds(value: f64) -> String {
    match value {
        value if value < 0.001 => format!("{:.0} µs", value * 1e6),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value if value < 10.0 => format!("{value:.2} s"),
        value if value < 1000.0 => format!("{value:.1} s"),
        value => format!("{:.0} min", value / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fills_its_columns_whatever_it_is_made_of() {
        for text in ["", "a", "训练任务", "a训b练c", "\u{1b}[31mred", "a very long name of a task", "e\u{301}"] {
            for columns in 0..12 {
                assert_eq!(fit(text, columns).width(), columns, "{text:?} in {columns}");
                assert_eq!(right(text, columns).width(), columns, "{text:?} in {columns}");
            }
        }
    }

    #[test]
    fn step_times_have_the_unit_that_fits() {
        let shown = [0.000_02, 0.0123, 0.84, 1.5, 12.34, 5400.0].map(seconds);
        assert_eq!(shown, ["20 µs", "12 ms", "840 ms", "1.50 s", "12.3 s", "90 min"]);
    }
}
