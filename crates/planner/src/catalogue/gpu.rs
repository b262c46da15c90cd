//! GPUs by their numbers.

use serde::{Deserialize, Serialize};

use super::{near, plain};
use crate::error::PlanError;
use crate::precision::Arithmetic;

/// GPUs whose kernels behave alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    Pascal,
    Volta,
    Turing,
    Ampere,
    AmperePcie,
    Ada,
    Hopper,
    Blackwell,
    BlackwellPcie,
    Cdna2,
    Cdna3,
    Cdna4,
    Ascend,
    Gaudi,
    Tpu,
    #[default]
    Other,
}

impl Generation {
    /// The narrowest numbers that it multiplies; of one that is not known, any.
    fn fewest_bits(self) -> u8 {
        match self {
            Self::Pascal | Self::Volta | Self::Turing | Self::Ampere | Self::AmperePcie => 16,
            Self::Cdna2 | Self::Ascend | Self::Tpu => 16,
            Self::Ada | Self::Hopper | Self::Cdna3 | Self::Gaudi => 8,
            Self::Blackwell | Self::BlackwellPcie | Self::Cdna4 | Self::Other => 4,
        }
    }
}

/// One line of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuEntry {
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub generation: Generation,
    pub memory_gib: f64,
    /// Dense 16-bit products with 32-bit sums.
    pub bf16_tflops: f64,
    #[serde(default)]
    pub fp8_tflops: Option<f64>,
    #[serde(default)]
    pub fp4_tflops: Option<f64>,
    #[serde(default)]
    pub tf32_tflops: Option<f64>,
    pub hbm_gbs: f64,
    /// One direction, to the other GPUs of the node.
    pub link_gbs: f64,
    #[serde(default)]
    pub pcie_gbs: Option<f64>,
    /// What large products reach of the data sheet's 16-bit rate in a training: nine tenths of the largest that was measured, where
    /// that is public (docs/planner.md has the table), an estimate elsewhere.
    #[serde(default)]
    pub gemm_fraction: Option<f64>,
    /// The board's power, where that is what bounds its 16-bit products.
    #[serde(default)]
    pub watts: Option<f64>,
    #[serde(default)]
    pub node_gbps_per_gpu: Option<f64>,
    #[serde(default)]
    pub note: Option<String>,
}

/// What the estimates need of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    pub generation: Generation,
    pub memory_gib: f64,
    pub bf16_flops: f64,
    pub fp8_flops: f64,
    pub fp4_flops: f64,
    pub tf32_flops: f64,
    pub hbm_bytes_per_s: f64,
    pub link_bytes_per_s: f64,
    pub pcie_bytes_per_s: f64,
    pub gemm_fraction: f64,
    #[serde(default)]
    pub watts: Option<f64>,
    /// The usual network of nodes with this GPU.
    pub usual_gbps: f64,
}

impl GpuEntry {
    /// A GPU that no catalogue knows. Memory and link are taken as usual for its products where they are not given.
    pub fn by_numbers(
        tflops: f64,
        memory_gib: f64,
        bandwidth_gbs: Option<f64>,
        link_gbs: Option<f64>,
    ) -> Result<Gpu, PlanError> {
        let entry = Self {
            name: String::new(),
            aliases: Vec::new(),
            generation: Generation::Other,
            memory_gib,
            bf16_tflops: tflops,
            fp8_tflops: None,
            fp4_tflops: None,
            tf32_tflops: None,
            hbm_gbs: bandwidth_gbs.unwrap_or(tflops * 5.0),
            link_gbs: link_gbs.unwrap_or(31.5),
            pcie_gbs: None,
            gemm_fraction: None,
            watts: None,
            node_gbps_per_gpu: None,
            note: None,
        };
        let numbers = [tflops, memory_gib, entry.hbm_gbs, entry.link_gbs];
        if numbers.iter().all(|n| n.is_finite() && *n > 0.0 && *n < 1e9) {
            Ok(entry.numbers())
        } else {
            Err(PlanError::zero("gpu-tflops, gpu-memory, gpu-bandwidth, gpu-link"))
        }
    }

    pub fn numbers(&self) -> Gpu {
        let bf16 = self.bf16_tflops * 1e12;
        let fp8 = self.fp8_tflops.map_or(bf16, |t| t * 1e12);
        Gpu {
            generation: self.generation,
            memory_gib: self.memory_gib,
            bf16_flops: bf16,
            fp8_flops: fp8,
            fp4_flops: self.fp4_tflops.map_or(fp8, |t| t * 1e12),
            tf32_flops: self.tf32_tflops.map_or(bf16 / 2.0, |t| t * 1e12),
            hbm_bytes_per_s: self.hbm_gbs * 1e9,
            link_bytes_per_s: self.link_gbs * 1e9,
            pcie_bytes_per_s: self.pcie_gbs.unwrap_or(31.5) * 1e9,
            gemm_fraction: self.gemm_fraction.unwrap_or(0.7),
            watts: self.watts,
            usual_gbps: self.node_gbps_per_gpu.unwrap_or(100.0),
        }
    }
}

impl Gpu {
    /// What a lock-step training on both gets: the pace of the slower, the memory and links of the smaller.
    pub fn slower(self, other: Self) -> Self {
        let rate = |gpu: &Self| gpu.bf16_flops * gpu.gemm_fraction;
        let mut both = if rate(&self) <= rate(&other) { self } else { other };
        both.memory_gib = self.memory_gib.min(other.memory_gib);
        both.hbm_bytes_per_s = self.hbm_bytes_per_s.min(other.hbm_bytes_per_s);
        both.link_bytes_per_s = self.link_bytes_per_s.min(other.link_bytes_per_s);
        both
    }

    /// Whether it multiplies such numbers: its generation does, or its entry names a rate for them.
    pub fn multiplies(&self, arithmetic: Arithmetic) -> bool {
        let bits = self.generation.fewest_bits();
        match arithmetic {
            Arithmetic::Full | Arithmetic::Tf32 | Arithmetic::Half => true,
            Arithmetic::Eight => bits <= 8 || self.fp8_flops > self.bf16_flops,
            Arithmetic::Four => bits <= 4 || self.fp4_flops > self.fp8_flops,
        }
    }

    /// GPUs of the largest machine that its links join: a DGX-2 has 16, the NVLink domain of a GB200 72; TPUs are joined by the
    /// thousand.
    pub fn largest_node(&self) -> u64 {
        match self.generation {
            Generation::Tpu | Generation::Other => u64::MAX,
            Generation::Blackwell => 72,
            _ => 16,
        }
    }

    /// Its 16-bit products are of fp16 alone.
    pub fn lacks_bf16(&self) -> bool {
        matches!(self.generation, Generation::Pascal | Generation::Volta | Generation::Turing)
    }

    pub fn peak(&self, arithmetic: Arithmetic) -> f64 {
        match arithmetic {
            Arithmetic::Full => self.tf32_flops / 4.0,
            Arithmetic::Tf32 => self.tf32_flops,
            Arithmetic::Half => self.bf16_flops,
            Arithmetic::Eight => self.fp8_flops,
            Arithmetic::Four => self.fp4_flops,
        }
    }
}

/// Finds an entry by exact name, then by alias, then by the beginning of its name; memory decides between variants.
pub(super) fn find(entries: &[GpuEntry], name: &str, memory_gib: Option<f64>) -> Result<Gpu, PlanError> {
    let wanted = clean(name);
    let known = |e: &&GpuEntry| clean(&e.name) == wanted || e.aliases.iter().any(|a| clean(a) == wanted);
    let mut found: Vec<&GpuEntry> = entries.iter().filter(known).collect();
    if found.is_empty() || memory_gib.is_some() {
        let begins = |e: &&GpuEntry| {
            std::iter::once(&e.name).chain(&e.aliases).any(|a| {
                let a = clean(a);
                !wanted.is_empty() && (wanted.starts_with(&format!("{a}-")) || a.starts_with(&format!("{wanted}-")))
            })
        };
        found.extend(entries.iter().filter(begins));
    }
    if found.is_empty() {
        found.extend(longest_inside(entries, &wanted));
    }
    let exact = found.first().copied();
    let nearest = memory_gib.and_then(|gib| {
        let distance = |e: &GpuEntry| (e.memory_gib - gib).abs();
        found
            .iter()
            .copied()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .filter(|e| exact.is_none_or(|x| distance(e) + 4.0 < distance(x)))
    });
    match nearest.or(exact) {
        Some(entry) => {
            let mut gpu = entry.numbers();
            if let Some(gib) = memory_gib.filter(|gib| *gib > 0.0 && gib.is_finite()) {
                gpu.memory_gib = gib;
            }
            Ok(gpu)
        }
        None => Err(PlanError::unknown("gpu", name, &near(name, entries.iter().map(|e| e.name.as_str())))),
    }
}

/// `8x-h100-80-hbm3` and `dgx-a100` hold a name that is known.
fn longest_inside<'a>(entries: &'a [GpuEntry], wanted: &str) -> Option<&'a GpuEntry> {
    let padded = format!("-{wanted}-");
    entries
        .iter()
        .flat_map(|e| std::iter::once(&e.name).chain(&e.aliases).map(move |name| (clean(name), e)))
        .filter(|(name, _)| name.len() >= 2 && padded.contains(&format!("-{name}-")))
        .max_by_key(|(name, _)| name.len())
        .map(|(_, entry)| entry)
}

/// `NVIDIA A100-SXM4-80GB` and `a100_80g` are written alike.
fn clean(name: &str) -> String {
    let mut text = plain(name);
    for word in ["nvidia-", "amd-", "instinct-", "tesla-", "geforce-"] {
        text = text.replace(word, "");
    }
    let text = text.replace("gib", "").replace("gb-", "-");
    let text = text.strip_suffix("gb").unwrap_or(&text);
    match text.strip_suffix('g') {
        Some(head) if head.ends_with(|c: char| c.is_ascii_digit()) => head.to_owned(),
        _ => text.to_owned(),
    }
}
