//! The GPUs of this machine, through NVML, which is loaded at the first question.

use std::fs;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;

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

/// One GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its number in the machine.
    pub index: u32,
    /// The short name that people use, such as `A100`.
    pub model: String,
    pub memory: u64,
}

/// What a GPU does now.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuUse {
    pub index: u32,
    /// 0 to 1.
    pub busy: f32,
    pub memory_used: u64,
    pub memory_total: u64,
    pub temperature: Option<f32>,
    pub power_watts: Option<f32>,
}

/// The driver's library, held open: loading it takes tens of milliseconds.
#[derive(Debug)]
pub struct Gpus {
    pub(crate) nvml: Nvml,
}

impl Gpus {
    /// None where there is no driver.
    pub fn open() -> Option<Self> {
        Self::try_open().ok()
    }

    /// Why there is none, in the library's words.
    pub fn try_open() -> Result<Self, String> {
        Nvml::init().map(|nvml| Self { nvml }).map_err(|error| error.to_string())
    }

    /// All GPUs, in the machine's order.
    pub fn list(&self) -> Vec<Gpu> {
        let count = self.nvml.device_count().unwrap_or(0);
        (0..count)
            .filter_map(|index| {
                let device = self.nvml.device_by_index(index).ok()?;
                let name = device.name().ok()?;
                Some(Gpu { index, model: short_name(&name), memory: device.memory_info().ok()?.total })
            })
            .collect()
    }

    /// What each GPU does; one that does not answer is left out.
    pub fn measure(&self) -> Vec<GpuUse> {
        let count = self.nvml.device_count().unwrap_or(0);
        (0..count)
            .filter_map(|index| {
                let device = self.nvml.device_by_index(index).ok()?;
                let memory = device.memory_info().ok()?;
                Some(GpuUse {
                    index,
                    busy: device.utilization_rates().map_or(0.0, |rates| rates.gpu as f32 / 100.0),
                    memory_used: memory.used,
                    memory_total: memory.total,
                    temperature: device.temperature(TemperatureSensor::Gpu).ok().map(|degrees| degrees as f32),
                    power_watts: device.power_usage().ok().map(|milliwatts| milliwatts as f32 / 1000.0),
                })
            })
            .collect()
    }

    pub fn driver_version(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    /// The newest CUDA that the driver can run, such as `12.4`.
    pub fn cuda_version(&self) -> Option<String> {
        let version = self.nvml.sys_cuda_driver_version().ok()?;
        Some(format!("{}.{}", version / 1000, version % 1000 / 10))
    }
}

/// `A100` of `NVIDIA A100-SXM4-80GB`: the first word that is a model, without form factor and memory.
pub fn short_name(full: &str) -> String {
    let makers = ["NVIDIA", "Tesla", "Quadro", "GeForce", "Graphics", "Device", "Corporation"];
    let words: Vec<&str> = full.split([' ', '-']).filter(|word| !word.is_empty() && !makers.contains(word)).collect();
    match words.as_slice() {
        [] => full.trim().to_owned(),
        // RTX 4090, RTX A6000, GTX 1080 Ti
        [family @ ("RTX" | "GTX" | "TITAN"), number, rest @ ..] => {
            let suffix = rest.first().filter(|word| ["Ti", "SUPER", "Ada"].contains(word));
            let words = [Some(family), Some(number), suffix].into_iter().flatten().copied();
            words.collect::<Vec<_>>().join(" ")
        }
        [first, ..] => (*first).to_owned(),
    }
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

    #[test]
    fn the_short_name_is_the_one_that_people_use() {
        let names = [
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("NVIDIA H200", "H200"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("Tesla V100-SXM2-16GB", "V100"),
            ("Tesla T4", "T4"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("NVIDIA GeForce GTX 1080 Ti", "GTX 1080 Ti"),
            ("NVIDIA RTX A6000", "RTX A6000"),
            ("", ""),
        ];
        for (full, short) in names {
            assert_eq!(short_name(full), short, "{full}");
        }
    }

    #[test]
    fn a_machine_without_a_driver_is_no_error() {
        if let Some(gpus) = Gpus::open() {
            assert_eq!(gpus.list().len(), gpus.measure().len());
        }
    }
}
