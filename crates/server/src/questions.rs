//! What was asked of agents and is not answered yet: stacks, probes, parts in preflights.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

/// Those who wait, by what they have asked. An answer goes to all who wait for it.
#[derive(Debug)]
pub struct Questions<K, A>(Arc<Mutex<Waiting<K, A>>>);

#[derive(Debug)]
struct Waiting<K, A> {
    next: u64,
    listeners: HashMap<K, Vec<(u64, mpsc::Sender<A>)>>,
}

/// Somebody waits; nobody does any more when it is dropped.
#[derive(Debug)]
pub struct Question<K: Eq + Hash, A> {
    about: K,
    number: u64,
    questions: Questions<K, A>,
}

/// A question with its one answer.
#[derive(Debug)]
pub struct Asked<K: Eq + Hash, A> {
    answer: mpsc::Receiver<A>,
    _question: Question<K, A>,
}

impl<K, A> Default for Questions<K, A> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Waiting { next: 0, listeners: HashMap::new() })))
    }
}

impl<K, A> Clone for Questions<K, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, A> Questions<K, A> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<K, A>> {
        // Nothing is left half done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash, A: Clone> Questions<K, A> {
    /// Listens to every answer.
    pub fn listen(&self, about: K, listener: mpsc::Sender<A>) -> Question<K, A> {
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.listeners.entry(about.clone()).or_default().push((number, listener));
        Question { about, number, questions: self.clone() }
    }

    /// Waits for one answer.
    pub fn ask(&self, about: K) -> Asked<K, A> {
        let (listener, answer) = mpsc::channel(1);
        Asked { answer, _question: self.listen(about, listener) }
    }

    /// More than a listener takes is dropped.
    pub fn answer(&self, about: &K, answer: &A) {
        for (_, listener) in self.waiting().listeners.get(about).into_iter().flatten() {
            let _ = listener.try_send(answer.clone());
        }
    }

    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.waiting().listeners.len()
    }
}

impl<K: Eq + Hash, A> Question<K, A> {
    pub fn about(&self) -> &K {
        &self.about
    }
}

impl<K: Eq + Hash, A> Drop for Question<K, A> {
    fn drop(&mut self) {
        let mut waiting = self.questions.waiting();
        if let Some(listeners) = waiting.listeners.get_mut(&self.about) {
            listeners.retain(|(number, _)| *number != self.number);
            if listeners.is_empty() {
                waiting.listeners.remove(&self.about);
            }
        }
    }
}

impl<K: Eq + Hash, A> Asked<K, A> {
    pub async fn answer(&mut self) -> Option<A> {
        self.answer.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_goes_to_all_who_wait_and_nobody_is_remembered() {
        let questions: Questions<&str, u32> = Questions::default();
        let (mut first, mut second, mut other) = (questions.ask("a"), questions.ask("a"), questions.ask("b"));
        questions.answer(&"a", &7);
        assert_eq!((first.answer().await, second.answer().await), (Some(7), Some(7)));
        drop(first);
        questions.answer(&"a", &8);
        assert_eq!(second.answer().await, Some(8), "the other one who waits is not forgotten with it");
        assert_eq!(questions.open(), 2);
        drop(second);
        assert_eq!(questions.open(), 1);
        questions.answer(&"b", &9);
        assert_eq!(other.answer().await, Some(9));
        drop(other);
        assert_eq!(questions.open(), 0);
    }
}
