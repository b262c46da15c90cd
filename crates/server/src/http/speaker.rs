//! Tells followers what is new. Each event is written once, however many listen, and only those are woken who asked for
//! that task.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use fermi_api::v1;
use fermi_domain::ids::TaskId;
use fermi_store::events::StoredEvent;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use crate::core::Core;

/// How many batches a follower may lag behind before it reads from the table again.
const BACKLOG: usize = 256;
/// How many events go into one batch.
const BATCH: usize = 256;

/// What a follower listens to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    Everything,
    Task(TaskId),
}

/// An event as it goes out, in both dresses.
#[derive(Clone, Debug)]
pub struct Frame {
    pub cursor: u64,
    pub kind: Arc<str>,
    pub environment: Option<Arc<str>>,
    /// For an event stream.
    pub sse: Bytes,
    /// For lines of JSON.
    pub line: Bytes,
}

/// What a follower hears.
#[derive(Clone, Debug)]
pub enum News {
    Events(Arc<[Frame]>),
    /// Something was missed: look into the table.
    Missed,
}

/// Everybody who listens.
#[derive(Debug, Default)]
pub struct Speaker {
    topics: Mutex<HashMap<Topic, broadcast::Sender<News>>>,
    logs: Mutex<HashMap<TaskId, watch::Sender<u64>>>,
    followers: AtomicU64,
}

/// Counts a follower for as long as it is held.
#[derive(Debug)]
pub struct Following(Arc<Speaker>);

impl Drop for Following {
    /// Hold it behind the receivers, so that they are gone when this goes: then nobody is left for some topics.
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Relaxed);
        self.0.topics().retain(|_, sender| sender.receiver_count() > 0);
        self.0.logs.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, sender| sender.receiver_count() > 0);
    }
}

impl Speaker {
    /// Begins to speak, until the server ends.
    pub fn start(core: &Core) -> Arc<Self> {
        let speaker = Arc::new(Self::default());
        let (events, logs) = (core.store().subscribe(), core.logs_grown());
        tokio::spawn(speak(core.clone(), speaker.clone(), events));
        tokio::spawn(tell_growth(core.clone(), speaker.clone(), logs));
        speaker
    }

    pub fn followers(&self) -> u64 {
        self.followers.load(Relaxed)
    }

    pub fn count(self: &Arc<Self>) -> Following {
        self.followers.fetch_add(1, Relaxed);
        Following(self.clone())
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<Topic, broadcast::Sender<News>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events from now on.
    pub fn listen(&self, topic: Topic) -> broadcast::Receiver<News> {
        self.topics().entry(topic).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// Changes whenever the streams of a task have grown.
    pub fn watch_logs(&self, task: &TaskId) -> watch::Receiver<u64> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.entry(task.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    fn say(&self, topic: Topic, frames: Vec<Frame>) {
        let mut topics = self.topics();
        if let Some(sender) = topics.get(&topic)
            && sender.send(News::Events(frames.into())).is_err()
        {
            // The last one has left.
            topics.remove(&topic);
        }
    }

    fn say_missed(&self) {
        self.topics().retain(|_, sender| sender.send(News::Missed).is_ok());
    }

    fn tell(&self, events: &[Arc<StoredEvent>]) {
        let wanted: Vec<(Topic, Vec<&Arc<StoredEvent>>)> = {
            let topics = self.topics();
            let mut wanted: HashMap<Topic, Vec<&Arc<StoredEvent>>> = HashMap::new();
            for event in events {
                if topics.contains_key(&Topic::Everything) {
                    wanted.entry(Topic::Everything).or_default().push(event);
                }
                if let Some(topic) = event.event.task.clone().map(Topic::Task)
                    && topics.contains_key(&topic)
                {
                    wanted.entry(topic).or_default().push(event);
                }
            }
            wanted.into_iter().collect()
        };
        let mut written: HashMap<u64, Frame> = HashMap::new();
        for (topic, events) in wanted {
            let frames =
                events.into_iter().map(|event| written.entry(event.cursor).or_insert_with(|| Frame::of(event)).clone());
            self.say(topic, frames.collect());
        }
    }
}

async fn speak(core: Core, speaker: Arc<Speaker>, mut events: broadcast::Receiver<Arc<StoredEvent>>) {
    loop {
        let first = tokio::select! {
            () = core.ended() => return,
            event = events.recv() => event,
        };
        match first {
            Ok(first) => {
                let mut batch = vec![first];
                while batch.len() < BATCH
                    && let Ok(event) = events.try_recv()
                {
                    batch.push(event);
                }
                speaker.tell(&batch);
            }
            Err(RecvError::Lagged(_)) => speaker.say_missed(),
            Err(RecvError::Closed) => return,
        }
    }
}

async fn tell_growth(core: Core, speaker: Arc<Speaker>, mut grown: broadcast::Receiver<TaskId>) {
    loop {
        let news = tokio::select! {
            () = core.ended() => return,
            news = grown.recv() => news,
        };
        let mut logs = speaker.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let bump = |sender: &watch::Sender<u64>| {
            sender.send_modify(|count| *count += 1);
            sender.receiver_count() > 0
        };
        match news {
            Ok(task) => {
                if logs.get(&task).is_some_and(|sender| !bump(sender)) {
                    logs.remove(&task);
                }
            }
            Err(RecvError::Lagged(_)) => logs.retain(|_, sender| bump(sender)),
            Err(RecvError::Closed) => return,
        }
    }
}

impl Frame {
    pub fn of(stored: &StoredEvent) -> Self {
        let event = event(stored);
        // Texts and numbers can always be written.
        let json = serde_json::to_string(&event).unwrap_or_default();
        Self {
            cursor: stored.cursor,
            kind: stored.event.kind.as_str().into(),
            environment: stored.event.environment.as_ref().map(|environment| environment.as_str().into()),
            sse: format!("id: {}\ndata: {json}\n\n", stored.cursor).into(),
            line: format!("{json}\n").into(),
        }
    }
}

/// An event as it is answered.
pub fn event(stored: &StoredEvent) -> v1::Event {
    let event = &stored.event;
    let task_id = event.task.as_ref().map(ToString::to_string);
    let environment_id = event.environment.as_ref().map(ToString::to_string);
    v1::Event {
        cursor: stored.cursor.to_string(),
        time: event.time_ms,
        kind: event.kind.clone(),
        subject: task_id.clone().or_else(|| environment_id.clone()).unwrap_or_default(),
        task_id,
        environment_id,
        attempt: event.attempt,
        rank: event.rank,
        text: event.text.clone(),
        detail: event.data.clone(),
    }
}
