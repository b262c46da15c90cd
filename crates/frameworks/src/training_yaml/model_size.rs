//! How large a model is, as people write it.

use serde_json::Value;

/// 7B, 350M, 7e9 or a plain number.
pub(super) fn parameters(value: &Value) -> Option<u64> {
    let whole = |number: f64| -> Option<u64> {
        let fine = number.is_finite() && (1.0..9e15).contains(&number);
        if fine { format!("{number:.0}").parse().ok() } else { None }
    };
    if let Some(number) = value.as_f64() {
        return whole(number);
    }
    let text = value.as_str()?.trim();
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'B' | 'b') => (&text[..at], 1e9),
        (at, 'M' | 'm') => (&text[..at], 1e6),
        (at, 'K' | 'k') => (&text[..at], 1e3),
        (at, 'T' | 't') => (&text[..at], 1e12),
        _ => (text, 1.0),
    };
    whole(digits.trim().parse::<f64>().ok()? * factor)
}
