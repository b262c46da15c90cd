//! The GPUs, by the driver's library, or by the bus where the driver is silent.

use std::fs;
use std::path::Path;

use fermi_hardware::gpu::Gpus;

use crate::facts::{DriverFacts, GpuFacts};

const NVIDIA: &str = "0x10de";
/// Display controllers and 3D controllers.
const CLASS: &str = "0x03";

pub fn look() -> DriverFacts {
    match Gpus::try_open() {
        Ok(gpus) => DriverFacts::Answers(GpuFacts {
            driver: gpus.driver_version(),
            cuda: gpus.cuda_version(),
            gpus: gpus.health(),
        }),
        Err(reason) => {
            DriverFacts::Silent { on_bus: on_bus(), has_devices: Path::new("/dev/nvidiactl").exists(), reason }
        }
    }
}

fn on_bus() -> usize {
    let is_gpu = |folder: &Path| {
        let starts =
            |name: &str, head: &str| fs::read_to_string(folder.join(name)).is_ok_and(|it| it.starts_with(head));
        starts("vendor", NVIDIA) && starts("class", CLASS)
    };
    fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten().filter(|entry| is_gpu(&entry.path())).count()
}
