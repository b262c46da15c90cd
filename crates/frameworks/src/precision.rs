//! The number format of a training.

use fermi_domain::language::Text;

use crate::{
    order::LaunchOrder,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

pub(crate) const SETTING: Setting =
    Setting::new("precision", "fp32、fp16 或 bf16", "fp32, fp16 or bf16; without GPUs fp32 unless given");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Fp32,
    Fp16,
    Bf16,
}

impl Precision {
    /// The user's, else `usual` on GPUs and fp32 elsewhere, which the second value says.
    pub(crate) fn read(
        settings: &Settings<'_>,
        order: &LaunchOrder<'_>,
        usual: Self,
    ) -> Result<(Self, Option<Text>), LaunchRefusal> {
        match Self::of(settings, "precision")? {
            Some(Self::Fp16) if !order.on_gpus() => {
                Err(LaunchRefusal::HalfPrecisionOnCpu { key: settings.key("precision") })
            }
            Some(given) => Ok((given, None)),
            None if order.on_gpus() => Ok((usual, None)),
            None if usual == Self::Fp32 => Ok((Self::Fp32, None)),
            None => {
                let note = Text::new("并非每个 rank 都有 GPU：使用 fp32", "not every rank has a GPU: fp32");
                Ok((Self::Fp32, Some(note)))
            }
        }
    }

    /// The value of a setting that names one.
    pub(crate) fn of(settings: &Settings<'_>, name: &str) -> Result<Option<Self>, LaunchRefusal> {
        Ok(settings.choice(name, &["fp32", "fp16", "bf16"])?.map(|word| match word {
            "fp16" => Self::Fp16,
            "bf16" => Self::Bf16,
            _ => Self::Fp32,
        }))
    }

    /// As accelerate spells it.
    pub(crate) fn in_accelerate(self) -> &'static str {
        match self {
            Self::Fp32 => "no",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }

    /// As torch names the type.
    pub(crate) fn in_torch(self) -> &'static str {
        match self {
            Self::Fp32 => "float32",
            Self::Fp16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }
}
