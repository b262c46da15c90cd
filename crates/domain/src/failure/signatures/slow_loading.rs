//! The data loader did not bring a batch in time.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "slow_loading",
    class: FailureClass::User,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

const MARK: &str = "DataLoader timed out after";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&[MARK])?;
    let cause = Text::new("数据加载太慢，没有在期限内给出批次", "The data loader brought no batch in time");
    let advice = Text::new(
        "增加 dataloader_num_workers（如 8），打开 dataloader_pin_memory，设置 dataloader_prefetch_factor: 2；把数据放到 SSD 并预先\
         分词；fermi doctor 会测磁盘；仍不够时调大 DataLoader 的 timeout",
        "Use more dataloader_num_workers (such as 8), dataloader_pin_memory and dataloader_prefetch_factor: 2; put the data \
         on an SSD and tokenise it beforehand; fermi doctor measures the disk; if that is not enough raise \
         the DataLoader's timeout",
    );
    Some(Finding::new(Some(line), cause, advice))
}
