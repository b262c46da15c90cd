//! How each GPU is, beyond what it does: errors of its memory, what slows it down, who holds it.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use serde::{Deserialize, Serialize};

use crate::gpu::{Gpus, short_name};

/// One GPU. What it does not tell is None.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuHealth {
    pub index: u32,
    pub model: String,
    pub memory_total: u64,
    pub memory_used: u64,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    pub has_ecc: Option<bool>,
    /// Errors of its memory since the driver was loaded that could not be corrected.
    pub uncorrected: Option<u64>,
    /// Whether bad memory waits for a reset to be taken out of use.
    pub needs_reset: Option<bool>,
    pub slowed_by: Vec<Slowdown>,
    /// Lanes in use and lanes it has.
    pub lanes: Option<(u32, u32)>,
    pub holders: Vec<GpuHolder>,
}

/// Why the clocks are lower than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Slowdown {
    Heat,
    /// The board's power supply asks for it.
    PowerBrake,
    /// The limit of power that is set.
    PowerCap,
    /// The hardware does, for a reason that it does not tell.
    Hardware,
}

/// A process that has memory of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuHolder {
    pub pid: u32,
    pub memory: Option<u64>,
    /// None where it is another container's.
    pub command: Option<String>,
}

impl Gpus {
    /// All GPUs that answer.
    pub fn health(&self) -> Vec<GpuHealth> {
        let count = self.nvml.device_count().unwrap_or(0);
        (0..count).filter_map(|index| self.health_of(index)).collect()
    }

    fn health_of(&self, index: u32) -> Option<GpuHealth> {
        let device = self.nvml.device_by_index(index).ok()?;
        let memory = device.memory_info().ok()?;
        let holders = device.running_compute_processes().unwrap_or_default();
        Some(GpuHealth {
            index,
            model: short_name(&device.name().ok()?),
            memory_total: memory.total,
            memory_used: memory.used,
            temperature: device.temperature(TemperatureSensor::Gpu).ok(),
            has_ecc: device.is_ecc_enabled().ok().map(|mode| mode.currently_enabled),
            uncorrected: device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).ok(),
            needs_reset: device.are_pages_pending_retired().ok(),
            slowed_by: device.current_throttle_reasons().map(slowdowns).unwrap_or_default(),
            lanes: device.current_pcie_link_width().ok().zip(device.max_pcie_link_width().ok()),
            holders: holders
                .into_iter()
                .map(|process| GpuHolder {
                    pid: process.pid,
                    memory: match process.used_gpu_memory {
                        UsedGpuMemory::Used(bytes) => Some(bytes),
                        UsedGpuMemory::Unavailable => None,
                    },
                    command: command_of(process.pid),
                })
                .collect(),
        })
    }
}

fn command_of(pid: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.take(4).map(String::from_utf8_lossy).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn slowdowns(reasons: ThrottleReasons) -> Vec<Slowdown> {
    let heat = ThrottleReasons::SW_THERMAL_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN;
    let named = [
        (heat, Slowdown::Heat),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, Slowdown::PowerBrake),
        (ThrottleReasons::SW_POWER_CAP, Slowdown::PowerCap),
    ];
    let mut found: Vec<Slowdown> =
        named.into_iter().filter(|(bits, _)| reasons.intersects(*bits)).map(|(_, slowdown)| slowdown).collect();
    // The general bit comes with the ones that say why.
    if reasons.contains(ThrottleReasons::HW_SLOWDOWN)
        && !found.iter().any(|it| [Slowdown::Heat, Slowdown::PowerBrake].contains(it))
    {
        found.push(Slowdown::Hardware);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_reason_is_told_only_where_no_other_is() {
        let hot = ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert_eq!(slowdowns(hot), [Slowdown::Heat]);
        assert_eq!(slowdowns(ThrottleReasons::HW_SLOWDOWN), [Slowdown::Hardware]);
        assert_eq!(slowdowns(ThrottleReasons::GPU_IDLE), []);
    }
}
