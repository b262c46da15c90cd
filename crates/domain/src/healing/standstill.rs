//! A node that did nothing for so long that the others have given it up: a machine that slept, a paused virtual machine, keepers
//! that a signal had stopped. When it goes on it finds itself alone, and must not blame the others for it.

use std::borrow::Cow;

use crate::failure::{Diagnosis, FailureClass, Recurrence, Role};
use crate::language::Text;
use crate::verdict::{Verdict, VerdictKind};

/// How long a node stood still, as it sees it itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    ms: u64,
    patience_ms: u64,
}

impl Standstill {
    /// Of a node that did nothing for `ms`, and that the others give up when they hear nothing of it for `patience_ms`; none
    /// where that was not what made it silent.
    pub fn of(ms: u64, patience_ms: u64) -> Option<Self> {
        (ms >= patience_ms / 3 * 2).then_some(Self { ms, patience_ms })
    }

    /// What the node says when it goes on and connects again.
    pub fn connects_again(self) -> Text {
        let told = self.told();
        Text::new(
            format!("{}，已终止本节点的 rank，正在重新连接", told.zh),
            format!("{}: this node's ranks were ended, connecting again", told.en),
        )
    }

    /// How the run ends for a node of this name that may not come back.
    pub fn verdict(self, node: &str) -> Verdict {
        let told = self.told();
        let diagnosis = Diagnosis {
            id: Cow::Borrowed("node_stood_still"),
            class: FailureClass::Infrastructure,
            recurrence: Recurrence::MayPass,
            role: Role::Cause,
            cause: Text::new(
                format!("{}，其他节点已放弃它", told.zh),
                format!("{}, and was given up by the others", told.en),
            ),
            advice: Text::new(
                format!(
                    "查看 {node} 为何停住（休眠、虚拟机被暂停、SIGSTOP、磁盘无响应），然后重新启动；允许重启的运行会让它加入下一次启动"
                ),
                format!(
                    "see why {node} stood still (sleep, a paused virtual machine, SIGSTOP, a disk that did not answer), then \
                     start again; in a run that may restart it joins the next attempt"
                ),
            ),
            line: None,
        };
        Verdict { diagnosis: Some(diagnosis), ..Verdict::of(VerdictKind::NodeLost { node: node.to_owned() }) }
    }

    fn told(self) -> Text {
        let (still, patience) = (self.ms / 1_000, self.patience_ms / 1_000);
        Text::new(
            format!("本节点停住了 {still} 秒，而 {patience} 秒没有消息的节点即视为丢失"),
            format!("this node stood still for {still} s, where one that is silent for {patience} s is lost"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_blames_its_own_standstill_and_only_one_that_explains_the_silence() {
        assert_eq!(Standstill::of(5_000, 15_000), None);
        let still = Standstill::of(20_400, 15_000).unwrap();
        assert_eq!(
            still.connects_again().en,
            "this node stood still for 20 s, where one that is silent for 15 s is lost: this node's ranks were ended, \
             connecting again"
        );
        let verdict = still.verdict("gn7");
        assert_eq!(verdict.kind, VerdictKind::NodeLost { node: "gn7".to_owned() });
        let cause = verdict.diagnosis.unwrap().cause;
        assert_eq!(
            (&*cause.zh, &*cause.en),
            (
                "本节点停住了 20 秒，而 15 秒没有消息的节点即视为丢失，其他节点已放弃它",
                "this node stood still for 20 s, where one that is silent for 15 s is lost, and was given up by the others"
            )
        );
    }
}
