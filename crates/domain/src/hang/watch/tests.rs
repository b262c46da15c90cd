mod apart;
mod hour;
mod nodes;

use super::*;
use crate::hang::{Collective, Frame, StoppedBy, StoppedProcess, Unanswered, Work};
use crate::pulse::Pulse;

const STEP_MS: u64 = 100;
const LOOK_MS: u64 = 250;
const TELL: HangPatience = HangPatience { act_after_ms: None };

/// Ranks that make a step with one collective every [`STEP_MS`], until something is done to them.
struct Job {
    watch: HangWatch,
    now_ms: u64,
    ranks: Vec<RankSample>,
    ended: Vec<u32>,
    /// Ranks that do not go on, and the rest waits for.
    held: Vec<u32>,
    busy: Vec<u32>,
    /// Ranks that read or write.
    moves: Vec<u32>,
    spins: Vec<u32>,
    /// They have no optimizer of torch's.
    steps_unseen: bool,
    patience: HangPatience,
}

impl Job {
    fn new(ranks: u32) -> Self {
        let pulse = Pulse {
            pid: 1,
            phase: Some(Phase::Step),
            phase_since_ns: 1,
            ticks: 1,
            steps: 0,
            first_step_ns: 0,
            last_step_ns: 0,
            enqueued: 0,
            completed: 0,
            modules: 0,
            left_out: 0,
            parked_end: None,
            imports_bytes: 0,
            trouble_bytes: 0,
            saving_ns: 0,
            saved_at: 0,
            armed: 47,
            pending_bytes: 0,
            place_bytes: 0,
            ending_ns: 0,
            life: 0,
            device: None,
            groups_bytes: 0,
            waiting_ns: 0,
        };
        let sample = |rank| RankSample {
            rank,
            pid: 100 + rank as i32,
            pulse: Some(pulse),
            state: b'S',
            tracer: None,
            work: None,
        };
        Self {
            watch: HangWatch::new(1_000, 0),
            now_ms: 1_000,
            ranks: (0..ranks).map(sample).collect(),
            ended: Vec::new(),
            held: Vec::new(),
            busy: Vec::new(),
            moves: Vec::new(),
            spins: Vec::new(),
            steps_unseen: false,
            patience: TELL,
        }
    }

    /// A job that has stepped for ten seconds.
    fn under_way(ranks: u32) -> Self {
        let mut job = Self::new(ranks);
        assert_eq!(job.run(10_000), None);
        job
    }

    /// Lets so much time pass, or less if the watch has something to say.
    fn run(&mut self, ms: u64) -> Option<HangStep> {
        let until = self.now_ms + ms;
        while self.now_ms < until {
            self.now_ms += LOOK_MS;
            self.advance();
            let step = self.watch.look(&self.ranks, &self.ended, self.patience, self.now_ms);
            if step.is_some() {
                return step;
            }
        }
        None
    }

    fn advance(&mut self) {
        let (now_ms, is_curious) = (self.now_ms, self.watch.curious_every(self.now_ms).is_some());
        let all_go = self.held.is_empty();
        for sample in &mut self.ranks {
            let is_held = self.held.contains(&sample.rank);
            let Some(pulse) = &mut sample.pulse else { continue };
            if sample.state != b'T' && !(sample.state == b't' && is_held) {
                pulse.ticks += 1;
            }
            if all_go {
                pulse.steps = now_ms / STEP_MS;
                pulse.last_step_ns = pulse.steps * STEP_MS * 1_000_000;
                (pulse.enqueued, pulse.completed) = (pulse.steps, pulse.steps);
            } else if !is_held && pulse.enqueued == pulse.completed {
                // It enters the next collective and waits there.
                pulse.enqueued += 1;
            }
            if self.steps_unseen {
                (pulse.steps, pulse.last_step_ns) = (0, 0);
            }
            let before = sample.work.as_ref().map_or(0, |work| work.cpu_ms);
            let cpu_ms = before + if self.busy.contains(&sample.rank) { LOOK_MS } else { 0 };
            let before = sample.work.as_ref().map_or(0, |work| work.io_bytes);
            let io_bytes = before + if self.moves.contains(&sample.rank) { 1 << 20 } else { 0 };
            let seq = pulse.enqueued;
            let (name, sizes, group) = ("all_reduce".to_owned(), "4".to_owned(), "0".to_owned());
            let pending = Collective { seq, name, sizes, group, done: false };
            let collectives = if pulse.completed < pulse.enqueued { vec![pending] } else { Vec::new() };
            // Each look finds it elsewhere, unless it is in one native call.
            let place = if self.spins.contains(&sample.rank) { 1 } else { now_ms };
            let place = vec![Frame { file: "/me/train.py".to_owned(), line: place as u32, function: "f".to_owned() }];
            let work = Work { seen_ms: now_ms, cpu_ms, io_bytes, collectives, place, ..Work::default() };
            sample.work = is_curious.then_some(work);
            if self.busy.contains(&sample.rank) {
                sample.state = b'R';
            }
        }
    }

    fn judged(&mut self, within_ms: u64) -> (u64, HangCase) {
        let began = self.now_ms;
        loop {
            match self.run(within_ms) {
                Some(HangStep::Judge { case, .. }) => return (self.now_ms - began, *case),
                Some(HangStep::Suspect { .. }) => {}
                other => panic!("no verdict but {other:?}"),
            }
        }
    }
}

/// What ranks wait for that do not tell of groups.
fn sums(begun: u64) -> Demand {
    [(String::new(), begun)].into()
}

#[test]
fn a_rank_that_does_not_come_is_named_within_five_seconds() {
    for culprit in 0..3 {
        let mut job = Job::under_way(3);
        job.held = vec![culprit];
        let (after_ms, case) = job.judged(5_000);
        assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::NotEntered, &vec![culprit], 2));
        assert!(after_ms <= 3_500, "{after_ms}");
        let frame = Frame { file: "/me/train.py".to_owned(), line: 15, function: "load".to_owned() };
        let text = case.text(after_ms, &[(culprit, vec![frame])].into());
        assert!(text.en.contains(&format!("rank {culprit} has not entered all_reduce #111")), "{}", text.en);
        assert!(text.en.contains("2 others wait in it; it is at train.py:15 (load)"), "{}", text.en);
    }
}

#[test]
fn who_steps_without_an_optimizer_of_torch_is_judged_by_the_pauses_between_collectives() {
    let mut job = Job::new(3);
    job.steps_unseen = true;
    assert_eq!(job.run(10_000), None);
    job.held = vec![1];
    let (after_ms, case) = job.judged(10_000);
    assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::NotEntered, &vec![1], 2));
    assert!((5_000..=7_500).contains(&after_ms), "{after_ms}");
}

#[test]
fn a_stopped_rank_is_named_within_a_second_and_passes_when_it_goes_on() {
    let mut job = Job::under_way(2);
    job.held = vec![1];
    job.ranks[1].state = b'T';
    let (after_ms, case) = job.judged(1_000);
    let stopped = StoppedProcess { pid: 101, by: StoppedBy::Signal };
    assert_eq!((case.kind, &case.ranks, &case.stopped), (HangKind::Stopped, &vec![1], &vec![stopped]));
    assert!(after_ms <= 1_000, "{after_ms}");
    job.ranks[1].state = b'S';
    job.held.clear();
    assert!(matches!(job.run(500), Some(HangStep::Passed { .. })));
    assert_eq!(job.run(10_000), None);
}

#[test]
fn a_rank_whose_calls_are_traced_is_not_stopped_while_it_runs_in_between() {
    let mut job = Job::under_way(2);
    job.ranks[1].state = b't';
    assert_eq!(job.run(10_000), None);
    job.held = vec![1];
    let (_, case) = job.judged(1_000);
    let stopped = StoppedProcess { pid: 101, by: StoppedBy::Tracer(None) };
    assert_eq!((case.kind, &case.stopped), (HangKind::Stopped, &vec![stopped]));

    let mut job = Job::under_way(2);
    job.ranks[1].state = b't';
    job.held = vec![0];
    let (_, case) = job.judged(5_000);
    assert_eq!((case.kind, &case.ranks), (HangKind::NotEntered, &vec![0]), "another one hangs");
}

#[test]
fn a_rank_that_works_is_no_hang_for_long() {
    let mut computes = Job::under_way(2);
    (computes.held, computes.busy) = (vec![0], vec![0]);
    assert_eq!(computes.run(600_000), None, "ten minutes of evaluation on rank 0");
    let mut saves = Job::under_way(2);
    saves.held = vec![0];
    if let Some(pulse) = &mut saves.ranks[0].pulse {
        pulse.phase = Some(Phase::Save);
    }
    assert_eq!(saves.run(590_000), None, "a save of ten minutes");
    assert_eq!(saves.judged(30_000).1.phase, Some(Phase::Save));
}

#[test]
fn those_without_steps_or_hook_are_not_judged_by_their_silence() {
    let mut starts = Job::new(2);
    starts.held = vec![0, 1];
    for sample in &mut starts.ranks {
        sample.pulse = sample.pulse.map(|pulse| Pulse { phase: Some(Phase::Import), ..pulse });
    }
    assert_eq!(starts.run(600_000), None);
    let mut bare = Job::new(2);
    bare.ranks.iter_mut().for_each(|sample| sample.pulse = None);
    assert_eq!(bare.run(600_000), None);
    bare.ranks[0].state = b'T';
    assert_eq!(bare.judged(1_000).1.ranks, [0]);
}

#[test]
fn ranks_in_different_collectives_are_told_apart() {
    let mut job = Job::under_way(2);
    // Both have entered.
    job.held = vec![9];
    assert!(matches!(job.run(5_000), Some(HangStep::Suspect { .. })));
    job.now_ms += 750;
    job.advance();
    if let Some(work) = &mut job.ranks[1].work {
        work.collectives[0].name = "broadcast".to_owned();
    }
    let step = job.watch.look(&job.ranks, &[], TELL, job.now_ms);
    let Some(HangStep::Judge { case, .. }) = step else { panic!("{step:?}") };
    assert_eq!(case.kind, HangKind::Mismatched);
    let text = case.text(2_000, &BTreeMap::new());
    assert!(text.en.contains("#111") && text.en.contains("rank 0 all_reduce, rank 1 broadcast"), "{}", text.en);
}

#[test]
fn all_in_and_silence_is_the_network_or_a_device() {
    let mut job = Job::under_way(2);
    job.held = vec![9];
    assert_eq!(job.judged(5_000).1.kind, HangKind::Silent);
    let mut elsewhere = Job::under_way(2);
    elsewhere.watch.elsewhere = Elsewhere::with(2);
    elsewhere.held = vec![9];
    assert_eq!(elsewhere.run(600_000), None, "they may wait for a rank of another node");
    assert_eq!(elsewhere.watch.tell_others(&elsewhere.ranks, elsewhere.now_ms), Some(sums(111)));
    let mut left = Job::under_way(2);
    (left.held, left.ended) = (vec![9], vec![1]);
    left.ranks.remove(1);
    let case = left.judged(5_000).1;
    assert_eq!((case.kind, &case.ranks), (HangKind::Left, &vec![1]));
    assert_eq!(case.without_interpreter, [0_u32; 0], "a rank that has ended has no interpreter");
}

#[test]
fn a_rank_that_is_ending_has_left_even_if_its_process_is_still_there() {
    let mut job = Job::under_way(3);
    job.held = vec![1];
    if let Some(pulse) = &mut job.ranks[1].pulse {
        pulse.ending_ns = 1;
    }
    let case = job.judged(5_000).1;
    assert_eq!((case.kind, &case.ranks), (HangKind::Left, &vec![1]));
    let frame = |line| vec![Frame { file: "/me/train.py".to_owned(), line, function: "f".to_owned() }];
    let text = case.text(2_000, &[(0, frame(7)), (1, frame(90))].into());
    assert!(text.en.ends_with("they are at train.py:7 (f); it was last at train.py:90 (f)"), "{}", text.en);
    let text = case.text(2_000, &[(0, frame(7))].into());
    assert!(text.en.ends_with("they are at train.py:7 (f)"), "{}", text.en);
}

#[test]
fn interpreters_that_take_their_time_to_end_are_no_hang() {
    let mut job = Job::under_way(2);
    job.held = vec![0, 1];
    job.ranks.iter_mut().filter_map(|rank| rank.pulse.as_mut()).for_each(|pulse| pulse.ending_ns = 1);
    for _ in 0..100 {
        job.now_ms += LOOK_MS;
        job.advance();
        let step = job.watch.look(&job.ranks, &[], HangPatience { act_after_ms: Some(1_000) }, job.now_ms);
        assert_eq!(step, None);
    }
}

#[test]
fn whom_the_network_has_cut_off_is_named_also_on_several_nodes() {
    let mut job = Job::under_way(3);
    job.watch.elsewhere = Elsewhere::with(2);
    job.held = vec![9];
    let mut case = None;
    for _ in 0..20 {
        job.now_ms += LOOK_MS;
        job.advance();
        for (sample, lost) in job.ranks.iter_mut().zip([vec![1], vec![0, 2], vec![1]]) {
            let lost = lost.into_iter().map(Unanswered::Rank).collect();
            sample.work = sample.work.take().map(|work| Work { unanswered: lost, ..work });
        }
        if let Some(HangStep::Judge { case: judged, .. }) = job.watch.look(&job.ranks, &[], TELL, job.now_ms) {
            case = Some(judged);
        }
    }
    let case = case.unwrap();
    assert_eq!((case.kind, &case.ranks), (HangKind::Silent, &vec![1]));
    let text = case.text(2_000, &BTreeMap::new());
    assert!(text.en.contains("rank 1 gets no answer on its connections with rank 0, rank 2"), "{}", text.en);
}

#[test]
fn a_native_call_that_does_not_return_is_told_soon_and_never_acted_upon() {
    let mut job = Job::under_way(2);
    job.patience = HangPatience { act_after_ms: Some(20_000) };
    (job.held, job.busy, job.spins) = (vec![1], vec![1], vec![1]);
    let (after_ms, case) = job.judged(5_000);
    assert_eq!((case.kind, &case.ranks), (HangKind::Busy, &vec![1]));
    assert!(after_ms <= 4_500, "{after_ms}");
    assert_eq!(job.run(600_000), None);
}

#[test]
fn a_stopped_child_counts_where_others_wait_for_its_rank() {
    let mut job = Job::under_way(3);
    job.held = vec![2];
    let mut case = None;
    for _ in 0..20 {
        job.now_ms += LOOK_MS;
        job.advance();
        for (sample, child) in job.ranks.iter_mut().zip([Some(500), None, Some(502)]) {
            let stopped_child = child.map(|pid| StoppedProcess { pid, by: StoppedBy::Signal });
            sample.work = sample.work.take().map(|work| Work { stopped_child, ..work });
        }
        if let Some(HangStep::Judge { case: judged, .. }) = job.watch.look(&job.ranks, &[], TELL, job.now_ms) {
            case = Some(judged);
        }
    }
    let case = case.unwrap();
    let stopped = StoppedProcess { pid: 502, by: StoppedBy::Signal };
    assert_eq!((case.kind, &case.ranks, &case.stopped), (HangKind::Stopped, &vec![2], &vec![stopped]));
    assert!(case.text(1, &BTreeMap::new()).en.contains("has a child that is stopped: process 502"));
}

#[test]
fn who_computes_is_told_of_when_others_wait_and_never_acted_upon() {
    let mut job = Job::under_way(2);
    job.patience = HangPatience { act_after_ms: Some(20_000) };
    (job.held, job.busy) = (vec![1], vec![1]);
    let mut kinds = Vec::new();
    let until = job.now_ms + 3_600_000;
    while job.now_ms < until {
        match job.run(60_000) {
            Some(HangStep::Judge { case, .. }) => kinds.push(case.kind),
            Some(HangStep::Act) => panic!("a rank that works was given up"),
            _ => {}
        }
    }
    assert_eq!(kinds, [HangKind::Busy]);
    // An evaluation on all ranks, in which none waits for another.
    let mut evaluates = Job::under_way(2);
    evaluates.patience = HangPatience { act_after_ms: Some(20_000) };
    (evaluates.held, evaluates.busy) = (vec![0, 1], vec![0, 1]);
    assert_eq!(evaluates.run(7_200_000), None);
}

#[test]
fn a_pause_that_passed_is_no_news_the_next_time() {
    let mut job = Job::under_way(2);
    job.held = vec![1];
    job.judged(5_000);
    assert_eq!(job.run(2_000), None);
    job.held.clear();
    assert!(matches!(job.run(500), Some(HangStep::Passed { .. })));
    assert_eq!(job.run(10_000), None);
    job.held = vec![1];
    assert_eq!(job.run(5_000), None);
    job.judged(5_000);
}

#[test]
fn a_hang_is_acted_upon_once_when_it_has_lasted() {
    let mut job = Job::under_way(2);
    job.patience = HangPatience { act_after_ms: Some(20_000) };
    job.held = vec![1];
    let began = job.now_ms;
    job.judged(5_000);
    assert_eq!(job.run(60_000), Some(HangStep::Act));
    assert!(job.now_ms - began >= 19_000, "{}", job.now_ms - began);
    assert_eq!(job.run(60_000), None);
}

#[test]
fn an_interpreter_that_does_not_tick_is_said() {
    let mut job = Job::under_way(2);
    job.held = vec![1];
    let ticks = job.ranks[1].pulse.map_or(0, |pulse| pulse.ticks);
    let mut case = None;
    for _ in 0..20 {
        job.now_ms += LOOK_MS;
        job.advance();
        if let Some(pulse) = &mut job.ranks[1].pulse {
            pulse.ticks = ticks;
        }
        if let Some(HangStep::Judge { case: judged, .. }) = job.watch.look(&job.ranks, &[], TELL, job.now_ms) {
            case = Some(judged);
        }
    }
    let case = case.unwrap();
    assert_eq!(case.without_interpreter, [1]);
    assert!(case.text(1, &BTreeMap::new()).en.contains("native code holds the GIL"));
}

#[test]
fn a_rank_that_somebody_debugs_is_no_hang() {
    let mut job = Job::under_way(3);
    job.patience = HangPatience { act_after_ms: Some(5_000) };
    job.held = vec![1];
    let frame = |file: &str, line| Frame { file: file.to_owned(), line, function: "f".to_owned() };
    let stack =
        [frame("/usr/lib/python3.11/cmd.py", 126), frame("/usr/lib/python3.11/pdb.py", 363), frame("/me/train.py", 7)];
    let look = |job: &mut Job, stack: &[Frame]| {
        job.now_ms += LOOK_MS;
        job.advance();
        if let Some(work) = &mut job.ranks[1].work {
            work.place = stack.to_vec();
        }
        job.watch.look(&job.ranks, &[], job.patience, job.now_ms)
    };
    for _ in 0..1_000 {
        assert_eq!(look(&mut job, &stack), None);
    }
    // A script of that name is not the debugger's.
    assert!(matches!(look(&mut job, &[frame("/me/pdb.py.d/train.py", 7)]), Some(HangStep::Suspect { .. })));
}

#[test]
fn a_rank_for_which_other_nodes_wait_is_named_where_it_is() {
    let mut job = Job::under_way(2);
    job.watch.elsewhere = Elsewhere::with(2);
    // Both sleep before the collective.
    job.held = vec![0, 1];
    assert_eq!(job.run(60_000), None);
    job.watch.hear_of_others(sums(111));
    let case = job.judged(5_000).1;
    assert_eq!((case.kind, &case.ranks), (HangKind::NotEntered, &vec![0, 1]));
    assert!(case.text(1, &BTreeMap::new()).en.contains("ranks of other nodes wait in it"));
}
