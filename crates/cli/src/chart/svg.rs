//! A drawing as SVG.

use std::fmt::Write;

use super::drawing::{Anchor, Colour, DASH, Drawing, LineStyle, Mark, Point, RADIUS, RIM, Shape, WordKind, Words};

impl Drawing {
    pub fn svg(&self) -> String {
        let Self { width, height, .. } = self;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"system-ui, 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Micro Hei', sans-serif\" font-size=\"{}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            WordKind::Plain.size(),
        );
        for shape in &self.shapes {
            match shape {
                Shape::Line { ends, colour, width, style } => line(&mut out, *ends, *colour, *width, *style),
                Shape::Curve { points, colour, width } => curve(&mut out, points, *colour, *width),
                Shape::Mark { mark, at, colour } => put_mark(&mut out, *mark, *at, *colour),
                Shape::Words(words) => put_words(&mut out, words),
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn hex(Colour(rgb): Colour) -> String {
    format!("#{rgb:06x}")
}

fn line(out: &mut String, [(x1, y1), (x2, y2)]: [Point; 2], colour: Colour, width: f64, style: LineStyle) {
    let dashes = match style {
        LineStyle::Solid => String::new(),
        LineStyle::Dashed => format!(" stroke-dasharray=\"{} {}\"", DASH[0], DASH[1]),
    };
    let colour = hex(colour);
    let _ = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>"
    );
}

fn curve(out: &mut String, points: &[Point], colour: Colour, width: f64) {
    let joined: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
        joined.join(" "),
        hex(colour),
    );
}

fn put_mark(out: &mut String, mark: Mark, at: Point, colour: Colour) {
    let style = format!("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"{RIM}\"", hex(colour));
    let _ = if mark == Mark::Circle {
        writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{RADIUS}\" {style}/>", at.0, at.1)
    } else {
        let corners: Vec<String> = mark.corners(at).iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(out, "<polygon points=\"{}\" {style}/>", corners.join(" "))
    };
}

fn put_words(out: &mut String, words: &Words) {
    let (x, y) = words.at;
    let anchor = match words.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let more = match words.kind {
        WordKind::Title => format!(" font-size=\"{}\" font-weight=\"600\"", words.kind.size()),
        WordKind::Plain => String::new(),
        WordKind::Upwards => format!(" transform=\"rotate(-90 {x:.1} {y:.1})\""),
    };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\" text-anchor=\"{anchor}\"{more}>{}</text>",
        hex(words.colour),
        escaped(words.text.trim())
    );
}

/// Words as they may stand in SVG and HTML.
pub fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
