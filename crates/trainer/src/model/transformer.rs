//! The whole network: embedding, blocks, a last normalisation, scores, loss; and all the way back.

use std::ops::Range;

use super::block::Block;
use super::embedding::Embedding;
use super::layout::Layout;
use super::loss::cross_entropy;
use super::norm::Norm;
use crate::preset::Preset;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    /// Bytes per sample.
    pub length: usize,
}

impl Shape {
    pub fn new(preset: Preset, length: usize) -> Self {
        Self { layers: preset.layers(), width: preset.width(), heads: preset.heads(), length }
    }
}

#[derive(Debug)]
pub(crate) struct Transformer {
    layout: Layout,
    embedding: Embedding,
    blocks: Vec<Block>,
    norm: Norm,
}

impl Transformer {
    pub fn new(shape: &Shape) -> Self {
        let mut layout = Layout::default();
        let embedding = Embedding::new(&mut layout, shape.width, shape.length);
        let blocks = (0..shape.layers).map(|_| Block::new(&mut layout, shape)).collect();
        let norm = Norm::new(&mut layout, shape.width);
        Self { layout, embedding, blocks, norm }
    }

    pub fn parameters(&self) -> usize {
        self.layout.length()
    }

    pub fn initial_parameters(&self, seed: u64) -> Vec<f32> {
        self.layout.initial_values(seed)
    }

    /// The parameters under weight decay: all but the gains.
    pub fn decaying(&self) -> Vec<Range<usize>> {
        self.layout.decaying()
    }

    /// The sum of the losses over every byte; adds `scale` times its gradient to `gradients`.
    pub fn loss_and_gradients(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        inputs: &[u8],
        targets: &[u8],
        scale: f32,
    ) -> f64 {
        let mut x = self.embedding.forward(parameters, inputs);
        let mut caches = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let (output, cache) = block.forward(parameters, x);
            caches.push(cache);
            x = output;
        }
        let (normal, norm_cache) = self.norm.forward(parameters, &x);
        let mut scores = self.embedding.scores(parameters, &normal);
        let loss = cross_entropy(&mut scores, targets, scale);

        let d_normal = self.embedding.scores_backward(parameters, gradients, &normal, &scores);
        let mut dx = self.norm.backward(parameters, gradients, &norm_cache, &x, &d_normal);
        for (block, cache) in self.blocks.iter().zip(&caches).rev() {
            dx = block.backward(parameters, gradients, cache, &dx);
        }
        self.embedding.backward(gradients, inputs, &dx);
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_slope, numbers};

    #[test]
    fn gradients_of_the_whole_model_agree_with_finite_differences() {
        let model = Transformer::new(&Shape { layers: 2, width: 4, heads: 2, length: 4 });
        // Larger values than at a real start, so that every path carries a gradient worth measuring.
        let mut parameters = model.initial_parameters(1);
        parameters.iter_mut().zip(numbers(13, 256 * 4)).for_each(|(parameter, number)| *parameter = number);
        let (inputs, targets) = (b"rank0 12", b"ank0 123");
        let mut gradients = vec![0.0; model.parameters()];
        model.loss_and_gradients(&parameters, &mut gradients, inputs, targets, 1.0);
        check_slope("parameter", &parameters, &gradients, |nudged| {
            model.loss_and_gradients(nudged, &mut vec![0.0; model.parameters()], inputs, targets, 1.0)
        });
    }

    #[test]
    fn a_fresh_model_knows_nothing() {
        let model = Transformer::new(&Shape::new(Preset::Tiny, 8));
        let mut gradients = vec![0.0; model.parameters()];
        let parameters = model.initial_parameters(1);
        let loss = model.loss_and_gradients(&parameters, &mut gradients, b"fermi123", b"ermi1234", 1.0);
        assert!((loss / 8.0 - 256_f64.ln()).abs() < 0.2, "{}", loss / 8.0);
    }
}
