//! Many callers in one thread, so that they leave the machine to the server.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::spread::Spread;
use super::wire::{Answer, Wire};

/// When the next request is sent.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// As soon as the one before is answered, on every connection.
    Answered,
    /// So many each second, whatever the server does. A request that finds no connection free waits, and its wait counts.
    PerSecond(f64),
}

/// When it is enough.
#[derive(Clone, Copy, Debug)]
pub enum Enough {
    After(Duration),
    Answers(usize),
}

/// Callers that ask for the same kind of thing.
pub struct Callers {
    pub pace: Pace,
    pub connections: usize,
    pub request: Box<dyn FnMut() -> Vec<u8>>,
    /// Sees every answer.
    pub look: Box<dyn FnMut(&Answer)>,
}

/// How they fared.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds from the moment at which a request was due to its whole answer; answers with 200 only.
    pub latency: Spread,
    pub refused: usize,
    pub first_refusal: String,
    pub per_second: f64,
}

struct Lane {
    wire: Wire,
    due: Option<Instant>,
}

struct Crew {
    callers: Callers,
    lanes: Vec<Lane>,
    waiting: VecDeque<Instant>,
    next_due: Instant,
    outcome: Outcome,
}

/// Lets them all call until it is enough, then waits for the last answers.
pub fn drive(address: &str, callers: Vec<Callers>, enough: Enough) -> io::Result<Vec<Outcome>> {
    let begun = Instant::now();
    let crews = callers.into_iter().map(|callers| Crew::gather(address, callers, begun));
    let mut crews = crews.collect::<io::Result<Vec<Crew>>>()?;
    let begun = Instant::now();
    let mut took = None;
    loop {
        let now = Instant::now();
        let is_enough = match enough {
            Enough::After(span) => now - begun >= span,
            Enough::Answers(count) => crews.iter().map(|crew| crew.outcome.latency.count()).sum::<usize>() >= count,
        };
        if is_enough {
            took.get_or_insert(now - begun);
        } else {
            for crew in &mut crews {
                crew.send(now)?;
            }
        }
        if is_enough && crews.iter().all(|crew| crew.lanes.iter().all(|lane| lane.due.is_none())) {
            break;
        }
        wait(&mut crews, is_enough)?;
    }
    let seconds = took.unwrap_or_default().as_secs_f64();
    Ok(crews.into_iter().map(|crew| crew.finish(seconds)).collect())
}

impl Crew {
    fn gather(address: &str, callers: Callers, begun: Instant) -> io::Result<Self> {
        let lane = |_| Ok(Lane { wire: Wire::open(address)?, due: None });
        let lanes = (0..callers.connections).map(lane).collect::<io::Result<Vec<Lane>>>()?;
        Ok(Self { callers, lanes, waiting: VecDeque::new(), next_due: begun, outcome: Outcome::default() })
    }

    fn send(&mut self, now: Instant) -> io::Result<()> {
        if let Pace::PerSecond(rate) = self.callers.pace {
            while self.next_due <= now {
                self.waiting.push_back(self.next_due);
                self.next_due += Duration::from_secs_f64(1.0 / rate);
            }
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.due.is_none()) {
            let due = match self.callers.pace {
                Pace::Answered => now,
                Pace::PerSecond(_) => match self.waiting.pop_front() {
                    Some(due) => due,
                    None => break,
                },
            };
            lane.wire.send(&(self.callers.request)())?;
            lane.due = Some(due);
        }
        Ok(())
    }

    fn hear(&mut self, lane: usize) -> io::Result<()> {
        let lane = &mut self.lanes[lane];
        let Some(answer) = lane.wire.receive()? else { return Ok(()) };
        let Some(due) = lane.due.take() else { return Err(io::Error::other("an answer that nobody asked for")) };
        if answer.status == 200 {
            self.outcome.latency.push(due.elapsed().as_secs_f64() * 1e3);
            (self.callers.look)(&answer);
        } else {
            if self.outcome.refused == 0 {
                self.outcome.first_refusal = String::from_utf8_lossy(&answer.body).into_owned();
            }
            self.outcome.refused += 1;
        }
        Ok(())
    }

    fn finish(mut self, seconds: f64) -> Outcome {
        self.outcome.per_second = self.outcome.latency.count() as f64 / seconds;
        self.outcome
    }
}

/// Sleeps until an answer comes or a request is due, and takes what came.
fn wait(crews: &mut [Crew], is_enough: bool) -> io::Result<()> {
    let now = Instant::now();
    let due = crews
        .iter()
        .filter(|crew| matches!(crew.callers.pace, Pace::PerSecond(_)) && !is_enough)
        .map(|crew| crew.next_due)
        .min();
    let patience = due.map_or(Duration::from_millis(100), |due| due.saturating_duration_since(now));
    let places: Vec<(usize, usize)> =
        crews.iter().enumerate().flat_map(|(crew, each)| (0..each.lanes.len()).map(move |lane| (crew, lane))).collect();
    let mut fds: Vec<PollFd<'_>> = places
        .iter()
        .map(|(crew, lane)| PollFd::new(crews[*crew].lanes[*lane].wire.as_fd(), PollFlags::POLLIN))
        .collect();
    // An interrupted wait is a wait that ended early.
    let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(patience)), None);
    let ready: Vec<(usize, usize)> =
        places.iter().zip(&fds).filter(|(_, fd)| fd.any() == Some(true)).map(|(place, _)| *place).collect();
    for (crew, lane) in ready {
        crews[crew].hear(lane)?;
    }
    Ok(())
}
