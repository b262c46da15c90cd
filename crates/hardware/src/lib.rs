//! What this machine has and what it does. Looks, never decides, and works on machines without a GPU.

pub mod cpu;
pub mod gpu;
pub mod gpu_events;
pub mod gpu_health;
pub mod load;
pub mod memory;
pub mod network;
