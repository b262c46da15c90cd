//! Ranks that have made different collectives where they should have made the same.

use std::collections::BTreeMap;

use super::sample::{Collective, RankSample};

/// What each rank has made of one collective of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    pub seq: u64,
    pub group: String,
    pub entered: BTreeMap<u32, String>,
}

/// What is compared: the names alone, or the sizes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Names,
    Sizes,
}

impl Disagreement {
    /// The first collective of a group that is not the same on all ranks that have entered it.
    pub fn find(samples: &[RankSample], compared: Compared) -> Option<Self> {
        let mut entered: BTreeMap<(u64, &str), BTreeMap<u32, String>> = BTreeMap::new();
        for sample in samples {
            for collective in sample.collectives() {
                let of_group = entered.entry((collective.seq, &collective.group)).or_default();
                of_group.insert(sample.rank, said(collective, compared));
            }
        }
        let differ = |entered: &BTreeMap<u32, String>| {
            let mut names = entered.values();
            names.next().is_some_and(|first| names.any(|name| name != first))
        };
        let ((seq, group), entered) = entered.into_iter().find(|(_, entered)| differ(entered))?;
        Some(Self { seq, group: group.to_owned(), entered })
    }

    /// Its number, and what the first of the odd ones has made.
    pub fn collective(&self) -> Option<(u64, String)> {
        let odd = *self.odd_ones().first()?;
        Some((self.seq, self.entered.get(&odd)?.clone()))
    }

    /// Those that are not with the majority; all where there is none.
    pub fn odd_ones(&self) -> Vec<u32> {
        let with = |name: &String| self.entered.values().filter(|other| *other == name).count();
        let is_odd = |name: &String| with(name) * 2 <= self.entered.len();
        self.entered.iter().filter(|(_, name)| is_odd(name)).map(|(rank, _)| *rank).collect()
    }
}

fn said(collective: &Collective, compared: Compared) -> String {
    // Of other collectives ranks may give different sizes.
    let is_uniform = matches!(collective.name.as_str(), "all_reduce" | "allreduce" | "broadcast" | "reduce");
    match compared {
        Compared::Sizes if is_uniform => format!("{} {}", collective.name, collective.sizes),
        Compared::Names | Compared::Sizes => collective.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::Work;

    fn ranks(of_each: &[&[(u64, &str, &str)]]) -> Vec<RankSample> {
        let collective = |(seq, name, sizes): &(u64, &str, &str)| Collective {
            seq: *seq,
            name: (*name).to_owned(),
            sizes: (*sizes).to_owned(),
            group: "0".to_owned(),
            done: false,
        };
        let sample = |(rank, made): (usize, &&[(u64, &str, &str)])| RankSample {
            rank: u32::try_from(rank).unwrap(),
            pid: 1,
            pulse: None,
            state: b'S',
            tracer: None,
            work: Some(Work { collectives: made.iter().map(collective).collect(), ..Work::default() }),
        };
        of_each.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn the_minority_is_odd_also_where_it_is_ahead() {
        let one = [(7, "all_reduce", "4")];
        // Whoever sends a broadcast need not wait for the others, and has gone on.
        let ahead = [(7, "broadcast", "1"), (8, "all_reduce", "4")];
        let found = Disagreement::find(&ranks(&[&ahead, &one, &one]), Compared::Names).unwrap();
        assert_eq!((found.seq, found.odd_ones()), (7, vec![0]));
        let two = Disagreement::find(&ranks(&[&ahead, &one]), Compared::Names).unwrap();
        assert_eq!(two.odd_ones(), [0, 1], "of two nobody knows");
        let none: &[(u64, &str, &str)] = &[];
        assert_eq!(Disagreement::find(&ranks(&[&one, &one, none]), Compared::Names), None);
    }

    #[test]
    fn sizes_are_compared_where_they_must_be_the_same() {
        let (four, five) = ([(7, "all_reduce", "4")], [(7, "all_reduce", "5")]);
        let all = ranks(&[&four, &five, &four]);
        assert_eq!(Disagreement::find(&all, Compared::Names), None);
        let found = Disagreement::find(&all, Compared::Sizes).unwrap();
        assert_eq!((found.odd_ones(), found.entered[&1].as_str()), (vec![1], "all_reduce 5"));
        let uneven = ranks(&[&[(7, "all_gather", "4")], &[(7, "all_gather", "5")]]);
        assert_eq!(Disagreement::find(&uneven, Compared::Sizes), None);
    }
}
