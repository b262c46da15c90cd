//! What stands on a drawing, whatever it is written as.

/// From the left and from the top.
pub type Point = (f64, f64);

/// Red, green and blue, as in `#2563eb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u32);

#[derive(Clone, Debug)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
pub enum Shape {
    Line { ends: [Point; 2], colour: Colour, width: f64, style: LineStyle },
    Curve { points: Vec<Point>, colour: Colour, width: f64 },
    Mark { mark: Mark, at: Point, colour: Colour },
    Words(Words),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    Solid,
    Dashed,
}

/// Lengths of a dash and of what is left out after it.
pub const DASH: [f64; 2] = [6.0, 5.0];

/// What stands at a point, with a white rim of [`RIM`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Circle,
    Square,
    Triangle,
}

pub const RIM: f64 = 1.5;
pub const RADIUS: f64 = 5.0;

impl Mark {
    /// The corners around a point; none of a circle.
    pub fn corners(self, (x, y): Point) -> Vec<Point> {
        let around = |corners: &[Point]| corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        match self {
            Self::Circle => Vec::new(),
            Self::Square => around(&[(-4.8, -4.8), (4.8, -4.8), (4.8, 4.8), (-4.8, 4.8)]),
            Self::Triangle => around(&[(0.0, -6.0), (5.8, 4.6), (-5.8, 4.6)]),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Words {
    pub text: String,
    /// The base line, at the end that the anchor names.
    pub at: Point,
    pub anchor: Anchor,
    pub colour: Colour,
    pub kind: WordKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    Title,
    Plain,
    /// Read from below.
    Upwards,
}

impl WordKind {
    pub fn size(self) -> f64 {
        match self {
            Self::Title => 17.0,
            Self::Plain | Self::Upwards => 13.0,
        }
    }
}
