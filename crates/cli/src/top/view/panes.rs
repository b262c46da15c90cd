//! The parts of a task's page, each as lines of a given width.

use fermi_api::v1::{Explanation, Rank, RankState, Stream, Verdict};
use fermi_domain::language::{Language, Text};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::text::{cut, fit, right, style};
use crate::plain::plain;
use crate::table::Colour;
use crate::top::state::{OpenTask, Pane};
use crate::top::words::{self, say};
use crate::wrap::wrapped;
use crate::{span, sparkline};

/// Columns of a gauge's name, which has less of them where there are few, and of its newest value.
const LABEL: usize = 14;
const SHORT_LABEL: usize = 9;
const VALUE: usize = 9;
/// The last events, and the last lines of a failed rank, that an explanation shows.
const EVENTS: usize = 6;
const EVIDENCE: usize = 12;

/// How many ranks are in which state, for the title.
pub fn rank_counts(ranks: &[Rank], language: Language) -> String {
    let states = [RankState::Running, RankState::Waiting, RankState::Succeeded, RankState::Failed, RankState::Stopped];
    let counts = states.iter().filter_map(|state| {
        let count = ranks.iter().filter(|rank| rank.state == *state).count();
        let (sign, _) = cell(*state);
        (count > 0).then(|| format!("{sign} {count} {}", state.text().in_language(language)))
    });
    counts.collect::<Vec<_>>().join("  ")
}

/// A rank's sign and colour; the sign alone tells the state too, for terminals without colours.
fn cell(state: RankState) -> (&'static str, Colour) {
    match state {
        RankState::Waiting => ("·", Colour::Faint),
        RankState::Running => ("■", Colour::Strong),
        RankState::Succeeded => ("✓", Colour::Good),
        RankState::Failed => ("✗", Colour::Bad),
        RankState::Stopped => ("□", Colour::Faint),
    }
}

/// The chosen rank in words, and below it one cell per rank, from the row of the chosen one up.
pub fn ranks(open: &OpenTask, columns: usize, rows: usize, language: Language) -> Vec<Line<'static>> {
    let Some(chosen) = open.ranks.get(open.rank) else {
        return vec![Line::styled(cut(say(&words::NO_RANKS, language), columns), style(Colour::Faint))];
    };
    let columns = columns.max(1);
    let room = rows.saturating_sub(1).max(1);
    let first = (open.rank / columns + 1).saturating_sub(room);
    let grid = open.ranks.chunks(columns).enumerate().skip(first).take(room).map(|(row, ranks)| {
        let cells = ranks.iter().enumerate().map(|(column, rank)| {
            let (sign, colour) = cell(rank.state);
            let is_chosen = open.focus == Pane::Ranks && row * columns + column == open.rank;
            let look = style(colour);
            Span::styled(sign, if is_chosen { look.add_modifier(Modifier::REVERSED) } else { look })
        });
        Line::from(cells.collect::<Vec<_>>())
    });
    let words = Line::raw(cut(&rank_words(chosen, language), columns));
    [words].into_iter().chain(grid).collect()
}

fn rank_words(rank: &Rank, language: Language) -> String {
    let mut parts =
        vec![format!("rank {} {}", rank.rank, rank.worker), rank.state_text.in_language(language).to_owned()];
    parts.extend(rank.gpu.map(|gpu| format!("GPU {gpu}")));
    parts.extend(rank.step.map(|step| format!("{} {step}", say(&words::STEP, language))));
    parts.extend(rank.memory.map(span::bytes));
    let exit = rank.exit.as_ref().map(|exit| exit.text().in_language(language).to_owned());
    parts.extend(
        exit.or_else(|| rank.exit_text.clone()).map(|exit| format!("{} {exit}", say(&words::EXITED, language))),
    );
    parts.join(" · ")
}

/// The time of steps, and how busy each GPU is.
pub fn load(open: &OpenTask, columns: usize, language: Language) -> Vec<Line<'static>> {
    let charts = &open.charts;
    let wide = if columns < 60 { SHORT_LABEL } else { LABEL };
    let label = |text: &str| fit(text, wide.min(columns));
    let room = columns.saturating_sub(wide + 1);
    let mut out = Vec::new();
    if !charts.steps.is_empty() {
        let line = super::list::steps(&charts.steps, room);
        out.push(Line::raw(format!("{} {line}", label(say(&words::STEP_TIME, language)))));
    }
    for gauge in &charts.gauges {
        // What the two numbers leave, half for the use and half for the memory.
        let half = room.saturating_sub(5 + VALUE + 3) / 2;
        let used = gauge.uses.last().map_or_else(String::new, |share| format!("{:.0}%", share * 100.0));
        let held = gauge.memory.last().map_or_else(String::new, |bytes| span::bytes(*bytes as u64));
        let text = format!(
            "{} {} {} {} {}",
            label(&gauge.label),
            right(&used, 5),
            fit(&sparkline::newest(&gauge.uses, half, 1.0), half),
            right(&held, VALUE),
            sparkline::newest(&gauge.memory, half, 0.0),
        );
        out.push(Line::raw(cut(&text, columns)));
    }
    if out.is_empty() {
        out.push(Line::styled(cut(say(&words::NO_NUMBERS, language), columns), style(Colour::Faint)));
    }
    out
}

/// What the chosen ranks wrote; stderr in its colour, and the rank before each line where there are several.
pub fn log(open: &OpenTask, columns: usize, language: Language) -> Vec<Line<'static>> {
    let are_several = open.log.ranks.len() > 1;
    let lines = open.log.all().map(|line| {
        let text = if are_several { format!("[{}] {}", line.rank, line.text) } else { line.text };
        let colour = if line.stream == Stream::Stderr { Colour::Busy } else { Colour::Plain };
        Line::styled(cut(&text, columns), style(colour))
    });
    let lines: Vec<Line<'static>> = lines.collect();
    if lines.is_empty() {
        return vec![Line::styled(cut(say(&words::NO_LINES, language), columns), style(Colour::Faint))];
    }
    lines
}

/// Why the task is where it is, what to do about it, and what happened last.
pub fn why(open: &OpenTask, columns: usize, language: Language) -> Vec<Line<'static>> {
    let mut page = Page { columns: columns.max(8), language, lines: Vec::new() };
    match &open.why {
        Some(why) => page.explanation(why),
        None => page.text("", say(&words::LOADING, language), Colour::Faint),
    }
    page.lines
}

struct Page {
    columns: usize,
    language: Language,
    lines: Vec<Line<'static>>,
}

impl Page {
    fn text(&mut self, label: &str, text: &str, colour: Colour) {
        for line in plain_lines(text) {
            for part in wrapped(&format!("{label}{line}"), self.columns) {
                self.lines.push(Line::styled(cut(&part, self.columns), style(colour)));
            }
        }
    }

    fn labelled(&mut self, label: &Text, text: Option<&Text>, colour: Colour) {
        let gap = match self.language {
            Language::ZhCn => "：",
            Language::En => ": ",
        };
        if let Some(text) = text {
            let label = format!("{}{gap}", say(label, self.language));
            self.text(&label, text.in_language(self.language), colour);
        }
    }

    fn explanation(&mut self, why: &Explanation) {
        match why.verdict.as_ref().filter(|verdict| verdict.class.is_some()) {
            Some(verdict) => self.verdict(verdict),
            None => {
                self.text("", why.summary.in_language(self.language), Colour::Strong);
                self.labelled(&words::ADVICE, why.advice.as_ref(), Colour::Plain);
            }
        }
        for wait in &why.waiting_for {
            self.text("- ", wait.text.in_language(self.language), Colour::Busy);
        }
        if !why.status.is_final() {
            for node in &why.nodes {
                self.text("- ", node.text.in_language(self.language), Colour::Plain);
            }
        }
        for event in &why.events[why.events.len().saturating_sub(EVENTS)..] {
            let time = format!("{}  ", span::clock(event.time));
            self.text(&time, event.text.in_language(self.language), Colour::Faint);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        self.text("", verdict.headline.in_language(self.language), Colour::Bad);
        self.labelled(&words::CAUSE, verdict.cause.as_ref(), Colour::Plain);
        self.labelled(&words::ADVICE, verdict.advice.as_ref(), Colour::Good);
        self.text(
            "",
            verdict.others_summary.as_ref().map_or("", |text| text.in_language(self.language)),
            Colour::Plain,
        );
        let lines = if verdict.traceback.is_empty() { &verdict.evidence } else { &verdict.traceback };
        for line in &lines[lines.len().saturating_sub(EVIDENCE)..] {
            self.lines.push(Line::styled(cut(&format!("│ {line}"), self.columns), style(Colour::Faint)));
        }
    }
}

fn plain_lines(text: &str) -> Vec<String> {
    text.lines().map(plain).filter(|line| !line.is_empty()).collect()
}
