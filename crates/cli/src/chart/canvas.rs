//! Pixels, and a round pen over them. Edges are smooth: a pixel takes as much of a colour as the pen covers of it.

use super::drawing::{Colour, Point};

pub struct Canvas {
    pub width: usize,
    pub height: usize,
    /// Red, green, blue of each, row by row.
    pub pixels: Vec<u8>,
    /// How much of each the pen has covered so far, of what is being drawn.
    covered: Vec<f64>,
}

impl Canvas {
    pub fn white(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![255; width * height * 3], covered: vec![0.0; width * height] }
    }

    /// Draws lines with a pen of this width; where they cross, they are no darker.
    pub fn stroke(&mut self, lines: &[Vec<Point>], width: f64, colour: Colour) {
        let reach = width / 2.0;
        let mut area = Area::nothing();
        for line in lines {
            let last = line.last().into_iter().map(|end| (*end, *end));
            for (from, to) in line.windows(2).map(|ends| (ends[0], ends[1])).chain(last) {
                let own = Area::around(&[from, to], reach + 1.0, self);
                self.cover(&own, |pixel| reach - distance(pixel, from, to));
                area = area.with(&own);
            }
        }
        self.paint(&area, colour);
    }

    /// Fills a shape without notches, whose corners go clockwise, grown by so much.
    pub fn fill(&mut self, corners: &[Point], grown: f64, colour: Colour) {
        let area = Area::around(corners, grown + 1.0, self);
        let sides: Vec<(Point, Point)> = corners.iter().copied().zip(corners.iter().copied().cycle().skip(1)).collect();
        self.cover(&area, |pixel| {
            let outside = sides.iter().map(|(from, to)| beyond(pixel, *from, *to)).fold(f64::MIN, f64::max);
            grown - outside
        });
        self.paint(&area, colour);
    }

    /// `depth` says how far inside a pixel's middle is.
    fn cover(&mut self, area: &Area, depth: impl Fn(Point) -> f64) {
        for y in area.top..area.bottom {
            for x in area.left..area.right {
                let covered = (depth((x as f64 + 0.5, y as f64 + 0.5)) + 0.5).clamp(0.0, 1.0);
                let own = &mut self.covered[y * self.width + x];
                *own = own.max(covered);
            }
        }
    }

    fn paint(&mut self, area: &Area, Colour(rgb): Colour) {
        let [_, red, green, blue] = rgb.to_be_bytes();
        for y in area.top..area.bottom {
            for at in y * self.width + area.left..y * self.width + area.right {
                let part = std::mem::take(&mut self.covered[at]);
                for (pixel, wanted) in self.pixels[at * 3..at * 3 + 3].iter_mut().zip([red, green, blue]) {
                    *pixel = (f64::from(*pixel) * (1.0 - part) + f64::from(wanted) * part).round() as u8;
                }
            }
        }
    }
}

/// Pixels of a rectangle, on the canvas.
struct Area {
    left: usize,
    right: usize,
    top: usize,
    bottom: usize,
}

impl Area {
    fn nothing() -> Self {
        Self { left: usize::MAX, right: 0, top: usize::MAX, bottom: 0 }
    }

    fn around(points: &[Point], reach: f64, canvas: &Canvas) -> Self {
        let least = |axis: fn(&Point) -> f64| points.iter().map(axis).fold(f64::MAX, f64::min) - reach;
        let most = |axis: fn(&Point) -> f64| points.iter().map(axis).fold(f64::MIN, f64::max) + reach;
        let on = |value: f64, end: usize| (value.max(0.0) as usize).min(end);
        Self {
            left: on(least(|point| point.0), canvas.width),
            right: on(most(|point| point.0).ceil(), canvas.width),
            top: on(least(|point| point.1), canvas.height),
            bottom: on(most(|point| point.1).ceil(), canvas.height),
        }
    }

    fn with(&self, other: &Self) -> Self {
        Self {
            left: self.left.min(other.left),
            right: self.right.max(other.right),
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
        }
    }
}

/// From a point to a line between two others.
fn distance((x, y): Point, (x1, y1): Point, (x2, y2): Point) -> f64 {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let square = dx * dx + dy * dy;
    let along = if square > 0.0 { (((x - x1) * dx + (y - y1) * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    (x - x1 - along * dx).hypot(y - y1 - along * dy)
}

/// How far a point is to the left of one who goes along a side.
fn beyond((x, y): Point, (x1, y1): Point, (x2, y2): Point) -> f64 {
    let (dx, dy) = (x2 - x1, y2 - y1);
    ((x - x1) * dy - (y - y1) * dx) / dx.hypot(dy).max(f64::MIN_POSITIVE)
}
