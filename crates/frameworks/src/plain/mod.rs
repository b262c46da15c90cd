//! Any program, and Fermi's own trainer: ranks by variables, nothing else.

use crate::{
    draft::Draft,
    order::LaunchOrder,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

pub(crate) const SETTINGS: &[&[Setting]] = &[];

pub(crate) fn add(_: &LaunchOrder<'_>, _: &Settings<'_>, _: &mut Draft) -> Result<(), LaunchRefusal> {
    Ok(())
}
