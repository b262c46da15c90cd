//! How requests fare, by the pattern of their address and the class of their status.

use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Counts since the server started. Patterns are few, so that the set of labels is bounded.
#[derive(Clone, Debug)]
pub struct Meters {
    requests: Family<RouteAndStatus, Counter>,
    durations: Family<Route, Histogram, Durations>,
    stream_bytes: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteAndStatus {
    route: String,
    status: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Durations;

impl MetricConstructor<Histogram> for Durations {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BOUNDS)
    }
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(Durations),
            stream_bytes: Counter::default(),
        }
    }
}

impl Meters {
    pub fn record(&self, route: &str, status: StatusCode, took: Duration) {
        let status = match status.as_u16() / 100 {
            0 | 1 => "1xx",
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        };
        let labels = Route { route: route.to_owned() };
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
        self.requests.get_or_create(&RouteAndStatus { route: labels.route, status }).inc();
    }

    /// Bytes of a stream that were taken from an agent.
    pub fn took_bytes(&self, bytes: u64) {
        self.stream_bytes.inc_by(bytes);
    }

    /// Adds all families; the format puts `_total` behind the names of counters.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Bytes of logs and progress that were taken from agents";
        registry.register("fermi_stream_bytes", help, self.stream_bytes.clone());
        registry.register("fermi_http_requests", "Requests that were answered", self.requests.clone());
        let help = "Time until an answer began";
        registry.register("fermi_http_request_duration_seconds", help, self.durations.clone());
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn buckets_add_up() {
        let meters = Meters::default();
        for millis in [0, 3, 3, 100_000] {
            meters.record("/api/v1/overview", StatusCode::OK, Duration::from_millis(millis));
        }
        meters.record("/api/v1/overview", StatusCode::NOT_FOUND, Duration::ZERO);
        let (mut registry, mut out) = (Registry::default(), String::new());
        meters.register(&mut registry);
        text::encode(&mut out, &registry).unwrap();
        assert!(out.contains("fermi_http_requests_total{route=\"/api/v1/overview\",status=\"2xx\"} 4\n"), "{out}");
        assert!(out.contains("fermi_http_requests_total{route=\"/api/v1/overview\",status=\"4xx\"} 1\n"));
        let bucket = |bound: &str| {
            let bound = format!("le=\"{bound}\"");
            let line = out.lines().find(|line| line.contains("_bucket{") && line.contains(&bound)).unwrap();
            line.rsplit(' ').next().unwrap().to_owned()
        };
        assert_eq!((bucket("0.005"), bucket("30.0"), bucket("+Inf")), ("4".into(), "4".into(), "5".into()));
        assert!(out.contains("_count{route=\"/api/v1/overview\"} 5\n"));
    }
}
