//! A signal from outside ended the process.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, SIGABRT, Scene, is_from_outside},
    },
    Signature,
};
use crate::{exit::signal_name, language::Text};

pub(super) const SIGNATURE: Signature = Signature {
    id: "killed_by_signal",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let signal = scene.signal()?;
    let name = signal_name(signal);
    let cause = match signal {
        // An abort comes from inside; its reason may stand in the output.
        SIGABRT => return None,
        _ if is_from_outside(signal) => {
            Text::new(format!("进程被外部信号 {name} 终止"), format!("The process was ended from outside by {name}"))
        }
        _ => Text::new(format!("进程因信号 {name} 结束"), format!("The process was ended by {name}")),
    };
    let advice = match signal {
        9 => Text::new(
            "若无人执行 kill -9：查看 dmesg -T | grep -iE 'oom|killed'（主机内存不足）、容器内存上限，以及作业调度器是否抢占了此作业",
            "If nobody ran kill -9: look at `dmesg -T | grep -iE 'oom|killed'` (host out of memory), at the container's \
             memory limit, and whether the scheduler pre-empted the job",
        ),
        2 | 3 => Text::new("有人在终端按下了中断键", "Somebody pressed the interrupt key on its terminal"),
        1 => Text::new(
            "启动它的终端或 SSH 会话已断开；请用 fermi 服务端启动，或放进 tmux",
            "The terminal or SSH session that it came from went away; start it through the server, or inside tmux",
        ),
        13 => Text::new(
            "它写入的管道对端已关闭；查看接收其输出的程序为何先退出",
            "The reader of a pipe that it wrote to was gone; see why that program ended first",
        ),
        24 | 25 => Text::new("超出了 ulimit 的限制：查看 ulimit -a", "It exceeded a resource limit: see `ulimit -a`"),
        _ => Text::new(
            "查看是谁发送了该信号：作业调度器的时限或抢占、systemd 停止服务、容器被删除，或某人执行了 kill",
            "Find who sent it: a scheduler's time limit or pre-emption, systemd stopping a service, a removed container, \
             or somebody's kill",
        ),
    };
    Some(Finding::new(None, cause, advice))
}
