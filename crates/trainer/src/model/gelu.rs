//! GELU in its tanh form, written with one exponential: `x · sigmoid(2u)`, where `u` is the argument of the tanh.

const SLOPE: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;

fn gate(x: f32) -> f32 {
    let u = SLOPE * (x + CUBIC * x * x * x);
    1.0 / (1.0 + (-2.0 * u).exp())
}

pub(crate) fn forward(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x * gate(*x)).collect()
}

/// Turns the gradient of the output into that of the input, in place.
pub(crate) fn backward(x: &[f32], dy: &mut [f32]) {
    for (dy, x) in dy.iter_mut().zip(x) {
        let gate = gate(*x);
        let du = SLOPE * (1.0 + 3.0 * CUBIC * x * x);
        *dy *= gate + x * gate * (1.0 - gate) * 2.0 * du;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let x: Vec<f32> = numbers(5, 40).iter().map(|value| 3.0 * value).collect();
        check_gradients(
            &[],
            &x,
            |_, x| forward(x),
            |_, _, x, dy| {
                let mut dx = dy.to_vec();
                backward(x, &mut dx);
                dx
            },
        );
    }

    #[test]
    fn far_from_zero_it_is_nothing_or_the_identity() {
        let y = forward(&[-50.0, 0.0, 50.0]);
        assert_eq!((y[0], y[1], y[2]), (0.0, 0.0, 50.0));
    }
}
