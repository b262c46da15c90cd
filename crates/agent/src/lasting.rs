//! Threads that last as long as the agent: one that panics is told of and begins again, since an agent whose uploads or
//! heartbeats have ended without a word looks alive and is not.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Does the work in a thread of its own until it returns. What the work keeps must be whole whenever it calls others.
pub fn start(name: &'static str, stack: usize, mut work: impl FnMut() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.into()).stack_size(stack).spawn(move || {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let Err(panic) = catch_unwind(AssertUnwindSafe(&mut work)) else { return };
            tracing::error!(
                thread = name,
                reason = message_of(&*panic),
                "a thread of the agent panicked; it begins again"
            );
            if began.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn work_that_panics_goes_on_with_what_it_has() {
        let (told, heard) = channel();
        let mut turns = 0;
        let thread = start("test", 128 * 1024, move || {
            turns += 1;
            told.send(turns).unwrap();
            if turns < 3 {
                std::panic::resume_unwind(Box::new("a test asked for it"));
            }
        });
        thread.unwrap().join().unwrap();
        assert_eq!(heard.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }
}
