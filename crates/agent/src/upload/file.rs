//! One file on its way: how much of it has arrived, and what the last answer means.

use std::time::{Duration, Instant};

use fermi_domain::fleet::JournalSent;

use super::client::{Piece, PieceAnswer, UploadClient};
use super::tail::GrowingFile;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct UploadFile<F> {
    /// Where it goes, below the server's address.
    pub path: String,
    /// Whose stream it is, by attempt and rank; nobody's where it is a journal.
    pub of_rank: Option<(u32, u32)>,
    /// What the server has of the journal of its run.
    pub journal: JournalSent,
    /// Whether the server does not take its kind: it is neither sent nor waited for.
    pub is_withheld: bool,
    tail: F,
    /// How much the server has; none when it must be asked.
    arrived: Option<u64>,
    /// Whether there may be something to send.
    pub is_open: bool,
    not_before: Option<Instant>,
    pause: Duration,
}

/// What came of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is nothing to send for now.
    Idle,
    Moved,
    /// The server does not want the run.
    Unwanted,
    /// This one must wait; others need not.
    Later,
    /// The server is not there.
    Unreachable,
}

impl<F: GrowingFile> UploadFile<F> {
    /// One of which the server has nothing, or has whatever it says when asked.
    pub fn new(path: String, tail: F, is_fresh: bool) -> Self {
        let arrived = is_fresh.then_some(0);
        Self {
            path,
            of_rank: None,
            journal: JournalSent::Partly,
            is_withheld: false,
            tail,
            arrived,
            is_open: true,
            not_before: None,
            pause: FIRST_PAUSE,
        }
    }

    /// When it wants to be tried again, if it waits for that.
    pub fn waits_until(&self) -> Option<Instant> {
        self.not_before.filter(|_| self.has_more())
    }

    /// Whether there may be something that the server takes.
    pub fn has_more(&self) -> bool {
        self.is_open && !self.is_withheld
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.has_more() && self.not_before.is_none_or(|at| now >= at)
    }

    /// Sends one piece, or asks where to begin.
    pub fn step(&mut self, client: &mut impl UploadClient, buffer: &mut [u8], now: Instant) -> Step {
        self.not_before = None;
        let Some(arrived) = self.arrived else {
            if !self.tail.exists() {
                self.is_open = false;
                return Step::Idle;
            }
            return match client.ask(&self.path) {
                PieceAnswer::Has(length) | PieceAnswer::Misfit(length) => self.goes_on_from(length),
                answer => self.trouble(&answer, now),
            };
        };
        let count = match self.tail.read(arrived, buffer) {
            Ok(0) => {
                self.is_open = false;
                return Step::Idle;
            }
            Ok(count) => count,
            // The disk may come back.
            Err(_) => return self.later(now),
        };
        match client.send(&self.path, Piece { offset: arrived, bytes: &buffer[..count], journal: self.journal }) {
            PieceAnswer::Has(length) if length > arrived => self.goes_on_from(length),
            // It has more or less than we thought. A server that says the same again and again gets a rest.
            PieceAnswer::Misfit(length) if length != arrived => self.goes_on_from(length),
            answer => self.trouble(&answer, now),
        }
    }

    fn goes_on_from(&mut self, length: u64) -> Step {
        self.arrived = Some(length);
        self.pause = FIRST_PAUSE;
        Step::Moved
    }

    fn trouble(&mut self, answer: &PieceAnswer, now: Instant) -> Step {
        match answer {
            PieceAnswer::Unwanted => Step::Unwanted,
            PieceAnswer::Unreachable => {
                // Whether the piece arrived is not known; the next answer tells.
                Step::Unreachable
            }
            PieceAnswer::Troubled | PieceAnswer::Has(_) | PieceAnswer::Misfit(_) => self.later(now),
        }
    }

    fn later(&mut self, now: Instant) -> Step {
        self.not_before = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Step::Later
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::tail::Tail;
    use super::*;

    /// Keeps what fits, and says strange things now and then.
    #[derive(Default)]
    struct Played {
        has: Vec<u8>,
        moods: VecDeque<Mood>,
        asked: usize,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Mood {
        Fine,
        Broken,
        Away,
        /// Takes the piece, and its answer is lost.
        LosesAnswer,
        TakesHalf,
        SameConflict,
        Unwanting,
    }

    impl UploadClient for Played {
        fn ask(&mut self, _: &str) -> PieceAnswer {
            self.asked += 1;
            PieceAnswer::Has(self.has.len() as u64)
        }

        fn send(&mut self, _: &str, Piece { offset, bytes, .. }: Piece<'_>) -> PieceAnswer {
            let mood = self.moods.pop_front().unwrap_or(Mood::Fine);
            match mood {
                Mood::Broken => return PieceAnswer::Troubled,
                Mood::Away => return PieceAnswer::Unreachable,
                Mood::Unwanting => return PieceAnswer::Unwanted,
                Mood::SameConflict => return PieceAnswer::Misfit(offset),
                Mood::Fine | Mood::LosesAnswer | Mood::TakesHalf => {}
            }
            if offset != self.has.len() as u64 {
                return PieceAnswer::Misfit(self.has.len() as u64);
            }
            let taken = if mood == Mood::TakesHalf { bytes.len().div_ceil(2) } else { bytes.len() };
            self.has.extend_from_slice(&bytes[..taken]);
            if mood == Mood::LosesAnswer { PieceAnswer::Unreachable } else { PieceAnswer::Has(self.has.len() as u64) }
        }
    }

    fn file(text: &str) -> (tempfile::TempDir, Tail) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, text).unwrap();
        (folder, Tail::new(path))
    }

    #[test]
    fn whatever_the_server_does_every_byte_arrives_once() {
        use Mood::{Away, Broken, Fine, LosesAnswer, SameConflict, TakesHalf};
        let text: String = (0..100).map(|n| format!("{n} ")).collect();
        for moods in [
            vec![],
            vec![Broken, Broken, Fine, Away],
            vec![LosesAnswer, LosesAnswer, Fine, LosesAnswer],
            vec![TakesHalf, Away, TakesHalf, LosesAnswer, Broken],
            vec![SameConflict, SameConflict],
        ] {
            let (_folder, tail) = file(&text);
            let mut server = Played { moods: moods.into(), ..Played::default() };
            let mut file = UploadFile::new("/p".into(), tail, true);
            let mut now = Instant::now();
            let mut steps = 0;
            while file.is_open {
                file.step(&mut server, &mut [0; 16], now);
                now = file.waits_until().unwrap_or(now);
                steps += 1;
                assert!(steps < 1000, "it never ends");
            }
            assert_eq!(String::from_utf8(server.has).unwrap(), text);
        }
    }

    #[test]
    fn one_that_was_begun_by_another_agent_goes_on_where_the_server_is() {
        let (_folder, tail) = file("0123456789");
        let mut server = Played { has: b"01234".to_vec(), ..Played::default() };
        let mut file = UploadFile::new("/p".into(), tail, false);
        while file.is_open {
            file.step(&mut server, &mut [0; 64], Instant::now());
        }
        assert_eq!((server.has.as_slice(), server.asked), (&b"0123456789"[..], 1));
    }

    #[test]
    fn a_server_in_trouble_is_asked_less_and_less_often() {
        let (_folder, tail) = file("x");
        let mut server = Played { moods: [Mood::Broken; 20].into(), ..Played::default() };
        let mut file = UploadFile::new("/p".into(), tail, true);
        let mut now = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            assert_eq!(file.step(&mut server, &mut [0; 8], now), Step::Later);
            assert!(!file.is_due(now));
            let at = file.waits_until().unwrap();
            pauses.push(at - now);
            now = at;
        }
        assert!(pauses.is_sorted() && pauses[0] == FIRST_PAUSE && pauses[9] == LONGEST_PAUSE);
    }

    #[test]
    fn an_unwanted_run_is_said_to_be_so() {
        let (_folder, tail) = file("x");
        let mut server = Played { moods: [Mood::Unwanting].into(), ..Played::default() };
        assert_eq!(
            UploadFile::new("/p".into(), tail, true).step(&mut server, &mut [0; 8], Instant::now()),
            Step::Unwanted
        );
    }
}
