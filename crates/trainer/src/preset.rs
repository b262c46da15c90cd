//! The sizes the built-in model comes in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// About 120 thousand parameters: seconds on two cores.
    #[default]
    Tiny,
    /// About 850 thousand parameters: minutes on a few cores.
    Small,
    /// About 5 million parameters: long enough to watch a cluster work.
    Base,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no preset `{0}`; choose tiny, small or base")]
pub struct UnknownPreset(pub String);

impl Preset {
    pub const ALL: [Preset; 3] = [Preset::Tiny, Preset::Small, Preset::Base];

    pub fn name(self) -> &'static str {
        match self {
            Preset::Tiny => "tiny",
            Preset::Small => "small",
            Preset::Base => "base",
        }
    }

    pub fn layers(self) -> usize {
        match self {
            Preset::Tiny => 2,
            Preset::Small => 4,
            Preset::Base => 6,
        }
    }

    pub fn width(self) -> usize {
        match self {
            Preset::Tiny => 64,
            Preset::Small => 128,
            Preset::Base => 256,
        }
    }

    pub fn heads(self) -> usize {
        match self {
            Preset::Tiny | Preset::Small => 4,
            Preset::Base => 8,
        }
    }

    /// The sequence length where the configuration names none.
    pub fn context(self) -> usize {
        match self {
            Preset::Tiny => 64,
            Preset::Small => 128,
            Preset::Base => 256,
        }
    }

    /// The peak learning rate where the configuration names none: wider models want smaller ones.
    pub fn learning_rate(self) -> f32 {
        match self {
            Preset::Tiny => 4e-3,
            Preset::Small => 2e-3,
            Preset::Base => 1e-3,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Preset::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_by_the_name_it_prints() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        assert_eq!(
            "huge".parse::<Preset>().unwrap_err().to_string(),
            "there is no preset `huge`; choose tiny, small or base"
        );
    }
}
