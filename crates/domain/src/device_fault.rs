//! What the driver says of a GPU that fails: the number of its error (Xid), whose matter that is, and what to do.
//!
//! An error that a program has made leaves the GPU sound, and a restart is enough. One of the GPU, its memory or its link stays
//! until the machine is looked after: ranks belong elsewhere then. Numbers and meanings are those of NVIDIA's catalogue of Xid errors.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::failure::{Diagnosis, FailureClass, Recurrence, Role};
use crate::language::Text;

/// Whose matter an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DeviceFaultClass {
    /// The program's: the GPU is sound.
    Application,
    /// The GPU has lost data of this program alone: another start is sound.
    Contained,
    /// The machine's: the GPU is not to be used before somebody has looked after it.
    Node,
    /// Not in the list.
    Unknown,
}

/// An error of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceFault {
    /// The number of the GPU in the machine.
    pub gpu: u32,
    pub xid: u64,
}

use DeviceFaultClass::{Application, Contained, Node};

/// Number, class, what has happened in both languages.
const KNOWN: [(u64, DeviceFaultClass, &str, &str); 28] = [
    (
        13,
        Application,
        "图形引擎异常：程序执行了非法指令或越界访问",
        "has met an illegal instruction or access of the program",
    ),
    (31, Application, "内存页错误：程序访问了非法地址", "has met an illegal address of the program (MMU fault)"),
    (43, Application, "已停止处理这个程序的任务", "has stopped working for this program"),
    (45, Application, "清理了一个出错程序的通道", "has cleaned up after a program that failed"),
    (68, Application, "视频解码引擎异常", "has met an exception of its video decoder"),
    (
        94,
        Contained,
        "显存出现无法纠正的错误，仅影响这个程序",
        "has lost data of this program alone (contained ECC error)",
    ),
    (46, Node, "已停止处理任务", "has stopped working"),
    (48, Node, "显存出现无法纠正的双比特错误", "has memory with an error that cannot be corrected (double bit ECC)"),
    (54, Node, "辅助供电没有接好", "has no auxiliary power"),
    (61, Node, "内部微控制器中断", "has an internal controller that stopped at a fault"),
    (62, Node, "内部微控制器停止", "has an internal controller that halted"),
    (63, Node, "显存行等待重映射，需要重置", "has bad memory that waits for a reset to be taken out of use"),
    (64, Node, "显存行重映射失败", "has bad memory that could not be taken out of use"),
    (74, Node, "NVLink 出错", "has an error on its NVLink"),
    (79, Node, "已从总线脱落", "has fallen off the bus"),
    (92, Node, "显存可纠正错误过多", "has memory with too many corrected errors"),
    (
        95,
        Node,
        "显存出现无法纠正且未被隔离的错误",
        "has lost data, of which is not known whose (uncontained ECC error)",
    ),
    (109, Node, "上下文切换超时", "has not switched between programs in time"),
    (110, Node, "安全错误", "has met a security fault"),
    (119, Node, "GSP 没有应答", "has a system processor (GSP) that does not answer"),
    (120, Node, "GSP 出错", "has a system processor (GSP) that failed"),
    (136, Node, "链路训练失败", "has a link that could not be trained"),
    (140, Node, "显存出现未恢复的错误", "has memory with an error from which it has not recovered"),
    (142, Node, "视频编码引擎出错", "has a video encoder that failed"),
    (143, Node, "初始化失败", "could not be initialized"),
    (151, Node, "密钥轮换出错", "has failed to change its keys"),
    (155, Node, "NVLink 软件错误", "has met an error of its NVLink software"),
    (158, Node, "致命超时", "has not answered in time, for good"),
];

impl DeviceFault {
    /// Another name of the same: memory with an error of two bits, which has an event of its own.
    pub const DOUBLE_BIT: u64 = 48;
    /// The id of a diagnosis that comes from one.
    pub const DIAGNOSIS: &str = "device_fault";

    pub fn class(self) -> DeviceFaultClass {
        self.known().map_or(DeviceFaultClass::Unknown, |(_, class, ..)| *class)
    }

    /// Such as `GPU 3 has fallen off the bus (Xid 79)`.
    pub fn text(self) -> Text {
        let Self { gpu, xid } = self;
        match self.known() {
            Some((.., zh, en)) => {
                Text::new(format!("GPU {gpu} {zh}（Xid {xid}）"), format!("GPU {gpu} {en} (Xid {xid})"))
            }
            None => {
                Text::new(format!("GPU {gpu} 报告错误 Xid {xid}"), format!("GPU {gpu} has reported error Xid {xid}"))
            }
        }
    }

    pub fn hint(self) -> Text {
        match self.class() {
            Application => Text::new(
                "GPU 正常：检查自定义算子与越界下标（CUDA_LAUNCH_BLOCKING=1 可定位），无需更换机器",
                "The GPU is sound: look at own kernels and at indices out of range (CUDA_LAUNCH_BLOCKING=1 finds the line); \
                 no other machine is needed",
            ),
            Contained => Text::new(
                "重新启动即可；空闲时重置这块 GPU（nvidia-smi --gpu-reset），再次出现则报修",
                "A restart is enough; reset the GPU when it is idle (`nvidia-smi --gpu-reset`), and have it repaired if it returns",
            ),
            Node => Text::new(
                "不要再用这块 GPU：停用该环境（fermi env drain 名称），重置 GPU 或重启机器，仍出现则报修",
                "Keep away from this GPU: drain the environment (`fermi env drain NAME`), reset the GPU or reboot, and have it \
                 repaired if it returns",
            ),
            DeviceFaultClass::Unknown => Text::new(
                "在 NVIDIA 的 Xid 列表中查找这个编号；dmesg -T | grep -i xid 有全文",
                "Look the number up in NVIDIA's list of Xid errors; `dmesg -T | grep -i xid` has the whole line",
            ),
        }
    }

    /// Whether the environment should start nothing new before somebody has looked after the GPU.
    pub fn is_of_the_node(self) -> bool {
        self.class() == Node
    }

    /// What is said of an environment that was drained because of this.
    pub fn drains(self, environment: &str) -> Text {
        let text = self.text();
        Text::new(
            format!(
                "开发环境 {environment} 已自动停用：{}；正在运行的继续，不再启动新任务。检修后运行 fermi env resume {environment}",
                text.zh
            ),
            format!(
                "{environment} is drained, for {}: what runs goes on, nothing new starts; after a repair run \
                 `fermi env resume {environment}`",
                text.en
            ),
        )
    }

    fn known(self) -> Option<&'static (u64, DeviceFaultClass, &'static str, &'static str)> {
        KNOWN.iter().find(|(xid, ..)| *xid == self.xid)
    }

    fn diagnosis(self) -> Diagnosis {
        let class = self.class();
        Diagnosis {
            id: Cow::Borrowed(Self::DIAGNOSIS),
            class: if class == Application { FailureClass::User } else { FailureClass::Infrastructure },
            // What a GPU of this machine has lost it does not get back by a restart.
            recurrence: if class == Node { Recurrence::WouldRepeat } else { Recurrence::MayPass },
            role: Role::Cause,
            cause: self.text(),
            advice: self.hint(),
            line: None,
        }
    }
}

/// Why a rank has failed whose GPU has reported these errors, the oldest first. A broken GPU explains whatever the program says;
/// an error that the program has made is told with what the program says of it.
pub fn explained_by(faults: &[DeviceFault], diagnosis: Option<Diagnosis>) -> Option<Diagnosis> {
    let of = |class: DeviceFaultClass| faults.iter().find(|fault| fault.class() == class);
    if let Some(fault) = of(Node).or_else(|| of(Contained)) {
        let line = diagnosis.and_then(|diagnosis| diagnosis.line);
        return Some(Diagnosis { line, ..fault.diagnosis() });
    }
    let Some(fault) = faults.first() else { return diagnosis };
    match diagnosis {
        Some(diagnosis) if diagnosis.role == Role::Cause => {
            let (cause, said) = (&diagnosis.cause, fault.text());
            let cause = Text::new(format!("{}；{}", cause.zh, said.zh), format!("{}; {}", cause.en, said.en));
            Some(Diagnosis { cause, ..diagnosis })
        }
        _ => Some(fault.diagnosis()),
    }
}

/// The GPU of a rank: the entry of CUDA_VISIBLE_DEVICES at its place, or the only one; none where entries are not numbers.
pub fn gpu_of(local_rank: u32, visible: Option<&str>) -> Option<u32> {
    let Some(visible) = visible else { return Some(local_rank) };
    let entries: Vec<&str> = visible.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let entry = match entries.as_slice() {
        [only] => only,
        several => several.get(usize::try_from(local_rank).ok()?)?,
    };
    entry.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(xid: u64) -> DeviceFault {
        DeviceFault { gpu: 3, xid }
    }

    fn said(id: &'static str, role: Role) -> Diagnosis {
        let text = || Text::new("程序说的", "what the program says");
        let (class, recurrence) = (FailureClass::User, Recurrence::MayPass);
        Diagnosis {
            id: id.into(),
            class,
            recurrence,
            role,
            cause: text(),
            advice: text(),
            line: Some("a line".to_owned()),
        }
    }

    #[test]
    fn numbers_are_whose_the_catalogue_says() {
        for (class, numbers) in [
            (Application, &[13, 31, 43, 45, 68][..]),
            (Contained, &[94]),
            (Node, &[46, 48, 62, 63, 64, 74, 79, 95, 109, 119, 120, 136, 140, 143]),
            (DeviceFaultClass::Unknown, &[0, 1, 9_999]),
        ] {
            for xid in numbers {
                assert_eq!(fault(*xid).class(), class, "{xid}");
            }
        }
        let mut numbers: Vec<u64> = KNOWN.iter().map(|row| row.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), KNOWN.len(), "each once");
        assert_eq!(fault(79).text().en, "GPU 3 has fallen off the bus (Xid 79)");
        assert_eq!(fault(79).text().zh, "GPU 3 已从总线脱落（Xid 79）");
        assert_eq!(fault(7).text().en, "GPU 3 has reported error Xid 7");
        assert!(fault(79).is_of_the_node() && !fault(31).is_of_the_node() && !fault(94).is_of_the_node());
        assert!(!fault(9_999).is_of_the_node(), "a number that nobody knows takes nothing out of service");
        assert!(fault(79).drains("gn7").en.starts_with("gn7 is drained, for GPU 3 has fallen off the bus (Xid 79)"));
    }

    #[test]
    fn a_broken_gpu_explains_what_the_program_says_and_the_programs_own_error_is_told_with_it() {
        let broken = explained_by(&[fault(45), fault(79)], Some(said("nccl_error", Role::Victim))).unwrap();
        assert_eq!((broken.id.as_ref(), broken.class), (DeviceFault::DIAGNOSIS, FailureClass::Infrastructure));
        assert_eq!((broken.recurrence, broken.role), (Recurrence::WouldRepeat, Role::Cause));
        assert_eq!(broken.line.as_deref(), Some("a line"));
        let contained = explained_by(&[fault(94)], None).unwrap();
        assert_eq!(contained.recurrence, Recurrence::MayPass);
        let own = explained_by(&[fault(31)], Some(said("cuda_kernel_fault", Role::Cause))).unwrap();
        assert_eq!((own.id.as_ref(), own.class), ("cuda_kernel_fault", FailureClass::User));
        assert!(
            own.cause.en.starts_with("what the program says; GPU 3 has met an illegal address"),
            "{}",
            own.cause.en
        );
        assert_eq!(explained_by(&[fault(31)], None).unwrap().class, FailureClass::User);
        assert_eq!(explained_by(&[], None), None);
        assert_eq!(explained_by(&[], Some(said("x", Role::Cause))), Some(said("x", Role::Cause)));
    }

    #[test]
    fn the_gpu_of_a_rank_is_the_one_that_it_sees_at_its_place() {
        for (local_rank, visible, gpu) in [
            (2, None, Some(2)),
            (1, Some("4,6"), Some(6)),
            (1, Some("5"), Some(5)),
            (3, Some("4,6"), None),
            (0, Some("GPU-8f1a"), None),
            (0, Some(""), None),
        ] {
            assert_eq!(gpu_of(local_rank, visible), gpu, "{local_rank} {visible:?}");
        }
    }
}
