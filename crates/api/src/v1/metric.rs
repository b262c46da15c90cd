//! Numbers over steps and over time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer to `GET /training-tasks/{id}/metrics`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    pub attempt: u32,
    pub series: Vec<Series>,
}

/// One number as it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// Such as `loss`, `tokensPerS`, `rank.cpus`, `rank.memory`, `machine.cpu`, `gpu.use`.
    pub name: String,
    pub rank: Option<u32>,
    pub environment: Option<String>,
    pub gpu: Option<u32>,
    /// In the order of time. Where there were more points than asked for, each stands for a stretch of them.
    pub points: Vec<Point>,
}

/// A point, or a stretch of points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Unix milliseconds.
    pub time: u64,
    pub step: Option<u64>,
    /// The last value of the stretch.
    pub value: f64,
    pub min: f64,
    pub max: f64,
}
