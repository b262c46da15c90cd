//! The variables that one engine reads and others do not; set only for the framework that wants them.
//!
//! Some change how a stranger to them behaves: DeepSpeed and accelerate take OMPI_* for a launch by mpirun. So they are
//! no part of what every rank gets.

// What the user chose, and what was decided for the framework.
pub const FERMI_DATASET_PATH: &str = "FERMI_DATASET_PATH";
pub const FERMI_DATASET_ID: &str = "FERMI_DATASET_ID";
pub const FERMI_DATASET_VERSION_ID: &str = "FERMI_DATASET_VERSION_ID";
pub const FERMI_MODEL_PATH: &str = "FERMI_MODEL_PATH";
pub const FERMI_MODEL_ID: &str = "FERMI_MODEL_ID";
pub const FERMI_LAUNCH_DIR: &str = "FERMI_LAUNCH_DIR";
pub const FERMI_CONFIG_FILE: &str = "FERMI_CONFIG_FILE";
pub const FERMI_TRAINING_FILE: &str = "FERMI_TRAINING_FILE";
pub const FERMI_FRAMEWORK: &str = "FERMI_FRAMEWORK";
pub const FERMI_COLLECTIVE_TIMEOUT: &str = "FERMI_COLLECTIVE_TIMEOUT";
pub const FERMI_DATA_PARALLEL: &str = "FERMI_DATA_PARALLEL";
pub const FERMI_PIPELINE_PARALLEL: &str = "FERMI_PIPELINE_PARALLEL";
pub const FERMI_TENSOR_PARALLEL: &str = "FERMI_TENSOR_PARALLEL";
pub const FERMI_MICRO_BATCH_SIZE: &str = "FERMI_MICRO_BATCH_SIZE";
pub const FERMI_GRADIENT_ACCUMULATION_STEPS: &str = "FERMI_GRADIENT_ACCUMULATION_STEPS";

// The wire.
pub const NCCL_SOCKET_IFNAME: &str = "NCCL_SOCKET_IFNAME";
pub const GLOO_SOCKET_IFNAME: &str = "GLOO_SOCKET_IFNAME";
pub const NCCL_TIMEOUT: &str = "NCCL_TIMEOUT";
pub const NCCL_IB_DISABLE: &str = "NCCL_IB_DISABLE";
pub const NCCL_P2P_DISABLE: &str = "NCCL_P2P_DISABLE";
pub const NCCL_DEBUG: &str = "NCCL_DEBUG";
pub const TORCH_DISTRIBUTED_DEBUG: &str = "TORCH_DISTRIBUTED_DEBUG";
pub const CUDA_LAUNCH_BLOCKING: &str = "CUDA_LAUNCH_BLOCKING";
pub const CUDA_DEVICE_MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

pub const DEEPSPEED_TIMEOUT: &str = "DEEPSPEED_TIMEOUT";
pub const DEEPSPEED_LOG_LEVEL: &str = "DEEPSPEED_LOG_LEVEL";

pub const ACCELERATE_MIXED_PRECISION: &str = "ACCELERATE_MIXED_PRECISION";
pub const ACCELERATE_GRADIENT_ACCUMULATION_STEPS: &str = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS";
pub const ACCELERATE_USE_CPU: &str = "ACCELERATE_USE_CPU";
pub const ACCELERATE_USE_DEEPSPEED: &str = "ACCELERATE_USE_DEEPSPEED";
pub const ACCELERATE_DEEPSPEED_CONFIG_FILE: &str = "ACCELERATE_DEEPSPEED_CONFIG_FILE";
pub const ACCELERATE_USE_FSDP: &str = "ACCELERATE_USE_FSDP";
pub const ACCELERATE_USE_PARALLELISM_CONFIG: &str = "ACCELERATE_USE_PARALLELISM_CONFIG";
pub const PARALLELISM_CONFIG_DP_REPLICATE_SIZE: &str = "PARALLELISM_CONFIG_DP_REPLICATE_SIZE";
pub const PARALLELISM_CONFIG_DP_SHARD_SIZE: &str = "PARALLELISM_CONFIG_DP_SHARD_SIZE";
pub const FSDP_VERSION: &str = "FSDP_VERSION";
pub const FSDP_SHARDING_STRATEGY: &str = "FSDP_SHARDING_STRATEGY";
pub const FSDP_RESHARD_AFTER_FORWARD: &str = "FSDP_RESHARD_AFTER_FORWARD";
pub const FSDP_OFFLOAD_PARAMS: &str = "FSDP_OFFLOAD_PARAMS";
pub const FSDP_AUTO_WRAP_POLICY: &str = "FSDP_AUTO_WRAP_POLICY";
pub const FSDP_TRANSFORMER_CLS_TO_WRAP: &str = "FSDP_TRANSFORMER_CLS_TO_WRAP";
pub const FSDP_MIN_NUM_PARAMS: &str = "FSDP_MIN_NUM_PARAMS";
pub const FSDP_STATE_DICT_TYPE: &str = "FSDP_STATE_DICT_TYPE";
pub const FSDP_ACTIVATION_CHECKPOINTING: &str = "FSDP_ACTIVATION_CHECKPOINTING";
pub const FSDP_CPU_RAM_EFFICIENT_LOADING: &str = "FSDP_CPU_RAM_EFFICIENT_LOADING";

pub const HOROVOD_HOSTNAME: &str = "HOROVOD_HOSTNAME";
pub const HOROVOD_RANK: &str = "HOROVOD_RANK";
pub const HOROVOD_SIZE: &str = "HOROVOD_SIZE";
pub const HOROVOD_LOCAL_RANK: &str = "HOROVOD_LOCAL_RANK";
pub const HOROVOD_LOCAL_SIZE: &str = "HOROVOD_LOCAL_SIZE";
pub const HOROVOD_CROSS_RANK: &str = "HOROVOD_CROSS_RANK";
pub const HOROVOD_CROSS_SIZE: &str = "HOROVOD_CROSS_SIZE";
pub const HOROVOD_GLOO_RENDEZVOUS_ADDR: &str = "HOROVOD_GLOO_RENDEZVOUS_ADDR";
pub const HOROVOD_GLOO_RENDEZVOUS_PORT: &str = "HOROVOD_GLOO_RENDEZVOUS_PORT";
pub const HOROVOD_GLOO_IFACE: &str = "HOROVOD_GLOO_IFACE";
pub const HOROVOD_GLOO_TIMEOUT_SECONDS: &str = "HOROVOD_GLOO_TIMEOUT_SECONDS";
pub const HOROVOD_CONTROLLER: &str = "HOROVOD_CONTROLLER";
pub const HOROVOD_CPU_OPERATIONS: &str = "HOROVOD_CPU_OPERATIONS";
pub const HOROVOD_FUSION_THRESHOLD: &str = "HOROVOD_FUSION_THRESHOLD";
pub const HOROVOD_CYCLE_TIME: &str = "HOROVOD_CYCLE_TIME";
pub const HOROVOD_TIMELINE: &str = "HOROVOD_TIMELINE";

pub const JAX_COORDINATOR_ADDRESS: &str = "JAX_COORDINATOR_ADDRESS";
pub const JAX_NUM_PROCESSES: &str = "JAX_NUM_PROCESSES";
pub const JAX_PROCESS_ID: &str = "JAX_PROCESS_ID";
pub const JAX_PLATFORM_NAME: &str = "JAX_PLATFORM_NAME";
pub const JAX_CPU_COLLECTIVES_IMPLEMENTATION: &str = "JAX_CPU_COLLECTIVES_IMPLEMENTATION";
pub const XLA_PYTHON_CLIENT_PREALLOCATE: &str = "XLA_PYTHON_CLIENT_PREALLOCATE";
pub const XLA_PYTHON_CLIENT_MEM_FRACTION: &str = "XLA_PYTHON_CLIENT_MEM_FRACTION";
/// Their presence makes a `jax.distributed.initialize()` without arguments find its cluster.
pub const OMPI_MCA_ORTE_HNP_URI: &str = "OMPI_MCA_orte_hnp_uri";
pub const OMPI_COMM_WORLD_SIZE: &str = "OMPI_COMM_WORLD_SIZE";
pub const OMPI_COMM_WORLD_RANK: &str = "OMPI_COMM_WORLD_RANK";
pub const OMPI_COMM_WORLD_LOCAL_RANK: &str = "OMPI_COMM_WORLD_LOCAL_RANK";

#[cfg(test)]
mod tests {
    #[test]
    fn the_reference_page_has_every_variable() {
        let page = include_str!("../../../../docs/reference/environment.md");
        let constants = include_str!("engines.rs").lines().filter(|line| line.starts_with("pub const "));
        for name in constants.filter_map(|line| line.split('"').nth(1)) {
            assert!(page.contains(&format!("`{name}`")), "docs/reference/environment.md does not have {name}");
        }
    }
}
