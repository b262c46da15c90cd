//! How requests fare, by the pattern of their address and the class of their status.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Counts since the server started. Patterns are few, so that the set of labels is bounded.
#[derive(Debug, Default)]
pub struct Meters {
    routes: Mutex<BTreeMap<String, Route>>,
    stream_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Route {
    /// By class: 1xx to 5xx.
    classes: [u64; 5],
    buckets: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

impl Meters {
    pub fn record(&self, route: &str, status: StatusCode, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Route::default());
        }
        let Some(counted) = routes.get_mut(route) else { return };
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        counted.classes[class] += 1;
        counted.count += 1;
        let seconds = took.as_secs_f64();
        counted.seconds += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            counted.buckets[bucket] += 1;
        }
    }

    /// Bytes of a stream that were taken from an agent.
    pub fn took_bytes(&self, bytes: u64) {
        self.stream_bytes.fetch_add(bytes, Relaxed);
    }

    /// Writes all families in the exposition format.
    pub fn write(&self, out: &mut String) {
        family(out, "fermi_stream_bytes_total", "counter", "Bytes of logs and progress that were taken from agents.");
        // Writing to a string cannot fail.
        let _ = writeln!(out, "fermi_stream_bytes_total {}", self.stream_bytes.load(Relaxed));
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        family(out, "fermi_http_requests_total", "counter", "Requests that were answered.");
        for (route, counted) in routes.iter() {
            for (class, count) in counted.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
                let class = class + 1;
                let _ = writeln!(out, "fermi_http_requests_total{{route=\"{route}\",status=\"{class}xx\"}} {count}");
            }
        }
        family(out, "fermi_http_request_duration_seconds", "histogram", "Time until an answer began.");
        for (route, counted) in routes.iter() {
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(counted.buckets) {
                below += count;
                let name = "fermi_http_request_duration_seconds_bucket";
                let _ = writeln!(out, "{name}{{route=\"{route}\",le=\"{bound}\"}} {below}");
            }
            let name = "fermi_http_request_duration_seconds";
            let Route { count, seconds, .. } = counted;
            let _ = writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{route=\"{route}\"}} {seconds}");
            let _ = writeln!(out, "{name}_count{{route=\"{route}\"}} {count}");
        }
    }
}

/// The two lines that introduce a family.
pub fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let meters = Meters::default();
        for millis in [0, 3, 3, 100_000] {
            meters.record("/api/v1/overview", StatusCode::OK, Duration::from_millis(millis));
        }
        meters.record("/api/v1/overview", StatusCode::NOT_FOUND, Duration::ZERO);
        let mut out = String::new();
        meters.write(&mut out);
        assert!(out.contains("fermi_http_requests_total{route=\"/api/v1/overview\",status=\"2xx\"} 4\n"));
        assert!(out.contains("fermi_http_requests_total{route=\"/api/v1/overview\",status=\"4xx\"} 1\n"));
        assert!(out.contains("_bucket{route=\"/api/v1/overview\",le=\"0.005\"} 4\n"));
        assert!(out.contains("_bucket{route=\"/api/v1/overview\",le=\"30\"} 4\n"));
        assert!(out.contains("_bucket{route=\"/api/v1/overview\",le=\"+Inf\"} 5\n"));
        assert!(out.contains("_count{route=\"/api/v1/overview\"} 5\n"));
    }
}
