//! Two ranks of this process add numbers over the loopback: the least that any training needs.

use std::thread;
use std::time::{Duration, Instant};

use fermi_attempt::port as lease;
use fermi_collective::{Communicator, InChinese, Rendezvous};
use fermi_domain::language::Text;

use crate::facts::{LoopbackFacts, Reason};

const VALUES: usize = 1 << 18;
const PATIENCE: Duration = Duration::from_secs(5);

pub fn look() -> LoopbackFacts {
    // Held until both are done: on a busy machine another program would be given it meanwhile.
    let lease = match lease::free() {
        Ok(lease) => lease,
        Err(error) => return LoopbackFacts::Failed(Reason::from(&error)),
    };
    let port = lease.port;
    let other = thread::spawn(move || rank(1, port));
    let mine = rank(0, port);
    let theirs =
        other.join().unwrap_or_else(|_| Err(Text::new("rank 1 中途结束", "rank 1 ended in the middle").into()));
    match (mine, theirs) {
        (Ok((micros, right)), Ok((_, also_right))) => {
            LoopbackFacts::Added { bytes: (VALUES * 4) as u64, micros, is_right: right && also_right }
        }
        (Err(reason), _) | (_, Err(reason)) => LoopbackFacts::Failed(reason),
    }
}

/// Why ranks could not work together.
pub fn of_ranks(error: &impl InChinese) -> Reason {
    Text::new(error.zh(), error.to_string()).into()
}

/// How long the sum took, and whether it is right.
fn rank(rank: usize, port: u16) -> Result<(u64, bool), Reason> {
    let rendezvous = Rendezvous {
        rank,
        world_size: 2,
        master_addr: "127.0.0.1".to_owned(),
        master_port: port,
        run_id: format!("doctor-{}", std::process::id()),
        timeout: PATIENCE,
    };
    let mut ranks = Communicator::connect(&rendezvous).map_err(|error| of_ranks(&error))?;
    ranks.set_operation_timeout(PATIENCE);
    let mut values: Vec<f32> = (0..VALUES).map(|index| (index % 1_000 + rank) as f32).collect();
    let start = Instant::now();
    ranks.all_reduce_sum(&mut values).map_err(|error| of_ranks(&error))?;
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let is_right = values.iter().enumerate().all(|(index, value)| *value == (index % 1_000 * 2 + 1) as f32);
    Ok((micros, is_right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ranks_add_on_any_machine() {
        assert!(matches!(look(), LoopbackFacts::Added { is_right: true, .. }));
    }
}
