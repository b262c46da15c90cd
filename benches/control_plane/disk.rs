//! What the disk alone costs: without it no number of durable writes says anything.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::spread::Spread;

/// As much as one small row takes in a write-ahead log: a page and its header.
const ROW: usize = 4_120;

/// Appends a row and waits until the disk has it, again and again, as a database does that commits each row alone.
/// Milliseconds of each.
pub fn row_by_row(folder: &Path, how_long: Duration) -> io::Result<Spread> {
    let mut file = File::create(folder.join("fdatasync"))?;
    let row = [7; ROW];
    let mut spread = Spread::default();
    let begun = Instant::now();
    while begun.elapsed() < how_long {
        let each = Instant::now();
        file.write_all(&row)?;
        file.sync_data()?;
        spread.push(each.elapsed().as_secs_f64() * 1e3);
    }
    Ok(spread)
}
