//! A process that waits to become a rank, and one that was told to.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::time::{Duration, Instant};

use fermi_domain::healing::warm::{ColdReason, VariableChange};
use fermi_domain::pulse::Phase;
use fermi_process::procfs;
use fermi_process::shared_page::SharedPage;
use fermi_process::spawn::{RankCommand, Spawned};
use fermi_process::spent;

use super::read;

/// One that has not taken its order by then is ended, and its rank starts cold.
const ORDER_TAKEN_WITHIN: Duration = Duration::from_secs(1);
/// How often it is looked whether it has.
const LOOK_FOR_ORDER_EVERY: Duration = Duration::from_micros(50);

/// A process that waits to become a rank.
#[derive(Debug)]
pub struct ParkedRank {
    pub rank: u32,
    pub command: RankCommand,
    pub page: SharedPage,
    /// What its hook was told.
    pub given: String,
    pub order: PipeWriter,
    /// Held for the process to open.
    pub _order_end: PipeReader,
    pub spawned: Spawned,
    pub since: Instant,
    pub is_ready: bool,
}

impl ParkedRank {
    /// Makes it the rank, unless it is not ready for that or was made for another one.
    pub fn give_order(&mut self, wanted: &RankCommand) -> Result<(), ColdReason> {
        let change = VariableChange::between(&self.command.env, &wanted.env)
            .map_err(|names| ColdReason::VariablesDiffer { names })?;
        if self.command != (RankCommand { env: self.command.env.clone(), ..wanted.clone() }) {
            return Err(ColdReason::CommandDiffers);
        }
        let pulse = read(&self.page);
        if spent::is_spent(self.spawned.handle.pid()) {
            let reason = ColdReason::of_end(pulse.and_then(|pulse| pulse.parked_end));
            return Err(reason.unwrap_or(ColdReason::ParkedEnded));
        }
        if pulse.and_then(|pulse| pulse.phase) != Some(Phase::Parked) {
            return Err(ColdReason::StillImporting);
        }
        if procfs::stat(self.spawned.handle.pid()).is_ok_and(|stat| stat.is_stopped()) {
            return Err(ColdReason::ParkedStopped);
        }
        let cannot = |error: io::Error| ColdReason::CannotPark { error: error.to_string() };
        let mut line = serde_json::to_vec(&change).map_err(|error| cannot(error.into()))?;
        line.push(b'\n');
        self.order.write_all(&line).map_err(cannot)
    }
}

/// A parked process that was told to become its rank.
#[derive(Debug)]
pub struct OrderedRank {
    pub parked: ParkedRank,
    /// When it has not taken its order by then, it does not.
    until: Instant,
}

impl OrderedRank {
    /// Right after the order was given.
    pub fn new(parked: ParkedRank) -> Self {
        Self { parked, until: Instant::now() + ORDER_TAKEN_WITHIN }
    }

    /// One that does not answer is killed before it could take the order, or while it does; it runs no line of the script then.
    pub fn await_taken(&self) -> Result<(), ColdReason> {
        while read(&self.parked.page).and_then(|pulse| pulse.phase) == Some(Phase::Parked) {
            if spent::is_spent(self.parked.spawned.handle.pid()) {
                return Err(ColdReason::ParkedEnded);
            }
            if Instant::now() >= self.until {
                return Err(ColdReason::ParkedSilent);
            }
            std::thread::sleep(LOOK_FOR_ORDER_EVERY);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::pulse::{self, PulseWord};
    use fermi_process::spawn::{StdinPlan, spawn};

    use super::super::PAGE_NAME;
    use super::*;

    /// One that looks ready and never answers.
    fn silent() -> ParkedRank {
        let page = SharedPage::new(PAGE_NAME, pulse::SIZE).unwrap();
        let magic = u64::from_le_bytes(*b"FERMIPLS");
        for (word, value) in [(PulseWord::Magic, magic), (PulseWord::Version, 1), (PulseWord::Phase, 6)] {
            page.write_word(word as usize, value).unwrap();
        }
        let command = RankCommand {
            argv: vec!["sleep".into(), "60".into()],
            env: Vec::new(),
            folder: None,
            cpus: None,
            stdin: StdinPlan::Null,
            terminal: None,
            account: None,
        };
        let (_order_end, order) = io::pipe().unwrap();
        let spawned = spawn(&command, None).unwrap();
        let given = String::new();
        ParkedRank { rank: 0, command, page, given, order, _order_end, spawned, since: Instant::now(), is_ready: true }
    }

    #[test]
    fn those_that_are_silent_are_waited_for_side_by_side() {
        let mut both = [silent(), silent()].map(|mut parked| {
            let wanted = parked.command.clone();
            assert_eq!(parked.give_order(&wanted), Ok(()));
            OrderedRank::new(parked)
        });
        let (first, second) = (both[0].until, &mut both[1]);
        assert!(
            second.until - first < ORDER_TAKEN_WITHIN / 2,
            "the second was told after the first had been waited for"
        );
        // Whoever takes its order meanwhile is not given up because another one was waited for.
        second.until = Instant::now();
        second.parked.page.write_word(PulseWord::Phase as usize, 2).unwrap();
        assert_eq!(both.each_ref().map(OrderedRank::await_taken), [Err(ColdReason::ParkedSilent), Ok(())]);
        for ordered in both {
            ordered.parked.spawned.handle.signal(libc::SIGKILL).unwrap();
        }
    }
}
