//! Keys and answers in a row, and where they lead.

use fermi_api::v1::Stream;
use fermi_domain::language::Language;
use fermi_domain::phase::TaskPhase;

use super::samples::{self, piece};
use super::*;

fn at_list() -> State {
    samples::state(Language::En, 80, 24)
}

fn at_page() -> State {
    let mut state = at_list();
    press(&mut state, "j\n");
    state.hear(samples::page("task-3", "llama-7b"), 0);
    state
}

/// Types letters; a line end is Enter, `<` Escape, `>` Tab, `-` Backspace.
fn press(state: &mut State, keys: &str) -> Vec<KeyOrder> {
    let key = |letter| match letter {
        '\n' => Key::Enter,
        '<' => Key::Escape,
        '>' => Key::Tab,
        '-' => Key::Backspace,
        letter => Key::Letter(letter),
    };
    keys.chars().filter_map(|letter| state.press(key(letter))).collect()
}

fn ids(state: &State) -> Vec<&str> {
    state.shown().map(|row| row.id.as_str()).collect()
}

#[test]
fn tasks_that_are_not_over_come_first_and_the_choice_stays_with_its_task() {
    let mut state = at_list();
    assert_eq!(ids(&state), ["task-5", "task-3", "task-1", "task-4", "task-2"]);
    assert_eq!(state.counts(), [2, 1, 2]);
    press(&mut state, "jj");
    assert_eq!(state.selected.as_deref(), Some("task-1"));
    let mut rows = vec![samples::row("task-6", "new", TaskPhase::Running)];
    rows.extend(state.rows.clone());
    state.hear(ServerNews::Rows { rows, has_more: false }, 1);
    assert_eq!((state.selected.as_deref(), state.position()), (Some("task-1"), 3));
    let rows = state.rows.iter().filter(|row| row.id != "task-1").cloned().collect();
    state.hear(ServerNews::Rows { rows, has_more: false }, 2);
    assert_eq!(state.selected.as_deref(), Some("task-4"), "the one that stands in its place");
    press(&mut state, "GGkg");
    assert_eq!(state.position(), 0);
}

#[test]
fn a_filter_is_typed_looked_through_and_taken_away() {
    let mut state = at_list();
    press(&mut state, "/BERT");
    assert_eq!((ids(&state), &state.prompt), (vec!["task-5"], &Some(Prompt::Filter)));
    press(&mut state, "\n");
    assert_eq!((ids(&state), &state.prompt), (vec!["task-5"], &None));
    press(&mut state, "<");
    assert_eq!(ids(&state).len(), 5);
    press(&mut state, "/失败");
    assert_eq!(ids(&state), ["task-2"]);
    press(&mut state, "---");
    assert_eq!((state.filter.as_str(), &state.prompt), ("", &None));
    press(&mut state, "/q\n");
    assert_eq!(ids(&state), ["task-5"], "a letter that is a command elsewhere is part of the filter: queued");
    press(&mut state, "</nothing of this kind\n");
    assert!(ids(&state).is_empty());
    assert!(press(&mut state, "s\neGj").is_empty() && state.open.is_none());
}

#[test]
fn a_task_is_stopped_only_after_a_yes() {
    let mut state = at_list();
    press(&mut state, "js");
    assert_eq!(state.prompt, Some(Prompt::Stop { id: "task-3".into(), name: "llama-7b".into() }));
    assert!(press(&mut state, "n").is_empty() && state.prompt.is_none());
    assert!(press(&mut state, "sq").is_empty(), "any other key means no");
    assert_eq!(press(&mut state, "sy"), [KeyOrder::Stop("task-3".into())]);
    assert!(state.notice.as_ref().unwrap().contains("task-3"));
    state.hear(ServerNews::Refused("no".into()), 1);
    assert_eq!(state.notice.as_deref(), Some("no"));
    // The server says of each task whether it can be stopped.
    press(&mut state, "Gs");
    assert_eq!((state.notice.as_deref(), &state.prompt), (Some("the task is over"), &None));
}

#[test]
fn a_task_is_opened_its_panes_go_round_and_escape_leads_back() {
    let mut state = at_page();
    let open = |state: &State| state.open.clone().unwrap();
    assert_eq!((open(&state).id.as_str(), open(&state).focus), ("task-3", Pane::Log));
    assert_eq!(open(&state).charts.steps.len(), 18);
    press(&mut state, ">");
    assert_eq!(open(&state).focus, Pane::Why);
    press(&mut state, ">");
    state.press(Key::Right);
    press(&mut state, "\n");
    assert_eq!((open(&state).focus, open(&state).log.ranks), (Pane::Log, vec![1]));
    press(&mut state, "e");
    assert_eq!(open(&state).focus, Pane::Why);
    state.press(Key::BackTab);
    assert_eq!(open(&state).focus, Pane::Log);
    press(&mut state, "<");
    assert_eq!((state.open.is_none(), state.selected.as_deref()), (true, Some("task-3")));
    press(&mut state, "e");
    assert_eq!(open(&state).focus, Pane::Why);
    assert_eq!(press(&mut state, "q"), [KeyOrder::Quit]);
    assert_eq!(state.press(Key::Interrupt), Some(KeyOrder::Quit));
}

#[test]
fn ranks_are_chosen_by_a_list_and_nonsense_is_said_to_be_that() {
    let mut state = at_page();
    press(&mut state, "l0,2\n");
    assert_eq!(state.wanted().page.unwrap().ranks, [0, 2]);
    for text in ["l0 to 3\n", "l0", "l0,8000\n"] {
        let mut state = at_page();
        let text = text.replace("l0,8000", "l0,1,2,3,4,5,6,7,8");
        press(&mut state, &text);
        assert_eq!(state.wanted().page.unwrap().ranks, [0], "{text}");
        assert!(matches!(state.prompt, Some(Prompt::Ranks(_))));
        assert_eq!(state.notice.is_some(), text.ends_with('\n'));
    }
}

#[test]
fn a_log_is_put_together_from_pieces_whatever_comes_twice_or_late() {
    let mut log = Log::of(vec![0]);
    let texts = |log: &Log| log.all().map(|line| line.text).collect::<Vec<_>>();
    log.take(&piece(1, 0, Stream::Stdout, 100, "one\ntw"));
    log.take(&piece(1, 0, Stream::Stdout, 100, "one\ntw"));
    log.take(&piece(1, 1, Stream::Stdout, 0, "another rank\n"));
    assert_eq!(texts(&log), ["one", "tw"]);
    log.take(&piece(1, 0, Stream::Stdout, 106, "o\n 1%\r 2%"));
    log.take(&piece(1, 0, Stream::Stderr, 0, "\u{1b}[31mred\n"));
    assert_eq!(texts(&log), ["one", "two", "red", " 2%"]);
    assert_eq!(log.offsets()[&(0, Stream::Stdout)], 115);
    // More was written between than is worth to be read.
    log.take(&piece(1, 0, Stream::Stdout, 5000, "later\n"));
    assert_eq!(texts(&log), ["one", "two", "red", "later"]);
    log.take(&piece(2, 0, Stream::Stdout, 0, "again\n"));
    log.take(&piece(1, 0, Stream::Stdout, 5006, "late\n"));
    assert_eq!((texts(&log), log.attempt), (vec!["again".to_owned()], 2));
    log.take(&piece(2, 0, Stream::Stdout, 6, &"x\n".repeat(10_000)));
    assert_eq!(log.lines.len(), 500);
}

#[test]
fn what_is_shown_has_an_age_only_while_the_server_is_away() {
    let mut state = at_list();
    let quiet = state.clone();
    state.tick(5_000);
    state.hear(samples::rows(), 5_000);
    assert!(state == quiet, "a screen on which nothing happens is not drawn again");
    state = quiet;
    state.tick(7_900);
    assert_eq!(state.contact.age_s, Some(7));
    state.hear(ServerNews::Lost("gone".into()), 8_000);
    assert_eq!((state.contact.age_s, state.contact.problem.as_deref()), (Some(8), Some("gone")));
    state.tick(119_000);
    assert_eq!(state.contact.age_s, Some(60));
    assert_eq!(ids(&state).len(), 5, "and what was known stays");
    state.hear(samples::rows(), 120_000);
    assert_eq!((state.contact.age_s, state.contact.problem), (None, None));
}

#[test]
fn answers_about_a_task_that_is_not_open_any_more_change_no_page() {
    let mut state = at_page();
    press(&mut state, "<k\n");
    state.hear(samples::page("task-3", "llama-7b"), 1);
    let pieces = vec![piece(1, 0, Stream::Stdout, 0, "hello\n")];
    state.hear(ServerNews::Log { task: "task-3".into(), pieces }, 1);
    state.hear(ServerNews::Gone("task-3".into()), 1);
    let open = state.open.as_ref().unwrap();
    assert_eq!((open.id.as_str(), open.task.is_none(), open.is_gone), ("task-5", true, false));
    assert_eq!(open.log.lines.len(), 0);
    assert_eq!(state.details["task-3"].steps.len(), 18);
    state.hear(ServerNews::Gone("task-5".into()), 2);
    assert!(state.open.as_ref().unwrap().is_gone && state.wanted().page.is_none());
}

#[test]
fn the_chosen_task_is_always_on_the_screen_and_the_list_moves_only_when_it_must() {
    let mut state = at_list();
    let rows = (0..50).map(|number| samples::row(&format!("task-{number}"), "x", TaskPhase::Running)).collect();
    state.hear(ServerNews::Rows { rows, has_more: false }, 0);
    let mut firsts = Vec::new();
    for keys in ["g", "jjjj", "j", "kkkk", "G", "g"] {
        press(&mut state, keys);
        state.settle(5, 0);
        assert!((state.first..state.first + 5).contains(&state.position()));
        firsts.push(state.first);
    }
    assert_eq!(firsts, [0, 0, 1, 1, 45, 0]);
    state.settle(0, 0);
    state.settle(500, 0);
    assert_eq!(state.first, 0);
}
