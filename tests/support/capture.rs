//! Reads a stream on a thread of its own, so that no test ever blocks the program that it watches.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Everything that came so far.
pub struct Capture {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Capture {
    pub fn of(mut stream: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = bytes.clone();
        let thread = std::thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(n) = stream.read(&mut chunk) {
                if n == 0 {
                    break;
                }
                sink.lock().unwrap().extend_from_slice(&chunk[..n]);
            }
        });
        Self { bytes, thread: Some(thread) }
    }

    pub fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// All of it. A stream that somebody still holds open some seconds after the end is given up: the test that cares
    /// finds what is missing.
    pub fn into_all(self) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_secs(5);
        if let Some(thread) = self.thread {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::mem::take(&mut self.bytes.lock().unwrap())
    }
}
