//! Asks agents and listens to them, as the course says.

use std::collections::HashMap;
use std::time::Duration;

use fermi_api::link::ABILITY_INTERFACE;
use fermi_domain::finding::{FindingCounts, FindingState};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::preflight::{CourseEffect, InterfaceDecision};
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, WriteError};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::KeptPreflight;
use crate::core::Core;
use crate::hub::{AskedPart, PreflightListener};

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What nodes say and is not heard yet.
const WAITING_NEWS: usize = 1_024;

pub async fn to_its_end(core: &Core, kept: &KeptPreflight, effects: Vec<CourseEffect>) {
    let (listener, mut heard) = mpsc::channel(WAITING_NEWS);
    let environments: Vec<EnvironmentId> = kept.course().nodes().map(|(node, _)| node.environment.clone()).collect();
    let mut driver = Driver { core, kept, environments, listener, asked: HashMap::new() };
    driver.carry_out(effects);
    let mut clock = interval(LOOK_EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while kept.course().ended_ms().is_none() {
        tokio::select! {
            news = heard.recv() => {
                let Some((number, news)) = news else { break };
                if let Some(node) = driver.node_of(number) {
                    let effects = kept.course().heard(node, news, core.now_ms());
                    driver.carry_out(effects);
                }
            }
            _ = clock.tick() => driver.look(),
            () = core.ended() => return,
        }
    }
    driver.end_all();
    note_end(core, kept).await;
}

struct Driver<'a> {
    core: &'a Core,
    kept: &'a KeptPreflight,
    environments: Vec<EnvironmentId>,
    listener: PreflightListener,
    asked: HashMap<usize, AskedPart>,
}

impl Driver<'_> {
    fn node_of(&self, number: u64) -> Option<usize> {
        self.asked.iter().find(|(_, asked)| asked.number == number).map(|(node, _)| *node)
    }

    fn carry_out(&mut self, effects: Vec<CourseEffect>) {
        let mut next = effects;
        while !next.is_empty() {
            let mut more = Vec::new();
            for effect in std::mem::take(&mut next) {
                match effect {
                    CourseEffect::End { node } => self.end(node),
                    CourseEffect::Ask { node, part } => {
                        self.end(node);
                        match self.core.hub().ask_preflight(&self.environments[node], part, &self.listener) {
                            Some(asked) => drop(self.asked.insert(node, asked)),
                            None => more.extend(self.kept.course().left(node, self.core.now_ms())),
                        }
                    }
                }
            }
            next = more;
        }
    }

    /// Who has gone, and whose time is up.
    fn look(&mut self) {
        let now_ms = self.core.now_ms();
        let hub = self.core.hub();
        let is_gone = |node: usize, asked: &AskedPart| !hub.is_current(&self.environments[node], asked.connection);
        let gone: Vec<usize> =
            self.asked.iter().filter(|(node, asked)| is_gone(**node, asked)).map(|(node, _)| *node).collect();
        for node in gone {
            let effects = self.kept.course().left(node, now_ms);
            self.asked.remove(&node);
            self.carry_out(effects);
        }
        let effects = self.kept.course().tick(now_ms);
        self.carry_out(effects);
    }

    fn end(&mut self, node: usize) {
        if let Some(asked) = self.asked.remove(&node) {
            self.core.hub().end_preflight(&asked);
        }
    }

    fn end_all(&mut self) {
        for node in self.asked.keys().copied().collect::<Vec<_>>() {
            self.end(node);
        }
    }
}

async fn note_end(core: &Core, kept: &KeptPreflight) {
    let (counts, seconds, names, is_called_off) = {
        let course = kept.course();
        let took_ms = course.ended_ms().unwrap_or_default().saturating_sub(course.began_ms());
        let names: Vec<String> = course.nodes().map(|(node, _)| node.name.clone()).collect();
        (FindingCounts::of(course.findings()), took_ms as f64 / 1e3, names.join(", "), course.is_called_off())
    };
    let FindingCounts { errors, warnings, .. } = counts;
    let text = if is_called_off {
        Text::new(
            format!("{names} 的预检中止：任务不再等待它"),
            format!("the preflight of {names} is called off: the task does not wait for it any more"),
        )
    } else {
        Text::new(
            format!("{names} 的预检结束：{errors} 项错误，{warnings} 项警告"),
            format!("the preflight of {names} is over: {errors} errors, {warnings} warnings"),
        )
    };
    tracing::info!(preflight = %kept.id(), errors, warnings, seconds, is_called_off, "a preflight is over");
    let mut events = told_of_task(core, kept);
    let ended = NewEvent::new(core.now_ms(), "preflight.ended", text, kept.by().clone());
    events.push(match kept.task() {
        Some(task) => ended.about_task(task),
        None => ended,
    });
    let noted = core.store().write(move |tx| {
        events.into_iter().try_for_each(|event| tx.append_event(event).map(|_| ()))?;
        Ok(())
    });
    if let Err(error) = noted.await.map_err(WriteError::<StoreError>::flatten) {
        tracing::warn!(%error, "the end of a preflight was not noted");
    }
    // A task may have waited for it.
    core.ring();
}

/// Findings that are events of the task whose nodes were checked.
const MOST_TOLD: usize = 10;

fn told_of_task(core: &Core, kept: &KeptPreflight) -> Vec<NewEvent> {
    let Some(task) = kept.task() else { return Vec::new() };
    let left = kept.interfaces(|environment| core.hub().is_able(environment, ABILITY_INTERFACE));
    let course = kept.course();
    let event = |kind, text: Text| NewEvent::new(core.now_ms(), kind, text, kept.by().clone()).about_task(task);
    let bad = course.findings().iter().filter(|finding| finding.state >= FindingState::Warning).take(MOST_TOLD);
    let mut events: Vec<NewEvent> = bad.map(|finding| event("preflight.finding", finding.text.clone())).collect();
    // What is set is told with the change of the task.
    if let InterfaceDecision::Left { text } = left {
        events.push(event("preflight.interface", text));
    }
    events
}
