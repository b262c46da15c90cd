//! What is said of a task, for people: a headline, and the lines below it.

use super::WebhookTopic;
use crate::{
    language::Text,
    task::{Task, TaskEnd},
};

/// A message before it has a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookMessage {
    pub title: Text,
    pub lines: Vec<Text>,
}

/// An event of which receivers are told.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'a> {
    pub topic: WebhookTopic,
    pub time_ms: u64,
    /// The sentence of the event.
    pub text: &'a Text,
    /// How the task ended then; the task itself may have been launched again.
    pub end: Option<&'a TaskEnd>,
}

/// What is said of a task; `link` is its page.
pub fn webhook_message(happened: Happened<'_>, task: &Task, link: Option<&str>) -> WebhookMessage {
    let Happened { topic, time_ms, text, end } = happened;
    let (name, id) = (&task.spec.name, &task.id);
    let title = |zh: &str, en: &str| Text::new(format!("{zh}：{name}（{id}）"), format!("{en}: {name} ({id})"));
    let title = match topic {
        WebhookTopic::Succeeded => title("训练完成", "Training finished"),
        WebhookTopic::Failed => title("训练失败", "Training failed"),
        WebhookTopic::Stopped => title("训练已停止", "Training stopped"),
        WebhookTopic::Waiting => title("任务等待过久", "Task waits for long"),
    };
    let mut lines = Vec::new();
    match topic {
        WebhookTopic::Waiting => lines.push(text.clone()),
        WebhookTopic::Failed | WebhookTopic::Stopped => {
            lines.extend(end.map(|end| end.lines.clone()).unwrap_or_default());
        }
        WebhookTopic::Succeeded => {}
    }
    let began = end.and_then(|end| end.started_ms);
    lines.extend(facts(task, began.map(|began| time_ms.saturating_sub(began))));
    lines.extend(link.map(|link| Text::new(link.to_owned(), link.to_owned())));
    WebhookMessage { title, lines }
}

/// Where it ran, for how long, and whose it is.
fn facts(task: &Task, took_ms: Option<u64>) -> Option<Text> {
    let (mut zh, mut en) = (Vec::new(), Vec::new());
    if let Some(took_ms) = took_ms {
        let span = span(took_ms);
        zh.push(format!("历时 {span}"));
        en.push(format!("took {span}"));
    }
    let ranks = task.world_size();
    if ranks > 0 {
        let nodes = task.rank_map.as_ref().map_or(0, |map| map.nodes().count());
        zh.push(format!("{nodes} 个节点，{ranks} 个 rank"));
        en.push(format!("{ranks} ranks on {nodes} {}", if nodes == 1 { "node" } else { "nodes" }));
    }
    if let Some(owner) = task.owner() {
        zh.push(format!("创建者 {owner}"));
        en.push(format!("by {owner}"));
    }
    (!zh.is_empty()).then(|| Text::new(zh.join("，"), en.join(", ")))
}

/// `2 h 05 min`, `5 min 03 s`, `9 s`: the same in both languages.
fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

/// What `fermi webhook test` sends.
pub fn test_message(name: &str) -> WebhookMessage {
    WebhookMessage {
        title: Text::new(
            format!("Fermi 测试消息：webhook“{name}”可用"),
            format!("A test of Fermi: the webhook '{name}' works"),
        ),
        lines: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        phase::TaskPhase,
        principal::{Principal, Role},
        verdict::{Verdict, VerdictKind},
    };

    fn task() -> Task {
        let spec = serde_json::json!({"name": "opt-350m", "work": {"kind": "builtin"},
            "distributed": {"enabled": false, "nodeIds": []}});
        let mut task = Task::new("task-7".into(), serde_json::from_value(spec).unwrap(), 0);
        task.created_by = Some(Principal::User { role: Role::Member, name: "ann".to_owned() });
        task.started_ms = Some(1_000);
        task
    }

    fn happened<'a>(topic: WebhookTopic, text: &'a Text, end: Option<&'a TaskEnd>) -> Happened<'a> {
        Happened { topic, time_ms: 304_000, text, end }
    }

    #[test]
    fn a_failure_is_told_with_its_reason_and_what_to_do() {
        let mut task = task();
        task.phase = TaskPhase::Failed;
        task.verdict = Some(Verdict::of(VerdictKind::NodeLost { node: "gn7".to_owned() }));
        let (said, end) = (Text::new("", ""), TaskEnd::of(&task));
        // It was launched again before it could be told.
        (task.verdict, task.started_ms, task.phase) = (None, Some(300_000), TaskPhase::Queued);
        let failed = happened(WebhookTopic::Failed, &said, Some(&end));
        let message = webhook_message(failed, &task, Some("https://f.example/training/task-7"));
        assert_eq!(message.title.en, "Training failed: opt-350m (task-7)");
        let lines: Vec<&str> = message.lines.iter().map(|line| &*line.en).collect();
        assert_eq!(lines[0], "the node gn7 was lost");
        assert!(lines[1].starts_with("What to do: see whether gn7 is down"), "{lines:?}");
        assert_eq!(lines[2..], ["took 5 min 03 s, by ann", "https://f.example/training/task-7"]);
        assert_eq!(message.lines[2].zh, "历时 5 min 03 s，创建者 ann");
    }

    #[test]
    fn who_waits_says_for_what() {
        let said = Text::new("已等待 30 分钟", "it has waited for 30 min");
        let message = webhook_message(happened(WebhookTopic::Waiting, &said, None), &task(), None);
        assert_eq!((&*message.title.zh, &message.lines[0]), ("任务等待过久：opt-350m（task-7）", &said));
    }

    #[test]
    fn spans_are_short() {
        for (ms, said) in [(9_400, "9 s"), (303_000, "5 min 03 s"), (7_500_000, "2 h 05 min")] {
            assert_eq!(span(ms), said);
        }
    }
}
