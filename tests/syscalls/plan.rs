//! Which system calls fail, for each process. A line is a [`Fault`](crate::support::Fault).

use crate::support::Fault;

/// While a run is started and comes to its end.
const OF_KEEPERS: &[&str] = &[
    "supervisor open /journal.ndjson$ 1 EIO",
    "supervisor open /journal.ndjson$ 1 EMFILE",
    "supervisor write /journal.ndjson$ 1 EIO",
    "supervisor write /journal.ndjson$ 2 EIO",
    "supervisor write /journal.ndjson$ 3 EIO",
    "supervisor write /journal.ndjson$ 5 ENOSPC 4",
    "supervisor write /journal.ndjson$ 4 ENOSPC 0",
    "supervisor write /journal.ndjson$ 1 200ms 0",
    "supervisor open /result.json$ 1 EIO",
    "supervisor write /result.json$ 3 EIO 0",
    "supervisor truncate /result.json$ 1 EIO",
    "supervisor open .new$ 1 EIO",
    "supervisor write .new$ 1 ENOSPC",
    "supervisor rename .json$ 1 EIO",
    "supervisor rename .json$ 1 300ms 0",
    "supervisor rename /exit.json$ 1 EIO 0",
    "supervisor open /stdout.log$ 1 EIO",
    "supervisor write /stdout.log$ 1 EIO",
    "supervisor write /stdout.log$ 1 ENOSPC 0",
    "supervisor open .index$ 1 EIO 0",
    "supervisor open /fence$ 1 EIO",
    "supervisor write /.fence- 1 ENOSPC",
    "supervisor rename /fence$ 1 EIO",
    "supervisor rename /shared- 1 ENOSPC",
    "supervisor open /checkpoints$ 1 EMFILE 0",
    "supervisor open /proc/ 1 EMFILE",
    "supervisor open /proc/ 1 EMFILE 0",
    "supervisor open /sys/fs/cgroup 1 EMFILE 0",
    "supervisor mkdir /attempt_ 1 ENOSPC",
    "supervisor mkdir /live$ 1 ENOSPC",
    "warden open /dev/null 1 EMFILE 0",
];

/// While an agent starts runs and hears of their ends.
const OF_AGENTS: &[&str] = &[
    "agent open /keepers.lock$ 1 EMFILE",
    "agent open /keepers.lock$ 2 EMFILE",
    "agent open /keepers.lock$ 2 EMFILE 3",
    "agent flock /keepers.lock$ 1 EIO",
    "agent flock /keepers.lock$ 2 EIO",
    "agent flock /keepers.lock$ 1 ENOLCK 0",
    "agent flock /keepers.lock$ 2 300ms 0",
    "agent write /assignment.new$ 1 ENOSPC",
    "agent fsync /assignment.new$ 1 EIO",
    "agent fsync /assignment.new$ 1 700ms",
    "agent rename /assignment.json$ 1 EIO",
    "agent mkdir /outputs$ 1 ENOSPC",
    "agent open /proc/ 1 EMFILE 0",
    "agent open /live$ 1 EMFILE",
    "agent open /live/ 1 EMFILE 0",
    "agent open /journal.ndjson$ 1 EIO",
    "agent open /journal.ndjson$ 3 EMFILE 5",
    "agent open /stdout.log$ 2 EIO 5",
    "agent open /result.json$ 1 EIO 0",
    "agent open /dev/null 1 EMFILE",
];

/// While an agent comes back to runs that live.
const OF_RETURNING_AGENTS: &[&str] = &[
    "agent open /instance$ 1 EIO",
    "agent open /home.json$ 1 EIO",
    "agent open /cluster$ 1 EIO",
    "agent open /cluster$ 2 EIO",
    "agent open /pass.json$ 1 EIO",
    "agent open /pass.json$ 1 EMFILE",
    "agent write /pass.new$ 1 ENOSPC",
    "agent fsync /pass.new$ 1 EIO",
    "agent rename /pass.json$ 1 EIO",
    "agent rename /pass.json$ 2 EIO",
    "agent open /agent.lock$ 1 EMFILE",
    "agent flock /agent.lock$ 1 EIO",
    "agent open /runs$ 1 EMFILE",
    "agent open /runs$ 1 EIO 0",
    "agent open /assignment.json$ 1 EIO",
    "agent open /assignment.json$ 1 EIO 0",
    "agent open /keepers.lock$ 1 EMFILE",
    "agent open /keepers.lock$ 2 EMFILE",
    "agent open /keepers.lock$ 1 EMFILE 0",
    "agent flock /keepers.lock$ 1 EIO",
    "agent flock /keepers.lock$ 1 ENOLCK 0",
    "agent open /live$ 1 EMFILE",
    "agent open /live/ 1 EIO",
    "agent open /live/ 1 EMFILE 0",
    "agent open /stat$ 1 EMFILE",
    "agent open /stat$ 1 EMFILE 0",
    "agent open /boot_id$ 1 EMFILE",
    "agent open /boot_id$ 2 EMFILE",
    "agent open /boot_id$ 3 EMFILE 0",
    "agent open /environ$ 1 EMFILE",
    "agent open /environ$ 1 EMFILE 0",
    "agent open /proc$ 1 EMFILE 0",
    "agent open /journal.ndjson$ 1 EIO",
    "agent open / 6 EMFILE 6",
    "agent open / 12 EMFILE 6",
    "agent open / 18 EMFILE 6",
    "agent open / 24 EMFILE 12",
    "agent fsync / 1 EIO 0",
    "agent rename / 1 EIO 0",
];

/// While the server serves.
const OF_SERVERS: &[&str] = &[
    "server write -wal$ 1 EIO",
    "server write -wal$ 1 ENOSPC",
    "server write -wal$ 40 ENOSPC 3",
    "server fsync -wal$ 1 EIO",
    "server fsync -wal$ 2 EIO",
    "server fsync -wal$ 4 EIO",
    "server fsync -wal$ 2 EIO 4",
    "server fsync -wal$ 1 100ms 0",
    "server fsync /stdout.0$ 1 EIO",
    "server fsync /stdout.0$ 2 EIO 3",
    "server write /stdout.0$ 1 ENOSPC",
    "server write /stdout.0$ 2 EIO 3",
    "server open /stdout.0$ 1 EMFILE",
    "server fsync /rank- 1 EIO",
    "server fsync /streams$ 1 EIO",
    "server mkdir /streams/ 1 ENOSPC",
    "server open /streams/ 3 EMFILE 5",
];

/// While the server comes back to tasks that run.
const OF_RETURNING_SERVERS: &[&str] = &[
    "server open /fermi.lock$ 1 EMFILE",
    "server flock /fermi.lock$ 1 EIO",
    "server write /fermi.lock$ 1 ENOSPC",
    "server open /fermi.db$ 1 EMFILE",
    "server open /fermi.db$ 2 EMFILE",
    "server open /fermi.db-wal$ 1 EIO",
    "server open /fermi.db-shm$ 1 EMFILE",
    "server fsync /server$ 1 EIO",
    "server open /token$ 1 EIO",
    "server open /secrets.key$ 1 EIO",
    "server open /secret$ 1 EMFILE",
    "server open /streams$ 1 EMFILE",
    "server open /samples$ 1 EMFILE",
    "server write -wal$ 1 ENOSPC 3",
    "server fsync -wal$ 1 EIO",
];

/// What `make test` plays while a task runs, each of another kind.
const FEW_OF_A_RUN: &[&str] = &[
    "supervisor write /journal.ndjson$ 2 EIO",
    "supervisor write /journal.ndjson$ 4 ENOSPC 0",
    "supervisor write .new$ 1 ENOSPC",
    "supervisor open /stdout.log$ 1 EIO",
    "agent open /keepers.lock$ 2 EMFILE",
    "server fsync -wal$ 2 EIO 4",
    "server fsync /rank- 1 EIO",
];

/// What `make test` plays while an agent comes back.
const FEW_OF_A_RETURN: &[&str] = &[
    "agent open /pass.json$ 1 EIO",
    "agent open /runs$ 1 EMFILE",
    "agent open /assignment.json$ 1 EIO",
    "agent open /keepers.lock$ 2 EMFILE",
    "agent open /stat$ 1 EMFILE 0",
];

fn read(lists: &[&[&str]]) -> Vec<Fault> {
    lists.iter().flat_map(|list| *list).map(|line| line.parse().unwrap_or_else(|line| panic!("{line}"))).collect()
}

pub fn few_of_a_run() -> Vec<Fault> {
    read(&[FEW_OF_A_RUN])
}

pub fn few_of_a_return() -> Vec<Fault> {
    read(&[FEW_OF_A_RETURN])
}

/// While nobody is killed.
pub fn of_a_run() -> Vec<Fault> {
    read(&[OF_KEEPERS, OF_AGENTS, OF_SERVERS])
}

/// While a run is started again.
pub fn of_a_restart() -> Vec<Fault> {
    read(&[OF_KEEPERS, OF_AGENTS])
}

pub fn of_a_returning_agent() -> Vec<Fault> {
    read(&[OF_RETURNING_AGENTS])
}

pub fn of_a_returning_server() -> Vec<Fault> {
    read(&[OF_RETURNING_SERVERS, OF_SERVERS])
}
