//! The chart: both axes by doublings, the ideal line, one line for each series.

use super::drawing::{Anchor, Colour, Drawing, LineStyle, Mark, Point, Shape, WordKind, Words};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 60.0;
const TOP: f64 = 84.0;
const RIGHT: f64 = 28.0;

/// Lines are told apart by colour and by the mark at their points, for those who see no colours.
const COLOURS: [Colour; 6] =
    [Colour(0x2563eb), Colour(0xd97706), Colour(0x059669), Colour(0x7c3aed), Colour(0xdc2626), Colour(0x0891b2)];
const MARKS: [Mark; 3] = [Mark::Circle, Mark::Square, Mark::Triangle];
const BLACK: Colour = Colour(0x111827);
const DARK: Colour = Colour(0x374151);
const GREY: Colour = Colour(0x6b7280);
const AXIS: Colour = Colour(0x9ca3af);
const GRID: Colour = Colour(0xe5e7eb);
const THIN: f64 = 1.0;
const THICK: f64 = 2.5;

/// The words on the chart.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    pub title: &'a str,
    pub gpus: &'a str,
    pub speedup: &'a str,
    pub ideal: &'a str,
}

/// Points that belong on one line, by rising number of GPUs.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<CurvePoint>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurvePoint {
    pub gpus: u64,
    pub speedup: f64,
    pub efficiency: f64,
}

/// Speed-up over GPUs; beside each point what of the ideal it reaches.
pub fn curves(all: &[Series], labels: Labels<'_>) -> Drawing {
    let axes = Axes::of(all);
    let mut sheet = Sheet(Vec::new());
    sheet.words(labels.title, (LEFT, 30.0), Anchor::Start, BLACK, WordKind::Title);
    axes.draw(&mut sheet, labels);
    let mut taken: Vec<Point> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let places: Vec<Point> = one.points.iter().map(|point| axes.place(point)).collect();
        taken.extend(places.iter().map(|(x, y)| (*x, y + 4.0)));
        sheet.0.push(Shape::Curve { points: places.clone(), colour: colour(at), width: THICK });
        places.into_iter().for_each(|place| sheet.mark(at, place));
    }
    for (at, one) in all.iter().enumerate() {
        efficiencies(&mut sheet, one, at, &axes, &mut taken);
    }
    legend(&mut sheet, all, labels);
    Drawing { width: WIDTH, height: HEIGHT, shapes: sheet.0 }
}

/// Where numbers lie.
struct Axes {
    most: u64,
    /// Doublings of GPUs to the right end, and of the speed-up at the lower end.
    doublings: f64,
    floor: f64,
}

impl Axes {
    fn of(all: &[Series]) -> Self {
        let points = || all.iter().flat_map(|one| &one.points);
        let most = points().map(|p| p.gpus).max().unwrap_or(1).max(2);
        let least = points().map(|p| p.speedup).fold(1.0, f64::min).max(1.0 / 16.0);
        Self { most, doublings: (most as f64).log2(), floor: least.log2().floor() }
    }

    fn x(&self, gpus: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * gpus.max(1.0).log2() / self.doublings
    }

    fn y(&self, speedup: f64) -> f64 {
        let share = (speedup.max(1e-3).log2() - self.floor) / (self.doublings - self.floor);
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share.clamp(0.0, 1.02)
    }

    fn place(&self, point: &CurvePoint) -> Point {
        (self.x(point.gpus as f64), self.y(point.speedup))
    }

    fn draw(&self, sheet: &mut Sheet, labels: Labels<'_>) {
        let (low, right, most) = (HEIGHT - BOTTOM, WIDTH - RIGHT, self.most as f64);
        for power in self.floor as i32..=self.doublings.ceil() as i32 {
            let value = f64::from(power).exp2();
            if value <= most * 1.001 {
                let (x, y) = (self.x(value), self.y(value));
                sheet.line([(LEFT, y), (right, y)], GRID, THIN, LineStyle::Solid);
                sheet.words(&format!("{}×", trim(value)), (LEFT - 10.0, y + 4.5), Anchor::End, GREY, WordKind::Plain);
                if power >= 0 {
                    sheet.line([(x, low), (x, low + 5.0)], AXIS, THIN, LineStyle::Solid);
                    sheet.words(&trim(value), (x, low + 21.0), Anchor::Middle, GREY, WordKind::Plain);
                }
            }
        }
        sheet.line([(LEFT, low), (right, low)], AXIS, THIN, LineStyle::Solid);
        sheet.words(labels.gpus, ((LEFT + right) / 2.0, HEIGHT - 14.0), Anchor::Middle, DARK, WordKind::Plain);
        sheet.words(labels.speedup, (20.0, (TOP + low) / 2.0), Anchor::Middle, DARK, WordKind::Upwards);
        let ideal = [(self.x(1.0), self.y(1.0)), (self.x(most), self.y(most))];
        sheet.line(ideal, AXIS, THIN, LineStyle::Dashed);
    }
}

/// What has been drawn so far.
struct Sheet(Vec<Shape>);

impl Sheet {
    fn line(&mut self, ends: [Point; 2], colour: Colour, width: f64, style: LineStyle) {
        self.0.push(Shape::Line { ends, colour, width, style });
    }

    fn words(&mut self, text: &str, at: Point, anchor: Anchor, colour: Colour, kind: WordKind) {
        self.0.push(Shape::Words(Words { text: text.to_owned(), at, anchor, colour, kind }));
    }

    fn mark(&mut self, series: usize, at: Point) {
        self.0.push(Shape::Mark { mark: MARKS[series % MARKS.len()], at, colour: colour(series) });
    }
}

fn colour(series: usize) -> Colour {
    COLOURS[series % COLOURS.len()]
}

/// What of the ideal each point reaches, where that is a number: below it, and further down where something else stands already.
fn efficiencies(sheet: &mut Sheet, one: &Series, at: usize, axes: &Axes, taken: &mut Vec<Point>) {
    for point in one.points.iter().filter(|p| p.gpus > 1 && p.efficiency.is_finite()) {
        let (a, b) = axes.place(point);
        let mut low = b + 21.0;
        while taken.iter().any(|(c, d)| (c - a).abs() < 46.0 && (d - low).abs() < 15.0) {
            low += 3.0;
        }
        if low < HEIGHT - BOTTOM - 3.0 {
            taken.push((a, low));
            let anchor = if a > WIDTH - RIGHT - 24.0 { Anchor::End } else { Anchor::Middle };
            let percent = format!("{:.0} %", point.efficiency * 100.0);
            sheet.words(&percent, (a, low), anchor, colour(at), WordKind::Plain);
        }
    }
}

/// One row under the title.
fn legend(sheet: &mut Sheet, all: &[Series], labels: Labels<'_>) {
    let height = 56.0;
    let mut from = LEFT;
    let sample = |from: f64| [(from, height), (from + 26.0, height)];
    sheet.line(sample(from), AXIS, THIN, LineStyle::Dashed);
    sheet.words(labels.ideal, (from + 34.0, height + 4.5), Anchor::Start, DARK, WordKind::Plain);
    from += 58.0 + width(labels.ideal);
    for (at, one) in all.iter().enumerate() {
        sheet.line(sample(from), colour(at), THICK, LineStyle::Solid);
        sheet.mark(at, (from + 13.0, height));
        sheet.words(&one.name, (from + 34.0, height + 4.5), Anchor::Start, DARK, WordKind::Plain);
        from += 58.0 + width(&one.name);
    }
}

/// Roughly what a text takes at this size: Chinese characters are square.
fn width(words: &str) -> f64 {
    words.chars().map(|c| if c.is_ascii() { 7.2 } else { 13.0 }).sum()
}

fn trim(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(gpus: u64, speedup: f64) -> CurvePoint {
        CurvePoint { gpus, speedup, efficiency: speedup / gpus as f64 }
    }

    fn labels() -> Labels<'static> {
        Labels { title: "a < b & c", gpus: "GPUs", speedup: "speed-up", ideal: "ideal" }
    }

    #[test]
    fn each_series_has_its_line_and_words_are_escaped() {
        let one = |name: &str, points: &[CurvePoint]| Series { name: name.to_owned(), points: points.to_vec() };
        let all = [
            one("one node", &[point(1, 1.0), point(8, 7.5)]),
            one("several nodes, 10 Gbps", &[point(16, 4.0)]),
            one("several nodes, 100 Gbps", &[point(16, 14.0)]),
        ];
        let drawn = curves(&all, labels()).svg();
        assert_eq!(drawn.matches("<polyline").count(), 3);
        assert!(drawn.contains("a &lt; b &amp; c") && drawn.contains("several nodes, 10 Gbps"));
        assert!(drawn.contains("94 %") && drawn.contains("25 %") && !drawn.contains("NaN"));
    }

    #[test]
    fn what_is_no_number_or_beyond_all_bounds_stays_on_the_sheet() {
        let speedups = [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e6];
        let points = speedups.iter().enumerate().map(|(at, speedup)| point(1 << (at * 10), *speedup)).collect();
        let drawn = curves(&[Series { name: String::new(), points }], labels());
        assert!(!drawn.svg().contains("NaN") && !drawn.svg().contains("inf"), "{}", drawn.svg());
        assert!(drawn.png().is_ok());
        for shape in &drawn.shapes {
            let Shape::Mark { at: (x, y), .. } = shape else { continue };
            assert!((0.0..=drawn.width).contains(x) && (0.0..=drawn.height).contains(y), "{shape:?}");
        }
    }

    #[test]
    fn one_point_or_none_is_no_reason_to_fail() {
        let one = Series { name: String::new(), points: vec![point(1, 1.0)] };
        for all in [vec![], vec![one]] {
            let drawn = curves(&all, labels());
            assert!(!drawn.svg().contains("NaN"));
            assert!(drawn.png().is_ok());
        }
    }
}
