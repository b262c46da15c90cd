//! What the supervisors of one launch must know to talk to each other.

use data_encoding::HEXLOWER;
use fermi_domain::task::{SecretScheme, Task};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The secret of a task's present generation, as the task's scheme makes it from the server's own. The scheme is kept with
/// the task, so that it is the same for all nodes of a generation, whichever release of the server answers them.
pub fn of(server_secret: &str, task: &Task) -> String {
    match task.secret_scheme {
        SecretScheme::Sha256 => {
            HEXLOWER.encode(&Sha256::digest(format!("{server_secret}/{}/{}", task.id, task.generation)))
        }
        SecretScheme::HmacSha256 => {
            // A key of any length is taken.
            let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(server_secret.as_bytes()) else { return String::new() };
            mac.update(format!("run/{}/{}", task.id, task.generation).as_bytes());
            HEXLOWER.encode(&mac.finalize().into_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(scheme: SecretScheme) -> Task {
        let spec = serde_json::json!({"name": "x", "work": {"kind": "builtin"}, "distributed": {"enabled": false, "nodeIds": []}});
        let mut task = Task::new("task-1".into(), serde_json::from_value(spec).unwrap(), 0);
        task.generation.0 = 2;
        task.secret_scheme = scheme;
        task
    }

    #[test]
    fn a_generation_of_an_older_release_keeps_its_secret() {
        let before = HEXLOWER.encode(&Sha256::digest("key/task-1/2"));
        assert_eq!(of("key", &task(SecretScheme::Sha256)), before);
        let stored =
            serde_json::to_string(&task(SecretScheme::Sha256)).unwrap().replace("\"secretScheme\":\"sha256\",", "");
        let read: Task = serde_json::from_str(&stored).unwrap();
        assert_eq!(of("key", &read), before);
    }

    #[test]
    fn secrets_differ_by_key_task_and_generation() {
        let one = task(SecretScheme::HmacSha256);
        let mut other = one.clone();
        other.generation.0 = 3;
        assert_eq!(of("key", &one).len(), 64);
        assert_ne!(of("key", &one), of("key", &other));
        assert_ne!(of("key", &one), of("yek", &one));
    }
}
