//! A scaling curve as SVG, drawn by hand: axes, the ideal line, the predicted one.

use std::fmt::Write;

use crate::scale::Point;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 44.0;
const RIGHT: f64 = 24.0;

/// The words on the chart.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    pub title: &'a str,
    pub gpus: &'a str,
    pub speedup: &'a str,
    pub ideal: &'a str,
    pub predicted: &'a str,
}

/// Speed-up over GPUs.
pub fn svg(points: &[Point], labels: Labels<'_>) -> String {
    let most = points.iter().map(|p| p.gpus).max().unwrap_or(1).max(2) as f64;
    let x = |gpus: f64| LEFT + (WIDTH - LEFT - RIGHT) * gpus / most;
    let y = |speedup: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (speedup / most).min(1.05);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    text(&mut out, WIDTH / 2.0, 24.0, "middle", "#111827", &format!("{} ", labels.title));
    for tick in 0..=4 {
        let value = most * f64::from(tick) / 4.0;
        let (at_x, at_y) = (x(value), y(value));
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at_y:.1}\" x2=\"{:.1}\" y2=\"{at_y:.1}\" stroke=\"#e5e7eb\"/>",
            WIDTH - RIGHT
        );
        text(&mut out, LEFT - 8.0, at_y + 4.0, "end", "#6b7280", &trim(value));
        text(&mut out, at_x, HEIGHT - BOTTOM + 18.0, "middle", "#6b7280", &trim(value));
    }
    text(&mut out, WIDTH / 2.0, HEIGHT - 10.0, "middle", "#374151", labels.gpus);
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"{:.1}\" fill=\"#374151\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\">{}</text>",
        HEIGHT / 2.0,
        HEIGHT / 2.0,
        escaped(labels.speedup)
    );
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#9ca3af\" stroke-dasharray=\"5 4\"/>",
        x(0.0),
        y(0.0),
        x(most),
        y(most)
    );
    let line: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", x(p.gpus as f64), y(p.speedup))).collect();
    let _ =
        writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\"/>", line.join(" "));
    for point in points {
        let (at_x, at_y) = (x(point.gpus as f64), y(point.speedup));
        let _ = writeln!(out, "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"4\" fill=\"#2563eb\"/>");
        text(&mut out, at_x, at_y + 18.0, "middle", "#1e3a8a", &format!("{:.0} %", point.efficiency * 100.0));
    }
    legend(&mut out, labels);
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String, labels: Labels<'_>) {
    let _ = writeln!(
        out,
        "<line x1=\"{0}\" y1=\"56\" x2=\"{1}\" y2=\"56\" stroke=\"#9ca3af\" stroke-dasharray=\"5 4\"/>\
         <line x1=\"{0}\" y1=\"74\" x2=\"{1}\" y2=\"74\" stroke=\"#2563eb\" stroke-width=\"2\"/>",
        LEFT + 12.0,
        LEFT + 36.0
    );
    text(out, LEFT + 42.0, 60.0, "start", "#374151", labels.ideal);
    text(out, LEFT + 42.0, 78.0, "start", "#374151", labels.predicted);
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, colour: &str, words: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(words.trim())
    );
}

fn trim(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
