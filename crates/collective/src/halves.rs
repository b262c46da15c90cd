//! The all-reduce of two ranks: each adds up one half of the values, and what is to be added and what has been added
//! travel at the same time.
//!
//! Each rank sends the half that the other adds up, and the sums of its own, which is as much as a swap of everything, but only
//! half of it is added on each side, and every sum is computed once. Pieces go in an order that both know ([`Course`]), so
//! that they need no headers.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::bytes::{add, bytes_of, bytes_of_mut};
use crate::error::{Operation, OperationError};
use crate::ring::{Ring, Talk};
use crate::wire::{Ended, Wire};

/// Values that travel as one. Large ones spare wake-ups and calls; the sums of one are still in the cache when they are sent.
const PIECE: usize = 128 << 10;
/// Values of a cache line: where the second half begins, so that the copies of the kernel stay aligned.
const LINE: usize = 16;
/// To a rank on the same machine, pieces that are sent before the first sum: what lies in the sockets stays in the cache. Over a
/// network more must be under way.
const NEAR_LEAD: usize = 4;

/// Bytes from which on a thread of its own sends: below that it is not worth its start.
const LONG: usize = 4 << 20;

pub(crate) fn all_reduce_sum(ring: &mut Ring, rank: usize, values: &mut [f32]) -> Result<(), OperationError> {
    let lead = if ring.is_near { NEAR_LEAD } else { usize::MAX };
    // Two threads for each rank on this machine.
    let needed = if ring.is_near { 4 } else { 2 };
    if size_of_val(values) >= LONG && ring.cores >= needed {
        return at_once(ring, rank, values, lead);
    }
    in_turn(ring, rank, values, lead)
}

fn in_turn(ring: &mut Ring, rank: usize, values: &mut [f32], lead: usize) -> Result<(), OperationError> {
    let total = size_of_val(values);
    let mut halves = Halves::new(rank, values, lead);
    ring.talk(Operation::AllReduce, total, &mut halves)
}

/// One thread sends, this one receives and adds up. A piece belongs to one of them at a time: those of the other rank's half are
/// handed on when they are sent, those of the own half when they are added up.
fn at_once(ring: &mut Ring, rank: usize, values: &mut [f32], lead: usize) -> Result<(), OperationError> {
    let total = size_of_val(values);
    let Ok(wire) = ring.wire(Operation::AllReduce) else { return in_turn(ring, rank, values, lead) };
    let course = Course::of(values.len(), lead);
    let middle = middle(values.len());
    let (first, second) = values.split_at_mut(middle);
    let (own, other) = if rank == 0 { (first, second) } else { (second, first) };
    let begun = thread::scope(|scope| {
        let (go, may_go) = mpsc::channel();
        let (summed, sums) = mpsc::channel();
        let (sent, rooms) = mpsc::channel();
        let wire = &wire;
        let sending = move || may_go.recv().map_err(|_| Ended).and_then(|()| send(wire, course, other, sent, sums));
        thread::Builder::new().name("all-reduce".to_owned()).spawn_scoped(scope, sending).ok()?;
        let opened = ring.exchange_headers(Operation::AllReduce, total);
        wire.has_moved();
        if opened.is_ok() && go.send(()).is_ok() {
            let _ = receive(wire, course, own, summed, rooms);
        }
        Some(opened)
    });
    match begun {
        Some(opened) => opened.and(wire.outcome()),
        // There is no room for a thread.
        None => in_turn(ring, rank, values, lead),
    }
}

type Piece<'v> = &'v mut [f32];

/// Sends addends as they are, sums as they are added up; gives away what the other rank's sums go to.
fn send<'v>(
    wire: &Wire,
    course: Course,
    other: Piece<'v>,
    sent: Sender<Piece<'v>>,
    sums: Receiver<Piece<'v>>,
) -> Result<(), Ended> {
    let mut pieces = other.chunks_mut(PIECE);
    for travelling in course.all() {
        match travelling {
            Travelling::Addend(_) => {
                let piece = pieces.next().unwrap_or_default();
                wire.send(bytes_of(piece))?;
                sent.send(piece).map_err(|_| Ended)?;
            }
            Travelling::Sum(_) => wire.send(bytes_of(sums.recv().map_err(|_| Ended)?))?,
        }
    }
    Ok(())
}

/// Adds up what comes for the own half and gives it away to be sent; puts sums where addends lay.
fn receive<'v>(
    wire: &Wire,
    course: Course,
    own: Piece<'v>,
    summed: Sender<Piece<'v>>,
    rooms: Receiver<Piece<'v>>,
) -> Result<(), Ended> {
    let mut addend = vec![0.0; PIECE.min(own.len())];
    let mut pieces = own.chunks_mut(PIECE);
    for travelling in course.all() {
        match travelling {
            Travelling::Addend(_) => {
                let sums = pieces.next().unwrap_or_default();
                let addend = &mut addend[..sums.len()];
                wire.receive(bytes_of_mut(addend))?;
                add(sums, addend);
                summed.send(sums).map_err(|_| Ended)?;
            }
            // The other rank could add this piece up only after it had ours, so that its room is on the way.
            Travelling::Sum(_) => wire.receive(bytes_of_mut(rooms.recv().map_err(|_| Ended)?))?,
        }
    }
    Ok(())
}

/// Where the second half begins.
fn middle(length: usize) -> usize {
    (length / 2).next_multiple_of(LINE).min(length)
}

/// A piece on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Travelling {
    /// To be added up by who receives it.
    Addend(usize),
    Sum(usize),
}

/// The order of the pieces, alike in both directions: addends are `lead` ahead, then sums and addends take turns.
#[derive(Clone, Copy, Debug)]
struct Course {
    pieces: usize,
    lead: usize,
}

impl Course {
    /// For so many values in both halves.
    fn of(length: usize, lead: usize) -> Self {
        let middle = middle(length);
        Self { pieces: middle.max(length - middle).div_ceil(PIECE), lead }
    }

    fn all(self) -> impl Iterator<Item = Travelling> {
        (0..).map_while(move |turn| self.at(turn))
    }

    fn at(self, turn: usize) -> Option<Travelling> {
        let lead = self.lead.min(self.pieces);
        let both = self.pieces - lead;
        let Some(behind) = turn.checked_sub(lead) else { return Some(Travelling::Addend(turn)) };
        match behind {
            _ if behind < 2 * both && behind.is_multiple_of(2) => Some(Travelling::Sum(behind / 2)),
            _ if behind < 2 * both => Some(Travelling::Addend(lead + behind / 2)),
            _ if turn < 2 * self.pieces => Some(Travelling::Sum(behind - both)),
            _ => None,
        }
    }
}

/// How far one direction has come.
#[derive(Debug, Default)]
struct Position {
    turn: usize,
    /// Bytes of the piece.
    done: usize,
}

struct Halves<'a> {
    values: &'a mut [f32],
    /// What this rank adds up, and what the other does.
    own: Range<usize>,
    other: Range<usize>,
    course: Course,
    /// An addend as it comes.
    piece: Vec<f32>,
    /// Pieces that are added up.
    added: usize,
    sending: Position,
    receiving: Position,
}

impl<'a> Halves<'a> {
    fn new(rank: usize, values: &'a mut [f32], lead: usize) -> Self {
        let length = values.len();
        let (first, second) = (0..middle(length), middle(length)..length);
        let piece = vec![0.0; PIECE.min(first.len().max(second.len()))];
        let (own, other) = if rank == 0 { (first, second) } else { (second, first) };
        let course = Course::of(length, lead);
        let (sending, receiving) = Default::default();
        let mut halves = Self { values, own, other, course, piece, added: 0, sending, receiving };
        halves.settle();
        halves
    }

    /// Where a piece of `half` lies; the last may be shorter, or empty in the shorter half.
    fn place(half: &Range<usize>, index: usize) -> Range<usize> {
        let at = |index: usize| half.end.min(half.start + index * PIECE);
        at(index)..at(index + 1)
    }

    /// The piece that is sent next, if it is there to be sent.
    fn outgoing(&self) -> Option<Range<usize>> {
        match self.course.at(self.sending.turn)? {
            Travelling::Addend(index) => Some(Self::place(&self.other, index)),
            Travelling::Sum(index) => (index < self.added).then(|| Self::place(&self.own, index)),
        }
    }

    /// Goes on to the next pieces where one is whole.
    fn settle(&mut self) {
        while let Some(travelling) = self.course.at(self.receiving.turn) {
            let place = match travelling {
                Travelling::Addend(index) => Self::place(&self.own, index),
                Travelling::Sum(index) => Self::place(&self.other, index),
            };
            if self.receiving.done < place.len() * size_of::<f32>() {
                break;
            }
            if matches!(travelling, Travelling::Addend(_)) {
                let length = place.len();
                add(&mut self.values[place], &self.piece[..length]);
                self.added += 1;
            }
            self.receiving = Position { turn: self.receiving.turn + 1, done: 0 };
        }
        while self.outgoing().is_some_and(|place| self.sending.done == place.len() * size_of::<f32>()) {
            self.sending = Position { turn: self.sending.turn + 1, done: 0 };
        }
    }
}

impl Talk for Halves<'_> {
    fn to_send(&self) -> &[u8] {
        self.outgoing().map_or(&[], |place| &bytes_of(&self.values[place])[self.sending.done..])
    }

    fn sent(&mut self, bytes: usize) {
        self.sending.done += bytes;
        self.settle();
    }

    fn room(&mut self) -> &mut [u8] {
        let target = match self.course.at(self.receiving.turn) {
            None => return &mut [],
            Some(Travelling::Addend(index)) => &mut self.piece[..Self::place(&self.own, index).len()],
            // The other rank could add this piece up only after it had ours.
            Some(Travelling::Sum(index)) => &mut self.values[Self::place(&self.other, index)],
        };
        &mut bytes_of_mut(target)[self.receiving.done..]
    }

    fn received(&mut self, bytes: usize) {
        self.receiving.done += bytes;
        self.settle();
    }

    fn is_over(&self) -> bool {
        self.course.at(self.sending.turn).is_none() && self.course.at(self.receiving.turn).is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addends_go_ahead_and_sums_follow() {
        let order = |pieces, lead| -> Vec<Travelling> { Course { pieces, lead }.all().collect() };
        use Travelling::{Addend, Sum};
        assert_eq!(order(1, 2), [Addend(0), Sum(0)]);
        assert_eq!(order(3, 1), [Addend(0), Sum(0), Addend(1), Sum(1), Addend(2), Sum(2)]);
        assert_eq!(order(3, 2), [Addend(0), Addend(1), Sum(0), Addend(2), Sum(1), Sum(2)]);
        assert_eq!(order(2, usize::MAX), [Addend(0), Addend(1), Sum(0), Sum(1)]);
    }

    /// Two rings over loopback, as two ranks have them.
    fn rings() -> [Ring; 2] {
        let pair = || {
            let door = TcpListener::bind("127.0.0.1:0").unwrap();
            let out = TcpStream::connect(door.local_addr().unwrap()).unwrap();
            (out, door.accept().unwrap().0)
        };
        let ((first_out, second_in), (second_out, first_in)) = (pair(), pair());
        [Ring::new(first_in, 1, first_out, 1).unwrap(), Ring::new(second_in, 0, second_out, 0).unwrap()]
    }

    fn value(rank: usize, index: usize) -> f32 {
        ((rank * 7919 + index * 104_729) % 10_007) as f32 * 1.000_1
    }

    #[test]
    fn two_threads_give_the_bits_of_one() {
        for (length, lead) in
            [(0, 4), (1, 4), (17, 1), (2 * PIECE + 40, 1), (9 * PIECE + 1, 4), (3 * PIECE, usize::MAX)]
        {
            type Way = fn(&mut Ring, usize, &mut [f32], usize) -> Result<(), OperationError>;
            let summed = |ways: [Way; 2]| -> Vec<Vec<u32>> {
                let [mut first, mut second] = rings();
                thread::scope(|scope| {
                    let ranks = [(0, &mut first), (1, &mut second)].map(|(rank, ring)| {
                        scope.spawn(move || {
                            let mut values: Vec<f32> = (0..length).map(|index| value(rank, index)).collect();
                            ring.begin();
                            ways[rank](ring, rank, &mut values, lead).unwrap();
                            values.iter().map(|sum| sum.to_bits()).collect()
                        })
                    });
                    ranks.map(|rank| rank.join().unwrap()).into()
                })
            };
            let expected = summed([in_turn, in_turn]);
            assert_eq!(expected[0], expected[1]);
            // What a rank does by itself is no matter to the other.
            for ways in [[at_once, at_once], [at_once, in_turn], [in_turn, at_once]] as [[Way; 2]; 3] {
                assert_eq!(summed(ways), expected, "{length} values, {lead} ahead");
            }
        }
    }

    #[test]
    fn a_rank_that_is_silent_or_gone_ends_both_threads() {
        let ended = |leaves: bool| {
            let [mut first, mut second] = rings();
            first.timeout = if leaves { Duration::from_secs(20) } else { Duration::from_millis(200) };
            first.begin();
            second.begin();
            let mut values = vec![1.0; 9 * PIECE];
            thread::scope(|scope| {
                let other = scope.spawn(move || {
                    second.exchange_headers(Operation::AllReduce, 9 * PIECE * 4).unwrap();
                    (!leaves).then_some(second)
                });
                let outcome = at_once(&mut first, 0, &mut values, 4);
                drop(other.join());
                outcome.unwrap_err()
            })
        };
        assert!(matches!(ended(false), OperationError::Silent { rank: 1, .. }));
        assert!(matches!(ended(true), OperationError::Lost { rank: 1, .. }));
    }

    /// Moves up to so many bytes from one to the other.
    fn carry(from: &mut Halves<'_>, to: &mut Halves<'_>, most: usize) -> usize {
        let room = to.room();
        let sent = from.to_send();
        let count = most.min(sent.len()).min(room.len());
        room[..count].copy_from_slice(&sent[..count]);
        from.sent(count);
        to.received(count);
        count
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn both_get_the_same_sums_however_the_bytes_come(
            length in 0usize..3 * PIECE,
            edge in 0usize..40,
            lead in prop_oneof![Just(1), Just(2), Just(usize::MAX)],
            most in 1usize..1 << 20,
        ) {
            // Near the length at which the last piece of one half is empty.
            for length in [length, 2 * PIECE + edge] {
                let mut one: Vec<f32> = (0..length).map(|index| index as f32).collect();
                let mut two: Vec<f32> = (0..length).map(|index| (index * 2) as f32).collect();
                let (mut first, mut second) = (Halves::new(0, &mut one, lead), Halves::new(1, &mut two, lead));
                while !(first.is_over() && second.is_over()) {
                    let most = most.max(length / 50);
                    let moved = carry(&mut first, &mut second, most) + carry(&mut second, &mut first, most);
                    prop_assert!(moved > 0, "nothing moves");
                }
                drop((first, second));
                prop_assert!(one.iter().enumerate().all(|(index, sum)| *sum == (index * 3) as f32));
                prop_assert_eq!(one, two);
            }
        }
    }
}
