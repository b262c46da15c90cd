//! What happens in a history: operators' requests and faults, each at its time. Drawn from a seed, and cut down when a
//! history that fails is shrunk.

use fastrand::Rng;

/// When faults end; after that everything is repaired and must come to rest.
pub const FAULTS_END_MS: u64 = 120_000;
pub const MACHINES: usize = 5;
const TASKS: usize = 10;

/// Which way of a network is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Both,
    ToServer,
    ToAgent,
    /// Between the supervisors of this machine and all others.
    Peers,
}

/// What an HTTP request is answered with by something that is not the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strange {
    NotFound,
    Gone,
    BadGateway,
    Stall,
}

/// One thing that happens. Small numbers name machines, tasks and runs, modulo how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create {
        nodes: u8,
        restarts: u8,
        again: bool,
    },
    Stop {
        task: u8,
        force: bool,
    },
    Restart {
        task: u8,
        again: bool,
    },
    Delete {
        task: u8,
    },
    DeleteEnvironment {
        machine: u8,
    },
    DeclareLost {
        machine: u8,
    },
    KillAgent {
        machine: u8,
        back_after_ms: u16,
    },
    KillAgentWhenItStarts {
        machine: u8,
    },
    KillSupervisor {
        run: u8,
    },
    KillBothKeepers {
        run: u8,
    },
    KillRank {
        run: u8,
    },
    Reboot {
        machine: u8,
        back_after_ms: u16,
    },
    Vanish {
        machine: u8,
    },
    Pause {
        machine: u8,
        for_s: u8,
    },
    Cut {
        machine: u8,
        way: Way,
        for_s: u8,
    },
    Proxy {
        machine: u8,
        answer: Strange,
        for_s: u8,
    },
    LatePieces {
        machine: u8,
        for_s: u8,
    },
    LoseLock {
        run: u8,
    },
    SecondAgent {
        machine: u8,
    },
    CopyFolder {
        machine: u8,
        to: u8,
    },
    KillServer {
        back_after_ms: u16,
    },
    StoreFails {
        for_s: u8,
    },
    ClockJump {
        seconds: i32,
    },
    Backup,
    Restore {
        back_after_ms: u16,
    },
    EndStrays,
    /// Nothing more fits on the disk of a machine. With a reserve there is room for the result lines of journals that were begun
    /// before.
    FillDisk {
        machine: u8,
        for_s: u8,
        has_reserve: bool,
    },
    /// Of the server's writes so many still succeed, and then so many fail.
    FailWrites {
        after: u8,
        count: u8,
    },
    /// The server dies in a write: nobody hears an answer, and what was written is on disk or is not.
    DieInWrite {
        after: u8,
        is_kept: bool,
        back_after_ms: u16,
    },
    Drain {
        machine: u8,
    },
    Resume {
        machine: u8,
    },
    Replace {
        machine: u8,
    },
}

/// A history before it is played.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub actions: Vec<(u64, Action)>,
}

impl Plan {
    /// The history of a seed: ten tasks on five machines, and hundreds of faults.
    pub fn of(seed: u64) -> Self {
        Self::drawn(seed, [100, 200, 250, 400], |rng, is_chaotic| match rng.u8(..8) {
            0 => disk(rng),
            _ if is_chaotic => match rng.u8(..16) {
                0 => duty(rng),
                _ => any(rng),
            },
            _ => mild(rng),
        })
    }

    /// The history of a seed in which disks are sound and operators do not speak of duties, some of it calm: rare seeds that are
    /// kept in tests tell of such histories.
    pub fn with_sound_disks(seed: u64) -> Self {
        Self::drawn(seed, [20, 80, 200, 300], |rng, is_chaotic| if is_chaotic { any(rng) } else { mild(rng) })
    }

    fn drawn(seed: u64, counts: [usize; 4], fault: impl Fn(&mut Rng, bool) -> Action) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x5eed_f00d);
        let mut actions: Vec<(u64, Action)> = (0..TASKS).map(|_| (rng.u64(1_000..60_000), create(&mut rng))).collect();
        // Some histories are calmer, so that what needs a quiet moment happens as well.
        let faults = counts[rng.usize(..4)];
        let is_chaotic = rng.bool();
        for _ in 0..faults {
            let action = fault(&mut rng, is_chaotic);
            actions.push((rng.u64(2_000..FAULTS_END_MS), action));
        }
        actions.sort_by_key(|(at, _)| *at);
        Self { seed, actions }
    }
}

fn create(rng: &mut Rng) -> Action {
    Action::Create { nodes: rng.u8(1..32), restarts: rng.u8(..4), again: rng.u8(..4) == 0 }
}

fn mild(rng: &mut Rng) -> Action {
    let machine = rng.u8(..);
    match rng.u8(..12) {
        0 => Action::Stop { task: rng.u8(..), force: rng.bool() },
        1 => Action::Restart { task: rng.u8(..), again: rng.u8(..4) == 0 },
        2 => Action::Delete { task: rng.u8(..) },
        3 => Action::KillRank { run: rng.u8(..) },
        4 => Action::KillAgent { machine, back_after_ms: rng.u16(10..8_000) },
        5 => Action::Cut { machine, way: way(rng), for_s: rng.u8(1..20) },
        6 => Action::Proxy { machine, answer: strange(rng), for_s: rng.u8(1..10) },
        7 => Action::LatePieces { machine, for_s: rng.u8(1..10) },
        8 => Action::KillServer { back_after_ms: rng.u16(10..5_000) },
        9 => Action::KillSupervisor { run: rng.u8(..) },
        10 => Action::StoreFails { for_s: rng.u8(1..9) },
        _ => create_now_and_then(rng),
    }
}

fn create_now_and_then(rng: &mut Rng) -> Action {
    if rng.u8(..8) == 0 { create(rng) } else { Action::Restart { task: rng.u8(..), again: false } }
}

fn any(rng: &mut Rng) -> Action {
    let machine = rng.u8(..);
    match rng.u8(..24) {
        0 => Action::KillBothKeepers { run: rng.u8(..) },
        1 => Action::Reboot { machine, back_after_ms: rng.u16(500..20_000) },
        2 => Action::Pause { machine, for_s: rng.u8(1..40) },
        3 => Action::LoseLock { run: rng.u8(..) },
        4 => Action::KillAgent { machine, back_after_ms: rng.u16(10..500) },
        5 => Action::SecondAgent { machine },
        6 => Action::CopyFolder { machine, to: rng.u8(..) },
        7 => Action::ClockJump { seconds: rng.i32(-4_000..4_000) },
        8 => Action::KillAgentWhenItStarts { machine },
        9 if rng.u8(..6) == 0 => Action::Vanish { machine },
        10 if rng.u8(..4) == 0 => Action::DeclareLost { machine },
        11 if rng.u8(..3) == 0 => Action::DeleteEnvironment { machine },
        12 if rng.u8(..2) == 0 => Action::Backup,
        13 if rng.u8(..4) == 0 => Action::Restore { back_after_ms: rng.u16(10..5_000) },
        14 if rng.u8(..3) == 0 => Action::EndStrays,
        _ => mild(rng),
    }
}

fn disk(rng: &mut Rng) -> Action {
    match rng.u8(..3) {
        0 => Action::FillDisk { machine: rng.u8(..), for_s: rng.u8(1..20), has_reserve: rng.u8(..4) > 0 },
        1 => Action::FailWrites { after: rng.u8(..8), count: rng.u8(1..4) },
        _ => Action::DieInWrite { after: rng.u8(..8), is_kept: rng.bool(), back_after_ms: rng.u16(10..5_000) },
    }
}

fn duty(rng: &mut Rng) -> Action {
    let machine = rng.u8(..);
    match rng.u8(..5) {
        0 => Action::Drain { machine },
        1 | 2 => Action::Resume { machine },
        _ => Action::Replace { machine },
    }
}

fn way(rng: &mut Rng) -> Way {
    [Way::Both, Way::ToServer, Way::ToAgent, Way::Peers][rng.usize(..4)]
}

fn strange(rng: &mut Rng) -> Strange {
    [Strange::NotFound, Strange::Gone, Strange::BadGateway, Strange::Stall][rng.usize(..4)]
}
