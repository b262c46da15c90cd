//! The one door to the planner: what is to be trained on what, and everything that follows from it.
//!
//! `fermi plan` shows a [`Plan`] whole; the server asks it about a task whose framework is chosen already
//! ([`crate::advise`]). Both read the same ranking and the same choice, so that they cannot disagree.

use std::sync::OnceLock;

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::error::PlanError;
use crate::remedies::{Remedy, more_gpus, within_these_gpus};
use crate::search::{Candidate, Request, rank};
use crate::strategy::{Choice, choose};

/// What a plan is made from besides the request.
#[derive(Clone, Debug)]
pub struct Knowledge {
    pub catalogue: Catalogue,
    pub constants: Constants,
}

impl Knowledge {
    /// What comes with Fermi, read once: the files are part of the program.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Knowledge> = OnceLock::new();
        BUILTIN.get_or_init(|| Self { catalogue: Catalogue::builtin(), constants: Constants::builtin() })
    }
}

/// Every layout of a request, ranked, and the one to take.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub request: Request,
    /// Those that fit first, the fastest first; never empty.
    pub ranked: Vec<Candidate>,
    /// None where nothing fits.
    pub choice: Option<Choice>,
    pub(crate) constants: &'a Constants,
}

impl<'a> Plan<'a> {
    /// Refuses a request that describes no run.
    pub fn of(request: Request, constants: &'a Constants) -> Result<Self, PlanError> {
        request.check()?;
        let ranked = rank(&request, constants);
        if ranked.is_empty() {
            return Err(PlanError::too_small_a_batch());
        }
        Ok(Self { choice: choose(&ranked), request, ranked, constants })
    }

    /// What would make a model fit of which no layout does, the mildest first; empty where one fits.
    pub fn remedies(&self) -> Vec<Remedy> {
        let mut all = self.remedies_here();
        if self.choice.is_none() {
            all.extend(more_gpus(&self.request, self.constants));
        }
        all
    }

    /// Those of the remedies that need no other machines.
    pub(crate) fn remedies_here(&self) -> Vec<Remedy> {
        if self.choice.is_none() { within_these_gpus(&self.request, self.constants) } else { Vec::new() }
    }
}
