//! Numbers, bars and columns for a terminal, on which a Chinese character takes two columns.

use unicode_width::UnicodeWidthStr;

/// Three digits, with thousands where there are many.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "∞".to_owned()
    } else if size >= 10_000.0 {
        thousands(value.round())
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digit != '-' {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in the unit that people read.
pub fn seconds(value: f64) -> String {
    if value < 0.1 {
        format!("{:.1} ms", value * 1e3)
    } else if value < 300.0 {
        format!("{} s", number(value))
    } else {
        format!("{} min", number(value / 60.0))
    }
}

/// A bar of so many cells, of which a share is filled.
pub fn bar(share: f64, cells: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    let (full, part) = (eighths / 8, eighths % 8);
    let mut out = "█".repeat(full);
    if part > 0 {
        out.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][part - 1]);
    }
    out
}

/// The text, filled up to a width.
pub fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(text.width())))
}

/// A table: first line its head, columns as wide as needed.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in rows {
        let line: Vec<String> = row.iter().zip(&widths).map(|(cell, w)| padded(cell, *w)).collect();
        out += "  ";
        out += line.join("  ").trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(12.345), "12.3");
        assert_eq!(number(0.012), "0.0120");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(600.0), "10.0 min");
    }

    #[test]
    fn chinese_cells_line_up() {
        assert_eq!(padded("显存", 6), "显存  ");
        assert_eq!(columns(&[vec!["参数".into(), "a".into()], vec!["x".into(), "b".into()]]), "  参数  a\n  x     b\n");
    }

    #[test]
    fn bars_fill_by_eighths() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(1.5, 2), "██");
        assert_eq!(bar(0.0, 4), "");
    }
}
