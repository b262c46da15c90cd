//! A question to the machine that may never be answered.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::facts::Seen;

/// A question that is being answered on a thread of its own.
#[derive(Debug)]
pub struct Step<T> {
    answer: Receiver<T>,
    started: Instant,
    patience: Duration,
}

impl<T: Send + 'static> Step<T> {
    pub fn start(patience: Duration, question: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, answer) = channel();
        // Where no thread can be had the sender is dropped, and the answer counts as late.
        let _ = thread::Builder::new().name("doctor".into()).spawn(move || sender.send(question()));
        Self { answer, started: Instant::now(), patience }
    }

    /// The answer, or that there was none in time. The thread is left to itself then.
    pub fn wait(self) -> Seen<T> {
        let left = self.patience.saturating_sub(self.started.elapsed());
        match self.answer.recv_timeout(left) {
            Ok(answer) => Seen::Known(answer),
            Err(_) => Seen::Late { seconds: self.patience.as_secs() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_an_answer_ends_at_its_deadline() {
        let (hold, held) = channel::<()>();
        let step = Step::start(Duration::from_millis(50), move || held.recv().is_ok());
        assert_eq!(step.wait(), Seen::Late { seconds: 0 });
        drop(hold);
        assert_eq!(Step::start(Duration::from_secs(60), || 7).wait(), Seen::Known(7));
    }
}
