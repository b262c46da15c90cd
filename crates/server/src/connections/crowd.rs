//! The rule: who is there, and who gives way. Without clock and sockets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// How many may be connected at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// In all.
    pub connections: usize,
    /// Who is no agent: the rest is kept for those.
    pub people: usize,
    /// Who has shown nothing.
    pub strangers: usize,
}

impl Bounds {
    /// Files that the server needs for itself: the database, what ranks wrote, archives.
    const OWN_FILES: u64 = 256;
    const MOST_STRANGERS: usize = 1_024;

    /// Where the process may have so many files open.
    pub fn of(files: u64) -> Self {
        let own = Self::OWN_FILES.min(files / 4);
        let connections = usize::try_from(files.saturating_sub(own)).unwrap_or(usize::MAX).max(8);
        let people = connections / 4 * 3;
        Self { connections, people, strangers: (connections / 2).min(Self::MOST_STRANGERS) }
    }
}

/// What a connection has shown, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    Nothing,
    Person,
    Agent,
}

#[derive(Debug)]
struct Member<L> {
    peer: IpAddr,
    proof: Proof,
    /// When its last step began: it came, a request began, an answer was there.
    since_ms: u64,
    /// Requests that are being answered.
    requests: i32,
    is_ended: bool,
    line: L,
}

/// Everyone who is connected, by number.
#[derive(Debug)]
pub struct Crowd<L> {
    members: BTreeMap<u64, Member<L>>,
    /// How many that were not ended have shown what, by [`Proof`]: thousands are not counted for each that comes.
    living: [usize; 3],
    next: u64,
}

impl<L> Default for Crowd<L> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), living: [0; 3], next: 0 }
    }
}

impl<L: Clone> Crowd<L> {
    /// Those that were ended and are not gone count too.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn enter(&mut self, peer: IpAddr, now_ms: u64, line: L) -> u64 {
        self.next += 1;
        let member = Member { peer, proof: Proof::Nothing, since_ms: now_ms, requests: 0, is_ended: false, line };
        self.members.insert(self.next, member);
        self.living[Proof::Nothing as usize] += 1;
        self.next
    }

    pub fn leave(&mut self, number: u64) {
        if let Some(member) = self.members.remove(&number).filter(|member| !member.is_ended) {
            self.living[member.proof as usize] -= 1;
        }
    }

    /// Says whether that is more than it had shown.
    pub fn prove(&mut self, number: u64, proof: Proof) -> bool {
        let Some(member) = self.members.get_mut(&number).filter(|member| member.proof < proof) else { return false };
        if !member.is_ended {
            self.living[member.proof as usize] -= 1;
            self.living[proof as usize] += 1;
        }
        member.proof = proof;
        true
    }

    pub fn step(&mut self, number: u64, now_ms: u64, requests: i32) {
        if let Some(member) = self.members.get_mut(&number) {
            member.since_ms = now_ms;
            member.requests += requests;
        }
    }

    /// Ends as many as are too many.
    pub fn give_way(&mut self, bounds: &Bounds) -> Vec<L> {
        let mut ended = Vec::new();
        while let Some(number) = self.too_many(bounds).and_then(|most| self.first_to_go(most)) {
            ended.extend(self.end(number));
        }
        ended
    }

    pub fn end_strangers(&mut self, before_ms: u64) -> Vec<L> {
        let late = self.living().filter(|(_, it)| it.proof == Proof::Nothing && it.since_ms <= before_ms);
        let late: Vec<u64> = late.map(|(number, _)| number).collect();
        late.into_iter().filter_map(|number| self.end(number)).collect()
    }

    fn end(&mut self, number: u64) -> Option<L> {
        let member = self.members.get_mut(&number).filter(|member| !member.is_ended)?;
        member.is_ended = true;
        self.living[member.proof as usize] -= 1;
        Some(member.line.clone())
    }

    fn living(&self) -> impl Iterator<Item = (u64, &Member<L>)> {
        self.members.iter().filter(|(_, member)| !member.is_ended).map(|(number, member)| (*number, member))
    }

    /// Up to which proof there are too many.
    fn too_many(&self, bounds: &Bounds) -> Option<Proof> {
        let count = |most: Proof| self.living[..=most as usize].iter().sum::<usize>();
        let is_over = |(most, bound): &(Proof, usize)| count(*most) > *bound;
        let bounds =
            [(Proof::Nothing, bounds.strangers), (Proof::Person, bounds.people), (Proof::Agent, bounds.connections)];
        bounds.into_iter().find(is_over).map(|(most, _)| most)
    }

    /// Whoever has shown least; of the peer that has most of those; the longest first. Of people who waits goes before who is
    /// answered; of strangers not, since half a request looks like one that is answered. An agent stays.
    fn first_to_go(&self, most: Proof) -> Option<u64> {
        let candidates =
            || self.living().filter(move |(_, member)| member.proof <= most && member.proof < Proof::Agent);
        let least = candidates().map(|(_, member)| member.proof).min()?;
        let candidates = || candidates().filter(move |(_, member)| member.proof == least);
        let mut of_peer: HashMap<IpAddr, usize> = HashMap::new();
        candidates().for_each(|(_, member)| *of_peer.entry(member.peer).or_default() += 1);
        let order = |(number, member): &(u64, &Member<L>)| {
            let peers = of_peer.get(&member.peer).copied().unwrap_or(0);
            let is_answered = member.requests > 0 && member.proof > Proof::Nothing;
            (Reverse(peers), is_answered, member.since_ms, *number)
        };
        candidates().min_by_key(order).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    const BOUNDS: Bounds = Bounds { connections: 8, people: 6, strangers: 3 };

    #[test]
    fn a_server_with_few_files_keeps_some_for_itself_and_for_agents() {
        assert_eq!(Bounds::of(512), Bounds { connections: 384, people: 288, strangers: 192 });
        assert_eq!(Bounds::of(1 << 20).strangers, 1_024);
        assert!(Bounds::of(0).connections > 0);
    }

    #[test]
    fn the_stranger_that_waits_longest_of_the_busiest_peer_gives_way() {
        let mut crowd = Crowd::default();
        crowd.enter(peer(1), 0, "lone");
        crowd.enter(peer(2), 1, "old");
        let half = crowd.enter(peer(2), 0, "half a request");
        crowd.step(half, 2, 1);
        assert!(crowd.give_way(&BOUNDS).is_empty());
        crowd.enter(peer(2), 3, "new");
        assert_eq!(crowd.give_way(&BOUNDS), ["old"]);
        assert_eq!(crowd.len(), 4, "until it is gone");
        assert!(crowd.give_way(&BOUNDS).is_empty());
        crowd.enter(peer(2), 4, "newer");
        assert_eq!(crowd.give_way(&BOUNDS), ["half a request"], "who has just come has had no time to say anything");
    }

    /// However long the flood goes on, and whenever the others came.
    #[test]
    fn a_flood_of_one_peer_ends_its_own_alone() {
        let bounds = Bounds { connections: 64, people: 48, strangers: 16 };
        let mut crowd = Crowd::default();
        for now in 0..400_u64 {
            if now % 100 == 0 {
                crowd.enter(peer(1 + (now / 100) as u8), now, "lone");
            }
            crowd.enter(peer(9), now, "flood");
            let ended = crowd.give_way(&bounds);
            assert!(ended.iter().all(|name| *name == "flood"), "{now}: {ended:?}");
        }
        assert_eq!(crowd.living[Proof::Nothing as usize], bounds.strangers);
    }

    #[test]
    fn people_give_way_to_agents_and_agents_to_nobody() {
        let mut crowd = Crowd::default();
        let mut come = |proof: Proof, name: &'static str| {
            let number = crowd.enter(peer(1), 0, name);
            crowd.prove(number, proof);
            crowd.give_way(&BOUNDS)
        };
        for _ in 0..6 {
            assert!(come(Proof::Person, "person").is_empty());
        }
        assert_eq!(come(Proof::Person, "one more"), ["person"]);
        assert!(come(Proof::Agent, "agent").is_empty() && come(Proof::Agent, "agent").is_empty());
        for _ in 0..6 {
            assert_eq!(come(Proof::Agent, "agent").len(), 1);
        }
        assert!(come(Proof::Agent, "beyond").is_empty(), "agents are never ended for another");
        assert_eq!(come(Proof::Nothing, "late"), ["late"]);
    }

    /// What was counted by and by is what there is.
    #[test]
    fn counts_are_kept_through_every_change() {
        let mut crowd = Crowd::default();
        let mut random = 1_u64;
        for step in 0..600_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (what, whom) = (random >> 60, 1 + (random >> 20) % (crowd.next + 1));
            match what {
                0..=6 => drop(crowd.enter(peer((random >> 40) as u8 % 4), step, ())),
                7..=8 => drop(crowd.prove(whom, Proof::Person)),
                9..=10 => drop(crowd.prove(whom, Proof::Agent)),
                11..=12 => crowd.leave(whom),
                13 => drop(crowd.end_strangers(step.saturating_sub(50))),
                _ => drop(crowd.give_way(&BOUNDS)),
            }
            for proof in [Proof::Nothing, Proof::Person, Proof::Agent] {
                let there = crowd.living().filter(|(_, member)| member.proof == proof).count();
                assert_eq!(crowd.living[proof as usize], there, "step {step}: {proof:?}");
            }
        }
    }

    #[test]
    fn a_stranger_has_so_long_for_each_step() {
        let mut crowd = Crowd::default();
        let (slow, busy, known) =
            (crowd.enter(peer(1), 0, "slow"), crowd.enter(peer(1), 0, "busy"), crowd.enter(peer(1), 0, "known"));
        crowd.prove(known, Proof::Person);
        crowd.step(busy, 40, 1);
        assert_eq!(crowd.end_strangers(30), ["slow"]);
        crowd.leave(slow);
        assert_eq!(crowd.end_strangers(40), ["busy"]);
    }
}
