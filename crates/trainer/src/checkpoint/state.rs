//! All that training changes.

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// The steps done so far.
    pub step: u64,
    /// The losses of the run's first and newest step; NaN before there is one.
    pub first_loss: f32,
    pub last_loss: f32,
    pub parameters: Vec<f32>,
    /// The optimizer's running mean of each gradient, and of its square.
    pub first: Vec<f32>,
    pub second: Vec<f32>,
}

impl State {
    pub fn new(parameters: Vec<f32>) -> Self {
        let zeros = vec![0.0; parameters.len()];
        Self { step: 0, first_loss: f32::NAN, last_loss: f32::NAN, first: zeros.clone(), second: zeros, parameters }
    }

    pub fn tensors(&self) -> [&[f32]; 3] {
        [&self.parameters, &self.first, &self.second]
    }

    pub fn tensors_mut(&mut self) -> [&mut Vec<f32>; 3] {
        [&mut self.parameters, &mut self.first, &mut self.second]
    }
}
