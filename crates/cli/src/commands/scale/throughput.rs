//! How fast a training was, from what it wrote: its progress file, else what it printed. Pure.

use serde_json::Value;

use super::table::median;

/// A throughput and what it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    pub speed: f64,
    pub unit: &'static str,
}

/// What trainings print, and the unit that it means. Longer ones first.
const PRINTED: [(&str, &str); 12] = [
    ("train_samples_per_second", "samples/s"),
    ("train_tokens_per_second", "tokens/s"),
    ("samples_per_second", "samples/s"),
    ("tokens_per_second", "tokens/s"),
    ("tokens_per_sec", "tokens/s"),
    ("tokens/s", "tokens/s"),
    ("tok/s", "tokens/s"),
    ("samples/s", "samples/s"),
    ("examples/s", "samples/s"),
    ("images/s", "samples/s"),
    ("steps/s", "steps/s"),
    ("it/s", "steps/s"),
];
/// One part of so many is the warm-up of a training.
const WARM_UP: usize = 5;

/// Of the lines of a progress file the median, without those of the warm-up.
pub fn in_progress(text: &str) -> Option<Throughput> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let speeds: Vec<f64> = lines.filter_map(|line| line["tokensPerS"].as_f64()).filter(|speed| *speed > 0.0).collect();
    of_steps(&speeds)
}

/// The same of the tokens per second of each step.
pub fn of_steps(speeds: &[f64]) -> Option<Throughput> {
    Some(Throughput { speed: steady(speeds)?, unit: "tokens/s" })
}

/// Of what was printed; of several kinds the first in the order of [`PRINTED`].
pub fn in_output(text: &str) -> Option<Throughput> {
    PRINTED.iter().find_map(|(mark, unit)| {
        let speeds: Vec<f64> = text.split(['\n', '\r']).filter_map(|line| beside(line, mark)).collect();
        Some(Throughput { speed: steady(&speeds)?, unit })
    })
}

fn steady(speeds: &[f64]) -> Option<f64> {
    let warm_up = speeds.len().div_ceil(WARM_UP).min(speeds.len().saturating_sub(1));
    median(&speeds[warm_up..])
}

/// The number behind a mark and a sign, as in `tokens_per_second: 1234`, else the one before it, as in `1,234 tokens/s`.
fn beside(line: &str, mark: &str) -> Option<f64> {
    let at = line.find(mark)?;
    let behind = line[at + mark.len()..].trim_start_matches(['\'', '"', ' ']);
    if let Some(value) = behind.strip_prefix([':', '=']) {
        let value = value.trim_start();
        return number(&value[..value.find(|letter: char| !is_of_number(letter)).unwrap_or(value.len())]);
    }
    let before = line[..at].trim_end();
    let start = before.rfind(|letter: char| !is_of_number(letter)).map_or(0, |at| at + letter_width(before, at));
    number(&before[start..])
}

fn letter_width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Exponents and signs too: part of a number would be another one.
fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',' | 'e' | 'E' | '+' | '-')
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim_matches([',', '.']).replace(',', "").parse().ok()?;
    (number > 0.0 && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_throughput_is_found_in_the_forms_that_trainings_use() {
        let table = [
            ("step 10/20  loss 2.31  12,345 tokens/s", Some((12_345.0, "tokens/s"))),
            ("{'loss': 2.1, 'train_samples_per_second': 41.7, 'epoch': 1.0}", Some((41.7, "samples/s"))),
            ("100%|███| 20/20 [00:10<00:00, 1.95it/s]", Some((1.95, "steps/s"))),
            ("iteration 5 | tokens_per_sec=900.5 | lr 1e-4", Some((900.5, "tokens/s"))),
            ("吞吐：880 samples/s", Some((880.0, "samples/s"))),
            ("step 4 loss 2.31, tokens/s: 1,900", Some((1_900.0, "tokens/s"))),
            ("1.23e+04 tokens/s", Some((12_300.0, "tokens/s"))),
            ("{'train_samples_per_second': 4.17e+03}", Some((4_170.0, "samples/s"))),
            ("tokens/s: 2E3", Some((2_000.0, "tokens/s"))),
            ("-100 tokens/s", None),
            ("tokens/s: nan", None),
            ("1e999 tokens/s", None),
            ("loss 2.31", None),
            ("tokens/s", None),
        ];
        for (line, expected) in table {
            assert_eq!(in_output(line).map(|it| (it.speed, it.unit)), expected, "{line}");
        }
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let line = |speed: f64| format!("{{\"step\":1,\"tokensPerS\":{speed}}}\n");
        let text: String = [10.0, 100.0, 102.0, 98.0, 100.0].map(line).concat();
        assert_eq!(in_progress(&text).map(|it| it.speed), Some(100.0));
        assert_eq!(in_progress(&line(7.0)).map(|it| it.speed), Some(7.0));
        assert_eq!(in_progress("{\"step\":1}\n{torn"), None);
    }
}
