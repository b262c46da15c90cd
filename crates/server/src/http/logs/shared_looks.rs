//! What the followers of one task see alike is read once and written once, however many they are.
//!
//! Whenever streams have grown a new turn begins. The first look of a turn lists the streams; every other look of it ends at
//! the same lengths, so that followers who have once seen all stand at the same places, ask the same in the next turn, and
//! share its answer.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use fermi_domain::language::Language;
use fermi_store::chunks::StreamName;
use tokio::sync::OnceCell;

use super::selection::Selection;
use crate::http::stream_format::StreamFormat;

/// How far each stream has been sent.
pub type StreamPlaces = BTreeMap<StreamName, u64>;
/// The streams of a task with their lengths.
pub type Lengths = Arc<Vec<(StreamName, u64)>>;

/// Different questions of one turn whose answers are kept for others; who asks more has an answer of its own.
const MOST_LOOKS: usize = 16;
/// Larger answers are not kept: those go to who catches up, alone.
const LARGEST_KEPT: usize = 128 << 10;

/// What a follower asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    pub selection: Selection,
    /// None for the bare bytes.
    pub format: Option<StreamFormat>,
    pub language: Language,
    pub places: Arc<StreamPlaces>,
}

/// What there was.
#[derive(Clone, Debug)]
pub struct Looked {
    pub places: Arc<StreamPlaces>,
    /// As it goes out; nothing where there is nothing new.
    pub bytes: Bytes,
}

type Cell<T> = Arc<OnceCell<T>>;

/// The looks at the streams of one task.
#[derive(Debug, Default)]
pub struct SharedLooks(Mutex<Turn>);

#[derive(Debug, Default)]
struct Turn {
    number: u64,
    lengths: Cell<Lengths>,
    looks: HashMap<Asked, Cell<Looked>>,
}

impl SharedLooks {
    /// Answers what is asked in a turn: `list` lists the streams, `look` reads up to these lengths. Both are called once for
    /// all who ask the same.
    pub async fn take<Listed, Answered>(
        &self,
        turn: u64,
        asked: &Asked,
        list: impl FnOnce() -> Listed,
        look: impl FnOnce(Lengths) -> Answered,
    ) -> io::Result<Looked>
    where
        Listed: Future<Output = io::Result<Lengths>>,
        Answered: Future<Output = io::Result<Looked>>,
    {
        let (number, lengths, cell) = self.cells(turn, asked);
        let looked = cell.get_or_try_init(|| async {
            let lengths = lengths.get_or_try_init(list).await?.clone();
            look(lengths).await
        });
        let looked = looked.await?.clone();
        if looked.bytes.len() > LARGEST_KEPT {
            let mut turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if turn.number == number {
                turn.looks.remove(asked);
            }
        }
        Ok(looked)
    }

    /// Where the answers of a turn are; a follower that is behind joins the present one.
    fn cells(&self, number: u64, asked: &Asked) -> (u64, Cell<Lengths>, Cell<Looked>) {
        let mut turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if number > turn.number {
            *turn = Turn { number, ..Turn::default() };
        }
        let cell = match turn.looks.get(asked) {
            Some(cell) => cell.clone(),
            None => {
                let cell = Cell::default();
                if turn.looks.len() < MOST_LOOKS {
                    turn.looks.insert(asked.clone(), cell.clone());
                }
                cell
            }
        };
        (turn.number, turn.lengths.clone(), cell)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use fermi_domain::ids::TaskId;
    use fermi_store::chunks::StreamKind;

    use super::*;

    fn name() -> StreamName {
        StreamName { task: TaskId::from("task-1"), attempt: 1, rank: 0, kind: StreamKind::Stdout }
    }

    fn asked(place: u64) -> Asked {
        let selection = Selection { task: TaskId::from("task-1"), rank: None, kind: None, attempt: None };
        let places = Arc::new(StreamPlaces::from([(name(), place)]));
        Asked { selection, format: Some(StreamFormat::Sse), language: Language::En, places }
    }

    /// A stream that grows while followers look at it, and how often it was listed and read.
    #[derive(Default)]
    struct Growing {
        looks: SharedLooks,
        length: AtomicU64,
        listed: AtomicU64,
        read: AtomicU64,
    }

    impl Growing {
        async fn follow(&self, turn: u64, place: u64) -> u64 {
            let list = || async {
                self.listed.fetch_add(1, Relaxed);
                Ok(Lengths::new(vec![(name(), self.length.load(Relaxed))]))
            };
            let look = |lengths: Lengths| async move {
                self.read.fetch_add(1, Relaxed);
                tokio::task::yield_now().await;
                let bytes = Bytes::from(vec![b'x'; (lengths[0].1 - place) as usize]);
                Ok(Looked { places: Arc::new(StreamPlaces::from([(name(), lengths[0].1)])), bytes })
            };
            let looked = self.looks.take(turn, &asked(place), list, look).await.unwrap();
            place + looked.bytes.len() as u64
        }
    }

    #[tokio::test]
    async fn followers_at_the_same_place_share_one_look_and_others_end_where_it_ends() {
        let stream = Growing::default();
        stream.length.store(10, Relaxed);
        let first = futures_util::future::join_all((0..100).map(|_| stream.follow(1, 0))).await;
        assert!(first.iter().all(|place| *place == 10));
        assert_eq!((stream.listed.load(Relaxed), stream.read.load(Relaxed)), (1, 1));
        // It has grown since the turn began: who is elsewhere reads for itself, up to where the others are.
        stream.length.store(15, Relaxed);
        assert_eq!(stream.follow(1, 4).await, 10);
        assert_eq!(stream.read.load(Relaxed), 2);
        // From now on they are together.
        assert_eq!((stream.follow(2, 10).await, stream.follow(2, 10).await), (15, 15));
        assert_eq!((stream.listed.load(Relaxed), stream.read.load(Relaxed)), (2, 3));
    }

    #[tokio::test]
    async fn who_is_behind_joins_the_present_turn() {
        let stream = Growing::default();
        stream.length.store(10, Relaxed);
        stream.follow(7, 0).await;
        assert_eq!(stream.follow(6, 0).await, 10);
        assert_eq!(stream.read.load(Relaxed), 1);
    }

    #[tokio::test]
    async fn what_is_kept_has_a_bound() {
        let stream = Growing::default();
        stream.length.store(1 << 20, Relaxed);
        for place in 0..100 {
            stream.follow(1, (1 << 20) - place).await;
        }
        assert_eq!(stream.looks.0.lock().unwrap().looks.len(), MOST_LOOKS);
        let stream = Growing { length: AtomicU64::new(1 << 20), ..Growing::default() };
        stream.follow(1, 0).await;
        assert_eq!(stream.looks.0.lock().unwrap().looks.len(), 0, "a large one is not kept");
    }

    #[tokio::test]
    async fn a_look_that_fails_is_tried_by_the_next() {
        let looks = SharedLooks::default();
        let fails = || async { Err(io::Error::other("the disk")) };
        let unread = |_: Lengths| async { Err(io::Error::other("not reached")) };
        assert!(looks.take(1, &asked(0), fails, unread).await.is_err());
        let list = || async { Ok(Lengths::new(Vec::new())) };
        let look = |_: Lengths| async { Ok(Looked { places: Arc::default(), bytes: Bytes::from_static(b"x") }) };
        assert_eq!(looks.take(1, &asked(0), list, look).await.unwrap().bytes.len(), 1);
    }
}
