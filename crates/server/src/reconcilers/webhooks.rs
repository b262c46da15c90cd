//! Tells webhooks what the event log says, each in its order.
//!
//! A webhook's place in the log is moved when its receiver has taken a delivery: one that was under way when the server died
//! is sent again, under the same id.

use std::collections::HashMap;
use std::time::Duration;

use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::{Task, TaskEnd};
use fermi_domain::webhook::{
    Delivery, DeliveryFacts, Happened, Retry, WebhookState, WebhookTopic, body, retry, webhook_message,
};
use fermi_store::events::{NewEvent, StoredEvent};
use fermi_store::webhooks::KeptWebhook;
use fermi_store::{StoreError, Transaction, View, WriteError};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::access::vault::OtherKey;
use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::webhooks::{self, Letter};

/// Deliveries under way at a time, of all webhooks together.
const MOST_AT_ONCE: usize = 16;
/// Events that are looked at at once.
const BATCH: usize = 64;

pub struct Webhooks {
    core: Core,
    turns: HashMap<String, Turn>,
    under_way: JoinSet<Sent>,
    /// What came back and is not stored yet.
    back: Vec<Sent>,
}

/// Where a webhook stands, beyond what is stored.
#[derive(Default)]
struct Turn {
    is_under_way: bool,
    /// The event of the delivery that failed last, and how often it has.
    failed: u64,
    failures: u32,
    refusals: u32,
    not_before: Option<Instant>,
    /// Up to here there was nothing for it.
    looked: u64,
}

/// A delivery that has come back.
#[derive(Clone)]
struct Sent {
    webhook: String,
    name: String,
    cursor: u64,
    task: TaskId,
    delivery: Delivery,
}

impl Webhooks {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), turns: HashMap::new(), under_way: JoinSet::new(), back: Vec::new() }
    }

    /// One that panicked is sent again, with all that were under way.
    fn came_back(&mut self, sent: Result<Sent, JoinError>) {
        match sent {
            Ok(sent) => self.back.push(sent),
            Err(error) => {
                tracing::error!(%error, "a delivery to a webhook broke off");
                self.reset();
            }
        }
    }

    /// Stores what has become of the deliveries that came back.
    async fn take_back(&mut self) -> Result<(), StoreError> {
        while let Some(sent) = self.back.last().cloned() {
            let turn = self.turns.entry(sent.webhook.clone()).or_default();
            turn.is_under_way = false;
            if turn.failed != sent.cursor {
                (turn.failed, turn.failures, turn.refusals) = (sent.cursor, 0, 0);
            }
            let failed = sent.delivery != Delivery::Taken;
            let failures = turn.failures + u32::from(failed);
            let refusals = turn.refusals + u32::from(matches!(sent.delivery, Delivery::Refused(_)));
            let next = retry(&sent.delivery, failures, refusals);
            let now_ms = self.core.now_ms();
            let stored = self.core.store().write(move |tx| store(tx, &sent, next, now_ms));
            stored.await.map_err(WriteError::<StoreError>::flatten)?;
            match next {
                Retry::Next | Retry::LeaveOut => *turn = Turn { looked: turn.looked, ..Turn::default() },
                Retry::Again { after_ms } => {
                    (turn.failures, turn.refusals) = (failures, refusals);
                    turn.not_before = Some(Instant::now() + Duration::from_millis(after_ms));
                }
            }
            self.back.pop();
        }
        Ok(())
    }

    /// Sends to each webhook what is next for it.
    async fn send(&mut self) -> Result<(), StoreError> {
        let mut hooks = self.core.store().read(|view| view.webhooks()).await?;
        self.turns.retain(|id, turn| turn.is_under_way || hooks.iter().any(|hook| hook.id == *id));
        // Receivers that do not answer come last, or many of them would hold up all others.
        hooks.sort_by_key(|hook| self.turns.get(&hook.id).map_or(0, |turn| turn.failures));
        for hook in hooks {
            let turn = self.turns.entry(hook.id.clone()).or_default();
            let is_due = turn.not_before.is_none_or(|at| Instant::now() >= at);
            if turn.is_under_way || !is_due || self.under_way.len() >= MOST_AT_ONCE {
                continue;
            }
            turn.not_before = None;
            let after = hook.state.told.max(turn.looked);
            let looked_for = hook.clone();
            let found = self.core.store().read(move |view| next_for(view, &looked_for, after)).await?;
            let (looked, next) = found;
            turn.looked = looked;
            let Some((event, topic, task)) = next else { continue };
            turn.is_under_way = true;
            let (core, letter) = (self.core.clone(), letter(&self.core, &hook, &event, topic, &task));
            self.under_way.spawn(async move {
                let delivery = match letter {
                    Ok(letter) => core.webhook_sender().send(letter, core.now_ms()).await,
                    Err(OtherKey) => Delivery::Later(webhooks::sealed_elsewhere()),
                };
                Sent { webhook: hook.id, name: hook.name, cursor: event.cursor, task: task.id, delivery }
            });
        }
        Ok(())
    }
}

impl BackgroundLoop for Webhooks {
    const NAME: &'static str = "webhooks";
    const PERIOD: Duration = Duration::from_secs(5);
    const BREATH: Duration = Duration::from_millis(20);

    async fn woken(&mut self) {
        // Where no more can be sent, the next that comes back is what is waited for.
        let may_send = self.under_way.len() < MOST_AT_ONCE;
        let waiting = self.turns.values().filter(|turn| may_send && !turn.is_under_way);
        let next = waiting.filter_map(|turn| turn.not_before).min();
        let is_due = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.core.bells().webhooks.notified() => {}
            () = is_due => {}
            Some(sent) = self.under_way.join_next() => self.came_back(sent),
        }
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        while let Some(sent) = self.under_way.try_join_next() {
            self.came_back(sent);
        }
        self.take_back().await?;
        self.send().await
    }

    /// What was under way is sent again: twice is better than never.
    fn reset(&mut self) {
        *self = Self::new(&self.core);
    }
}

/// The next event for a webhook with its task, and how far the log has nothing else for it.
type Next = (u64, Option<(StoredEvent, WebhookTopic, Task)>);

fn next_for(view: &View<'_>, hook: &KeptWebhook, mut after: u64) -> Result<Next, StoreError> {
    loop {
        let events = view.events_for_webhooks(after, BATCH)?;
        let is_last = events.len() < BATCH;
        for event in events {
            let topic = WebhookTopic::of_event(&event.event.kind);
            // A task that was deleted meanwhile has nothing left to tell.
            let task = event.event.task.as_ref().map(|id| view.task(id)).transpose()?.flatten();
            // One that was stopped in order to wait again is not over.
            let is_over = !end_of(&event).is_some_and(|end| end.waits_again);
            if let (Some(topic), Some(task)) = (topic.filter(|topic| is_over || *topic != WebhookTopic::Stopped), task)
                && hook.webhook.wants(topic, task.value.owner())
            {
                return Ok((after, Some((event, topic, task.value))));
            }
            after = event.cursor;
        }
        if is_last {
            return Ok((after, None));
        }
    }
}

fn end_of(event: &StoredEvent) -> Option<&TaskEnd> {
    event.event.detail.as_ref()?.end.as_ref()
}

fn letter(
    core: &Core,
    hook: &KeptWebhook,
    event: &StoredEvent,
    topic: WebhookTopic,
    task: &Task,
) -> Result<Letter, OtherKey> {
    let webhook = core.vault().open_webhook(hook)?;
    let link = core.public_url().map(|url| format!("{url}/training/{}", task.id));
    let NewEvent { text, time_ms, .. } = &event.event;
    // An event of an older release does not say how the task ended: as the task is now, then.
    let now = TaskEnd::of(task);
    let end = end_of(event).or((topic != WebhookTopic::Waiting).then_some(&now));
    let happened = Happened { topic, time_ms: *time_ms, text, end };
    let message = webhook_message(happened, task, link.as_deref());
    let id = format!("{}-{}", hook.id, event.cursor);
    let facts = DeliveryFacts::of_task(id.clone(), happened, task, link);
    let body = body(webhook.format, &message, &facts, webhook.language);
    Ok(Letter { webhook, id, event: facts.event, body })
}

/// Moves the webhook on, and tells of it: each delivery, the first failure of several, and what is left out.
fn store(tx: &mut Transaction<'_>, sent: &Sent, next: Retry, now_ms: u64) -> Result<(), StoreError> {
    let Sent { webhook, name, cursor, task, delivery } = sent;
    let turned = tx.turn_webhook(webhook, |state| turn(state, delivery, next, *cursor, now_ms))?;
    let Some(before) = turned else { return Ok(()) };
    let (kind, text) = match (delivery, next) {
        (Delivery::Taken, _) => (
            "webhook.delivered",
            Text::new(format!("已通知 webhook“{name}”"), format!("the webhook '{name}' was told")),
        ),
        (Delivery::Refused(reason) | Delivery::Later(reason), Retry::LeaveOut) => (
            "webhook.left_out",
            Text::new(
                format!("webhook“{name}”多次拒绝此通知，已跳过：{}", reason.zh),
                format!("the webhook '{name}' refused this again and again, it is left out: {}", reason.en),
            ),
        ),
        (Delivery::Refused(reason) | Delivery::Later(reason), _) if before.failing_since_ms.is_none() => (
            "webhook.failing",
            Text::new(
                format!("未能通知 webhook“{name}”，将继续尝试：{}", reason.zh),
                format!("the webhook '{name}' could not be told and is tried again: {}", reason.en),
            ),
        ),
        _ => return Ok(()),
    };
    tx.append_event(NewEvent::new(now_ms, kind, text, Principal::System).about_task(task)).map(|_| ())
}

fn turn(state: &mut WebhookState, delivery: &Delivery, next: Retry, cursor: u64, now_ms: u64) {
    match (delivery, next) {
        (Delivery::Taken, _) => {
            state.delivered += 1;
            state.delivered_ms = Some(now_ms);
            (state.failing_since_ms, state.problem) = (None, None);
        }
        (Delivery::Refused(reason) | Delivery::Later(reason), _) => {
            state.failing_since_ms.get_or_insert(now_ms);
            state.problem = Some(reason.clone());
            state.left_out += u64::from(next == Retry::LeaveOut);
        }
    }
    if !matches!(next, Retry::Again { .. }) {
        state.told = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_moves_on_when_a_delivery_is_done_with() {
        let mut state = WebhookState { told: 5, ..WebhookState::default() };
        let reason = Text::new("忙", "busy");
        turn(&mut state, &Delivery::Later(reason.clone()), Retry::Again { after_ms: 1 }, 9, 100);
        assert_eq!((state.told, state.failing_since_ms, state.problem.clone()), (5, Some(100), Some(reason.clone())));
        turn(&mut state, &Delivery::Refused(reason), Retry::LeaveOut, 9, 200);
        assert_eq!((state.told, state.failing_since_ms, state.left_out), (9, Some(100), 1));
        turn(&mut state, &Delivery::Taken, Retry::Next, 12, 300);
        assert_eq!((state.told, state.failing_since_ms, state.delivered, state.delivered_ms), (12, None, 1, Some(300)));
        assert_eq!(state.problem, None);
    }
}
