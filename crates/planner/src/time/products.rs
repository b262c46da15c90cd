//! Matrix products: rate by shape.

use super::Rates;

/// Seconds of a product of `tokens` rows with a weight of `width` × `inner`.
pub fn seconds(rates: &Rates, rate: f64, tokens: f64, width: f64, inner: f64) -> f64 {
    if tokens <= 0.0 || width <= 0.0 || inner <= 0.0 {
        return 0.0;
    }
    let shape =
        (1.0 + rates.half_tokens / tokens) * (1.0 + rates.half_width / width) * (1.0 + rates.half_width / inner);
    let odd = |n: f64| n % 64.0 != 0.0;
    let penalty = if odd(width) || odd(inner) { 1.0 + rates.misaligned } else { 1.0 };
    2.0 * tokens * width * inner / rate * shape * penalty
}
