//! How people are told that a node is lost.

use fermi_domain::language::Text;

use crate::coordinator::Loss;
use crate::link;

/// Of a node that may have said that nothing is left there.
pub(super) fn told(loss: Loss, has_ended: bool) -> Text {
    match loss {
        Loss::SupervisorDied if has_ended => {
            Text::new("该节点已结束其进程并离开", "it has ended its processes and left")
        }
        Loss::SupervisorDied => Text::new(
            "连接已断开：其 supervisor 已退出，或连接被中间设备切断",
            "the connection is closed: its supervisor is gone, or something between the two machines has cut it",
        ),
        Loss::LeaseEnded => Text::new(
            "连接已断开：该节点太久没有得到主节点的回答，按租约结束了自己的进程",
            "the connection is closed: it had no answer from the first node for too long, and ended its processes by its \
             lease",
        ),
        Loss::LinkForged => link::forged(),
        Loss::Silent => Text::new("长时间没有任何消息", "nothing was heard of it for too long"),
    }
}
