//! Model states as the ZeRO paper counts them: 2 bytes of parameter, 2 of gradient, 12 of optimizer.

/// ZeRO's stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Baseline,
    One,
    Two,
    Three,
}

/// Bytes per GPU for `params` parameters over `ranks` data-parallel ranks.
pub fn model_states(params: f64, ranks: f64, stage: Stage) -> f64 {
    let n = ranks.max(1.0);
    match stage {
        Stage::Baseline => 16.0 * params,
        Stage::One => 4.0 * params + 12.0 * params / n,
        Stage::Two => 2.0 * params + 14.0 * params / n,
        Stage::Three => 16.0 * params / n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_the_paper_comes_out_to_the_last_digit() {
        // Rajbhandari et al. 2020, table 1: GB per device for 7.5 B, 128 B and 1 T parameters.
        let table: [(f64, f64, [f64; 4]); 9] = [
            (7.5e9, 1.0, [120.0, 120.0, 120.0, 120.0]),
            (7.5e9, 4.0, [120.0, 52.5, 41.25, 30.0]),
            (7.5e9, 16.0, [120.0, 35.625, 21.5625, 7.5]),
            (7.5e9, 64.0, [120.0, 31.40625, 16.640625, 1.875]),
            (7.5e9, 1024.0, [120.0, 30.087890625, 15.1025390625, 0.1171875]),
            (128e9, 64.0, [2048.0, 536.0, 284.0, 32.0]),
            (128e9, 1024.0, [2048.0, 513.5, 257.75, 2.0]),
            (1e12, 16.0, [16000.0, 4750.0, 2875.0, 1000.0]),
            (1e12, 1024.0, [16000.0, 4011.71875, 2013.671875, 15.625]),
        ];
        for (params, ranks, expected) in table {
            for (stage, gb) in [Stage::Baseline, Stage::One, Stage::Two, Stage::Three].into_iter().zip(expected) {
                let got = model_states(params, ranks, stage) / 1e9;
                assert!((got - gb).abs() < 1e-9, "{params} over {ranks}, {stage:?}: {got} instead of {gb}");
            }
        }
    }

    proptest! {
        #[test]
        fn each_stage_needs_no_more_than_the_one_before(params in 1e6..1e13f64, ranks in 1u32..100_000) {
            let n = f64::from(ranks);
            let at = |stage| model_states(params, n, stage);
            prop_assert!(at(Stage::Three) <= at(Stage::Two) * (1.0 + 1e-12));
            prop_assert!(at(Stage::Two) <= at(Stage::One) * (1.0 + 1e-12));
            prop_assert!(at(Stage::One) <= at(Stage::Baseline) * (1.0 + 1e-12));
        }

        #[test]
        fn more_ranks_never_need_more(params in 1e6..1e13f64, ranks in 1u32..50_000, more in 0u32..50_000) {
            for stage in [Stage::Baseline, Stage::One, Stage::Two, Stage::Three] {
                let few = model_states(params, f64::from(ranks), stage);
                prop_assert!(model_states(params, f64::from(ranks + more), stage) <= few);
            }
        }
    }
}
