//! Where each tensor lies in the flat slice of all parameters, and how it begins.

use std::ops::Range;

use crate::random::{Purpose, random_unit};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Start {
    /// Every value 1: a gain that changes nothing yet.
    Ones,
    /// Evenly spread around 0 with this standard deviation. Such values shrink under weight decay; gains do not.
    Spread(f32),
}

#[derive(Debug, Default)]
pub(crate) struct Layout {
    tensors: Vec<(Range<usize>, Start)>,
    length: usize,
}

impl Layout {
    pub fn add(&mut self, length: usize, start: Start) -> Range<usize> {
        let range = self.length..self.length + length;
        self.length = range.end;
        self.tensors.push((range.clone(), start));
        range
    }

    pub fn length(&self) -> usize {
        self.length
    }

    pub fn decaying(&self) -> Vec<Range<usize>> {
        let decays = |start: &Start| matches!(start, Start::Spread(_));
        self.tensors.iter().filter(|(_, start)| decays(start)).map(|(range, _)| range.clone()).collect()
    }

    pub fn initial_values(&self, seed: u64) -> Vec<f32> {
        let mut values = vec![0.0; self.length];
        for (range, start) in &self.tensors {
            match start {
                Start::Ones => values[range.clone()].fill(1.0),
                Start::Spread(deviation) => {
                    // A uniform spread of half-width w deviates by w / sqrt(3); unlike a normal one it costs no
                    // logarithms, which keeps the start of the largest preset within milliseconds.
                    let half_width = deviation * 3.0_f32.sqrt();
                    for index in range.clone() {
                        values[index] = half_width * random_unit(seed, Purpose::Parameter, index as u64);
                    }
                }
            }
        }
        values
    }
}
