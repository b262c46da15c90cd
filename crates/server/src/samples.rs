//! What an agent has measured: the last minutes as they came, and the hour before as means of ten seconds.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use fermi_api::link::{GpuSample, Heartbeat, MachineSample};
use fermi_domain::ids::TaskId;

/// Samples that are kept as they came.
const FINE: usize = 120;
/// Means behind them.
const COARSE: usize = 360;
/// Samples that become one mean.
const TOGETHER: usize = 10;
/// GPUs and ranks in all samples of an environment: 256 of each over the whole hour. Where an agent tells of more, it is a shorter
/// time.
const MOST_ENTRIES: usize = 256 * 2 * (FINE + COARSE + TOGETHER);

/// One moment of a machine, or the mean of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Of the last moment.
    pub time_ms: u64,
    /// `received` and `sent` are bytes in a second.
    pub machine: MachineSample,
    pub gpus: Vec<GpuSample>,
    pub ranks: Vec<RankUse>,
}

/// What a rank and all below it used.
#[derive(Clone, Debug, PartialEq)]
pub struct RankUse {
    /// Shared by all samples of the task: there are hundreds of them.
    pub task: Arc<TaskId>,
    pub attempt: u32,
    pub rank: u32,
    pub cpus: f32,
    pub memory: u64,
}

/// The samples of one environment.
#[derive(Debug, Default)]
pub struct Samples {
    fine: VecDeque<Sample>,
    coarse: VecDeque<Sample>,
    /// GPUs and ranks in all of them.
    entries: usize,
}

impl Sample {
    fn entries(&self) -> usize {
        self.gpus.len() + self.ranks.len()
    }
}

impl Samples {
    /// Takes in what came. As soon as there are too many fine samples, the oldest become one mean.
    pub fn push(&mut self, beat: Heartbeat) {
        let sample = self.sample(beat);
        self.entries += sample.entries();
        self.fine.push_back(sample);
        if self.fine.len() >= FINE + TOGETHER {
            let oldest: Vec<Sample> = self.fine.drain(..TOGETHER).collect();
            let mean = mean(&oldest);
            self.entries += mean.entries();
            self.entries -= oldest.iter().map(Sample::entries).sum::<usize>();
            self.coarse.push_back(mean);
        }
        self.forget_beyond_bounds();
    }

    /// The last one is kept whatever it holds.
    fn forget_beyond_bounds(&mut self) {
        while self.coarse.len() > COARSE || self.entries > MOST_ENTRIES && self.fine.len() > 1 {
            let Some(oldest) = self.coarse.pop_front().or_else(|| self.fine.pop_front()) else { return };
            self.entries -= oldest.entries();
        }
    }

    /// Puts means in that were kept from before, older than all that is here.
    pub fn restore(&mut self, means: impl IntoIterator<Item = Sample>) {
        let begin = self.all().next().map_or(u64::MAX, |first| first.time_ms);
        let older = means.into_iter().filter(|mean| mean.time_ms < begin);
        self.coarse = older.chain(std::mem::take(&mut self.coarse)).collect();
        self.entries = self.all().map(Sample::entries).sum();
        self.forget_beyond_bounds();
    }

    /// The means that came after a time.
    pub fn means_after(&self, time_ms: u64) -> Vec<Sample> {
        self.coarse.iter().filter(|mean| mean.time_ms > time_ms).cloned().collect()
    }

    /// Makes means of all that is still as it came, for an end.
    pub fn settle(&mut self) {
        let fine: Vec<Sample> = self.fine.drain(..).collect();
        self.coarse.extend(fine.chunks(TOGETHER).map(mean));
        self.entries = self.all().map(Sample::entries).sum();
    }

    pub fn latest(&self) -> Option<&Sample> {
        self.fine.back()
    }

    /// All of them, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Sample> {
        self.coarse.iter().chain(&self.fine)
    }

    fn sample(&self, beat: Heartbeat) -> Sample {
        let Heartbeat { time_ms, mut machine, gpus, ranks, kept: _ } = beat;
        let before = self.latest();
        // An agent counts bytes since its sample before, which may have been lost on the way or be long ago.
        let span_ms = before.and_then(|before| time_ms.checked_sub(before.time_ms)).filter(|span| *span > 0);
        if let Some(span_ms) = span_ms {
            machine.received = per_second(machine.received, span_ms);
            machine.sent = per_second(machine.sent, span_ms);
        }
        // Each is looked up once, however many ranks there are.
        let before = before.iter().flat_map(|before| &before.ranks);
        let mut known: HashSet<Arc<TaskId>> = before.map(|rank| rank.task.clone()).collect();
        let mut shared = |task: TaskId| {
            known.get(&task).cloned().unwrap_or_else(|| {
                let task = Arc::new(task);
                known.insert(task.clone());
                task
            })
        };
        let ranks = ranks.into_iter().map(|rank| RankUse {
            task: shared(rank.task),
            attempt: rank.attempt,
            rank: rank.rank,
            cpus: rank.cpus,
            memory: rank.memory,
        });
        Sample { time_ms, machine, gpus, ranks: ranks.collect() }
    }
}

fn per_second(bytes: u64, span_ms: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 1_000 / u128::from(span_ms)).unwrap_or(u64::MAX)
}

/// GPUs and ranks count only where they are: one that came in the middle has the mean of its own samples.
fn mean(samples: &[Sample]) -> Sample {
    let machines = || samples.iter().map(|sample| &sample.machine);
    let gpus = grouped(samples.iter().flat_map(|sample| &sample.gpus), |gpu| gpu.index);
    let ranks =
        grouped(samples.iter().flat_map(|sample| &sample.ranks), |rank| (rank.task.clone(), rank.attempt, rank.rank));
    Sample {
        time_ms: samples.last().map_or(0, |last| last.time_ms),
        machine: MachineSample {
            cpu: mean_of(machines().map(|machine| machine.cpu)).unwrap_or_default(),
            memory_used: whole_mean_of(machines().map(|machine| machine.memory_used)),
            memory_total: whole_mean_of(machines().map(|machine| machine.memory_total)),
            received: whole_mean_of(machines().map(|machine| machine.received)),
            sent: whole_mean_of(machines().map(|machine| machine.sent)),
        },
        gpus: gpus.iter().filter_map(|samples| Some(mean_of_gpu(samples.first()?.index, samples))).collect(),
        ranks: ranks.iter().filter_map(|samples| mean_of_rank(samples)).collect(),
    }
}

/// Those of one key together, in the order in which they first came.
fn grouped<'a, T, K: Eq + Hash>(all: impl Iterator<Item = &'a T>, key: impl Fn(&T) -> K) -> Vec<Vec<&'a T>> {
    let (mut groups, mut places) = (Vec::<Vec<&T>>::new(), HashMap::new());
    for one in all {
        let place = *places.entry(key(one)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn mean_of_gpu(index: u32, samples: &[&GpuSample]) -> GpuSample {
    GpuSample {
        index,
        use_share: mean_of(samples.iter().map(|gpu| gpu.use_share)).unwrap_or_default(),
        memory_used: whole_mean_of(samples.iter().map(|gpu| gpu.memory_used)),
        memory_total: whole_mean_of(samples.iter().map(|gpu| gpu.memory_total)),
        temperature: mean_of(samples.iter().filter_map(|gpu| gpu.temperature)),
        power_watts: mean_of(samples.iter().filter_map(|gpu| gpu.power_watts)),
    }
}

fn mean_of_rank(samples: &[&RankUse]) -> Option<RankUse> {
    let first = samples.first()?;
    Some(RankUse {
        cpus: mean_of(samples.iter().map(|rank| rank.cpus)).unwrap_or_default(),
        memory: whole_mean_of(samples.iter().map(|rank| rank.memory)),
        ..(*first).clone()
    })
}

/// None of nothing.
fn mean_of(values: impl Iterator<Item = f32>) -> Option<f32> {
    let (sum, count) = values.fold((0.0_f64, 0_u32), |(sum, count), value| (sum + f64::from(value), count + 1));
    (count > 0).then(|| (sum / f64::from(count)) as f32)
}

fn whole_mean_of(values: impl Iterator<Item = u64>) -> u64 {
    let (sum, count) = values.fold((0_u128, 0_u128), |(sum, count), value| (sum + u128::from(value), count + 1));
    u64::try_from(sum.checked_div(count).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use fermi_api::link::RankSample;

    use super::*;

    fn beat(second: u64) -> Heartbeat {
        Heartbeat {
            time_ms: second * 1_000,
            machine: MachineSample {
                cpu: (second % 2) as f32,
                received: 100,
                memory_used: second,
                ..Default::default()
            },
            gpus: vec![GpuSample { index: 0, use_share: 0.5, temperature: Some(second as f32), ..Default::default() }],
            ranks: vec![RankSample { task: "task-1".into(), attempt: 1, rank: 3, cpus: 1.5, memory: second * 10 }],
            kept: None,
        }
    }

    fn filled(seconds: u64) -> Samples {
        let mut samples = Samples::default();
        (1..=seconds).for_each(|second| samples.push(beat(second)));
        samples
    }

    #[test]
    fn ten_samples_become_one_mean_and_nothing_is_counted_twice_or_left_out() {
        let samples = filled(130);
        let all: Vec<&Sample> = samples.all().collect();
        assert_eq!((all.len(), all[0].time_ms, all[1].time_ms), (121, 10_000, 11_000));
        assert_eq!(all[0].machine, MachineSample { cpu: 0.5, received: 100, memory_used: 5, ..Default::default() });
        assert_eq!((all[0].gpus[0].temperature, all[0].gpus[0].power_watts), (Some(5.5), None));
        assert_eq!((all[0].ranks[0].rank, all[0].ranks[0].cpus, all[0].ranks[0].memory), (3, 1.5, 55));
    }

    #[test]
    fn an_hour_of_a_steady_stream_keeps_its_bytes() {
        let samples = filled(3_600);
        let (mut bytes, mut before) = (0, 0);
        for sample in samples.all() {
            bytes += sample.machine.received * (sample.time_ms - before) / 1_000;
            before = sample.time_ms;
        }
        assert_eq!(bytes, 3_600 * 100);
    }

    #[test]
    fn bytes_since_a_sample_that_is_long_ago_are_spread_over_that_time() {
        let mut samples = Samples::default();
        samples.push(beat(1));
        samples.push(Heartbeat { machine: MachineSample { received: 900, ..Default::default() }, ..beat(10) });
        assert_eq!(samples.latest().unwrap().machine.received, 100);
    }

    #[test]
    fn what_is_kept_has_a_bound_and_ranks_of_every_moment_are_in_it() {
        let samples = filled(10_000);
        assert!(samples.coarse.len() == COARSE && samples.fine.len() < FINE + TOGETHER);
        assert!(samples.all().all(|sample| sample.ranks.len() == 1));
        let latest = samples.latest().unwrap();
        assert!(Arc::ptr_eq(&latest.ranks[0].task, &samples.fine[0].ranks[0].task), "names are shared");
    }

    /// An agent that says all that it may say.
    fn full_beat(second: u64) -> Heartbeat {
        let rank = |rank| RankSample { task: "t".into(), attempt: 1, rank, cpus: 1.0, memory: second };
        let gpu = |index| GpuSample { index, ..Default::default() };
        Heartbeat { gpus: (0..256).map(gpu).collect(), ranks: (0..1_024).map(rank).collect(), ..beat(second) }
    }

    #[test]
    fn an_agent_that_tells_of_more_than_a_machine_has_is_kept_for_a_shorter_time() {
        let mut samples = Samples::default();
        (1..=1_000).for_each(|second| samples.push(full_beat(second)));
        let entries = |samples: &Samples| samples.all().map(Sample::entries).sum::<usize>();
        assert!(entries(&samples) <= MOST_ENTRIES && samples.entries == entries(&samples), "{}", entries(&samples));
        assert_eq!(samples.latest().unwrap().time_ms, 1_000_000);
        assert_eq!(samples.latest().unwrap().ranks.len(), 1_024);
        samples.restore([Sample { time_ms: 1, gpus: vec![GpuSample::default(); 7], ..Default::default() }]);
        assert_eq!(samples.entries, entries(&samples));
        samples.settle();
        assert_eq!(samples.entries, entries(&samples));
    }

    #[test]
    fn a_rank_that_came_in_the_middle_has_the_mean_of_its_own_samples() {
        let mut samples = Samples::default();
        (1..=130).for_each(|second| {
            let mut beat = beat(second);
            if second < 9 {
                beat.ranks.clear();
            }
            samples.push(beat);
        });
        assert_eq!(samples.coarse[0].ranks[0].memory, 95);
    }
}
