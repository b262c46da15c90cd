//! The network: a decoder-only transformer over bytes, with gradients written out by hand.
//!
//! Layers own no numbers. All parameters are one flat slice and all gradients another of the same layout, so that one
//! all-reduce, one optimizer loop and one file cover the whole model; a layer knows its ranges in it. `forward` returns
//! what it computed and what `backward` will need; `backward` adds to the gradients and returns the gradient of its
//! input. Every layer's gradient is checked against finite differences in its own tests.
//!
//! Start reading at `transformer`, then `block`.

mod attention;
mod block;
#[cfg(test)]
mod check;
mod embedding;
mod layout;
mod linear;
mod loss;
mod matrix;
mod mlp;
mod norm;
mod transformer;

pub(crate) use transformer::{Shape, Transformer};
