//! Who reaches whom how well: numbers among a few nodes, shades among many.

use super::printing::View;
use crate::table::Colour;

/// More columns of numbers do not fit a terminal.
const MOST_NUMBERS: usize = 16;
const WIDTH: usize = 7;

/// A row and a column for each node.
type Cells = [Vec<Option<u64>>];

/// What is known of two nodes.
#[derive(Clone, Copy, PartialEq)]
enum Pair {
    /// A node with itself.
    Same,
    /// They do not reach each other, or nothing came through.
    Cut,
    Unmeasured,
    Value(f64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    Poor,
    Bad,
}

/// Two nodes without a round trip do not reach each other, unless there was no time to try.
pub fn latency(view: View, names: &[String], round_trips_us: &Cells, untried: &[(usize, usize)]) -> String {
    let pair = |from, to| match cell_of(round_trips_us, from, to) {
        Some(us) => Pair::Value(us as f64 / 1e3),
        None if untried.contains(&(from, to)) => Pair::Unmeasured,
        None => Pair::Cut,
    };
    let title = view.word("往返延迟（ms，行 → 列）", "round trips (ms, row to column)");
    // Up to a quarter of a millisecond is one switch away, whatever others have.
    Map { view, names, title }.shown(pair, |value, usual| (value / usual.max(0.25)) as f32)
}

/// Among many nodes not all pairs are measured.
pub fn bandwidth(view: View, names: &[String], bytes_per_second: &Cells) -> String {
    let pair = |from, to| match cell_of(bytes_per_second, from, to) {
        Some(0) => Pair::Cut,
        Some(bytes) => Pair::Value(bytes as f64 * 8.0 / 1e9),
        None => Pair::Unmeasured,
    };
    let title = view.word("带宽（Gbit/s）", "bandwidth (Gbit/s)");
    Map { view, names, title }.shown(pair, |value, usual| (usual / value.max(1e-9)) as f32)
}

fn cell_of(cells: &Cells, from: usize, to: usize) -> Option<u64> {
    *cells.get(from)?.get(to)?
}

struct Map<'a> {
    view: View,
    names: &'a [String],
    title: &'static str,
}

impl Map<'_> {
    /// `worse` says how many times worse than usual a value is. Empty where there is none.
    fn shown(&self, pair: impl Fn(usize, usize) -> Pair, worse: impl Fn(f64, f64) -> f32) -> String {
        let nodes = self.names.len();
        let pair = |from: usize, to: usize| if from == to { Pair::Same } else { pair(from, to) };
        let all = || (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).map(|(from, to)| pair(from, to));
        let value = |pair: Pair| if let Pair::Value(value) = pair { Some(value) } else { None };
        let mut values: Vec<f64> = all().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let Some(usual) = values.get(values.len().saturating_sub(1) / 2).copied() else { return String::new() };
        let grade = |value: f64| match worse(value, usual) {
            times if times > 10.0 => Grade::Bad,
            times if times > 3.0 => Grade::Poor,
            _ => Grade::Good,
        };
        let (view, is_wide) = (self.view, nodes <= MOST_NUMBERS);
        let width = if is_wide { WIDTH } else { 1 };
        let mut out = format!("\n  {}\n", view.paint.bold(self.title));
        if is_wide {
            let head: String = (0..nodes).map(|to| format!("{to:>width$}")).collect();
            out.push_str(&view.paint.dim(&format!("  {:>4}{head}", "")));
            out.push('\n');
        }
        for (from, name) in self.names.iter().enumerate() {
            out.push_str(&view.paint.dim(&format!("  {from:>4}")));
            out.push_str(if is_wide { "" } else { " " });
            for to in 0..nodes {
                let (text, colour) = cell(pair(from, to), is_wide, grade);
                out.push_str(&colour.paint(view.paint, &format!("{text:>width$}")));
            }
            out.push_str(&view.paint.dim(&format!("  {name}")));
            out.push('\n');
        }
        let marks: Vec<&str> = [(Pair::Cut, view.word("× 不通", "× nothing comes through"))]
            .into_iter()
            .chain([(Pair::Unmeasured, view.word("– 未测", "– not measured"))])
            .filter(|(mark, _)| all().any(|it| it == *mark))
            .map(|(_, words)| words)
            .collect();
        if !marks.is_empty() {
            out.push_str(&view.paint.dim(&format!("  {:>4}  {}", "", marks.join("   "))));
            out.push('\n');
        }
        out
    }
}

fn cell(pair: Pair, is_wide: bool, grade: impl Fn(f64) -> Grade) -> (String, Colour) {
    let (shade, colour) = match pair {
        Pair::Same => ("·", Colour::Faint),
        Pair::Cut => ("×", Colour::Bad),
        Pair::Unmeasured => ("–", Colour::Faint),
        Pair::Value(value) => match grade(value) {
            Grade::Good => ("░", Colour::Good),
            Grade::Poor => ("▒", Colour::Busy),
            Grade::Bad => ("█", Colour::Bad),
        },
    };
    match pair {
        Pair::Value(value) if is_wide => (short(value), colour),
        _ => (shade.to_owned(), colour),
    }
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
            latency(view, &names, &cells, &[])
        };
        let few = show(3);
        assert!(few.contains("     0      ·      ×   0.12  gn0\n"), "{few}");
        assert!(few.contains("     1      ×      ·   50.0  gn1\n"), "{few}");
        let many = show(20);
        assert!(many.contains("     0 ·×░█░░"), "{many}");
        assert!(many.ends_with("        × nothing comes through\n"), "{many}");
        assert_eq!(bandwidth(view, &cells(3).0, &[]), "");
    }

    /// Above sixteen nodes bandwidth is sampled.
    #[test]
    fn pairs_that_were_not_measured_are_not_said_to_be_cut() {
        let view = View { language: Language::En, paint: Paint::none(), columns: 100 };
        let names: Vec<String> = (0..17).map(|node| format!("gn{node}")).collect();
        let speed = |from: usize, to: usize| match (from.min(to), from.max(to)) {
            (0, 1) => None,
            (0, 2) => Some(0),
            _ => Some(1_000_000_000),
        };
        let cells: Vec<Vec<Option<u64>>> = (0..17).map(|from| (0..17).map(|to| speed(from, to)).collect()).collect();
        let shown = bandwidth(view, &names, &cells);
        assert!(shown.contains("     0 ·–×░░"), "{shown}");
        assert!(shown.ends_with("        × nothing comes through   – not measured\n"), "{shown}");
        let chinese = bandwidth(View { language: Language::ZhCn, ..view }, &names, &cells);
        assert!(chinese.ends_with("        × 不通   – 未测\n"), "{chinese}");
        let trips = latency(view, &names, &cells, &[(0, 1)]);
        assert!(trips.contains("     0 ·–░"), "{trips}");
        assert!(trips.contains("     1 ×·░"), "{trips}");
    }
}
