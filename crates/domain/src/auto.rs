//! The table of `distributed_strategy: auto`: a model's size decides.

use crate::language::Text;

const BILLION: u64 = 1_000_000_000;

/// What `auto` comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoStrategy {
    /// Below 1 B parameters.
    Ddp,
    /// From 1 B to 7 B parameters, both included.
    Zero2,
    /// Above 7 B parameters.
    Zero3,
}

impl AutoStrategy {
    /// The row of the table for a model with so many parameters.
    pub fn of(parameters: u64) -> Self {
        if parameters < BILLION {
            Self::Ddp
        } else if parameters <= 7 * BILLION {
            Self::Zero2
        } else {
            Self::Zero3
        }
    }

    /// The row's condition in words.
    pub fn reason(self) -> Text {
        match self {
            Self::Ddp => Text::new("参数少于 1B", "fewer than 1B parameters"),
            Self::Zero2 => Text::new("参数 1B 到 7B", "1B to 7B parameters"),
            Self::Zero3 => Text::new("参数多于 7B", "more than 7B parameters"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_belongs_to_the_middle_row() {
        let table = [
            (0, AutoStrategy::Ddp),
            (BILLION - 1, AutoStrategy::Ddp),
            (BILLION, AutoStrategy::Zero2),
            (7 * BILLION, AutoStrategy::Zero2),
            (7 * BILLION + 1, AutoStrategy::Zero3),
            (u64::MAX, AutoStrategy::Zero3),
        ];
        for (parameters, row) in table {
            assert_eq!(AutoStrategy::of(parameters), row, "{parameters}");
        }
    }
}
