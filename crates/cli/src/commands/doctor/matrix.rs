//! Who reaches whom how well: numbers among a few nodes, shades among many.

use super::printing::View;
use crate::table::Colour;

/// More columns of numbers do not fit a terminal.
const MOST_NUMBERS: usize = 16;
const WIDTH: usize = 7;

/// One cell: its number, and how good it is beside the others.
struct Measured {
    shown: String,
    grade: Grade,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    Poor,
    Bad,
}

/// A row and a column for each node.
type Cells = [Vec<Option<u64>>];

pub fn latency(view: View, names: &[String], round_trips_us: &Cells) -> String {
    let value = |from, to| Some(cell_of(round_trips_us, from, to)? as f64 / 1e3);
    let title = view.word("往返延迟（ms，行 → 列）", "round trips (ms, row to column)");
    // Up to a quarter of a millisecond is one switch away, whatever others have.
    map(view, names, title, value, |value, usual| (value / usual.max(0.25)) as f32)
}

pub fn bandwidth(view: View, names: &[String], bytes_per_second: &Cells) -> String {
    let value = |from, to| Some(cell_of(bytes_per_second, from, to)? as f64 * 8.0 / 1e9);
    let title = view.word("带宽（Gbit/s）", "bandwidth (Gbit/s)");
    map(view, names, title, value, |value, usual| (usual / value.max(1e-9)) as f32)
}

fn cell_of(cells: &Cells, from: usize, to: usize) -> Option<u64> {
    *cells.get(from)?.get(to)?
}

/// `worse` says how many times worse than usual a value is.
fn map(
    view: View,
    names: &[String],
    title: &str,
    value: impl Fn(usize, usize) -> Option<f64>,
    worse: impl Fn(f64, f64) -> f32,
) -> String {
    let nodes = names.len();
    let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let mut values: Vec<f64> = all.filter_map(|(from, to)| value(from, to)).collect();
    if values.is_empty() {
        return String::new();
    }
    values.sort_by(f64::total_cmp);
    let usual = values[(values.len() - 1) / 2];
    let measured = |from: usize, to: usize| {
        let value = value(from, to)?;
        let grade = match worse(value, usual) {
            times if times > 10.0 => Grade::Bad,
            times if times > 3.0 => Grade::Poor,
            _ => Grade::Good,
        };
        Some(Measured { shown: short(value), grade })
    };
    let is_wide = nodes <= MOST_NUMBERS;
    let width = if is_wide { WIDTH } else { 1 };
    let mut out = format!("\n  {}\n", view.paint.bold(title));
    if is_wide {
        let head: String = (0..nodes).map(|to| format!("{to:>width$}")).collect();
        out.push_str(&view.paint.dim(&format!("  {:>4}{head}", "")));
        out.push('\n');
    }
    for (from, name) in names.iter().enumerate() {
        out.push_str(&view.paint.dim(&format!("  {from:>4}")));
        out.push_str(if is_wide { "" } else { " " });
        for to in 0..nodes {
            out.push_str(&cell(view, (from != to).then(|| measured(from, to)), is_wide, width));
        }
        out.push_str(&view.paint.dim(&format!("  {name}")));
        out.push('\n');
    }
    out
}

/// Of a node with itself, of two that do not reach each other, or a number.
fn cell(view: View, measured: Option<Option<Measured>>, is_wide: bool, width: usize) -> String {
    let (text, colour) = match &measured {
        None => ("·", Colour::Faint),
        Some(None) => ("×", Colour::Bad),
        Some(Some(it)) => {
            let shade = match it.grade {
                Grade::Good => ("░", Colour::Good),
                Grade::Poor => ("▒", Colour::Busy),
                Grade::Bad => ("█", Colour::Bad),
            };
            (if is_wide { it.shown.as_str() } else { shade.0 }, shade.1)
        }
    };
    colour.paint(view.paint, &format!("{text:>width$}"))
}

/// Three figures.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Language;

    use super::*;
    use crate::speech::Paint;

    fn cells(nodes: usize) -> (Vec<String>, Vec<Vec<Option<u64>>>) {
        let cell = |from: usize, to: usize| match from + to {
            _ if from == to => None,
            1 => None,
            3 => Some(50_000),
            _ => Some(120),
        };
        let names = (0..nodes).map(|node| format!("gn{node}")).collect();
        (names, (0..nodes).map(|from| (0..nodes).map(|to| cell(from, to)).collect()).collect())
    }

    #[test]
    fn a_few_nodes_have_numbers_and_many_have_shades() {
        let view = View { language: Language::En, paint: Paint::none(), columns: 100 };
        let show = |nodes| {
            let (names, cells) = cells(nodes);
            latency(view, &names, &cells)
        };
        let few = show(3);
        assert!(few.contains("     0      ·      ×   0.12  gn0\n"), "{few}");
        assert!(few.contains("     1      ×      ·   50.0  gn1\n"), "{few}");
        let many = show(20);
        assert!(many.contains("     0 ·×░█░░"), "{many}");
        assert_eq!(bandwidth(view, &cells(3).0, &[]), "");
    }
}
