//! Where this process stands in the run, as its launcher decided.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub rank: usize,
    pub world_size: usize,
    pub local_rank: usize,
    pub master_addr: String,
    pub master_port: u16,
    /// Ranks of different runs refuse each other.
    pub run_id: String,
}

impl Placement {
    /// A run of one process, which opens no socket.
    pub fn alone() -> Self {
        Self {
            rank: 0,
            world_size: 1,
            local_rank: 0,
            master_addr: "127.0.0.1".to_owned(),
            master_port: 0,
            run_id: "alone".to_owned(),
        }
    }

    pub fn is_first(&self) -> bool {
        self.rank == 0
    }
}
