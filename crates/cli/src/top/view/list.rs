//! The list of tasks.

use fermi_api::v1::{Progress, TaskRow};
use fermi_domain::language::Language;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::text::{cut, fit, right, seconds, style};
use crate::commands::task_colour;
use crate::sparkline;
use crate::table::Colour;
use crate::top::state::{Detail, State};
use crate::top::words::{self, say};

/// Columns between two cells.
const GAP: usize = 2;
/// Columns of a step's time in front of its line of blocks.
const SECONDS: usize = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Status,
    Phase,
    Name,
    Owner,
    Gpus,
    Progress,
    StepTime,
}

/// Which columns a terminal of this width has room for, and how wide they are; the name takes what is left.
fn columns(width: usize) -> Vec<(Column, usize)> {
    let all = [
        (Column::Status, if width < 60 { 8 } else { 12 }, 0),
        (Column::Phase, 10, 110),
        (Column::Name, 0, 0),
        (Column::Owner, 8, 76),
        (Column::Gpus, 4, 48),
        (Column::Progress, if width < 60 { 5 } else { 14 }, 0),
        (Column::StepTime, if width < 110 { 16 } else { 28 }, 70),
    ];
    let mut shown: Vec<(Column, usize)> =
        all.into_iter().filter(|(_, _, from)| width >= *from).map(|(column, wide, _)| (column, wide)).collect();
    let fixed: usize = shown.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP;
    for (column, wide) in &mut shown {
        if *column == Column::Name {
            *wide = width.saturating_sub(fixed);
        }
    }
    shown
}

/// How many tasks have room.
pub fn rows(state: &State, area: Rect) -> usize {
    let others = 3 + usize::from(state.contact.age_s.is_some());
    usize::from(area.height).saturating_sub(others)
}

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let shown = columns(width);
    let room = rows(state, area);
    let mut out = vec![header(state, width)];
    out.extend(super::banner(state, width));
    out.push(head(&shown, state.language));
    let selected = state.selected_row().map(|row| &row.id);
    let tasks = state.shown().skip(state.first).take(room);
    out.extend(tasks.map(|row| {
        let line = task(row, state.details.get(&row.id), &shown, state.language);
        if Some(&row.id) == selected { line.patch_style(Modifier::REVERSED) } else { line }
    }));
    if state.shown().next().is_none() {
        let sentence = if state.filter.is_empty() { &words::NO_TASKS } else { &words::NONE_FITS };
        out.push(Line::raw(cut(say(sentence, state.language), width)));
    }
    super::lines(out, area, buffer);
    let last = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    super::lines([reason(state, width)], last, buffer);
}

/// The server, the filter, and how many tasks there are.
fn header(state: &State, width: usize) -> Line<'static> {
    let [running, waiting, over] = state.counts();
    let count = |number: usize, word: &fermi_domain::language::Text| match state.language {
        Language::ZhCn => format!("{} {number}", word.zh),
        Language::En => format!("{number} {}", word.en),
    };
    let counts = [count(running, &words::RUNNING), count(waiting, &words::WAITING), count(over, &words::OVER)];
    let counts = cut(&counts.join(" · "), width);
    let mut left = "fermi top".to_owned();
    if state.filter.is_empty() {
        left.push_str(&format!(" · {}", state.server));
    } else {
        left.push_str(&format!(" · /{}", state.filter));
    }
    let room = width.saturating_sub(counts.width() + GAP);
    let left = format!("{}{}", fit(&left, room), " ".repeat(GAP.min(width - counts.width())));
    Line::from(vec![Span::styled(left, style(Colour::Strong)), Span::raw(counts)])
}

fn head(shown: &[(Column, usize)], language: Language) -> Line<'static> {
    let cells = shown.iter().map(|(column, wide)| {
        let word = match column {
            Column::Status => &words::STATUS,
            Column::Phase => &words::PHASE,
            Column::Name => &words::NAME,
            Column::Owner => &words::OWNER,
            Column::Gpus => &words::GPUS,
            Column::Progress => &words::PROGRESS,
            Column::StepTime => &words::STEP_TIME,
        };
        Span::raw(fit(say(word, language), *wide))
    });
    joined(cells).style(style(Colour::Faint))
}

fn task(row: &TaskRow, detail: Option<&Detail>, shown: &[(Column, usize)], language: Language) -> Line<'static> {
    let progress = detail.and_then(|detail| detail.progress.as_ref());
    let cells = shown.iter().map(|(column, wide)| match column {
        Column::Status => {
            Span::styled(fit(row.status_text.in_language(language), *wide), style(task_colour(row.status)))
        }
        Column::Phase => {
            let phase = detail.and_then(|detail| detail.phase.as_ref());
            Span::raw(fit(phase.map_or("", |text| text.in_language(language)), *wide))
        }
        Column::Name => Span::raw(fit(&row.name, *wide)),
        Column::Owner => Span::raw(fit(row.created_by.as_ref().map_or("", |owner| &owner.name), *wide)),
        Column::Gpus => Span::raw(right(&detail.map_or_else(String::new, |detail| detail.gpus.to_string()), *wide)),
        Column::Progress => Span::raw(fit(&progress.map_or_else(String::new, |it| bar(it, *wide)), *wide)),
        Column::StepTime => Span::raw(fit(&detail.map_or_else(String::new, |it| steps(&it.steps, *wide)), *wide)),
    });
    joined(cells)
}

fn joined(cells: impl Iterator<Item = Span<'static>>) -> Line<'static> {
    let mut spans = Vec::new();
    for cell in cells {
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        spans.push(cell);
    }
    Line::from(spans)
}

/// A bar with its share, the share alone where there is little room, or the step where the end is not known.
fn bar(progress: &Progress, wide: usize) -> String {
    const SHARE: usize = 5;
    let Some(total) = progress.total_steps.filter(|total| *total > 0) else { return progress.step.to_string() };
    let share = (progress.step as f64 / total as f64).clamp(0.0, 1.0);
    let percent = format!("{:.0}%", (share * 100.0).floor());
    let room = wide.saturating_sub(SHARE);
    let full = (share * room as f64).floor() as usize;
    format!("{}{}{percent:>SHARE$}", "█".repeat(full), "░".repeat(room - full))
}

/// The time of the last step, and how it went.
pub fn steps(steps: &[f64], wide: usize) -> String {
    let Some(last) = steps.last() else { return String::new() };
    let line = sparkline::newest(steps, wide.saturating_sub(SECONDS + 1), 0.0);
    format!("{} {line}", right(&seconds(*last), SECONDS))
}

/// Why the chosen task is where it is.
fn reason(state: &State, width: usize) -> Line<'static> {
    let reason = state.selected_row().and_then(|row| row.reason.as_ref().or(row.headline.as_ref()));
    let more = state.has_more.then_some(&words::MORE);
    let text = reason.or(more).map_or("", |text| text.in_language(state.language));
    Line::styled(cut(text, width), style(Colour::Busy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_the_name_is_never_nothing() {
        for width in 36..200 {
            let shown = columns(width);
            let sum: usize = shown.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP;
            let name = shown.iter().find(|(column, _)| *column == Column::Name).unwrap().1;
            assert_eq!(sum, width);
            assert!(name >= 12, "{width}: {name}");
        }
    }

    #[test]
    fn progress_is_a_bar_a_share_or_a_step() {
        let of = |step, total_steps| Progress { step, total_steps, ..Progress::default() };
        assert_eq!(bar(&of(40, Some(120)), 14), "███░░░░░░  33%");
        assert_eq!(bar(&of(40, Some(120)), 5), "  33%");
        assert_eq!(bar(&of(500, Some(120)), 7), "██ 100%");
        assert_eq!(bar(&of(40, None), 14), "40");
        assert_eq!(bar(&of(40, Some(0)), 14), "40");
    }
}
