//! Tables and columns on a terminal, in which Chinese characters take the two columns that they need.

use unicode_width::UnicodeWidthStr;

use crate::speech::Paint;

/// Columns between two cells.
const GAP: usize = 2;

/// One cell: what is shown, and what colour surrounds it.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    colour: Colour,
    is_number: bool,
}

/// What a cell means, which its colour says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    Plain,
    Faint,
    Strong,
    Good,
    Busy,
    Bad,
}

impl Colour {
    pub fn paint(self, paint: Paint, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Faint => paint.dim(text),
            Self::Strong => paint.bold(text),
            Self::Good => paint.green(text),
            Self::Busy => paint.yellow(text),
            Self::Bad => paint.red(text),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), colour: Colour::Plain, is_number: false }
    }
}

impl Cell {
    pub fn coloured(text: impl Into<String>, colour: Colour) -> Self {
        Self { text: text.into(), colour, is_number: false }
    }

    /// Stands at the right of its column.
    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), colour: Colour::Plain, is_number: true }
    }
}

/// Rows below a head, each column as wide as its widest cell.
#[derive(Debug)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new<'t>(head: impl IntoIterator<Item = &'t str>) -> Self {
        Self { head: head.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn render(&self, paint: Paint) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
                cells.chain([self.head[at].width()]).max().unwrap_or(0)
            })
            .collect();
        let is_number = |at: usize| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| cell.is_number));
        let head: Vec<Cell> = self
            .head
            .iter()
            .enumerate()
            .map(|(at, title)| Cell { text: title.clone(), colour: Colour::Faint, is_number: is_number(at) })
            .collect();
        let mut out = String::new();
        for row in [&head].into_iter().chain(&self.rows) {
            out.push_str(&line(row, &widths, paint));
            out.push('\n');
        }
        out
    }
}

fn line(row: &[Cell], widths: &[usize], paint: Paint) -> String {
    let mut out = String::new();
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.text.width()));
        let text = cell.colour.paint(paint, &cell.text);
        let is_last = at + 1 == row.len();
        match (cell.is_number, is_last) {
            (true, _) => out.push_str(&format!("{pad}{text}")),
            (false, true) => out.push_str(&text),
            (false, false) => out.push_str(&format!("{text}{pad}")),
        }
        if !is_last {
            out.push_str(&" ".repeat(GAP));
        }
    }
    out.trim_end().to_owned()
}

/// Labels at the left, what they stand for at the right; rows without a value are left out.
pub fn facts<const N: usize>(rows: [(&str, Option<String>); N], paint: Paint) -> String {
    let widest = rows.iter().filter(|(_, value)| value.is_some()).map(|(label, _)| label.width()).max().unwrap_or(0);
    rows.iter()
        .filter_map(|(label, value)| Some((label, value.as_ref()?)))
        .map(|(label, value)| {
            let pad = " ".repeat(widest.saturating_sub(label.width()) + GAP);
            let indent = " ".repeat(2 + widest + GAP);
            let value = value.replace('\n', &format!("\n{indent}"));
            format!("  {}{pad}{value}\n", paint.dim(label))
        })
        .collect()
}

/// Cuts a text to so many columns, with a sign that it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_and_english_cells_stand_below_each_other_and_numbers_at_the_right() {
        let mut table = Table::new(["NAME", "ZONE", "N"]);
        table.row(["pytorch-dev-env".into(), "北京可用区A".into(), Cell::number("2")]);
        table.row(["gn6".into(), "z".into(), Cell::number("16")]);
        let expected = "NAME             ZONE          N\n\
                        pytorch-dev-env  北京可用区A   2\n\
                        gn6              z            16\n";
        assert_eq!(table.render(Paint::none()), expected);
    }

    #[test]
    fn a_long_text_is_cut_by_columns_not_by_letters() {
        assert_eq!(cut("训练任务", 5), "训练…");
        assert_eq!(cut("训练", 4), "训练");
    }

    #[test]
    fn facts_leave_out_what_is_not_known() {
        let text = facts([("a", Some("1\n2".into())), ("bbb", None), ("训", Some("x".into()))], Paint::none());
        assert_eq!(text, "  a   1\n      2\n  训  x\n");
    }
}
