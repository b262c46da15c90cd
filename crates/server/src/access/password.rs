//! Passwords: argon2id, on threads of their own and a few at a time, so that a flood of log-ins takes neither the memory nor
//! the threads of those who are logged in.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use axum::http::StatusCode;
use fermi_domain::language::Text;
use tokio::sync::oneshot;

use crate::envelope::ApiProblem;

/// Each takes 19 MiB, which its thread keeps for the next one: blocks of that size that are allocated and given back for each
/// log-in leave holes in the heap that small things fill, and the server grows with every flood.
const AT_ONCE: usize = 2;
/// So many wait for them; who comes then is asked to come again.
const MOST_WAITING: usize = 32;

/// What a thread works in.
type Room = Vec<Block>;
type Work = Box<dyn FnOnce(&mut Room) + Send>;

static THREADS: Mutex<Option<SyncSender<Work>>> = Mutex::new(None);

/// The way to the threads, which start with the first password. Where the machine has none to spare, the next one tries again.
fn threads() -> io::Result<SyncSender<Work>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(work) = &*threads {
        return Ok(work.clone());
    }
    let (work, waiting) = sync_channel::<Work>(MOST_WAITING);
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..AT_ONCE {
        let waiting = waiting.clone();
        thread::Builder::new().name("password".into()).spawn(move || work_off(&waiting))?;
    }
    Ok(threads.insert(work).clone())
}

fn work_off(waiting: &Mutex<Receiver<Work>>) {
    let mut room = Room::new();
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(work) = next else { return };
        work(&mut room);
    }
}

/// A hash of nothing that is anyone's: a name that is not known takes as long as one that is.
const OF_NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$Zm9yLW5vYm9keS1hdC1hbGw$1nLm0sJ6ZBsB0vKXxGZMO6fK1v3yIrb6y7jO5m0b3mU";

/// The hash of a password, with a salt of its own.
pub async fn hash(password: String) -> Result<String, ApiProblem> {
    let made = on_a_thread(move |room| make(password.as_bytes(), room));
    made.await?.map_err(|error| ApiProblem::broken("a password could not be hashed", &error))
}

/// Whether this is the password of the hash; none is the hash of a user who does not exist.
pub async fn is_right(password: String, hash: Option<String>) -> Result<bool, ApiProblem> {
    on_a_thread(move |room| {
        let is_known = hash.is_some();
        let hash = hash.unwrap_or_else(|| OF_NOBODY.to_owned());
        let Ok(hash) = PasswordHash::new(&hash) else { return false };
        is_of(password.as_bytes(), &hash, room).unwrap_or(false) && is_known
    })
    .await
}

fn make(password: &[u8], room: &mut Room) -> argon2::password_hash::Result<String> {
    let salt = Salt::generate();
    let params = Params::DEFAULT;
    let (algorithm, version) = (Algorithm::default(), Version::default());
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    fill(&Argon2::new(algorithm, version, params.clone()), password, &salt, &mut output, room)?;
    let hash = PasswordHash {
        algorithm: algorithm.ident(),
        version: Some(version.into()),
        params: ParamsString::try_from(&params)?,
        salt: Some(salt),
        hash: Some(Output::new(&output)?),
    };
    Ok(hash.to_string())
}

fn is_of(password: &[u8], hash: &PasswordHash, room: &mut Room) -> argon2::password_hash::Result<bool> {
    let (Some(salt), Some(kept)) = (&hash.salt, &hash.hash) else { return Ok(false) };
    let version = hash.version.map_or(Ok(Version::default()), Version::try_from)?;
    let argon2 = Argon2::new(Algorithm::try_from(hash.algorithm.as_str())?, version, Params::try_from(hash)?);
    let mut output = [0; Output::MAX_LENGTH];
    let output = &mut output[..kept.len()];
    fill(&argon2, password, salt, output, room)?;
    // Compares in the same time whatever they hold.
    Ok(Output::new(output)? == *kept)
}

fn fill(argon2: &Argon2<'_>, password: &[u8], salt: &[u8], output: &mut [u8], room: &mut Room) -> argon2::Result<()> {
    let blocks = argon2.params().block_count();
    if room.len() < blocks {
        room.resize(blocks, Block::new());
    }
    argon2.hash_password_into_with_memory(password, salt, output, &mut room[..blocks])
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce(&mut Room) -> T + Send + 'static) -> Result<T, ApiProblem> {
    let (done, is_done) = oneshot::channel();
    let work = move |room: &mut Room| {
        // Who has hung up wants no answer.
        if !done.is_closed() {
            let _ = done.send(work(room));
        }
    };
    let threads = threads().map_err(|error| ApiProblem::broken("no thread can be had for a password", &error))?;
    threads.try_send(Box::new(work)).map_err(|error| match error {
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

    #[tokio::test]
    async fn hashes_that_were_made_before_are_recognised() {
        // Of the reference implementation; they need less room than the usual, two lanes, and more room.
        for kept in [
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
            "$argon2id$v=19$m=65536,t=1,p=1$c29tZXNhbHQ$9qWtwbpyPd3vm1rB1GThgPzZ3/ydHL92zKL+15XZypg",
        ] {
            assert!(is_right("password".to_owned(), Some(kept.to_owned())).await.unwrap(), "{kept}");
            assert!(!is_right("passwore".to_owned(), Some(kept.to_owned())).await.unwrap(), "{kept}");
        }
    }
}
