//! The page of memory that a rank's hook (`python/fermi_hook`) keeps up to date and its supervisor reads: words first, then
//! texts. Words are added, never moved; what was not written is zero. Behind the page is what the rank's stacks are written to.

use serde::{Deserialize, Deserializer, Serialize};

/// Bytes of the page; those that are not used take no memory.
pub const SIZE: u64 = 1 << 20;
/// The words at its beginning, eight bytes each.
pub const WORDS: usize = 32;
/// Where the rank's robust lock stands.
pub const LIFE_LOCK: u64 = 256;
/// Where the first thing that went wrong in the hook stands.
pub const TROUBLE_TEXT: u64 = 512;
/// Where the collectives stand that have not ended, told when nothing moves.
pub const PENDING_TEXT: u64 = 2048;
/// Where the modules stand that a parked interpreter has to import, as the hook of the rank tells the hook of the next.
pub const IMPORTS_TEXT: u64 = 4096;
/// Where the rank's process groups stand, and how far it is in each.
pub const GROUPS_TEXT: u64 = SIZE - 16384;
/// Where it stands at which lines the main thread was at the last tick, the innermost first.
pub const PLACE_TEXT: u64 = SIZE - 8192;

const MAGIC: u64 = u64::from_le_bytes(*b"FERMIPLS");
const VERSION: u64 = 1;

/// The words, in their order.
#[derive(Clone, Copy, Debug)]
pub enum PulseWord {
    Magic,
    Version,
    Pid,
    Phase,
    Ticks,
    Steps,
    Enqueued,
    Completed,
    FirstStep,
    LastStep,
    PhaseSince,
    Modules,
    Start,
    Imports,
    Trouble,
    LeftOut,
    Saving,
    SavedAt,
    Armed,
    Pending,
    /// Counted up by the supervisor: it wants to know the last collectives.
    Asked,
    Place,
    Ending,
    Life,
    Device,
    Groups,
    Waiting,
}

/// What a rank is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Phase {
    Parked,
    Import,
    Init,
    Load,
    /// From the first pass through a model to the end of the first step.
    FirstStep,
    Step,
    Save,
}

/// A phase that this release does not know is none.
pub fn known_phase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Phase>, D::Error> {
    let told = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(told.and_then(|told| Phase::deserialize(told).ok()))
}

/// What became of a parked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkedEnd {
    /// It is the rank.
    Released,
    /// It is the rank, and has started from scratch: packages were installed or removed meanwhile.
    PackagesChanged,
    /// It is the rank, and has started from scratch: it could not be made what a rank is.
    NotRestored,
    /// It has ended, because a library imports a module of the user's.
    OwnModule,
    /// It has ended, because a library takes a GPU while it is imported.
    DeviceTaken,
}

/// What became of the GPU that a parked process was to take ahead (`--warm cuda`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ParkedDevice {
    /// It has a context there, with the libraries of a first step loaded.
    Taken,
    /// The script sets variables that steer it, which would come too late.
    Steered,
    /// There is none, or it is full.
    NotTaken,
}

/// What the page says. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    pub pid: u64,
    pub phase: Option<Phase>,
    pub phase_since_ns: u64,
    /// Counts twice a second once there is a process group; stands still while the interpreter cannot run.
    pub ticks: u64,
    /// Optimizer steps.
    pub steps: u64,
    pub first_step_ns: u64,
    pub last_step_ns: u64,
    /// Collectives of all process groups.
    pub enqueued: u64,
    pub completed: u64,
    /// How many modules a parked interpreter has imported, and how many it has left to the script.
    pub modules: u64,
    pub left_out: u64,
    pub parked_end: Option<ParkedEnd>,
    /// How long the list of modules is; 0 before the first step.
    pub imports_bytes: u64,
    pub trouble_bytes: u64,
    /// How long checkpoints were written in the thread that trains, and how many steps the last one has.
    pub saving_ns: u64,
    pub saved_at: u64,
    /// The signal at which the rank writes its stacks; 0 where it does not.
    pub armed: u64,
    /// How long the list of collectives is that have not ended; 0 while they move.
    pub pending_bytes: u64,
    pub place_bytes: u64,
    /// When the script had come to its end and the interpreter began to go; 0 before.
    pub ending_ns: u64,
    /// At which byte the word of a robust lock stands that the rank holds while it lives; 0 where there is none.
    pub life: u64,
    /// None where no parked process was to take one.
    pub device: Option<ParkedDevice>,
    pub groups_bytes: u64,
    /// How long it was in a collective since its first step.
    pub waiting_ns: u64,
}

impl Pulse {
    /// None where no hook has taken the page, or one of a version that is not known.
    pub fn read(words: &[u64; WORDS]) -> Option<Self> {
        let at = |word: PulseWord| words[word as usize];
        if at(PulseWord::Magic) != MAGIC || at(PulseWord::Version) != VERSION {
            return None;
        }
        let phase = match at(PulseWord::Phase) {
            1 => Some(Phase::Import),
            2 => Some(Phase::Init),
            3 => Some(Phase::Load),
            4 => Some(Phase::Step),
            5 => Some(Phase::Save),
            6 => Some(Phase::Parked),
            7 => Some(Phase::FirstStep),
            _ => None,
        };
        let parked_end = match at(PulseWord::Start) {
            1 => Some(ParkedEnd::Released),
            2 => Some(ParkedEnd::PackagesChanged),
            3 => Some(ParkedEnd::NotRestored),
            4 => Some(ParkedEnd::OwnModule),
            5 => Some(ParkedEnd::DeviceTaken),
            _ => None,
        };
        let device = match at(PulseWord::Device) {
            1 => Some(ParkedDevice::Taken),
            2 => Some(ParkedDevice::Steered),
            3 => Some(ParkedDevice::NotTaken),
            _ => None,
        };
        Some(Self {
            pid: at(PulseWord::Pid),
            phase,
            phase_since_ns: at(PulseWord::PhaseSince),
            ticks: at(PulseWord::Ticks),
            steps: at(PulseWord::Steps),
            first_step_ns: at(PulseWord::FirstStep),
            last_step_ns: at(PulseWord::LastStep),
            enqueued: at(PulseWord::Enqueued),
            completed: at(PulseWord::Completed),
            modules: at(PulseWord::Modules),
            left_out: at(PulseWord::LeftOut),
            parked_end,
            imports_bytes: at(PulseWord::Imports).min(GROUPS_TEXT - IMPORTS_TEXT),
            trouble_bytes: at(PulseWord::Trouble).min(PENDING_TEXT - TROUBLE_TEXT),
            saving_ns: at(PulseWord::Saving),
            saved_at: at(PulseWord::SavedAt),
            armed: at(PulseWord::Armed),
            pending_bytes: at(PulseWord::Pending).min(IMPORTS_TEXT - PENDING_TEXT),
            place_bytes: at(PulseWord::Place).min(SIZE - PLACE_TEXT),
            ending_ns: at(PulseWord::Ending),
            life: at(PulseWord::Life),
            device,
            groups_bytes: at(PulseWord::Groups).min(PLACE_TEXT - GROUPS_TEXT),
            waiting_ns: at(PulseWord::Waiting),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = include_str!("../../../python/fermi_hook/sitecustomize.py");
    const HOOK: &str = include_str!("../../../python/fermi_hook/fermi_pulse.py");
    const WATCH: &str = include_str!("../../../python/fermi_hook/fermi_watch.py");
    const COLLECTIVES: &str = include_str!("../../../python/fermi_hook/fermi_collectives.py");
    const PARK: &str = include_str!("../../../python/fermi_hook/fermi_park.py");

    fn taken() -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[PulseWord::Magic as usize] = MAGIC;
        words[PulseWord::Version as usize] = VERSION;
        words
    }

    #[test]
    fn a_page_that_no_hook_has_taken_says_nothing() {
        assert_eq!(Pulse::read(&[0; WORDS]), None);
        let mut newer = taken();
        newer[PulseWord::Version as usize] = VERSION + 1;
        assert_eq!(Pulse::read(&newer), None);
    }

    #[test]
    fn what_the_page_says_is_bounded_and_what_is_not_known_is_nothing() {
        let mut words = taken();
        words[PulseWord::Phase as usize] = 4;
        words[PulseWord::Steps as usize] = 7;
        words[PulseWord::Start as usize] = 99;
        words[PulseWord::Imports as usize] = u64::MAX;
        words[PulseWord::Trouble as usize] = u64::MAX;
        words[PulseWord::Groups as usize] = u64::MAX;
        let pulse = Pulse::read(&words).unwrap();
        assert_eq!((pulse.phase, pulse.steps, pulse.parked_end), (Some(Phase::Step), 7, None));
        assert_eq!(
            (pulse.imports_bytes, pulse.trouble_bytes),
            (GROUPS_TEXT - IMPORTS_TEXT, PENDING_TEXT - TROUBLE_TEXT)
        );
        assert_eq!(pulse.groups_bytes, PLACE_TEXT - GROUPS_TEXT);
        words[PulseWord::Phase as usize] = 99;
        assert_eq!(Pulse::read(&words).unwrap().phase, None);
    }

    #[test]
    fn the_hook_has_the_same_page() {
        let text: String = HOOK.split_whitespace().collect::<Vec<_>>().join(" ");
        let order = "(MAGIC, VERSION, PID, PHASE, TICKS, STEPS, ENQUEUED, COMPLETED, FIRST_STEP, LAST_STEP, \
                     PHASE_SINCE, MODULES, START, IMPORTS, TROUBLE, LEFT_OUT, SAVING, SAVED_AT, ARMED, PENDING, \
                     ASKED, PLACE, ENDING, LIFE, DEVICE, GROUPS, WAITING) = range(27)";
        assert!(text.contains(order));
        assert_eq!(PulseWord::Waiting as usize, 26);
        assert!(text.contains("IMPORT, INIT, LOAD, STEP, SAVE, PARKED, FIRST_STEP = range(1, 8)"));
        assert!(text.contains(&format!("WORDS = {WORDS}")));
        assert!(text.contains(&format!("TROUBLE_TEXT, TROUBLE_ROOM = {TROUBLE_TEXT}, 1024")));
        assert!(text.contains(&format!("PENDING_TEXT, PENDING_ROOM = {PENDING_TEXT}, 2048")));
        assert!(text.contains(&format!("LIFE_LOCK, LIFE_ROOM = {LIFE_LOCK}, 64")));
        assert!(text.contains(&format!("IMPORTS_TEXT = {IMPORTS_TEXT}")));
        assert!(text.contains(&format!(
            "GROUPS_TEXT, GROUPS_ROOM = SIZE - {}, {}",
            SIZE - GROUPS_TEXT,
            PLACE_TEXT - GROUPS_TEXT
        )));
        assert!(text.contains(&format!("PLACE_TEXT, PLACE_ROOM = SIZE - {0}, {0}", SIZE - PLACE_TEXT)));
        assert!(text.contains("SIZE = 1 << 20"));
        assert!(PARK.contains("RELEASED, PACKAGES_CHANGED, NOT_RESTORED, OWN_MODULE, DEVICE_TAKEN = range(1, 6)"));
        assert!(PARK.contains("TAKEN, STEERED, NOT_TAKEN = range(1, 4)"));
    }

    #[test]
    fn the_hook_stays_small() {
        let lines = [START, HOOK, WATCH, PARK, COLLECTIVES].map(|file| file.lines().count());
        assert!(lines[0] <= 115 && lines[0] + lines[1] <= 395 && lines[2] <= 130, "{lines:?}");
        assert!(lines[3] <= 230 && lines[4] <= 160, "{lines:?}");
    }
}
