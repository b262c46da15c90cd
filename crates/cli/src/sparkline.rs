//! A series as a line of blocks.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// All of a series between its least and its greatest value; more values than columns are thinned.
pub fn sparkline(values: &[f64], columns: usize) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let (low, high) = bounds(&values);
    let shown = values.len().min(columns);
    (0..shown).map(|at| block(values[at * values.len() / shown], low, high)).collect()
}

/// The newest values of a series, between zero and at least `full`.
pub fn newest(values: &[f64], columns: usize, full: f64) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let high = bounds(&values).1.max(full);
    values[values.len().saturating_sub(columns)..].iter().map(|value| block(*value, 0.0, high)).collect()
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)))
}

fn block(value: f64, low: f64, high: f64) -> char {
    let share = if high > low { (value - low) / (high - low) } else { 0.0 };
    BLOCKS[((share * 7.0).round() as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_series_is_drawn_falling() {
        assert_eq!(sparkline(&[7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0], 8), "█▇▆▅▄▃▂▁");
        assert_eq!(sparkline(&[1.0, 1.0], 8), "▁▁");
        assert_eq!(sparkline(&[f64::NAN], 8), "");
        assert_eq!(sparkline(&[0.0; 100], 10).chars().count(), 10);
    }

    #[test]
    fn the_newest_values_stand_between_zero_and_full() {
        assert_eq!(newest(&[1.0, 0.0, 0.5, 1.0], 3, 1.0), "▁▅█");
        assert_eq!(newest(&[0.5], 3, 1.0), "▅");
        assert_eq!(newest(&[4.0, 2.0], 3, 0.0), "█▅");
        assert_eq!(newest(&[0.0], 3, 0.0), "▁");
        assert_eq!(newest(&[], 3, 1.0), "");
    }
}
