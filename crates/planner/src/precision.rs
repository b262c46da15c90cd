//! Number formats of a training run and the bytes that follow from them.

use serde::{Deserialize, Serialize};

/// How numbers are held and multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Everything in 32 bits, without tensor cores.
    Fp32,
    /// 32-bit storage, products in TF32.
    Tf32,
    /// 32-bit parameters, products in 16 bits by autocast.
    AmpBf16,
    AmpFp8,
    /// 16-bit parameters with a 32-bit master copy.
    Bf16,
    Fp16,
    /// 16 bits for parameters, gradients and optimizer alike.
    PureBf16,
    Fp8,
    Fp8Rowwise,
    Mxfp8,
    Nvfp4,
}

/// Which unit of the GPU multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Full,
    Tf32,
    Half,
    Eight,
    Four,
}

impl Precision {
    /// Reads the spellings that frameworks and tables use.
    pub fn parse(name: &str) -> Option<Self> {
        let n = name.to_ascii_lowercase().replace([' ', '-'], "_");
        Some(match n.as_str() {
            "fp32" | "float32" | "32" => Self::Fp32,
            "tf32" | "fp32_tf32" => Self::Tf32,
            "amp_bf16" | "amp_fp16" | "amp" | "mixed" | "mixed_bf16" | "mixed_fp16" | "autocast" | "bf16_mixed"
            | "16_mixed" | "mixed_precision" => Self::AmpBf16,
            "amp_fp8" => Self::AmpFp8,
            "bf16" | "bfloat16" => Self::Bf16,
            "fp16" | "float16" | "16" | "half" => Self::Fp16,
            "fp8_rowwise" => Self::Fp8Rowwise,
            "mxfp8" | "fp8_mx" => Self::Mxfp8,
            "nvfp4" | "fp4" | "mxfp4" => Self::Nvfp4,
            _ if n.starts_with("bf16_pure") || n.starts_with("pure_bf16") || n.starts_with("fp16_pure") => {
                Self::PureBf16
            }
            _ if n.contains("rowwise") => Self::Fp8Rowwise,
            _ if n.contains("fp4") => Self::Nvfp4,
            _ if n.contains("mxfp8") => Self::Mxfp8,
            _ if n.contains("fp8") || n.contains("float8") => Self::Fp8,
            _ if n.contains("tf32") => Self::Tf32,
            _ if n.contains("amp") || n.contains("mixed") || n.contains("autocast") => Self::AmpBf16,
            _ if n.contains("bf16") => Self::Bf16,
            _ if n.contains("fp16") => Self::Fp16,
            _ if n.contains("fp32") => Self::Fp32,
            _ => return None,
        })
    }

    /// The unit that the linear layers run on.
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Fp32 => Arithmetic::Full,
            Self::Tf32 => Arithmetic::Tf32,
            Self::AmpBf16 | Self::Bf16 | Self::Fp16 | Self::PureBf16 => Arithmetic::Half,
            Self::AmpFp8 | Self::Fp8 | Self::Fp8Rowwise | Self::Mxfp8 => Arithmetic::Eight,
            Self::Nvfp4 => Arithmetic::Four,
        }
    }

    /// Bytes of one activation element.
    pub fn activation_bytes(self) -> f64 {
        if matches!(self, Self::Fp32 | Self::Tf32) { 4.0 } else { 2.0 }
    }

    /// Bytes of one activation element in tensor-parallel messages: 8-bit products gather their inputs in 8 bits, and
    /// reduce their outputs in 16.
    pub fn gathered_activation_bytes(self) -> f64 {
        if self.scales_whole_tensors() { 1.5 } else { self.activation_bytes() }
    }

    /// One scale for a tensor, or for blocks of it, so that it travels in 8 bits.
    pub fn scales_whole_tensors(self) -> bool {
        matches!(self, Self::Fp8 | Self::AmpFp8 | Self::Mxfp8 | Self::Nvfp4)
    }

    /// Parameters are held in 32 bits and cast for each product.
    pub fn casts_parameters(self) -> bool {
        matches!(self, Self::AmpBf16 | Self::AmpFp8)
    }

    pub fn is_low(self) -> bool {
        matches!(self.arithmetic(), Arithmetic::Eight | Arithmetic::Four)
    }
}
