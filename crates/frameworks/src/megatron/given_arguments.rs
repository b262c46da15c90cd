//! What the user gave, in the command or as a setting. Both count the same; where they differ nothing is guessed.

use std::fmt::Display;

use super::{
    argv::Argv,
    names::{Name, Parser},
};
use crate::{refusal::LaunchRefusal, settings::Settings};

#[derive(Clone, Copy, Debug)]
pub(super) struct GivenArguments<'a> {
    pub argv: Argv<'a>,
    pub settings: &'a Settings<'a>,
    pub parser: Parser,
}

impl GivenArguments<'_> {
    /// A whole number of at least 1.
    pub(super) fn count(&self, name: &Name) -> Result<Option<u64>, LaunchRefusal> {
        let set = self.settings.count(name.setting)?;
        let Some(flag) = self.flag(name) else { return Ok(set) };
        agree(flag, self.argv.count(flag, 1)?, name.setting, set)
    }

    /// A number that is not negative.
    pub(super) fn number(&self, name: &Name) -> Result<Option<f64>, LaunchRefusal> {
        let set = self.settings.number(name.setting)?;
        let Some(flag) = self.flag(name) else { return Ok(set) };
        agree(flag, self.argv.number(flag)?, name.setting, set)
    }

    /// A switch: its presence in the command means yes.
    pub(super) fn switch(&self, name: &Name) -> Result<Option<bool>, LaunchRefusal> {
        let set = self.settings.flag(name.setting)?;
        let Some(flag) = self.flag(name) else { return Ok(set) };
        agree(flag, Some(true), name.setting, set)
    }

    /// The spelling of a name that the command has.
    pub(super) fn flag(&self, name: &Name) -> Option<&'static str> {
        self.argv.which(name.flags(self.parser))
    }

    /// Where a wrong number is to be corrected: in the command if it stands there.
    pub(super) fn key(&self, name: &Name) -> String {
        self.flag(name).map_or_else(|| self.settings.key(name.setting), str::to_owned)
    }

    /// Refuses a setting beside an argument that Megatron does not take together with it.
    pub(super) fn exclusive(&self, name: &Name, flag: &str) -> Result<(), LaunchRefusal> {
        let (Some(here), Some(there)) = (self.argv.value(flag), self.settings.count(name.setting)?) else {
            return Ok(());
        };
        let there = format!("{}={there}", name.setting);
        Err(LaunchRefusal::Contradiction { key: flag.to_owned(), here: here.to_owned(), there })
    }
}

/// What two places say, if they say the same.
pub(super) fn agree<T: PartialEq + Display>(
    place: &str,
    here: Option<T>,
    elsewhere: &str,
    there: Option<T>,
) -> Result<Option<T>, LaunchRefusal> {
    match (here, there) {
        (Some(here), Some(there)) if here != there => Err(LaunchRefusal::Contradiction {
            key: place.to_owned(),
            here: here.to_string(),
            there: format!("{elsewhere}={there}"),
        }),
        (here, there) => Ok(here.or(there)),
    }
}
