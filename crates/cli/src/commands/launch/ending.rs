//! What is remembered of a launch, and what its end is called.

use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::exit::signal_name;
use fermi_domain::language::{Language, Notice, Text};
use fermi_domain::messages::launch::LaunchNews;
use fermi_domain::verdict::Verdict;

use super::ssh::BROKEN;
use crate::commands::run::narrate::short_path;
use crate::commands::run::report::{self, FailureReport};
use crate::commands::run::voice::Voice;
use crate::exit_code;
use crate::speech::{self, Paint};

/// What has happened so far.
#[derive(Debug)]
pub struct History {
    labels: Vec<String>,
    /// The run's end as each host heard it; the first host's is the coordinator's own.
    ends: Vec<Option<(Outcome, Verdict, u32)>>,
    folders: Vec<Option<PathBuf>>,
    /// The host of each rank.
    ranks: std::collections::BTreeMap<u32, usize>,
    has_started: bool,
    refused: Option<(usize, Text, Text)>,
    gave_up: Option<Text>,
    stopped_by: Option<i32>,
    /// The first connection that ended when it should not have.
    broken: Option<(usize, LaunchNews)>,
}

impl History {
    pub fn new(labels: Vec<String>) -> Self {
        let hosts = labels.len();
        Self {
            labels,
            ends: vec![None; hosts],
            folders: vec![None; hosts],
            ranks: std::collections::BTreeMap::new(),
            has_started: false,
            refused: None,
            gave_up: None,
            stopped_by: None,
            broken: None,
        }
    }

    pub fn add(&mut self, host: usize, event: RunEvent) {
        match event {
            RunEvent::RunStarted { folder, .. } => self.folders[host] = folder,
            RunEvent::RankStarted { rank, .. } => {
                self.ranks.insert(rank, host);
            }
            RunEvent::AttemptStarted { .. } => self.has_started = true,
            RunEvent::RunEnded { outcome, verdict, attempts } => self.ends[host] = Some((outcome, *verdict, attempts)),
            RunEvent::RestartRefused { reason, text } => self.gave_up = Some(report::given_up(reason, text)),
            RunEvent::Refused { message, hint, .. } => {
                self.refused.get_or_insert((host, message, hint));
            }
            _ => {}
        }
    }

    /// Whether the coordinator has said how the run ended.
    pub fn is_told(&self) -> bool {
        self.ends.first().is_some_and(Option::is_some)
    }

    pub fn was_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// A signal counts only while the run goes on.
    pub fn stopped_by(&mut self, signal: i32) {
        if !self.is_told() {
            self.stopped_by.get_or_insert(signal);
        }
    }

    pub fn connection_ended(&mut self, host: usize, status: Option<ExitStatus>, is_here: bool) {
        let code = status.and_then(|status| status.code());
        let is_lost = !is_here && matches!(code, Some(BROKEN) | None);
        // Its run there stops with it, and the others by that: the coordinator's word may be here first.
        let explains_the_end = is_lost && matches!(self.end(), Some((Outcome::Stopped { .. }, ..)));
        let expected = self.ends[host].is_some() || self.stopped_by.is_some() || self.was_refused();
        if expected || self.is_told() && !explains_the_end || self.broken.is_some() {
            return;
        }
        let label = self.labels[host].clone();
        let how = match (code, status) {
            (Some(code), _) => code.to_string(),
            (None, Some(status)) => {
                std::os::unix::process::ExitStatusExt::signal(&status).map(signal_name).unwrap_or_default()
            }
            (None, None) => String::new(),
        };
        self.broken = Some((
            host,
            match is_lost {
                true => LaunchNews::ConnectionLost { host: label, said: format!("ssh: {how}") },
                false => LaunchNews::EndedEarly { host: label, how },
            },
        ));
    }

    /// The coordinator is gone, or a host will never come. A host that is lost later is the coordinator's business.
    pub fn cannot_go_on(&self) -> bool {
        self.broken.as_ref().is_some_and(|(host, _)| *host == 0 || !self.has_started)
    }

    /// The coordinator's word, else that of any host that heard one.
    fn end(&self) -> Option<&(Outcome, Verdict, u32)> {
        self.ends.iter().flatten().next()
    }

    fn report(&self, verdict: &Verdict, language: Language, folder: impl Fn(usize, &PathBuf) -> PathBuf) -> String {
        let host = verdict.first.as_ref().and_then(|first| self.ranks.get(&first.rank.0)).copied().unwrap_or(0);
        let log = verdict.log.as_ref().or(self.folders[host].as_ref());
        let log = log.map(|path| short_path(&folder(host, path)));
        let report = FailureReport { verdict, gave_up: self.gave_up.as_ref(), log };
        report.render(language, Paint::for_stderr())
    }
}

/// The end, as the caller of `fermi launch-multi-node` sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    Refused,
    Stopped(i32),
    Failed,
    Broken,
}

impl Ending {
    pub fn of(history: &History) -> Self {
        if let Some(signal) = history.stopped_by {
            return Self::Stopped(signal);
        }
        if history.was_refused() {
            return Self::Refused;
        }
        match history.end() {
            Some((Outcome::Succeeded, ..)) => Self::Done,
            Some((Outcome::Failed, ..)) if history.broken.is_none() || history.is_told() => Self::Failed,
            // Somebody on a host sent it a signal, unless our own connection broke and took the run with it.
            Some((Outcome::Stopped { signal }, ..)) if history.broken.is_none() => Self::Stopped(*signal),
            Some(_) | None => Self::Broken,
        }
    }

    /// Says it, and gives the exit code.
    pub fn tell(
        self,
        history: &History,
        language: Language,
        folder: impl Fn(usize, &PathBuf) -> PathBuf,
        voice: &Voice,
    ) -> ExitCode {
        match self {
            Self::Done => ExitCode::from(exit_code::DONE),
            Self::Stopped(signal) => exit_code::of_signal(signal),
            Self::Refused => {
                if let Some((host, message, hint)) = &history.refused {
                    let host = &history.labels[*host];
                    let named = Text::new(format!("{host}：{}", message.zh), format!("{host}: {}", message.en));
                    voice.say(&speech::error(&Notice::new("run_refused", named, hint.clone())));
                }
                ExitCode::from(exit_code::USAGE)
            }
            Self::Failed => {
                if let Some((_, verdict, _)) = history.end() {
                    voice.say(&history.report(verdict, language, folder));
                }
                ExitCode::from(exit_code::FAILED)
            }
            Self::Broken => {
                let news = history.broken.as_ref().map(|(_, news)| news.text());
                let text = news.unwrap_or_else(|| Text::new("没有收到任务的结果", "no host said how the run ended"));
                voice.say(&speech::error_text(language, Paint::for_stderr(), text.in_language(language), None));
                ExitCode::from(exit_code::FAILED)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use fermi_domain::verdict::VerdictKind;

    use super::*;

    fn history() -> History {
        History::new(vec!["a".into(), "b".into()])
    }

    fn ended(outcome: Outcome, kind: VerdictKind) -> RunEvent {
        RunEvent::RunEnded { outcome, attempts: 1, verdict: Box::new(Verdict::of(kind)) }
    }

    fn started() -> RunEvent {
        RunEvent::AttemptStarted { attempt: 1, master_addr: "a".into(), master_port: 29_500, resume: false }
    }

    #[test]
    fn the_coordinators_word_is_the_end() {
        let mut history = history();
        history.add(0, started());
        history.add(0, ended(Outcome::Succeeded, VerdictKind::Succeeded));
        history.connection_ended(1, Some(ExitStatus::from_raw(0)), false);
        assert_eq!(Ending::of(&history), Ending::Done);
        // Too late to stop anything.
        history.stopped_by(2);
        assert_eq!(Ending::of(&history), Ending::Done);
    }

    #[test]
    fn a_connection_that_breaks_is_not_called_a_stop_by_the_user() {
        let mut history = history();
        history.add(0, started());
        history.connection_ended(1, Some(ExitStatus::from_raw(255 << 8)), false);
        assert!(!history.cannot_go_on(), "the coordinator decides");
        history.add(0, ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser));
        assert_eq!(Ending::of(&history), Ending::Broken);
        assert!(matches!(history.broken, Some((1, LaunchNews::ConnectionLost { .. }))));
    }

    #[test]
    fn a_connection_that_is_missed_after_the_stop_that_it_caused_is_the_cause_all_the_same() {
        let stopped = || ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser);
        let killed = Some(ExitStatus::from_raw(libc::SIGKILL));
        let mut late = history();
        late.add(0, started());
        late.add(0, stopped());
        late.connection_ended(1, killed, false);
        assert_eq!(Ending::of(&late), Ending::Broken);
        // Somebody on a host stopped the run: its connections end as they should, or have told the end.
        let mut asked = history();
        asked.add(0, stopped());
        asked.connection_ended(0, killed, false);
        asked.connection_ended(1, Some(ExitStatus::from_raw(143 << 8)), false);
        assert_eq!(Ending::of(&asked), Ending::Stopped(15));
    }

    #[test]
    fn a_host_that_ends_before_the_start_or_the_coordinator_itself_ends_it_all() {
        let mut early = history();
        early.connection_ended(1, Some(ExitStatus::from_raw(2 << 8)), false);
        assert!(early.cannot_go_on());
        let mut headless = history();
        headless.add(0, started());
        headless.connection_ended(0, Some(ExitStatus::from_raw(9)), false);
        assert!(headless.cannot_go_on());
        assert_eq!(Ending::of(&headless), Ending::Broken);
    }

    #[test]
    fn our_own_signal_wins_over_what_the_hosts_make_of_it() {
        let mut history = history();
        history.stopped_by(2);
        history.add(0, ended(Outcome::Stopped { signal: 2 }, VerdictKind::StoppedByUser));
        assert_eq!(Ending::of(&history), Ending::Stopped(2));
    }
}
