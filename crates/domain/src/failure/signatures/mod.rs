//! The list of known failures, most specific first: the first that matches is the answer.
//!
//! A signature is one file here, one line in [`SIGNATURES`] and at least one log under `../samples/` whose name begins
//! with its id; logs that begin with `not_` show what it must not match. No logic lives in this file.

mod aborted;
mod address_in_use;
mod cuda_device_fault;
mod cuda_kernel_fault;
mod cuda_out_of_memory;
mod deepspeed_batch;
mod deepspeed_build;
mod deepspeed_gather;
mod deepspeed_start;
mod disk_full;
mod file_not_found;
mod host_oom_kill;
mod jax_coordinator;
mod killed_by_signal;
mod master_unreachable;
mod missing_module;
mod nccl_error;
mod nccl_start;
mod nccl_timeout;
mod no_gpu;
mod peer_lost;
mod permission_denied;
mod python_exception;
mod segfault;
mod shared_memory_full;
mod slow_loading;
mod too_many_open_files;
mod too_many_processes;
mod usage_error;
mod version_mismatch;

use super::{
    diagnosis::{FailureClass, Recurrence, Role},
    scene::{Finding, Scene},
};

/// A known failure: what it is in general, and how to recognise it.
#[derive(Debug)]
pub struct Signature {
    pub id: &'static str,
    pub class: FailureClass,
    pub recurrence: Recurrence,
    pub role: Role,
    pub(super) find: fn(&Scene<'_>) -> Option<Finding>,
}

/// Every signature, in the order in which they are asked.
pub static SIGNATURES: &[Signature] = &[
    host_oom_kill::SIGNATURE,
    shared_memory_full::SIGNATURE,
    segfault::SIGNATURE,
    killed_by_signal::SIGNATURE,
    cuda_out_of_memory::SIGNATURE,
    cuda_device_fault::SIGNATURE,
    no_gpu::SIGNATURE,
    deepspeed_build::SIGNATURE,
    deepspeed_batch::SIGNATURE,
    deepspeed_gather::SIGNATURE,
    slow_loading::SIGNATURE,
    version_mismatch::SIGNATURE,
    cuda_kernel_fault::SIGNATURE,
    address_in_use::SIGNATURE,
    deepspeed_start::SIGNATURE,
    missing_module::SIGNATURE,
    jax_coordinator::SIGNATURE,
    disk_full::SIGNATURE,
    too_many_open_files::SIGNATURE,
    too_many_processes::SIGNATURE,
    nccl_timeout::SIGNATURE,
    peer_lost::SIGNATURE,
    master_unreachable::SIGNATURE,
    nccl_start::SIGNATURE,
    nccl_error::SIGNATURE,
    permission_denied::SIGNATURE,
    file_not_found::SIGNATURE,
    usage_error::SIGNATURE,
    python_exception::SIGNATURE,
    aborted::SIGNATURE,
];

#[cfg(test)]
mod tests;
