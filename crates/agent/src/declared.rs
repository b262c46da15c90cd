//! Resources that somebody wrote down for an environment: `gpus=2xA100,cpus=16,memory=128GiB`.

use fermi_domain::environment::Gpus;
use fermi_domain::language::{Explained, Hint, Text};
use fermi_domain::units::Bytes;
use thiserror::Error;

/// What an environment is said to have; what is not named is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    pub gpus: Option<Vec<Gpus>>,
    pub cpus: Option<u32>,
    pub memory: Option<Bytes>,
}

/// Why a declaration makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeclaredError {
    #[error("`{word}` declares nothing")]
    Unknown { word: String },
    #[error("`{value}` is not a number of GPUs of a model")]
    Gpus { value: String },
    #[error("how much memory a `{model}` has is not known")]
    GpuMemory { model: String },
    #[error("`{value}` is not a number of CPUs")]
    Cpus { value: String },
    #[error("`{value}` is not an amount of memory")]
    Memory { value: String },
}

impl Explained for DeclaredError {
    fn id(&self) -> &'static str {
        "resources_invalid"
    }

    fn text(&self) -> Text {
        let zh = match self {
            Self::Unknown { word } => format!("“{word}”没有声明任何资源"),
            Self::Gpus { value } => format!("“{value}”不是 GPU 的数量和型号"),
            Self::GpuMemory { model } => format!("不知道“{model}”有多少显存"),
            Self::Cpus { value } => format!("“{value}”不是 CPU 的数量"),
            Self::Memory { value } => format!("“{value}”不是内存大小"),
        };
        Text::new(zh, self.to_string())
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::GpuMemory { model } => Hint::new(
                format!("写上显存，例如 gpus=2x{model}-80G"),
                format!("add its memory, such as gpus=2x{model}-80G"),
            ),
            _ => Hint::new("例如 gpus=2xA100,cpus=16,memory=128GiB", "write it like gpus=2xA100,cpus=16,memory=128GiB"),
        })
    }
}

/// GiB of the models that people name without saying; the planner's catalogue says the same.
pub const KNOWN_GPUS: &[(&str, u64)] = &[
    ("A10", 24),
    ("A100", 80),
    ("A30", 24),
    ("A40", 48),
    ("A800", 80),
    ("B200", 180),
    ("H100", 80),
    ("H20", 96),
    ("H200", 141),
    ("H800", 80),
    ("L20", 48),
    ("L4", 24),
    ("L40", 48),
    ("L40S", 48),
    ("P100", 16),
    ("RTX 3090", 24),
    ("RTX 4090", 24),
    ("RTX 5090", 32),
    ("RTX A6000", 48),
    ("T4", 16),
    ("V100", 32),
    ("A16", 16),
];

impl Declared {
    /// Reads a declaration.
    pub fn parse(text: &str) -> Result<Self, DeclaredError> {
        let mut declared = Self::default();
        for word in text.split(',').map(str::trim) {
            let unknown = || DeclaredError::Unknown { word: word.to_owned() };
            let (name, value) = word.split_once('=').ok_or_else(unknown)?;
            let value = value.trim();
            match name.trim() {
                "gpu" | "gpus" => {
                    let all = declared.gpus.get_or_insert_default();
                    all.extend(gpus(value)?);
                }
                "cpu" | "cpus" => declared.cpus = Some(cpus(value)?),
                "memory" | "mem" => {
                    let amount = memory(value).filter(|amount| amount.0 > 0);
                    declared.memory = Some(amount.ok_or_else(|| DeclaredError::Memory { value: value.to_owned() })?);
                }
                _ => return Err(unknown()),
            }
        }
        Ok(declared)
    }
}

/// `2xA100`, `2xA100-40G`, or `0`.
fn gpus(value: &str) -> Result<Option<Gpus>, DeclaredError> {
    if value == "0" {
        return Ok(None);
    }
    let bad = || DeclaredError::Gpus { value: value.to_owned() };
    let (count, model) = value.split_once(['x', 'X', '*']).ok_or_else(bad)?;
    let count: u32 = count.trim().parse().ok().filter(|count| (1..=1024).contains(count)).ok_or_else(bad)?;
    let (model, named) = match model.rsplit_once('-') {
        Some((model, amount)) => (model.trim(), Some(memory(amount).filter(|amount| amount.0 > 0).ok_or_else(bad)?)),
        None => (model.trim(), None),
    };
    if model.is_empty() {
        return Err(bad());
    }
    let known = KNOWN_GPUS.iter().find(|(name, _)| same(name, model));
    let memory = named.or(known.map(|(_, gib)| Bytes::from_gib(*gib)));
    let memory = memory.ok_or_else(|| DeclaredError::GpuMemory { model: model.to_owned() })?;
    let model = known.map_or_else(|| model.to_owned(), |(name, _)| (*name).to_owned());
    Ok(Some(Gpus { model, memory, count }))
}

/// `rtx4090` is `RTX 4090`.
fn same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.replace([' ', '_'], "").to_ascii_uppercase();
    bare(one) == bare(other)
}

fn cpus(value: &str) -> Result<u32, DeclaredError> {
    value.parse().ok().filter(|count| *count > 0).ok_or_else(|| DeclaredError::Cpus { value: value.to_owned() })
}

/// `128GiB`, `128G`, `128`, `1.5TiB`; the units of the trade and those of the standard mean the same here.
fn memory(value: &str) -> Option<Bytes> {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "g" | "gb" | "gib" => 1u64 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return None,
    };
    let bytes = number * factor as f64;
    (0.0..9e18).contains(&bytes).then_some(Bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::FrontEnd;

    use super::*;

    fn gpus(model: &str, gib: u64, count: u32) -> Gpus {
        Gpus { model: model.into(), memory: Bytes::from_gib(gib), count }
    }

    #[test]
    fn a_whole_machine_is_read() {
        let declared = Declared::parse("gpus=2xA100,cpus=16,memory=128GiB").unwrap();
        assert_eq!(declared.gpus, Some(vec![gpus("A100", 80, 2)]));
        assert_eq!((declared.cpus, declared.memory), (Some(16), Some(Bytes::from_gib(128))));
    }

    #[test]
    fn other_spellings_mean_the_same() {
        assert_eq!(Declared::parse("gpus=2xA100-40G").unwrap().gpus, Some(vec![gpus("A100", 40, 2)]));
        assert_eq!(Declared::parse(" gpus = 1xrtx4090 ").unwrap().gpus, Some(vec![gpus("RTX 4090", 24, 1)]));
        assert_eq!(Declared::parse("gpus=4xMI300-192GB").unwrap().gpus, Some(vec![gpus("MI300", 192, 4)]));
        let mixed = Declared::parse("gpus=1xT4,gpus=2xV100-16G").unwrap().gpus;
        assert_eq!(mixed, Some(vec![gpus("T4", 16, 1), gpus("V100", 16, 2)]));
        assert_eq!(Declared::parse("gpus=0,memory=1.5T").unwrap().gpus, Some(vec![]));
        assert_eq!(Declared::parse("memory=1.5T").unwrap().memory, Some(Bytes::from_gib(1536)));
    }

    #[test]
    fn nonsense_is_refused_with_the_word_and_a_hint_in_both_languages() {
        let cases = [
            "",
            "x",
            "disks=3",
            "gpus=A100",
            "gpus=0xA100",
            "gpus=2x",
            "gpus=2xA100-manyG",
            "cpus=0",
            "cpus=-1",
            "memory=lots",
            "memory=0",
            "memory=5parsec",
            "gpus=2xUnheard",
        ];
        for text in cases {
            let error = Declared::parse(text).unwrap_err();
            let (said, hint) = (error.text(), error.hint().unwrap().spelled(FrontEnd::CommandLine));
            assert!(!said.zh.is_empty() && !said.en.is_empty() && !hint.zh.is_empty() && !hint.en.is_empty(), "{text}");
        }
        let error = Declared::parse("gpus=2xUnheard").unwrap_err();
        assert_eq!(
            error.hint().unwrap().spelled(FrontEnd::CommandLine).en,
            "add its memory, such as gpus=2xUnheard-80G"
        );
    }
}
