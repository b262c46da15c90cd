//! What a finished run has to say.

#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The mean loss over the global batch of the run's very first step, also when this attempt resumed later.
    pub first_loss: f32,
    pub last_loss: f32,
    /// The steps that the run has now done in all, those before a resume included.
    pub steps: u64,
    /// Sixteen hexadecimal digits over the bits of every parameter; equal on all ranks, which has been verified.
    pub parameter_checksum: String,
    pub parameters: usize,
    /// Of all ranks together, over the steps of this attempt; 0 when nothing was left to do.
    pub tokens_per_s: f64,
    /// The step of the checkpoint that this attempt continued from.
    pub resumed_from: Option<u64>,
}
