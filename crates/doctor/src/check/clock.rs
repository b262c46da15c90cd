//! The clock: logs of several machines can be compared only where something keeps it right.

use fermi_domain::language::Text;

use crate::facts::ClockFacts;
use crate::{Finding, Topic};

pub fn check(clock: &ClockFacts) -> Finding {
    let bound = clock.error_us.map(|us| us as f64 / 1e3);
    match clock.is_synchronized {
        Some(true) => {
            let within = bound.map(|ms| format!("{ms:.0} ms")).unwrap_or_default();
            Finding::ok(
                "clock.sync",
                Topic::Clock,
                Text::new(
                    format!("时钟已同步，误差不超过 {within}"),
                    format!("the clock is kept in step, within {within}"),
                ),
            )
        }
        Some(false) => {
            let text = Text::new("没有程序在校准时钟", "nothing keeps the clock right");
            let fix = Text::new(
                "启用时间同步；多机日志与诊断依赖它",
                "switch time synchronisation on: logs and diagnosis of several machines rest on it",
            );
            Finding::warning("clock.sync", Topic::Clock, text)
                .fix(fix, "sudo timedatectl set-ntp true   # or: sudo systemctl enable --now chronyd")
        }
        None => Finding::skipped(
            "clock.sync",
            Topic::Clock,
            Text::new("无权查看时钟状态", "the state of the clock may not be read here"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn a_clock_that_nothing_keeps_is_a_warning() {
        let state = |is_synchronized| check(&ClockFacts { is_synchronized, error_us: Some(1_500) }).state;
        assert_eq!([Some(true), Some(false), None].map(state), [State::Ok, State::Warning, State::Skipped]);
    }
}
