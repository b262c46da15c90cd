//! What a [`State`] looks like: a plain function of it and of the size of the terminal. The terminal gets only the cells that
//! differ from those before, so nothing here changes by itself, with the time or in a circle.

mod help;
mod list;
mod page;
mod panes;
#[cfg(test)]
mod tests;
mod text;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::state::{Prompt, State};
use super::words::{self, say};
use crate::table::Colour;
use text::{fit, style};

pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    draw_in(state, area, frame.buffer_mut());
}

fn draw_in(state: &State, area: Rect, buffer: &mut Buffer) {
    if state.prompt == Some(Prompt::Help) {
        return help::draw(state.language, area, buffer);
    }
    let (body, foot) = without_last(area);
    match &state.open {
        Some(open) => page::draw(state, open, body, buffer),
        None => list::draw(state, body, buffer),
    }
    footer(state, foot).render(foot, buffer);
}

/// Puts the lists of a state where its terminal can show them.
pub fn settle(state: &mut State) {
    let area = Rect::new(0, 0, state.size.columns, state.size.rows);
    let (body, _) = without_last(area);
    let most = state.open.as_ref().map_or(0, |open| page::most_scroll(state, open, body));
    state.settle(list::rows(state, body), most);
}

/// What the last row says: a question, what became of the last order, or the keys.
fn footer(state: &State, area: Rect) -> Line<'static> {
    let language = state.language;
    let columns = usize::from(area.width);
    let question = match &state.prompt {
        Some(Prompt::Stop { id, name }) => Some(say(&words::ask_stop(id, name), language).to_owned()),
        Some(Prompt::Filter) => Some(format!("{}{}_", say(&words::ASK_FILTER, language), state.filter)),
        Some(Prompt::Ranks(text)) => Some(match &state.notice {
            Some(notice) => format!("{notice}: {text}_"),
            None => format!("{}{text}_", say(&words::ASK_RANKS, language)),
        }),
        Some(Prompt::Help) | None => None,
    };
    match (question, &state.notice, &state.open) {
        (Some(question), ..) => Line::styled(fit(&question, columns), Style::new().add_modifier(Modifier::REVERSED)),
        (None, Some(notice), _) => Line::styled(fit(notice, columns), style(Colour::Busy)),
        (None, None, Some(_)) => Line::styled(fit(say(&words::TASK_KEYS, language), columns), style(Colour::Faint)),
        (None, None, None) => Line::styled(fit(say(&words::LIST_KEYS, language), columns), style(Colour::Faint)),
    }
}

/// The row that says that the server is away; none while it answers.
fn banner(state: &State, columns: usize) -> Option<Line<'static>> {
    let seconds = state.contact.age_s?;
    let mut sentence = say(&words::away(&words::age(seconds)), state.language).to_owned();
    if let Some(problem) = &state.contact.problem {
        sentence.push_str(&format!(" · {problem}"));
    }
    Some(Line::styled(fit(&sentence, columns), style(Colour::Bad).add_modifier(Modifier::REVERSED)))
}

fn without_last(area: Rect) -> (Rect, Rect) {
    let body = Rect { height: area.height.saturating_sub(1), ..area };
    (body, Rect { y: body.bottom(), height: area.height - body.height, ..area })
}

/// Draws lines one below the other, as many as there is room for.
fn lines(lines: impl IntoIterator<Item = Line<'static>>, area: Rect, buffer: &mut Buffer) {
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buffer);
    }
}
