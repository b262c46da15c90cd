//! A drawing as PNG: pixels twice as fine as its lengths.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::canvas::Canvas;
use super::drawing::{Anchor, Colour, DASH, Drawing, LineStyle, Mark, Point, RADIUS, RIM, Shape, WordKind, Words};
use super::letters;

const FINE: f64 = 2.0;
const WHITE: Colour = Colour(0xffffff);

impl Drawing {
    pub fn png(&self) -> io::Result<Vec<u8>> {
        let fine = |length: f64| (length * FINE).ceil() as usize;
        let mut canvas = Canvas::white(fine(self.width), fine(self.height));
        for shape in &self.shapes {
            match shape {
                Shape::Line { ends, colour, width, style: LineStyle::Solid } => {
                    canvas.stroke(&[larger(ends)], width * FINE, *colour);
                }
                Shape::Line { ends, colour, width, style: LineStyle::Dashed } => {
                    canvas.stroke(&dashes(*ends), width * FINE, *colour);
                }
                Shape::Curve { points, colour, width } => canvas.stroke(&[larger(points)], width * FINE, *colour),
                Shape::Mark { mark, at, colour } => put_mark(&mut canvas, *mark, *at, *colour),
                Shape::Words(words) => put_words(&mut canvas, words),
            }
        }
        encoded(&canvas)
    }
}

fn larger(points: &[Point]) -> Vec<Point> {
    points.iter().map(|(x, y)| (x * FINE, y * FINE)).collect()
}

fn dashes([from, to]: [Point; 2]) -> Vec<Vec<Point>> {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let [dash, pause] = DASH;
    let at = |along: f64| {
        let part = (along / length).min(1.0);
        (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
    };
    let count = (length / (dash + pause)).ceil() as usize;
    let begin = |index: usize| index as f64 * (dash + pause);
    (0..count).map(|index| larger(&[at(begin(index)), at(begin(index) + dash)])).collect()
}

fn put_mark(canvas: &mut Canvas, mark: Mark, at: Point, colour: Colour) {
    let rim = RIM / 2.0 * FINE;
    for (grown, colour) in [(rim, WHITE), (-rim, colour)] {
        match mark {
            Mark::Circle => canvas.stroke(&[larger(&[at])], 2.0 * (RADIUS * FINE + grown), colour),
            Mark::Square | Mark::Triangle => canvas.fill(&larger(&mark.corners(at)), grown, colour),
        }
    }
}

fn put_words(canvas: &mut Canvas, words: &Words) {
    let (strokes, width) = letters::written(words.text.trim());
    let unit = words.kind.size() * letters::HEIGHT_OF_SIZE / letters::HEIGHT * FINE;
    let back = match words.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let (x, y) = (words.at.0 * FINE, words.at.1 * FINE);
    let place = |(along, down): Point| {
        let (along, down) = ((along - back) * unit, down * unit);
        match words.kind {
            WordKind::Title | WordKind::Plain => (x + along, y + down),
            WordKind::Upwards => (x + down, y - along),
        }
    };
    let placed: Vec<Vec<Point>> = strokes.into_iter().map(|stroke| stroke.into_iter().map(place).collect()).collect();
    let pen = if words.kind == WordKind::Title { 1.9 } else { 1.25 };
    canvas.stroke(&placed, pen * FINE, words.colour);
}

/// Eight bits of red, green and blue, each row as it is.
fn encoded(canvas: &Canvas) -> io::Result<Vec<u8>> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in canvas.pixels.chunks(canvas.width * 3) {
        rows.write_all(&[0])?;
        rows.write_all(row)?;
    }
    let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    let header = [&size(canvas.width)[..], &size(canvas.height), &[8, 2, 0, 0, 0]].concat();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, body) in [(b"IHDR", header), (b"IDAT", rows.finish()?), (b"IEND", Vec::new())] {
        let named = [&kind[..], &body].concat();
        let mut sum = Crc::new();
        sum.update(&named);
        out.extend(size(body.len()));
        out.extend(&named);
        out.extend(sum.sum().to_be_bytes());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    /// Width, height and pixels, by the definition of the format.
    fn decoded(png: &[u8]) -> (usize, usize, Vec<u8>) {
        assert_eq!(png[..8], [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        let (mut at, mut chunks) = (8, Vec::new());
        while at < png.len() {
            let length = number(at);
            let (kind, body) = (&png[at + 4..at + 8], &png[at + 8..at + 8 + length]);
            assert_eq!(number(at + 8 + length), remainder(&png[at + 4..at + 8 + length]), "checksum");
            chunks.push((std::str::from_utf8(kind).unwrap(), body));
            at += length + 12;
        }
        assert_eq!(chunks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["IHDR", "IDAT", "IEND"]);
        let (width, height) = (number(16), number(20));
        let mut raw = Vec::new();
        ZlibDecoder::new(chunks[1].1).read_to_end(&mut raw).unwrap();
        let rows = raw.chunks(width * 3 + 1);
        assert!(rows.clone().all(|row| row[0] == 0) && rows.len() == height);
        (width, height, rows.flat_map(|row| row[1..].to_vec()).collect())
    }

    /// CRC-32, bit by bit.
    fn remainder(bytes: &[u8]) -> usize {
        let mut sum = u32::MAX;
        for byte in bytes {
            sum ^= u32::from(*byte);
            (0..8).for_each(|_| sum = (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 });
        }
        !sum as usize
    }

    #[test]
    fn lines_marks_and_words_are_where_the_drawing_has_them() {
        let (red, blue, black) = (Colour(0xdc2626), Colour(0x2563eb), Colour(0));
        let word = |text: &str, at, kind| {
            Shape::Words(Words { text: text.to_owned(), at, anchor: Anchor::Start, colour: black, kind })
        };
        let drawing = Drawing {
            width: 100.0,
            height: 60.0,
            shapes: vec![
                Shape::Curve { points: vec![(10.0, 10.0), (90.0, 10.0)], colour: red, width: 2.5 },
                Shape::Line { ends: [(10.0, 20.0), (90.0, 20.0)], colour: blue, width: 2.0, style: LineStyle::Dashed },
                Shape::Mark { mark: Mark::Circle, at: (30.0, 40.0), colour: red },
                Shape::Mark { mark: Mark::Square, at: (50.0, 40.0), colour: blue },
                Shape::Mark { mark: Mark::Triangle, at: (70.0, 40.0), colour: red },
                word("I", (85.0, 50.0), WordKind::Plain),
                word("I", (8.0, 50.0), WordKind::Upwards),
            ],
        };
        let (width, height, pixels) = decoded(&drawing.png().unwrap());
        assert_eq!((width, height), (200, 120));
        let at = |x: f64, y: f64| {
            let at = ((y * FINE) as usize * width + (x * FINE) as usize) * 3;
            u32::from_be_bytes([0, pixels[at], pixels[at + 1], pixels[at + 2]])
        };
        let white = 0xffffff;
        assert_eq!((at(50.0, 10.0), at(50.0, 12.5), at(95.0, 10.0)), (red.0, white, white));
        // A dash of six, then five without.
        assert_eq!((at(13.0, 20.0), at(18.5, 20.0), at(24.0, 20.0)), (blue.0, white, blue.0));
        assert_eq!((at(30.0, 40.0), at(30.0, 44.9), at(34.0, 44.0)), (red.0, white, white));
        assert_eq!((at(50.0, 40.0), at(53.5, 43.5), at(56.5, 40.0)), (blue.0, blue.0, white));
        assert_eq!((at(70.0, 36.5), at(66.0, 36.5), at(70.0, 47.0)), (red.0, white, white));
        // The stroke of an I goes up from its base line, or to the left where it is read from below.
        assert_eq!((at(85.0, 46.0), at(85.0, 39.0), at(87.0, 46.0)), (0, white, white));
        assert_eq!((at(4.0, 50.0), at(4.0, 52.0), at(11.0, 50.0)), (0, white, white));
    }

    #[test]
    fn every_letter_has_strokes_of_its_own_and_an_unknown_one_a_box() {
        let of = |letter: char| format!("{:?}", letters::written(&letter.to_string()));
        let known: Vec<String> = ('!'..='~').chain(['×', '–', '…', '·']).map(of).collect();
        let unlike: std::collections::BTreeSet<&String> = known.iter().collect();
        assert_eq!(unlike.len(), known.len());
        assert_eq!(of('训'), of('é'));
        assert!(!known.contains(&of('训')));
        let (strokes, width) = letters::written("ab c");
        assert!(
            strokes.iter().flatten().all(|(x, y)| (0.0..=width).contains(x) && (-letters::HEIGHT..=2.0).contains(y))
        );
        assert_eq!(letters::written("").1, 0.0);
    }
}
