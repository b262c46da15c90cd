//! A row of a table of runs: fields as people publish them, many of them absent.

use serde::{Deserialize, Deserializer, Serialize};

/// One run. Outcomes are present only where it was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    #[serde(deserialize_with = "text")]
    pub model_name: Option<String>,
    #[serde(deserialize_with = "number")]
    pub params: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub layers: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub hidden: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub heads: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub kv_heads: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub ffn: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub vocab: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub seq_len: Option<f64>,
    #[serde(deserialize_with = "flag")]
    pub tied_embeddings: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub gpu: Option<String>,
    #[serde(deserialize_with = "number")]
    pub gpu_mem_gib: Option<f64>,
    /// A GPU that no catalogue knows: dense 16-bit TFLOP/s, memory and link in GB/s.
    #[serde(deserialize_with = "number")]
    pub gpu_tflops: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub gpu_bandwidth_gbs: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub gpu_link_gbs: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub nodes: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub gpus: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub gpus_per_node: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub tp: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub pp: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub vp: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub cp: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub ep: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub dp: Option<f64>,
    #[serde(deserialize_with = "text")]
    pub sharding: Option<String>,
    #[serde(deserialize_with = "text")]
    pub precision: Option<String>,
    #[serde(deserialize_with = "text")]
    pub optimizer: Option<String>,
    #[serde(deserialize_with = "text")]
    pub offload: Option<String>,
    #[serde(deserialize_with = "number")]
    pub lora_rank: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub micro_batch: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub grad_accum: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub global_batch: Option<f64>,
    #[serde(deserialize_with = "text")]
    pub recompute: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub seq_parallel: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub framework: Option<String>,
    #[serde(deserialize_with = "text")]
    pub network: Option<String>,
    #[serde(deserialize_with = "text")]
    pub note: Option<String>,
    #[serde(deserialize_with = "text")]
    pub group: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub repeat: Option<bool>,
    #[serde(deserialize_with = "number")]
    pub step_time_s: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub tokens_per_s: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub peak_mem_gib: Option<f64>,
    #[serde(deserialize_with = "flag")]
    pub fits: Option<bool>,
}

/// A file of runs.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Runs {
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<Run>,
}

/// A row that is no object counts as one without fields, so that it is answered with a reason in its place.
fn rows<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Run>, D::Error> {
    let cells = Vec::<serde_json::Value>::deserialize(source)?;
    Ok(cells.into_iter().map(|cell| serde_json::from_value(cell).unwrap_or_default()).collect())
}

impl Run {
    /// The measured step, also where only the throughput was published.
    pub fn measured_step(&self) -> Option<f64> {
        let stated = self.step_time_s.filter(|t| t.is_finite() && *t > 0.0);
        stated.or_else(|| {
            let rate = self.tokens_per_s.filter(|r| r.is_finite() && *r > 0.0)?;
            Some(self.global_batch? * self.seq_len? / rate)
        })
    }
}

/// What a field of a table may hold.
#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Flag(bool),
    Number(f64),
    Text(String),
    Other(serde::de::IgnoredAny),
}

/// A number, also one written as text; anything else counts as absent.
fn number<'de, D: Deserializer<'de>>(source: D) -> Result<Option<f64>, D::Error> {
    Ok(match Option::<Cell>::deserialize(source)? {
        Some(Cell::Number(n)) => Some(n),
        Some(Cell::Text(t)) => t.trim().parse().ok(),
        Some(Cell::Flag(_) | Cell::Other(_)) | None => None,
    }
    .filter(|n: &f64| n.is_finite()))
}

fn text<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Cell>::deserialize(source)? {
        Some(Cell::Text(t)) => Some(t),
        Some(Cell::Number(n)) => Some(n.to_string()),
        Some(Cell::Flag(b)) => Some(b.to_string()),
        Some(Cell::Other(_)) | None => None,
    })
}

fn flag<'de, D: Deserializer<'de>>(source: D) -> Result<Option<bool>, D::Error> {
    Ok(match Option::<Cell>::deserialize(source)? {
        Some(Cell::Flag(b)) => Some(b),
        Some(Cell::Number(n)) => Some(n != 0.0),
        Some(Cell::Text(t)) => match t.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
        Some(Cell::Other(_)) | None => None,
    })
}
