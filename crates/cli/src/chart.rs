//! Scaling curves as SVG, drawn by hand: both axes by doublings, the ideal line, one line for each series.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 60.0;
const TOP: f64 = 84.0;
const RIGHT: f64 = 28.0;

/// Lines are told apart by colour and by the mark at their points, for those who see no colours.
const COLOURS: [&str; 6] = ["#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2"];

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
pub fn svg(all: &[Series], labels: Labels<'_>) -> String {
    let points = || all.iter().flat_map(|one| &one.points);
    let most = points().map(|p| p.gpus).max().unwrap_or(1).max(2);
    let least = points().map(|p| p.speedup).fold(1.0, f64::min).max(1.0 / 16.0);
    let floor = least.log2().floor();
    let doublings = (most as f64).log2();
    let x = |gpus: f64| LEFT + (WIDTH - LEFT - RIGHT) * gpus.max(1.0).log2() / doublings;
    let y = |speedup: f64| {
        let share = (speedup.max(1e-3).log2() - floor) / (doublings - floor);
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share.clamp(0.0, 1.02)
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"system-ui, 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Micro Hei', sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"30\" fill=\"#111827\" font-size=\"17\" font-weight=\"600\">{}</text>",
        escaped(labels.title)
    );
    for power in floor as i32..=doublings.ceil() as i32 {
        let value = f64::from(power).exp2();
        if value <= most as f64 * 1.001 {
            line(&mut out, [LEFT, y(value), WIDTH - RIGHT, y(value)], "#e5e7eb", "");
            text(&mut out, LEFT - 10.0, y(value) + 4.5, "end", "#6b7280", &format!("{}×", trim(value)));
            if power >= 0 {
                line(&mut out, [x(value), HEIGHT - BOTTOM, x(value), HEIGHT - BOTTOM + 5.0], "#9ca3af", "");
                text(&mut out, x(value), HEIGHT - BOTTOM + 21.0, "middle", "#6b7280", &trim(value));
            }
        }
    }
    line(&mut out, [LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM], "#9ca3af", "");
    text(&mut out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14.0, "middle", "#374151", labels.gpus);
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"20\" y=\"{middle:.1}\" fill=\"#374151\" text-anchor=\"middle\" transform=\"rotate(-90 20 {middle:.1})\">{}</text>",
        escaped(labels.speedup)
    );
    line(&mut out, [x(1.0), y(1.0), x(most as f64), y(most as f64)], "#9ca3af", " stroke-dasharray=\"6 5\"");
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        draw(&mut out, one, at, (&x, &y), &mut taken);
    }
    for (at, one) in all.iter().enumerate() {
        efficiencies(&mut out, one, at, (&x, &y), &mut taken);
    }
    legend(&mut out, all, labels);
    out.push_str("</svg>\n");
    out
}

type Axis<'a> = &'a dyn Fn(f64) -> f64;

fn draw(out: &mut String, one: &Series, at: usize, (x, y): (Axis<'_>, Axis<'_>), taken: &mut Vec<(f64, f64)>) {
    let colour = COLOURS[at % COLOURS.len()];
    let places: Vec<(f64, f64)> = one.points.iter().map(|p| (x(p.gpus as f64), y(p.speedup))).collect();
    let joined: Vec<String> = places.iter().map(|(a, b)| format!("{a:.1},{b:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-linejoin=\"round\"/>",
        joined.join(" ")
    );
    for (a, b) in places {
        mark(out, at, a, b);
        taken.push((a, b + 4.0));
    }
}

/// What of the ideal each point reaches: below it, and further down where something else stands already.
fn efficiencies(out: &mut String, one: &Series, at: usize, (x, y): (Axis<'_>, Axis<'_>), taken: &mut Vec<(f64, f64)>) {
    for point in one.points.iter().filter(|p| p.gpus > 1) {
        let (a, b) = (x(point.gpus as f64), y(point.speedup));
        let mut low = b + 21.0;
        while taken.iter().any(|(c, d)| (c - a).abs() < 46.0 && (d - low).abs() < 15.0) {
            low += 3.0;
        }
        if low < HEIGHT - BOTTOM - 3.0 {
            taken.push((a, low));
            let anchor = if a > WIDTH - RIGHT - 24.0 { "end" } else { "middle" };
            let colour = COLOURS[at % COLOURS.len()];
            text(out, a, low, anchor, colour, &format!("{:.0} %", point.efficiency * 100.0));
        }
    }
}

fn mark(out: &mut String, at: usize, a: f64, b: f64) {
    let colour = COLOURS[at % COLOURS.len()];
    let style = format!("fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"1.5\"");
    let _ = match at % 3 {
        0 => writeln!(out, "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"5\" {style}/>"),
        1 => writeln!(out, "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9.6\" height=\"9.6\" {style}/>", a - 4.8, b - 4.8),
        _ => writeln!(
            out,
            "<path d=\"M{a:.1} {:.1} L{:.1} {:.1} L{:.1} {:.1} Z\" {style}/>",
            b - 6.0,
            a + 5.8,
            b + 4.6,
            a - 5.8,
            b + 4.6
        ),
    };
}

/// One row under the title.
fn legend(out: &mut String, all: &[Series], labels: Labels<'_>) {
    let height = 56.0;
    let mut from = LEFT;
    line(out, [from, height, from + 26.0, height], "#9ca3af", " stroke-dasharray=\"6 5\"");
    text(out, from + 34.0, height + 4.5, "start", "#374151", labels.ideal);
    from += 58.0 + width(labels.ideal);
    for (at, one) in all.iter().enumerate() {
        line(out, [from, height, from + 26.0, height], COLOURS[at % COLOURS.len()], " stroke-width=\"2.5\"");
        mark(out, at, from + 13.0, height);
        text(out, from + 34.0, height + 4.5, "start", "#374151", &one.name);
        from += 58.0 + width(&one.name);
    }
}

/// Roughly what a text takes at this size: Chinese characters are square.
fn width(words: &str) -> f64 {
    words.chars().map(|c| if c.is_ascii() { 7.2 } else { 13.0 }).sum()
}

fn line(out: &mut String, [x1, y1, x2, y2]: [f64; 4], colour: &str, more: &str) {
    let _ =
        writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"{more}/>");
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, colour: &str, words: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(words.trim())
    );
}

fn trim(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value}") }
}

/// Words as they may stand in SVG and HTML.
pub fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
        let drawn = svg(&all, labels());
        assert_eq!(drawn.matches("<polyline").count(), 3);
        assert!(drawn.contains("a &lt; b &amp; c") && drawn.contains("several nodes, 10 Gbps"));
        assert!(drawn.contains("94 %") && drawn.contains("25 %") && !drawn.contains("NaN"));
    }

    #[test]
    fn one_point_or_none_is_no_reason_to_fail() {
        assert!(!svg(&[], labels()).contains("NaN"));
        let one = Series { name: String::new(), points: vec![point(1, 1.0)] };
        assert!(!svg(&[one], labels()).contains("NaN"));
    }
}
