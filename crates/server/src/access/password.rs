//! Passwords: argon2id, on threads of their own and a few at a time, so that a flood of log-ins takes neither the memory nor
//! the threads of those who are logged in.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use axum::http::StatusCode;
use fermi_domain::language::Text;
use tokio::sync::oneshot;

use crate::envelope::ApiProblem;

/// Each takes 19 MiB while it is worked on, and these threads alone: what they give back they use again.
const AT_ONCE: usize = 2;
/// So many wait for them; who comes then is asked to come again.
const MOST_WAITING: usize = 32;

type Work = Box<dyn FnOnce() + Send>;

static THREADS: LazyLock<SyncSender<Work>> = LazyLock::new(|| {
    let (work, waiting) = sync_channel::<Work>(MOST_WAITING);
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..AT_ONCE {
        let waiting = waiting.clone();
        std::thread::spawn(move || work_off(&waiting));
    }
    work
});

fn work_off(waiting: &Mutex<Receiver<Work>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(work) = next else { return };
        work();
    }
}

/// A hash of nothing that is anyone's: a name that is not known takes as long as one that is.
const OF_NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$Zm9yLW5vYm9keS1hdC1hbGw$1nLm0sJ6ZBsB0vKXxGZMO6fK1v3yIrb6y7jO5m0b3mU";

/// The hash of a password, with a salt of its own.
pub async fn hash(password: String) -> Result<String, ApiProblem> {
    let made = on_a_thread(move || Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string()));
    made.await?.map_err(|error| ApiProblem::broken("a password could not be hashed", &error))
}

/// Whether this is the password of the hash; none is the hash of a user who does not exist.
pub async fn is_right(password: String, hash: Option<String>) -> Result<bool, ApiProblem> {
    on_a_thread(move || {
        let is_known = hash.is_some();
        let hash = hash.unwrap_or_else(|| OF_NOBODY.to_owned());
        let Ok(hash) = PasswordHash::new(&hash) else { return false };
        Argon2::default().verify_password(password.as_bytes(), &hash).is_ok() && is_known
    })
    .await
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiProblem> {
    let (done, is_done) = oneshot::channel();
    let work = move || {
        // Who has hung up wants no answer.
        if !done.is_closed() {
            let _ = done.send(work());
        }
    };
    THREADS.try_send(Box::new(work)).map_err(|error| match error {
        TrySendError::Full(_) => busy(),
        TrySendError::Disconnected(_) => ApiProblem::broken("no thread works on passwords", &error),
    })?;
    is_done.await.map_err(|error| ApiProblem::broken("a password's work failed", &error))
}

fn busy() -> ApiProblem {
    let text = Text::new("同时登录的人太多", "too many log in at once");
    ApiProblem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_log_ins", text)
        .hint(Text::new("几秒后重试", "try again in a few seconds"))
}

/// Log-ins that failed too often wait.
pub fn too_many(wait_ms: u64) -> ApiProblem {
    let seconds = wait_ms.div_ceil(1_000);
    let text = Text::new("登录失败次数过多", "too many log-ins have failed");
    ApiProblem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_log_ins", text)
        .hint(Text::new(format!("{seconds} 秒后重试"), format!("try again in {seconds} s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_recognised_and_another_is_not() {
        let kept = hash("correct horse".to_owned()).await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(is_right("correct horse".to_owned(), Some(kept.clone())).await.unwrap());
        assert!(!is_right("correct horsf".to_owned(), Some(kept)).await.unwrap());
        assert!(!is_right("correct horse".to_owned(), None).await.unwrap());
        assert!(PasswordHash::new(OF_NOBODY).is_ok());
    }
}
