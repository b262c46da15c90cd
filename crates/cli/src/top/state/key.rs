//! What keys do.

use fermi_api::v1::Action;

use super::{Log, OpenTask, Pane, Prompt, State};
use crate::commands::parse_ranks;
use crate::top::words;

/// Lines of a page of scrolling.
const PAGE: usize = 10;
/// Ranks whose logs are followed at once: each is asked for by itself.
const MOST_RANKS: usize = 8;

/// A key, as far as it means anything here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    Letter(char),
}

/// What the edge has to do about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    Quit,
    Stop(String),
}

impl State {
    /// A key is pressed.
    pub fn press(&mut self, key: Key) -> Option<KeyOrder> {
        self.notice = None;
        if key == Key::Interrupt {
            return Some(KeyOrder::Quit);
        }
        match self.prompt.take() {
            Some(prompt) => self.answer(prompt, key),
            None => self.command(key),
        }
    }

    fn answer(&mut self, prompt: Prompt, key: Key) -> Option<KeyOrder> {
        match (prompt, key) {
            (Prompt::Stop { id, .. }, Key::Letter('y' | 'Y')) => {
                self.notice = Some(self.say(&words::stopping(&id)));
                return Some(KeyOrder::Stop(id));
            }
            (Prompt::Stop { .. } | Prompt::Help, _)
            | (Prompt::Ranks(_), Key::Escape)
            | (Prompt::Filter, Key::Enter) => {}
            (Prompt::Filter, Key::Escape) => self.filter.clear(),
            (Prompt::Filter, Key::Letter(letter)) => {
                self.filter.push(letter);
                self.prompt = Some(Prompt::Filter);
            }
            (Prompt::Filter, Key::Backspace) => {
                self.prompt = self.filter.pop().map(|_| Prompt::Filter);
            }
            (Prompt::Filter, key) => {
                self.move_selection(key);
                self.prompt = Some(Prompt::Filter);
            }
            (Prompt::Ranks(text), Key::Enter) => self.choose_ranks(&text),
            (Prompt::Ranks(mut text), key) => {
                match key {
                    Key::Letter(letter) => text.push(letter),
                    Key::Backspace => drop(text.pop()),
                    _ => {}
                }
                self.prompt = Some(Prompt::Ranks(text));
            }
        }
        None
    }

    fn command(&mut self, key: Key) -> Option<KeyOrder> {
        match key {
            Key::Letter('q') => return Some(KeyOrder::Quit),
            Key::Letter('?') => self.prompt = Some(Prompt::Help),
            Key::Letter('s') => self.ask_stop(),
            Key::Letter('e') => self.explain(),
            Key::Letter('/') if self.open.is_none() => self.prompt = Some(Prompt::Filter),
            Key::Letter('l') if self.open.is_some() => self.prompt = Some(Prompt::Ranks(String::new())),
            key if self.open.is_some() => self.on_page(key),
            Key::Enter => self.open(Pane::Log),
            Key::Escape => self.filter.clear(),
            key => self.move_selection(key),
        }
        None
    }

    fn say(&self, text: &fermi_domain::language::Text) -> String {
        text.in_language(self.language).to_owned()
    }

    /// Asks before; what the server would refuse is said at once, in its words.
    fn ask_stop(&mut self) {
        let Some(row) = self.subject() else { return };
        let refused = row.allowed_actions.iter().find(|action| action.action == Action::Stop && !action.allowed);
        match refused.and_then(|action| action.reason.as_ref()) {
            Some(reason) => self.notice = Some(self.say(reason)),
            None => self.prompt = Some(Prompt::Stop { id: row.id.clone(), name: row.name.clone() }),
        }
    }

    fn explain(&mut self) {
        match &mut self.open {
            Some(open) => open.look_at(Pane::Why),
            None => self.open(Pane::Why),
        }
    }

    fn open(&mut self, focus: Pane) {
        let Some(id) = self.selected_row().map(|row| row.id.clone()) else { return };
        self.selected = Some(id.clone());
        self.open = Some(OpenTask { id, focus, ..OpenTask::default() });
    }

    fn choose_ranks(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        let ranks = parse_ranks(text).ok().map(|ranks| ranks.first(MOST_RANKS + 1));
        match ranks.filter(|ranks| ranks.len() <= MOST_RANKS) {
            Some(ranks) => open.show_log(ranks),
            None => {
                self.notice = Some(self.say(&words::BAD_RANKS));
                self.prompt = Some(Prompt::Ranks(text.to_owned()));
            }
        }
    }

    fn move_selection(&mut self, key: Key) {
        let last = self.shown().count().saturating_sub(1);
        let at = self.position();
        let to = match key {
            Key::Up | Key::Letter('k') => at.saturating_sub(1),
            Key::Down | Key::Letter('j') => at + 1,
            Key::PageUp => at.saturating_sub(PAGE),
            Key::PageDown => at + PAGE,
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => last,
            _ => return,
        };
        let chosen = self.shown().nth(to.min(last)).map(|row| row.id.clone());
        self.selected = chosen;
    }

    fn on_page(&mut self, key: Key) {
        let per_row = usize::from(self.size.columns).max(1);
        let Some(open) = &mut self.open else { return };
        match key {
            Key::Escape => self.open = None,
            Key::Tab => open.look_at(open.focus.moved(1)),
            Key::BackTab => open.look_at(open.focus.moved(Pane::ALL.len() - 1)),
            key if open.focus == Pane::Ranks => open.move_rank(key, per_row),
            // The log is scrolled from its end.
            key if open.focus == Pane::Log => open.move_by(key.turned()),
            key => open.move_by(key),
        }
    }
}

impl Key {
    fn turned(self) -> Self {
        match self {
            Self::Up | Self::Letter('k') => Self::Down,
            Self::Down | Self::Letter('j') => Self::Up,
            Self::PageUp => Self::PageDown,
            Self::PageDown => Self::PageUp,
            Self::Home | Self::Letter('g') => Self::End,
            Self::End | Self::Letter('G') => Self::Home,
            other => other,
        }
    }
}

impl OpenTask {
    fn look_at(&mut self, pane: Pane) {
        self.focus = pane;
        self.scroll = 0;
    }

    fn show_log(&mut self, ranks: Vec<u32>) {
        if self.log.ranks != ranks {
            self.log = Log::of(ranks);
        }
        self.look_at(Pane::Log);
    }

    fn move_by(&mut self, key: Key) {
        self.scroll = match key {
            Key::Up | Key::Letter('k') => self.scroll.saturating_sub(1),
            Key::Down | Key::Letter('j') => self.scroll.saturating_add(1),
            Key::PageUp => self.scroll.saturating_sub(PAGE),
            Key::PageDown => self.scroll.saturating_add(PAGE),
            Key::Home | Key::Letter('g') => 0,
            // The view says where the end is.
            Key::End | Key::Letter('G') => usize::MAX,
            _ => self.scroll,
        };
    }

    fn move_rank(&mut self, key: Key, per_row: usize) {
        let last = self.ranks.len().saturating_sub(1);
        let to = match key {
            Key::Left | Key::Letter('h') => self.rank.saturating_sub(1),
            Key::Right => self.rank + 1,
            Key::Up | Key::Letter('k') => self.rank.checked_sub(per_row).unwrap_or(self.rank),
            Key::Down | Key::Letter('j') if self.rank + per_row <= last => self.rank + per_row,
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => last,
            Key::Enter => match self.ranks.get(self.rank) {
                Some(rank) => return self.show_log(vec![rank.rank]),
                None => return,
            },
            _ => return,
        };
        self.rank = to.min(last);
    }
}
