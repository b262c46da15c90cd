//! Reading something anew that is kept in memory, whoever asks for it and however many at once.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// One reads at a time, or an older picture could be put over a newer one; all who asked before a reading began are served
/// by it.
#[derive(Debug, Default)]
pub struct Refreshes {
    asked: AtomicU64,
    /// Up to which of them it has been read.
    served: Mutex<u64>,
}

impl Refreshes {
    /// Reads, unless another reading that began later than this was asked for has done so.
    pub async fn serve<E>(&self, read: impl AsyncFnOnce() -> Result<(), E>) -> Result<(), E> {
        let asked = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let mut served = self.served.lock().await;
        if *served < asked {
            let until = self.asked.load(Ordering::Acquire);
            read().await?;
            *served = until;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::AtomicU32;

    use tokio::sync::Notify;

    use super::*;

    /// The first reading is slow; what changes meanwhile is asked for by three others.
    #[tokio::test]
    async fn an_older_picture_is_never_put_over_a_newer_one_and_one_reading_serves_all_who_wait() {
        let (refreshes, go_on) = (Refreshes::default(), Notify::new());
        let (truth, picture, readings) = (AtomicU32::new(1), AtomicU32::new(0), AtomicU32::new(0));
        let read = async |is_slow: bool| {
            readings.fetch_add(1, Ordering::Relaxed);
            let seen = truth.load(Ordering::Relaxed);
            if is_slow {
                go_on.notified().await;
            }
            picture.store(seen, Ordering::Relaxed);
            Ok::<_, Infallible>(())
        };
        let change = async {
            truth.store(2, Ordering::Relaxed);
            let others = [0; 3].map(|_| refreshes.serve(async || read(false).await));
            let release = async {
                tokio::task::yield_now().await;
                go_on.notify_one();
            };
            tokio::join!(futures_util::future::join_all(others), release);
        };
        let (first, ()) = tokio::join!(refreshes.serve(async || read(true).await), change);
        first.unwrap();
        assert_eq!(picture.load(Ordering::Relaxed), 2);
        assert_eq!(readings.load(Ordering::Relaxed), 2);
    }
}
