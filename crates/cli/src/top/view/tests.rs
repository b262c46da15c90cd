//! Whole screens, in both languages and in the sizes that people have.

use fermi_api::v1::Stream;
use fermi_domain::language::Language;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::top::state::{Key, ServerNews, samples};

fn drawn(state: &mut State) -> String {
    settle(state);
    let mut terminal = Terminal::new(TestBackend::new(state.size.columns, state.size.rows)).unwrap();
    terminal.draw(|frame| draw(state, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // The second column of a Chinese character is a cell of its own, which is not shown.
            x += u16::try_from(symbol.width()).unwrap().max(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn list(language: Language, columns: u16, rows: u16) -> State {
    let mut state = samples::state(language, columns, rows);
    state.hear(samples::page("task-3", "llama-7b"), 0);
    state
}

fn page(language: Language, columns: u16, rows: u16) -> State {
    let mut state = list(language, columns, rows);
    state.press(Key::Down);
    state.press(Key::Enter);
    state.hear(samples::page("task-3", "llama-7b"), 0);
    let pieces = vec![
        samples::piece(1, 0, Stream::Stdout, 0, "epoch 1 开始\nstep 40 loss 2.25\n"),
        samples::piece(1, 0, Stream::Stderr, 0, "\u{1b}[33mwarning\u{1b}[0m: slow disk\n"),
    ];
    state.hear(ServerNews::Log { task: "task-3".into(), pieces }, 0);
    state
}

#[test]
fn the_list_in_english() {
    insta::assert_snapshot!(drawn(&mut list(Language::En, 80, 24)));
}

#[test]
fn the_list_in_chinese() {
    insta::assert_snapshot!(drawn(&mut list(Language::ZhCn, 80, 24)));
}

#[test]
fn the_list_on_a_small_terminal() {
    for language in Language::ALL {
        insta::assert_snapshot!(drawn(&mut list(language, 40, 10)));
    }
}

#[test]
fn the_page_of_a_task_in_english() {
    insta::assert_snapshot!(drawn(&mut page(Language::En, 80, 24)));
}

#[test]
fn the_page_of_a_task_in_chinese() {
    insta::assert_snapshot!(drawn(&mut page(Language::ZhCn, 80, 24)));
}

#[test]
fn the_page_of_a_task_on_a_small_terminal_shows_one_pane_after_the_other() {
    for language in Language::ALL {
        let mut state = page(language, 40, 10);
        for _ in 0..4 {
            insta::assert_snapshot!(drawn(&mut state));
            state.press(Key::Tab);
        }
    }
}

#[test]
fn the_page_of_keys_fits_a_small_terminal() {
    for language in Language::ALL {
        let mut state = list(language, 40, 10);
        state.press(Key::Letter('?'));
        let screen = drawn(&mut state);
        assert_eq!(screen.lines().filter(|line| !line.is_empty()).count(), 10, "{screen}");
        insta::assert_snapshot!(screen);
    }
}

#[test]
fn a_server_that_is_away_is_said_to_be_with_the_age_of_what_is_shown() {
    for (language, sentence) in [
        (Language::En, "the server is away; this is 12 s old; trying again · connection refused"),
        (Language::ZhCn, "服务器无应答；以下为 12 秒前的内容，正在重连 · connection refused"),
    ] {
        for mut state in [list(language, 100, 24), page(language, 100, 24), page(language, 100, 12)] {
            state.hear(ServerNews::Lost("connection refused".into()), 12_000);
            let screen = drawn(&mut state);
            assert!(screen.contains(sentence) && screen.contains("llama-7b"), "{screen}");
        }
    }
}

#[test]
fn a_question_stands_in_the_last_row() {
    let mut state = list(Language::En, 80, 24);
    state.press(Key::Down);
    state.press(Key::Letter('s'));
    assert!(drawn(&mut state).ends_with("stop task-3 llama-7b? y/n\n"));
    state.press(Key::Escape);
    state.press(Key::Letter('/'));
    state.press(Key::Letter('训'));
    assert!(drawn(&mut state).ends_with("filter: 训_\n"));
}

#[test]
fn no_size_is_too_small_and_nothing_that_a_terminal_obeys_is_drawn() {
    for columns in [0, 1, 9, 39, 61] {
        for rows in [0, 1, 3, 7, 18] {
            for language in Language::ALL {
                let mut away = page(language, columns, rows);
                away.hear(ServerNews::Lost("x".into()), 9_000);
                let mut gone = page(language, columns, rows);
                gone.hear(ServerNews::Gone("task-3".into()), 1);
                let mut asking = page(language, columns, rows);
                asking.press(Key::Letter('l'));
                for mut state in [list(language, columns, rows), away, gone, asking] {
                    for key in [Key::Tab, Key::End, Key::Tab, Key::End, Key::PageUp, Key::Letter('?')] {
                        assert!(!drawn(&mut state).contains('\u{1b}'));
                        state.press(key);
                    }
                }
            }
        }
    }
}

#[test]
fn the_log_is_shown_from_its_end_and_scrolled_back_to_its_beginning() {
    let mut state = page(Language::En, 80, 24);
    let text: String = (0..300).map(|number| format!("line {number}\n")).collect();
    let pieces = vec![samples::piece(2, 0, Stream::Stdout, 0, &text)];
    state.hear(ServerNews::Log { task: "task-3".into(), pieces }, 0);
    assert!(drawn(&mut state).contains("line 299") && !drawn(&mut state).contains("line 280"));
    state.press(Key::Home);
    assert!(drawn(&mut state).contains("line 0\n"));
    state.press(Key::Down);
    assert!(!drawn(&mut state).contains("line 0\n"));
    state.press(Key::End);
    assert!(drawn(&mut state).contains("line 299"));
}
