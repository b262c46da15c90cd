//! The two-layer perceptron of a block, four times as wide inside.

use super::gelu;
use super::layout::Layout;
use super::linear::Linear;

#[derive(Debug)]
pub(crate) struct Mlp {
    up: Linear,
    down: Linear,
}

#[derive(Debug)]
pub(crate) struct MlpCache {
    raised: Vec<f32>,
    bent: Vec<f32>,
}

impl Mlp {
    pub fn new(layout: &mut Layout, width: usize, deviation: f32, output_deviation: f32) -> Self {
        Self {
            up: Linear::new(layout, width, 4 * width, deviation),
            down: Linear::new(layout, 4 * width, width, output_deviation),
        }
    }

    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> (Vec<f32>, MlpCache) {
        let raised = self.up.forward(parameters, x);
        let bent = gelu::forward(&raised);
        (self.down.forward(parameters, &bent), MlpCache { raised, bent })
    }

    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        cache: &MlpCache,
        x: &[f32],
        dy: &[f32],
    ) -> Vec<f32> {
        let mut d_raised = self.down.backward(parameters, gradients, &cache.bent, dy);
        gelu::backward(&cache.raised, &mut d_raised);
        self.up.backward(parameters, gradients, x, &d_raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let mlp = Mlp::new(&mut layout, 4, 0.5, 0.5);
        check_gradients(
            &layout.initial_values(1),
            &numbers(6, 3 * 4),
            |parameters, x| mlp.forward(parameters, x).0,
            |parameters, gradients, x, dy| {
                let (_, cache) = mlp.forward(parameters, x);
                mlp.backward(parameters, gradients, &cache, x, dy)
            },
        );
    }
}
