//! The page of one task: all panes where there is room, else the focused one below the names of all.

use fermi_api::v1::{Progress, Task};
use fermi_domain::language::Language;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::text::{cut, fit, style};
use super::{lines, panes};
use crate::commands::task_colour;
use crate::table::Colour;
use crate::top::state::{OpenTask, Pane, State};
use crate::top::words::{self, say};

/// Below this size one pane is shown at a time.
const ROOMY: (u16, u16) = (60, 17);
/// Rows of the pane that is not the larger one of log and explanation.
const SMALLER: u16 = 5;
/// Rows that the cells of ranks, and the gauges of GPUs, take at most.
const MOST_RANK_ROWS: usize = 3;
const MOST_GAUGES: usize = 4;

/// Where what is drawn.
struct PagePlaces {
    head: Rect,
    /// The names of all panes; without rows where each pane has its own title.
    tabs: Rect,
    /// Each with a row for its title, if there are no tabs.
    panes: Vec<(Pane, Rect)>,
}

pub fn draw(state: &State, open: &OpenTask, area: Rect, buffer: &mut Buffer) {
    let places = places(state, open, area);
    lines(head(state, open, usize::from(area.width)), places.head, buffer);
    lines([tabs(open, state.language)], places.tabs, buffer);
    if open.is_gone {
        let sentence =
            Line::styled(cut(say(&words::GONE, state.language), usize::from(area.width)), style(Colour::Bad));
        let below =
            Rect { y: places.head.bottom(), height: area.bottom().saturating_sub(places.head.bottom()), ..area };
        return lines([sentence], below, buffer);
    }
    for (pane, place) in &places.panes {
        let mut place = *place;
        if places.tabs.height == 0 {
            lines([title(open, *pane, usize::from(place.width), state.language)], place, buffer);
            place = below_title(place);
        }
        let all = content(open, *pane, place, state.language);
        let height = usize::from(place.height);
        let most = all.len().saturating_sub(height);
        let scroll = if *pane == open.focus { open.scroll.min(most) } else { 0 };
        let first = if *pane == Pane::Log { most - scroll } else { scroll };
        lines(all.into_iter().skip(first).take(height), place, buffer);
    }
}

/// How far the focused pane can be scrolled.
pub fn most_scroll(state: &State, open: &OpenTask, area: Rect) -> usize {
    let places = places(state, open, area);
    let Some((pane, place)) = places.panes.iter().find(|(pane, _)| *pane == open.focus) else { return 0 };
    let place = if places.tabs.height == 0 { below_title(*place) } else { *place };
    content(open, *pane, place, state.language).len().saturating_sub(usize::from(place.height))
}

fn content(open: &OpenTask, pane: Pane, place: Rect, language: Language) -> Vec<Line<'static>> {
    let columns = usize::from(place.width);
    match pane {
        Pane::Ranks => panes::ranks(open, columns, usize::from(place.height), language),
        Pane::Load => panes::load(open, columns, language),
        Pane::Log => panes::log(open, columns, language),
        Pane::Why => panes::why(open, columns, language),
    }
}

fn below_title(place: Rect) -> Rect {
    Rect { y: place.y.saturating_add(1), height: place.height.saturating_sub(1), ..place }
}

fn places(state: &State, open: &OpenTask, area: Rect) -> PagePlaces {
    let is_roomy = area.width >= ROOMY.0 && area.height >= ROOMY.1;
    let mut rest = area;
    let mut take = |rows: u16| {
        let taken = Rect { height: rows.min(rest.height), ..rest };
        rest = Rect { y: taken.bottom(), height: rest.height - taken.height, ..rest };
        taken
    };
    let head = take(2 + u16::from(state.contact.age_s.is_some()));
    if !is_roomy {
        let tabs = take(1);
        return PagePlaces { head, tabs, panes: vec![(open.focus, take(u16::MAX))] };
    }
    let tabs = take(0);
    let rank_rows = open.ranks.len().div_ceil(usize::from(area.width)).clamp(1, MOST_RANK_ROWS);
    let gauges = usize::from(!open.charts.steps.is_empty()) + open.charts.gauges.len().min(MOST_GAUGES);
    let ranks = take(2 + u16::try_from(rank_rows).unwrap_or(1));
    let load = take(1 + u16::try_from(gauges.max(1)).unwrap_or(1));
    let left = area.bottom().saturating_sub(load.bottom());
    let log_rows = if open.focus == Pane::Why { SMALLER } else { left.saturating_sub(SMALLER) };
    let log = take(log_rows);
    let why = take(u16::MAX);
    PagePlaces { head, tabs, panes: vec![(Pane::Ranks, ranks), (Pane::Load, load), (Pane::Log, log), (Pane::Why, why)] }
}

/// Which task, how far it is, and whether the server answers.
fn head(state: &State, open: &OpenTask, columns: usize) -> Vec<Line<'static>> {
    let language = state.language;
    let mut parts = vec![open.id.clone()];
    let mut colour = Colour::Strong;
    if let Some(row) = state.subject() {
        parts.push(row.name.clone());
        parts.push(row.status_text.in_language(language).to_owned());
        parts.extend((row.attempt > 0).then(|| format!("{} {}", say(&words::ATTEMPT, language), row.attempt)));
        parts.extend(row.created_by.as_ref().map(|owner| owner.name.clone()).filter(|name| !name.is_empty()));
        colour = task_colour(row.status);
    }
    let first = Line::styled(fit(&parts.join(" · "), columns), style(colour).add_modifier(Modifier::BOLD));
    let second = open.task.as_deref().map_or_else(String::new, |task| how_far(task, language));
    let mut out = vec![first, Line::raw(cut(&second, columns))];
    out.extend(super::banner(state, columns));
    out
}

/// The phase of the newest attempt and the progress of rank 0.
fn how_far(task: &Task, language: Language) -> String {
    let phase = task.attempts.last().map(|attempt| attempt.status_text.in_language(language).to_owned());
    let mut parts: Vec<String> = phase.into_iter().collect();
    if let Some(Progress { step, total_steps, loss, tokens_per_s, eta_seconds, .. }) = &task.progress {
        let total = total_steps.map_or_else(String::new, |total| format!("/{total}"));
        parts.push(format!("{} {step}{total}", say(&words::STEP, language)));
        parts.extend(loss.map(|loss| format!("loss {loss:.4}")));
        parts.extend(tokens_per_s.map(|speed| format!("{speed:.0} tokens/s")));
        let left = eta_seconds.filter(|eta| *eta > 0).map(words::age);
        parts.extend(left.map(|left| format!("{} {}", say(&words::REMAINING, language), say(&left, language))));
    }
    parts.join(" · ")
}

fn name(pane: Pane, language: Language) -> String {
    let word = match pane {
        Pane::Ranks => &words::RANKS,
        Pane::Load => &words::LOAD,
        Pane::Log => &words::LOG,
        Pane::Why => &words::WHY,
    };
    say(word, language).to_owned()
}

fn focused(is_focused: bool) -> Style {
    if is_focused { Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD) } else { style(Colour::Faint) }
}

fn tabs(open: &OpenTask, language: Language) -> Line<'static> {
    let names = Pane::ALL.iter().flat_map(|pane| {
        let look = focused(*pane == open.focus);
        [Span::styled(format!(" {} ", name(*pane, language)), look), Span::raw(" ")]
    });
    Line::from(names.collect::<Vec<_>>())
}

/// A pane's name, and what is to be said about all of it.
fn title(open: &OpenTask, pane: Pane, columns: usize, language: Language) -> Line<'static> {
    let about = match pane {
        Pane::Ranks => panes::rank_counts(&open.ranks, language),
        Pane::Log => {
            let ranks: Vec<String> = open.log.ranks.iter().map(ToString::to_string).collect();
            format!("rank {}", ranks.join(","))
        }
        Pane::Load | Pane::Why => String::new(),
    };
    let name = format!(" {} ", name(pane, language));
    let about = cut(&format!(" {about} "), columns.saturating_sub(name.len()));
    let used = unicode_width::UnicodeWidthStr::width(format!("{name}{about}").as_str());
    let rule = "─".repeat(columns.saturating_sub(used));
    Line::from(vec![
        Span::styled(name, focused(pane == open.focus)),
        Span::raw(about),
        Span::styled(rule, style(Colour::Faint)),
    ])
}
