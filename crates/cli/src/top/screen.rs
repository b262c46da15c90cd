//! The terminal: its modes, its keys, the signals that end it, and when it is drawn.

use std::io::{self, Stdout};
use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use fermi_api::client::Client;
use fermi_api::v1::StopRequest;
use fermi_domain::language::{Language, Text, reason};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal;

use super::state::{Key, KeyOrder, ServerNews, Size, State, Wanted};
use super::{reader, view};
use crate::connection::{CommandProblem, Outcome};
use crate::{signals, speech};

/// No more than five frames a second, however much happens.
const FRAME: Duration = Duration::from_millis(200);
/// How often the age of what is shown is looked at.
const TICK: Duration = Duration::from_secs(1);
/// The server is not asked more often, or less.
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(3600);
/// How long a signal waits for a terminal that takes nothing.
const GRACE: Duration = Duration::from_secs(1);
/// Inputs that wait while a slow terminal is written to.
const WAITING: usize = 64;

/// What can happen.
enum Input {
    Key(Key),
    Resized(Size),
    ServerNews(Box<ServerNews>),
    /// A signal came, the terminal went away, or a thread ended.
    End,
}

/// Shows the tasks of a server until somebody quits.
pub fn run(client: Client, interval: Duration) -> Outcome {
    let language = speech::language();
    // Who cannot reach the server, or may not, is told as by every other command.
    let first = reader::rows(&client)?;
    signals::listen();
    let mut screen = Screen::open().map_err(|error| no_screen(&error))?;
    let (inputs, heard) = mpsc::sync_channel(WAITING);
    let (wishes, wanted) = mpsc::channel();
    let every = interval.clamp(SHORTEST, LONGEST);
    let mut state = State::new(language, client.server().to_string(), screen.size(), patience_ms(every));
    let began = Instant::now();
    state.hear(first, 0);
    spawn(&inputs, read_keys);
    spawn(&inputs, wait_for_signal);
    let asking = client.clone();
    spawn(&inputs, move |inputs| {
        reader::read(&asking, language, every, &wanted, |news| inputs.send(Input::ServerNews(Box::new(news))).is_ok());
    });
    let desk = Desk { client, language, inputs, heard, wishes, began };
    let ended = desk.work(&mut screen, &mut state);
    drop(screen);
    ended.map_err(|error| no_screen(&error))?;
    Ok(match signals::last() {
        0 => ExitCode::SUCCESS,
        signal => ExitCode::from(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0))),
    })
}

/// After three rounds without an answer, and not before six seconds, what is shown is old.
fn patience_ms(every: Duration) -> u64 {
    u64::try_from((every * 3).as_millis()).unwrap_or(u64::MAX).max(6_000)
}

fn no_screen(error: &io::Error) -> CommandProblem {
    let why = reason::of_io(error);
    CommandProblem::failed(
        Text::new(format!("无法使用这个终端：{}", why.zh), format!("this terminal cannot be used: {}", why.en)),
        Text::new("也可以用 fermi task list --watch", "'fermi task list --watch' needs less of it"),
    )
}

/// Runs on a thread whose end, a panic's too, ends the screen.
fn spawn(inputs: &SyncSender<Input>, work: impl FnOnce(&SyncSender<Input>) + Send + 'static) {
    struct Ending(SyncSender<Input>);
    impl Drop for Ending {
        fn drop(&mut self) {
            let _ = self.0.send(Input::End);
        }
    }
    let inputs = inputs.clone();
    thread::spawn(move || {
        let ending = Ending(inputs);
        work(&ending.0);
    });
}

/// The alternate screen in raw mode, for as long as this lives. A panic gives it back too.
struct Screen {
    /// Never dropped: it would complain to a terminal that is gone, and end in a panic.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl Screen {
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(|terminal| Self { terminal: ManuallyDrop::new(terminal) })
    }

    fn size(&self) -> Size {
        self.terminal.size().map(|size| Size { columns: size.width, rows: size.height }).unwrap_or_default()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        // A terminal that is gone has nothing to be given back.
        let _ = ratatui::try_restore();
    }
}

/// What takes inputs one after the other.
struct Desk {
    client: Client,
    language: Language,
    inputs: SyncSender<Input>,
    heard: Receiver<Input>,
    wishes: Sender<Wanted>,
    began: Instant,
}

impl Desk {
    fn work(&self, screen: &mut Screen, state: &mut State) -> io::Result<()> {
        let mut drawn: Option<(State, Instant)> = None;
        let mut told = Wanted::default();
        loop {
            state.tick(self.now_ms());
            view::settle(state);
            let wanted = state.wanted();
            if wanted != told && self.wishes.send(wanted.clone()).is_ok() {
                told = wanted;
            }
            let is_due = |(before, at): &(State, Instant)| *before != *state && at.elapsed() >= FRAME;
            if drawn.as_ref().is_none_or(is_due) {
                screen.terminal.draw(|frame| view::draw(state, frame))?;
                drawn = Some((state.clone(), Instant::now()));
            }
            let wait = match &drawn {
                Some((before, at)) if *before != *state => FRAME.saturating_sub(at.elapsed()),
                _ => TICK,
            };
            match self.heard.recv_timeout(wait) {
                Ok(input) => {
                    let more = self.heard.try_iter().take(WAITING);
                    if [input].into_iter().chain(more).any(|input| self.take(input, state)) {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether this was the last.
    fn take(&self, input: Input, state: &mut State) -> bool {
        match input {
            Input::Key(key) => match state.press(key) {
                Some(KeyOrder::Quit) => return true,
                Some(KeyOrder::Stop(id)) => self.stop(id),
                None => {}
            },
            Input::Resized(size) => state.size = size,
            Input::ServerNews(news) => state.hear(*news, self.now_ms()),
            Input::End => return true,
        }
        false
    }

    /// Asks for a task's end, on a thread: keys do not wait for the server.
    fn stop(&self, id: String) {
        let (client, language, inputs) = (self.client.clone(), self.language, self.inputs.clone());
        thread::spawn(move || {
            let answer = match client.stop_task(&id, &StopRequest { force: false }) {
                Ok(answer) => ServerNews::Ordered(format!("{id}: {}", answer.message)),
                Err(error) => ServerNews::Refused(format!("{id}: {}", reader::sentence(error, language))),
            };
            let _ = inputs.send(Input::ServerNews(Box::new(answer)));
        });
    }
}

fn read_keys(inputs: &SyncSender<Input>) {
    while let Ok(event) = event::read() {
        let input = match event {
            Event::Key(key) => match key_of(key) {
                Some(key) => Input::Key(key),
                None => continue,
            },
            Event::Resize(columns, rows) => Input::Resized(Size { columns, rows }),
            _ => continue,
        };
        if inputs.send(input).is_err() {
            return;
        }
    }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c') if has_control => Key::Interrupt,
        KeyCode::Char(_) if has_control || event.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

/// A signal asks for the end. A terminal that takes nothing any more cannot be drawn on or cleared, but its modes can be
/// given back.
fn wait_for_signal(inputs: &SyncSender<Input>) {
    let _ = signals::wait();
    let _ = inputs.try_send(Input::End);
    thread::sleep(GRACE);
    let _ = terminal::disable_raw_mode();
    std::process::exit(128_i32.saturating_add(signals::last()));
}
