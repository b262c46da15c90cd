//! One layer of the transformer: attention, then perceptron, each on a normalised copy and added to the stream.

use super::attention::{Attention, AttentionCache};
use super::layout::Layout;
use super::mlp::{Mlp, MlpCache};
use super::norm::{Norm, NormCache};
use super::transformer::Shape;

#[derive(Debug)]
pub(crate) struct Block {
    attention_norm: Norm,
    attention: Attention,
    mlp_norm: Norm,
    mlp: Mlp,
}

#[derive(Debug)]
pub(crate) struct BlockCache {
    input: Vec<f32>,
    attention_norm: NormCache,
    attention_input: Vec<f32>,
    attention: AttentionCache,
    middle: Vec<f32>,
    mlp_norm: NormCache,
    mlp_input: Vec<f32>,
    mlp: MlpCache,
}

impl Block {
    pub fn new(layout: &mut Layout, shape: &Shape) -> Self {
        let Shape { width, heads, length, layers } = *shape;
        let deviation = 1.0 / (width as f32).sqrt();
        // Every layer adds twice to the stream; without this the stream would grow with the number of layers. The wide
        // side of the perceptron has four times the inputs, hence the other half.
        let output_deviation = deviation / (2.0 * layers as f32).sqrt();
        Self {
            attention_norm: Norm::new(layout, width),
            attention: Attention::new(layout, width, heads, length, deviation, output_deviation),
            mlp_norm: Norm::new(layout, width),
            mlp: Mlp::new(layout, width, deviation, output_deviation / 2.0),
        }
    }

    pub fn forward(&self, parameters: &[f32], input: Vec<f32>) -> (Vec<f32>, BlockCache) {
        let (attention_input, attention_norm) = self.attention_norm.forward(parameters, &input);
        let (mut middle, attention) = self.attention.forward(parameters, &attention_input);
        add(&mut middle, &input);
        let (mlp_input, mlp_norm) = self.mlp_norm.forward(parameters, &middle);
        let (mut output, mlp) = self.mlp.forward(parameters, &mlp_input);
        add(&mut output, &middle);
        let cache = BlockCache { input, attention_norm, attention_input, attention, middle, mlp_norm, mlp_input, mlp };
        (output, cache)
    }

    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        cache: &BlockCache,
        d_output: &[f32],
    ) -> Vec<f32> {
        let d_mlp_input = self.mlp.backward(parameters, gradients, &cache.mlp, &cache.mlp_input, d_output);
        let mut d_middle = self.mlp_norm.backward(parameters, gradients, &cache.mlp_norm, &cache.middle, &d_mlp_input);
        add(&mut d_middle, d_output);
        let d_attention_input =
            self.attention.backward(parameters, gradients, &cache.attention, &cache.attention_input, &d_middle);
        let mut d_input = self.attention_norm.backward(
            parameters,
            gradients,
            &cache.attention_norm,
            &cache.input,
            &d_attention_input,
        );
        add(&mut d_input, &d_middle);
        d_input
    }
}

fn add(to: &mut [f32], what: &[f32]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let block = Block::new(&mut layout, &Shape { layers: 1, width: 4, heads: 2, length: 3 });
        check_gradients(
            &layout.initial_values(3),
            &numbers(9, 2 * 3 * 4),
            |parameters, x| block.forward(parameters, x.to_vec()).0,
            |parameters, gradients, x, dy| {
                let (_, cache) = block.forward(parameters, x.to_vec());
                block.backward(parameters, gradients, &cache, dy)
            },
        );
    }
}
