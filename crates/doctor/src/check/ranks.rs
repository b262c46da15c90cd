//! Whether two ranks of this machine can work together.

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::facts::LoopbackFacts;
use crate::{Finding, Topic};

pub fn check(ranks: &LoopbackFacts) -> Finding {
    let fix = Text::new("检查回环网络是否启用", "see whether the loopback is up");
    match ranks {
        LoopbackFacts::Added { bytes, micros, is_right: true } => {
            let (size, ms) = (Bytes(*bytes).rounded(), *micros as f64 / 1e3);
            Finding::ok(
                "launch.ranks",
                Topic::Launch,
                Text::new(
                    format!("本机两个 rank 对 {size} 做 all-reduce，结果正确，用时 {ms:.1} ms"),
                    format!("two ranks here all-reduce {size} in {ms:.1} ms, with the right result"),
                ),
            )
        }
        LoopbackFacts::Added { .. } => Finding::error(
            "launch.ranks",
            Topic::Launch,
            Text::new("本机两个 rank 的 all-reduce 结果错误", "the all-reduce of two ranks here has a wrong result"),
        )
        .advice(Text::new("检查内存与 CPU（memtest）", "test memory and CPU (memtest)")),
        LoopbackFacts::Failed(reason) => Finding::error(
            "launch.ranks",
            Topic::Launch,
            Text::new("本机两个 rank 无法通信", "two ranks on this machine cannot speak to each other"),
        )
        .seen(reason.text())
        .fix(fix, "ip link set lo up; ip -brief address show lo"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use crate::facts::Reason;

    #[test]
    fn a_wrong_sum_is_as_bad_as_none() {
        let added = |is_right| LoopbackFacts::Added { bytes: 1 << 20, micros: 900, is_right };
        assert_eq!(check(&added(true)).state, State::Ok);
        assert_eq!(check(&added(false)).state, State::Error);
        assert_eq!(check(&LoopbackFacts::Failed(Reason::said("refused"))).state, State::Error);
    }
}
