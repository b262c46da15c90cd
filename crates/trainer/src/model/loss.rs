//! Cross-entropy: how surprised the model is by each byte that really came next.

use super::embedding::VOCABULARY;

/// The sum of the losses over all rows, in nats. The scores become their own gradients, each times `scale`.
pub(crate) fn cross_entropy(scores: &mut [f32], targets: &[u8], scale: f32) -> f64 {
    let mut total = 0.0;
    for (row, target) in scores.chunks_exact_mut(VOCABULARY).zip(targets) {
        let target = usize::from(*target);
        let largest = row.iter().fold(f32::NEG_INFINITY, |largest, score| largest.max(*score));
        let distance = largest - row[target];
        let mut sum = 0.0;
        for score in row.iter_mut() {
            *score = (*score - largest).exp();
            sum += *score;
        }
        total += f64::from(sum.ln() + distance);
        let factor = scale / sum;
        row.iter_mut().for_each(|score| *score *= factor);
        row[target] -= scale;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_slope, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let scores: Vec<f32> = numbers(12, 2 * VOCABULARY).iter().map(|score| 3.0 * score).collect();
        let targets = [7, 200];
        let mut gradient = scores.clone();
        cross_entropy(&mut gradient, &targets, 1.0);
        check_slope("score", &scores, &gradient, |nudged| cross_entropy(&mut nudged.to_vec(), &targets, 1.0));
    }

    #[test]
    fn knowing_nothing_costs_the_logarithm_of_the_vocabulary() {
        let loss = cross_entropy(&mut [0.25; VOCABULARY], &[9], 1.0);
        assert!((loss - 256_f64.ln()).abs() < 1e-5);
    }

    #[test]
    fn huge_scores_neither_overflow_nor_vanish() {
        let mut scores = [-1e4; VOCABULARY];
        scores[3] = 1e4;
        assert_eq!(cross_entropy(&mut scores.clone(), &[3], 1.0), 0.0);
        assert_eq!(cross_entropy(&mut scores, &[4], 1.0), 2e4);
    }
}
