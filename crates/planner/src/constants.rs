//! The fitted numbers of the time model: one flat list of names, so that a fit can turn every knob.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::framework::Family;

/// How a knob may move in a fit: its start, and how far it may wander before the fit pays for it.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    pub name: &'static str,
    pub start: f64,
    pub spread: f64,
}

macro_rules! knobs {
    ($(#[$outer:meta])* $type:ident { $($(#[$doc:meta])* $name:ident = $start:expr, $spread:expr;)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $type { $($(#[$doc])* pub $name: f64,)* }
        impl $type {
            pub const KNOBS: &'static [Knob] = &[$(Knob { name: stringify!($name), start: $start, spread: $spread },)*];
            pub const START: Self = Self { $($name: $start,)* };
            pub fn values(&self) -> Vec<f64> { vec![$(self.$name,)*] }
            pub fn slots(&mut self) -> Vec<&mut f64> { vec![$(&mut self.$name,)*] }
        }
    };
}

knobs! {
    /// Shared by every framework and GPU. Values are natural logarithms of factors unless said otherwise.
    Common {
        /// Fraction of the catalogue's achievable product rate.
        gemm = 0.0, 0.3;
        /// Tokens at which a product runs at half speed.
        half_tokens = 4.5, 1.0;
        /// Output or inner width at which a product runs at half speed.
        half_width = 4.5, 1.0;
        /// Cost of a width that 64 does not divide.
        misaligned = -1.6, 0.7;
        /// Flash attention's rate against plain products, forward.
        flash = -0.7, 0.4;
        flash_backward = 0.9, 0.2;
        /// Head width at which attention runs at half speed.
        half_head = 3.0, 0.8;
        /// Attention that writes its scores: bytes per score, forward and backward.
        score_bytes = 3.4, 0.5;
        /// Batched products of such attention against plain products.
        batched = -0.6, 0.5;
        /// Bytes moved per token and hidden unit by norms, residuals, activations; forward.
        pointwise = 3.3, 0.5;
        pointwise_backward = 0.55, 0.3;
        /// Bytes moved per logit.
        logit_bytes = 3.2, 0.5;
        /// What streaming kernels reach of the memory's rate.
        stream = -0.2, 0.2;
        /// Microseconds of processor time per block and pass.
        host = 6.2, 0.6;
        /// The same for each collective of tensor parallelism.
        host_collective = 3.5, 0.8;
        /// Fraction of the links' rate that collectives inside a node reach, and microseconds per step of one: as in the table of
        /// NCCL's all-reduce over 2, 4 and 8 A100 that vTrain publishes.
        link = -0.25, 0.1;
        link_delay = 2.07, 0.2;
        /// The same between nodes.
        wire_delay = 2.7, 0.7;
        /// Fraction of the network's rate.
        wire = -0.35, 0.35;
        /// Gradient all-reduce: part that hides behind the backward pass.
        overlap = -0.2, 0.5;
        /// How sharply gathering hides behind computing: a large exponent hides all.
        hiding = 1.2, 0.5;
        /// Part of tensor-parallel communication that remains visible where it is overlapped.
        tensor_visible = -0.5, 0.5;
        /// Bytes per parameter of an optimizer step.
        update_bytes = 3.6, 0.4;
        /// Milliseconds that a step costs besides.
        step = 2.3, 0.8;
        /// Part of the pipeline's messages that remains visible.
        pipe_visible = -0.7, 0.7;
        /// Gain of 8-bit products over 16-bit ones, as a fraction of what the data sheet promises, and of 4-bit ones against 8-bit
        /// ones: without a run they are taken for as near to their promise.
        eight = -0.25, 0.3;
        four = 0.0, 0.3;
        /// Casting to 8 bits: bytes per token and unit.
        cast_bytes = 1.4, 0.6;
        /// Work done again with `half` recomputation, as a fraction of the forward pass.
        half_again = -0.8, 0.4;
        /// Slow-down per doubling of nodes.
        nodes = -5.5, 0.5;
        /// Bytes that kernels move which no compiler fused, against those that were counted.
        eager = 0.1, 0.2;
        /// A vocabulary that 8 does not divide slows the last product.
        odd_vocab = 0.0, 1.0;
        /// TF32 products and 32-bit attention against what the data sheet promises.
        tf32 = -0.4, 0.4;
        full_attention = -1.2, 0.5;
        /// What autocast costs of processor time.
        host_autocast = 0.3, 0.2;
        /// Processor time of a repeated forward pass against a first one.
        host_again = 0.3, 0.5;
        /// What the modules of a block cost of processor time, in operations.
        modules = 3.2, 0.5;
        /// Microseconds in which a kernel starts, fills and drains the GPU, whatever its speed.
        kernel = 1.6, 0.5;
        /// Attention's rows at which a GPU of 312 TFLOP/s is half full.
        fill = 9.4, 0.5;
        /// Part of the traffic of accumulating gradients that products do not hide.
        accumulate = -0.5, 0.5;
    }
}

knobs! {
    /// What one family of frameworks adds; 0 means like all.
    Habit {
        gemm = 0.0, 0.08;
        flash = 0.0, 0.25;
        pointwise = 0.0, 0.25;
        host = 0.0, 0.5;
        visible = 0.0, 0.4;
        wire = 0.0, 0.25;
        hiding = 0.0, 0.4;
    }
}

knobs! {
    /// What one generation of GPUs adds.
    Breed {
        gemm = 0.0, 0.1;
        half_tokens = 0.0, 0.4;
        flash = 0.0, 0.2;
        stream = 0.0, 0.15;
        eight = 0.0, 0.15;
        link = 0.0, 0.2;
    }
}

/// Generations with knobs of their own; all others use the common ones.
pub const BREEDS: [&str; 4] = ["volta", "ampere", "hopper", "blackwell"];

/// Every fitted number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub struct Constants {
    pub common: Common,
    pub habits: [Habit; Family::ALL.len()],
    pub breeds: [Breed; BREEDS.len()],
}

type Table = BTreeMap<String, f64>;

/// The form on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    common: Table,
    habits: BTreeMap<String, Table>,
    breeds: BTreeMap<String, Table>,
}

impl Default for Constants {
    fn default() -> Self {
        Self { common: Common::START, habits: [Habit::START; Family::ALL.len()], breeds: [Breed::START; BREEDS.len()] }
    }
}

impl Constants {
    /// The numbers that come with Fermi.
    pub fn builtin() -> Self {
        serde_json::from_str(include_str!("../data/constants.json")).unwrap_or_default()
    }

    /// Names, starts and spreads in the order of [`Self::slots`].
    pub fn knobs() -> Vec<(String, Knob)> {
        let mut all: Vec<(String, Knob)> = Common::KNOBS.iter().map(|k| (k.name.to_owned(), *k)).collect();
        for family in Family::ALL {
            all.extend(Habit::KNOBS.iter().map(|k| {
                // ZeRO-3 as first published gathers parameter by parameter and leaves most wires idle.
                let slow = family == Family::Deepspeed && k.name == "wire";
                let knob = if slow { Knob { start: -1.6, spread: 0.5, ..*k } } else { *k };
                (format!("{}.{}", family_name(family), k.name), knob)
            }));
        }
        for breed in BREEDS {
            all.extend(Breed::KNOBS.iter().map(|k| {
                // Products are held back by its power, attention is not; streams reach two thirds of the data sheet.
                let start = match (breed, k.name) {
                    ("blackwell", "flash") => 0.35,
                    ("blackwell", "stream") => -0.15,
                    _ => k.start,
                };
                let knob = Knob { start, ..*k };
                (format!("{breed}.{}", k.name), knob)
            }));
        }
        all
    }

    pub fn values(&self) -> Vec<f64> {
        let mut all = self.common.values();
        self.habits.iter().for_each(|h| all.extend(h.values()));
        self.breeds.iter().for_each(|b| all.extend(b.values()));
        all
    }

    pub fn slots(&mut self) -> Vec<&mut f64> {
        let mut all = self.common.slots();
        self.habits.iter_mut().for_each(|h| all.extend(h.slots()));
        self.breeds.iter_mut().for_each(|b| all.extend(b.slots()));
        all
    }

    /// All are numbers, and none turns a rate by more than any cluster could: they are logarithms.
    pub fn are_plausible(&self) -> bool {
        let fitted = Self::builtin().values();
        self.values().iter().zip(fitted).all(|(value, usual)| (value - usual).abs() <= Self::FARTHEST)
    }

    /// A factor of e⁵, about 150.
    const FARTHEST: f64 = 5.0;

    /// The same with other values, in the order of [`Self::knobs`].
    pub fn with(values: &[f64]) -> Self {
        let mut own = Self::default();
        for (slot, value) in own.slots().into_iter().zip(values) {
            *slot = *value;
        }
        own
    }
}

/// The name in files.
pub fn family_name(family: Family) -> String {
    serde_json::to_value(family).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn table(knobs: &[Knob], values: &[f64]) -> Table {
    knobs.iter().zip(values).map(|(k, v)| (k.name.to_owned(), (v * 1e5).round() / 1e5)).collect()
}

fn fill(slots: Vec<&mut f64>, knobs: &[Knob], table: &Table) {
    for (slot, knob) in slots.into_iter().zip(knobs) {
        if let Some(value) = table.get(knob.name).filter(|v| v.is_finite()) {
            *slot = *value;
        }
    }
}

impl From<Constants> for Stored {
    fn from(own: Constants) -> Self {
        Self {
            common: table(Common::KNOBS, &own.common.values()),
            habits: Family::ALL
                .iter()
                .zip(&own.habits)
                .map(|(f, h)| (family_name(*f), table(Habit::KNOBS, &h.values())))
                .collect(),
            breeds: BREEDS
                .iter()
                .zip(&own.breeds)
                .map(|(b, v)| ((*b).to_owned(), table(Breed::KNOBS, &v.values())))
                .collect(),
        }
    }
}

impl From<Stored> for Constants {
    fn from(stored: Stored) -> Self {
        let mut own = Self::default();
        fill(own.common.slots(), Common::KNOBS, &stored.common);
        for (family, habit) in Family::ALL.iter().zip(own.habits.iter_mut()) {
            if let Some(values) = stored.habits.get(&family_name(*family)) {
                fill(habit.slots(), Habit::KNOBS, values);
            }
        }
        for (breed, slot) in BREEDS.iter().zip(own.breeds.iter_mut()) {
            if let Some(values) = stored.breeds.get(*breed) {
                fill(slot.slots(), Breed::KNOBS, values);
            }
        }
        own
    }
}
