//! The rank of the flood: writes lines at a steady rate, so many bytes and not one more.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub const WRITE: &str = "rank-write";
const LINE: usize = 128;
const LINES_AT_ONCE: u64 = 256;

/// `rank-write MB/S SECONDS`: plays the rank if that is what the first word asks for.
pub fn play(words: &[String]) -> Option<ExitCode> {
    let [role, rate, seconds] = words else { return None };
    if role != WRITE {
        return None;
    }
    let (rate, seconds) = (rate.parse().ok()?, seconds.parse().ok()?);
    Some(match write(rate, seconds) {
        Ok(took) => {
            eprintln!("{took:.3}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{role}: {error}");
            ExitCode::FAILURE
        }
    })
}

/// How many bytes such a rank writes: whole lines.
pub fn bytes(megabytes_per_second: u64, seconds: u64) -> u64 {
    let lines = megabytes_per_second * 1_000_000 * seconds / LINE as u64;
    lines / LINES_AT_ONCE * LINES_AT_ONCE * LINE as u64
}

/// The line of this number.
pub fn line(number: u64) -> String {
    format!("{number:>width$}\n", width = LINE - 1)
}

/// The last line of so many bytes.
pub fn last_line(bytes: u64) -> String {
    line(bytes / LINE as u64 - 1)
}

fn write(rate: u64, seconds: u64) -> io::Result<f64> {
    let mut stdout = io::stdout().lock();
    let (wanted, mut written, mut number) = (bytes(rate, seconds), 0_u64, 0_u64);
    let mut block: Vec<u8> = (0..LINES_AT_ONCE).flat_map(|number| line(number).into_bytes()).collect();
    let begun = Instant::now();
    while written < wanted {
        if written as f64 > rate as f64 * 1e6 * begun.elapsed().as_secs_f64() {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        for line in block.chunks_exact_mut(LINE) {
            put_number(&mut line[..LINE - 1], number);
            number += 1;
        }
        stdout.write_all(&block)?;
        written += block.len() as u64;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Writes a number to the right end, over one that was not larger; formatting would cost more than the flood itself.
fn put_number(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return;
        }
    }
}
