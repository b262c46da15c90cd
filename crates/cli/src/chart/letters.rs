//! Letters as strokes, for pictures: each a few polylines on a grid, drawn with a round pen. Enough for English words, numbers
//! and command lines; what is not here becomes an empty box.

use super::drawing::Point;

/// Grid lines from the top of a capital to the base line.
pub const HEIGHT: f64 = 6.0;
/// Of the size of a text, as in the fonts of browsers.
pub const HEIGHT_OF_SIZE: f64 = 0.72;
const GAP: f64 = 1.7;
const BLANK: f64 = 1.2;

/// From `!` to `~` in the order of ASCII. Strokes are apart by spaces, their points are two digits: from the left, and from the
/// top. A single point is a dot.
const ASCII: [&str; 94] = [
    "0004 06",                             // !
    "0002 2022",                           // "
    "1105 3135 0242 0444",                 // #
    "413010010213334445361605 2026",       // $
    "4006 0010110100 3545463635",          // %
    "4612112030310405162644",              // &
    "0002",                                // '
    "20110516",                            // (
    "00111506",                            // )
    "2125 0244 0442",                      // *
    "2226 0444",                           // +
    "1607",                                // ,
    "0434",                                // -
    "06",                                  // .
    "3006",                                // /
    "103041453616050110",                  // 0
    "012026",                              // 1
    "01103041420646",                      // 2
    "01103041423313334445361605",          // 3
    "36300444",                            // 4
    "400003334445361605",                  // 5
    "413010010516364544331304",            // 6
    "004016",                              // 7
    "103041423313020110 1304051636454433", // 8
    "051636454130100102133342",            // 9
    "03 06",                               // :
    "13 1607",                             // ;
    "320436",                              // <
    "0343 0545",                           // =
    "023406",                              // >
    "011030414224 26",                     // ?
    "3322121425343335444130100105163646",  // @
    "062046 1434",                         // A
    "00063645443303 3342413000",           // B
    "4130100105163645",                    // C
    "00062644422000",                      // D
    "40000646 0333",                       // E
    "400006 0333",                         // F
    "41301001051636454323",                // G
    "0006 4046 0343",                      // H
    "0006",                                // I
    "3035261605",                          // J
    "0006 4003 0346",                      // K
    "000636",                              // L
    "0600234046",                          // M
    "06004640",                            // N
    "104051554616050110",                  // O
    "06003041423303",                      // P
    "104051554616050110 3557",             // Q
    "06003041423303 2346",                 // R
    "413010010213334445361605",            // S
    "0040 2026",                           // T
    "000516364540",                        // U
    "002640",                              // V
    "0016223640",                          // W
    "0046 4006",                           // X
    "002340 2326",                         // Y
    "00400646",                            // Z
    "10000616",                            // [
    "0036",                                // \
    "00101606",                            // ]
    "022042",                              // ^
    "0747",                                // _
    "0011",                                // `
    "12223336 341405162635",               // a
    "0006 0312223335261605",               // b
    "3322120305162635",                    // c
    "3036 3322120305162635",               // d
    "04343322120305162635",                // e
    "201116 0222",                         // f
    "3237281807 3322120305162635",         // g
    "0006 0312223336",                     // h
    "0206 00",                             // i
    "121708 10",                           // j
    "0006 3204 1436",                      // k
    "000516",                              // l
    "0602 03122326 23324346",              // m
    "0206 0312223336",                     // n
    "122233352616050312",                  // o
    "0208 0312223335261605",               // p
    "3238 3322120305162635",               // q
    "0206 031222",                         // r
    "3212031424352606",                    // s
    "101526 0222",                         // t
    "0205162635 3236",                     // u
    "022642",                              // v
    "0216233642",                          // w
    "0236 3206",                           // x
    "0205162635 32372808",                 // y
    "02320636",                            // z
    "20111203141526",                      // {
    "0007",                                // |
    "00111223141506",                      // }
    "04132433",                            // ~
];

/// Beyond ASCII: what charts and titles hold.
const OTHERS: [(char, &str); 4] = [('×', "0235 3205"), ('–', "0444"), ('…', "06 26 46"), ('·', "04")];
const BOX: &str = "0040460600";

fn strokes(letter: char) -> &'static str {
    let ascii = (letter as usize).checked_sub('!' as usize).and_then(|at| ASCII.get(at)).copied();
    let other = || OTHERS.iter().find(|(known, _)| *known == letter).map(|(_, strokes)| *strokes);
    ascii.or_else(other).unwrap_or(BOX)
}

fn points(stroke: &str) -> Vec<Point> {
    let digit = |byte: u8| f64::from(byte.saturating_sub(b'0'));
    stroke.as_bytes().chunks_exact(2).map(|pair| (digit(pair[0]), digit(pair[1]))).collect()
}

/// The strokes of a text from (0, 0), which is the left end of its base line, and its width; in grid lines.
pub fn written(text: &str) -> (Vec<Vec<Point>>, f64) {
    let (mut all, mut from) = (Vec::new(), 0.0);
    for letter in text.chars() {
        if letter.is_whitespace() {
            from += GAP + BLANK;
            continue;
        }
        let own: Vec<Vec<Point>> = strokes(letter).split(' ').map(points).collect();
        let width = own.iter().flatten().map(|(x, _)| *x).fold(0.0, f64::max);
        let moved = |stroke: Vec<Point>| stroke.into_iter().map(|(x, y)| (x + from, y - HEIGHT)).collect();
        all.extend(own.into_iter().map(moved));
        from += width + GAP;
    }
    (all, (from - GAP).max(0.0))
}
