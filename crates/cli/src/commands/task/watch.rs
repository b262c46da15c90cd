//! Stays with a task until it is over.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_api::client::{Client, ClientError};
use fermi_api::v1::Task;
use fermi_domain::language::Text;
use fermi_domain::phase::TaskPhase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::verdict;
use crate::connection::CommandProblem;
use crate::speech::{self, Paint, pick};
use crate::{exit_code, span};

/// How often the server is asked.
const EVERY: Duration = Duration::from_millis(300);
/// How long a server may be away: tasks go on without it, and so do those who wait for them.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits, with a bar on a terminal. A server that is away for a while is waited for.
pub fn until_over(client: &Client, id: &str, timeout: Option<Duration>) -> Result<Task, CommandProblem> {
    let began = Instant::now();
    let bar = Bar::new();
    let mut away: Option<Instant> = None;
    loop {
        match client.task(id) {
            Ok(answer) => {
                away = None;
                bar.show(&answer.data);
                if answer.data.row.status.is_final() {
                    bar.finish();
                    return Ok(answer.data);
                }
            }
            Err(error) if error.may_pass() && away.get_or_insert_with(Instant::now).elapsed() < PATIENCE => {
                // Somebody who has never reached the server is told so at once.
                if bar.is_fresh() {
                    return Err(error.into());
                }
                bar.lost(&error);
            }
            Err(error) => return Err(error.into()),
        }
        if timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
            bar.finish();
            return Err(timed_out(id, began.elapsed()));
        }
        std::thread::sleep(EVERY);
    }
}

/// Says how it ended; the answer is the exit code.
pub fn end(task: &Task) -> ExitCode {
    let (language, paint) = (speech::language(), Paint::for_stderr());
    let took = task.row.started_at.zip(task.row.ended_at).map_or(0, |(start, end)| end.saturating_sub(start));
    match task.row.status {
        TaskPhase::Succeeded => {
            let loss = task.progress.as_ref().and_then(|progress| progress.loss);
            let loss = loss.map_or_else(String::new, |loss| format!(", loss {loss:.4}"));
            speech::say(&format!(
                "{} {} {}{loss}\n",
                paint.green("✓"),
                paint.bold(&format!("{} {}", task.row.name, pick("训练完成，用时", "finished in"))),
                span::long(took)
            ));
            ExitCode::SUCCESS
        }
        TaskPhase::Failed => {
            match &task.verdict {
                Some(end) => speech::say(&verdict::render(end, language, paint)),
                None => speech::say(&format!("{} {}\n", paint.red("✗"), pick("训练失败", "the training failed"))),
            }
            ExitCode::from(exit_code::FAILED)
        }
        _ => {
            speech::say(&format!("{} {}\n", paint.yellow("■"), task.row.status_text.in_language(language)));
            ExitCode::from(exit_code::FAILED)
        }
    }
}

fn timed_out(id: &str, waited: Duration) -> CommandProblem {
    let waited = span::long(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
    CommandProblem::Own {
        message: Text::new(format!("等待 {waited} 后任务 {id} 仍未结束"), format!("{id} is not over after {waited}")),
        hint: Text::new(
            format!("任务继续运行；fermi task explain {id} 说明它在等什么"),
            format!("it goes on; 'fermi task explain {id}' says what it waits for"),
        ),
        code: exit_code::TIMED_OUT,
    }
}

/// A bar on a terminal, nothing elsewhere.
struct Bar {
    bar: ProgressBar,
    shown: std::cell::Cell<bool>,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} {bar:30.cyan/dim} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
        Self { bar, shown: false.into() }
    }

    fn is_fresh(&self) -> bool {
        !self.shown.get()
    }

    fn show(&self, task: &Task) {
        self.shown.set(true);
        let status = task.row.status_text.in_language(speech::language()).to_owned();
        self.bar.set_prefix(status);
        match &task.progress {
            Some(progress) => {
                self.bar.set_length(progress.total_steps.unwrap_or(progress.step).max(1));
                self.bar.set_position(progress.step);
                self.bar.set_message(super::show::progress(progress));
            }
            None => {
                let reason = task.row.reason.as_ref().map_or("", |text| text.in_language(speech::language()));
                self.bar.set_message(reason.to_owned());
            }
        }
        self.bar.tick();
    }

    fn lost(&self, _error: &ClientError) {
        self.bar.set_message(pick("服务器暂时无法连接，继续等待", "the server is away; waiting for it"));
        self.bar.tick();
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
