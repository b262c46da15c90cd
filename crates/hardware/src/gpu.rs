//! The GPUs of this machine, through NVML, which is loaded only when somebody asks.

use std::fs;

use nvml_wrapper::Nvml;

/// How many GPUs a process started with this value of CUDA_VISIBLE_DEVICES can use.
pub fn visible_count(cuda_visible_devices: Option<&str>) -> usize {
    match cuda_visible_devices {
        Some(list) => visible_devices(list).len(),
        None => count(),
    }
}

/// The entries of CUDA_VISIBLE_DEVICES that count: CUDA stops at the first that is not one.
pub fn visible_devices(list: &str) -> Vec<String> {
    let is_device =
        |entry: &str| entry.parse::<u32>().is_ok() || ["GPU-", "MIG-"].iter().any(|prefix| entry.starts_with(prefix));
    list.split(',').map(str::trim).take_while(|entry| is_device(entry)).map(str::to_owned).collect()
}

/// All GPUs of the machine. Without the driver's library there are none, unless the kernel shows its devices.
pub fn count() -> usize {
    let by_library = Nvml::init().and_then(|nvml| nvml.device_count()).map(|count| count as usize);
    by_library.unwrap_or_else(|_| device_nodes())
}

fn device_nodes() -> usize {
    let is_gpu = |name: &str| name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
    fs::read_dir("/dev")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_gpu))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_stops_at_the_first_entry_that_is_no_device() {
        assert_eq!(visible_devices("0, 2,GPU-8f1a"), ["0", "2", "GPU-8f1a"]);
        assert_eq!(visible_devices("1,-1,2"), ["1"]);
        assert_eq!(visible_devices(""), Vec::<String>::new());
        assert_eq!(visible_devices("NoDevFiles"), Vec::<String>::new());
    }
}
