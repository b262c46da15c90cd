//! Scaling curves, drawn by hand: [`curve`] says what stands where, [`svg`] writes it as SVG and [`png`] as a picture for
//! places that take no SVG. The picture's letters are strokes of our own ([`letters`]): no machine needs fonts for it.

mod canvas;
mod curve;
mod drawing;
mod letters;
mod png;
mod svg;

pub use curve::{CurvePoint, Labels, Series, curves};
pub use drawing::Drawing;
pub use svg::escaped;
