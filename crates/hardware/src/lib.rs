//! What this machine has. Looks, never decides, and works on machines without a GPU.

pub mod cpu;
pub mod gpu;
