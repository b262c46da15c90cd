//! Tells followers what is new. Each event is written once, however many listen, and only those are woken who asked for
//! that task.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use fermi_api::v1;
use fermi_domain::ids::TaskId;
use fermi_store::StoreError;
use fermi_store::events::StoredEvent;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};
use tokio::sync::watch;

use super::logs::SharedLooks;
use crate::background::{self, BackgroundLoop};
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

/// An event as it goes out, in both formats.
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
pub enum FanOutNews {
    Events(Arc<[Frame]>),
    /// Something was missed: look into the table.
    Missed,
}

/// Everybody who listens, and what wakes them.
#[derive(Debug, Default)]
pub struct FanOut {
    topics: Mutex<HashMap<Topic, broadcast::Sender<FanOutNews>>>,
    logs: Mutex<HashMap<TaskId, LogTopic>>,
    followers: AtomicU64,
}

/// The logs of a task that is followed.
#[derive(Debug)]
struct LogTopic {
    /// The turn: counts how often they have grown.
    grown: watch::Sender<u64>,
    looks: Arc<SharedLooks>,
}

impl LogTopic {
    /// Wakes the followers; false where there are none.
    fn grow(&self) -> bool {
        self.grown.send_modify(|count| *count += 1);
        self.grown.receiver_count() > 0
    }
}

/// Counts a follower for as long as it is held.
#[derive(Debug)]
pub struct FollowerCount(Arc<FanOut>);

impl Drop for FollowerCount {
    /// Hold it behind the receivers, so that they are gone when this goes: then some topics have no follower left.
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Relaxed);
        self.0.topics().retain(|_, sender| sender.receiver_count() > 0);
        self.0.logs.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, logs| logs.grown.receiver_count() > 0);
    }
}

impl FanOut {
    /// Starts the loops that tell them, until the server ends.
    pub fn start(core: &Core) -> Arc<Self> {
        let fan_out = Arc::new(Self::default());
        background::start(core, EventFanOut::new(core, &fan_out));
        background::start(core, LogFanOut::new(core, &fan_out));
        fan_out
    }

    pub fn followers(&self) -> u64 {
        self.followers.load(Relaxed)
    }

    pub fn count(self: &Arc<Self>) -> FollowerCount {
        self.followers.fetch_add(1, Relaxed);
        FollowerCount(self.clone())
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<Topic, broadcast::Sender<FanOutNews>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events from now on.
    pub fn listen(&self, topic: Topic) -> broadcast::Receiver<FanOutNews> {
        self.topics().entry(topic).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// Changes whenever the streams of a task have grown; and the looks that its followers share.
    pub fn watch_logs(&self, task: &TaskId) -> (watch::Receiver<u64>, Arc<SharedLooks>) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        // The first turn is a number of its own: nothing has been looked at before.
        let begin = || LogTopic { grown: watch::channel(1).0, looks: Arc::default() };
        let topic = logs.entry(task.clone()).or_insert_with(begin);
        (topic.grown.subscribe(), topic.looks.clone())
    }

    fn say(&self, topic: Topic, frames: Vec<Frame>) {
        let mut topics = self.topics();
        if let Some(sender) = topics.get(&topic)
            && sender.send(FanOutNews::Events(frames.into())).is_err()
        {
            // The last one has left.
            topics.remove(&topic);
        }
    }

    fn say_missed(&self) {
        self.topics().retain(|_, sender| sender.send(FanOutNews::Missed).is_ok());
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

/// Tells those who follow events.
pub struct EventFanOut {
    fan_out: Arc<FanOut>,
    events: broadcast::Receiver<Arc<StoredEvent>>,
    batch: Vec<Arc<StoredEvent>>,
    has_missed: bool,
}

impl EventFanOut {
    pub fn new(core: &Core, fan_out: &Arc<FanOut>) -> Self {
        let events = core.store().subscribe();
        Self { fan_out: fan_out.clone(), events, batch: Vec::new(), has_missed: false }
    }

    fn take(&mut self, event: Result<Arc<StoredEvent>, RecvError>) {
        match event {
            Ok(event) => self.batch.push(event),
            Err(RecvError::Lagged(_)) => self.has_missed = true,
            // The store is closed, and the server ends.
            Err(RecvError::Closed) => {}
        }
    }
}

impl BackgroundLoop for EventFanOut {
    const NAME: &'static str = "event fan-out";
    const PERIOD: Duration = Duration::from_secs(10);

    async fn woken(&mut self) {
        match self.events.recv().await {
            // Nothing will come any more; the loop ends with the server.
            Err(RecvError::Closed) => pending().await,
            event => self.take(event),
        }
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        while self.batch.len() < BATCH {
            match self.events.try_recv() {
                Ok(event) => self.take(Ok(event)),
                // What comes after the gap is still in the channel.
                Err(TryRecvError::Lagged(count)) => self.take(Err(RecvError::Lagged(count))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if std::mem::take(&mut self.has_missed) {
            self.fan_out.say_missed();
        }
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.fan_out.tell(&batch);
        }
        Ok(())
    }

    /// What the run before held may have been told to some: all look into the table.
    fn reset(&mut self) {
        self.batch.clear();
        self.has_missed = true;
    }
}

/// Wakes those who follow logs.
pub struct LogFanOut {
    fan_out: Arc<FanOut>,
    grown: broadcast::Receiver<TaskId>,
    tasks: HashSet<TaskId>,
    has_missed: bool,
}

impl LogFanOut {
    pub fn new(core: &Core, fan_out: &Arc<FanOut>) -> Self {
        Self { fan_out: fan_out.clone(), grown: core.logs_grown(), tasks: HashSet::new(), has_missed: false }
    }

    /// What has come since the last run.
    fn take_waiting(&mut self) {
        loop {
            match self.grown.try_recv() {
                Ok(task) => {
                    self.tasks.insert(task);
                }
                Err(TryRecvError::Lagged(_)) => self.has_missed = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }
}

impl BackgroundLoop for LogFanOut {
    const NAME: &'static str = "log fan-out";
    const PERIOD: Duration = Duration::from_secs(10);
    /// Followers are woken four times a second at most, however many ranks write.
    const BREATH: Duration = Duration::from_millis(250);

    async fn woken(&mut self) {
        match self.grown.recv().await {
            Ok(task) => {
                self.tasks.insert(task);
            }
            Err(RecvError::Lagged(_)) => self.has_missed = true,
            Err(RecvError::Closed) => pending().await,
        }
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        self.take_waiting();
        let mut logs = self.fan_out.logs.lock().unwrap_or_else(PoisonError::into_inner);
        for task in self.tasks.drain() {
            if logs.get(&task).is_some_and(|topic| !topic.grow()) {
                logs.remove(&task);
            }
        }
        if std::mem::take(&mut self.has_missed) {
            logs.retain(|_, topic| topic.grow());
        }
        Ok(())
    }

    /// Whom the run before has woken is not known: everybody is.
    fn reset(&mut self) {
        self.has_missed = true;
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
        detail: event.detail.clone(),
        principal: event.principal.as_ref().map(v1::Principal::from),
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Text;
    use fermi_domain::principal::Principal;
    use fermi_store::events::NewEvent;

    use super::*;

    fn stored(cursor: u64) -> Arc<StoredEvent> {
        let event = NewEvent::new(1, "task.note", Text::new("甲", "a"), Principal::System);
        Arc::new(StoredEvent { cursor, event })
    }

    #[tokio::test]
    async fn a_gap_between_two_events_of_one_batch_is_told_to_followers() {
        let (sender, events) = broadcast::channel(2);
        let fan_out = Arc::new(FanOut::default());
        let mut follower = fan_out.listen(Topic::Everything);
        let mut work = EventFanOut { fan_out, events, batch: Vec::new(), has_missed: false };
        sender.send(stored(1)).unwrap();
        work.woken().await;
        for cursor in 2..=5 {
            sender.send(stored(cursor)).unwrap();
        }
        work.run().await.unwrap();
        assert!(matches!(follower.try_recv().unwrap(), FanOutNews::Missed));
        let FanOutNews::Events(frames) = follower.try_recv().unwrap() else { panic!("events follow the gap") };
        assert_eq!(frames.iter().map(|frame| frame.cursor).collect::<Vec<_>>(), [1, 4, 5]);
    }
}
