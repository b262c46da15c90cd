//! Many measured values, and where most of them lie.

use serde_json::{Value, json};

use crate::report::ms;

#[derive(Clone, Debug, Default)]
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The value below which this share of all lies.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let index = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(index.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    pub fn p50(&self) -> f64 {
        self.quantile(0.50)
    }

    pub fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    pub fn most(&self) -> f64 {
        self.quantile(1.0)
    }

    /// Cells of a table: how many, p50, p99, the most.
    pub fn cells(&self) -> [String; 4] {
        [self.count().to_string(), ms(self.p50()), ms(self.p99()), ms(self.most())]
    }

    pub fn json(&self) -> Value {
        json!({
            "count": self.count(),
            "p50": self.p50(),
            "p90": self.quantile(0.90),
            "p99": self.p99(),
            "p999": self.quantile(0.999),
            "max": self.most(),
        })
    }
}

impl FromIterator<f64> for Spread {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}
