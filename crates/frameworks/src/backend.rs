//! The library through which ranks talk.

use fermi_domain::language::Text;

use crate::{order::LaunchOrder, refusal::LaunchRefusal};

const NCCL: &str = "nccl";
const GLOO: &str = "gloo";
/// Tensors on both sides.
const BOTH: &str = "cpu:gloo,cuda:nccl";
const KNOWN: [&str; 5] = [NCCL, GLOO, BOTH, "ucc", "mpi"];

/// The backend that will work here, and why it is not the one asked for.
pub(crate) fn resolve(order: &LaunchOrder<'_>) -> Result<(&'static str, Option<Text>), LaunchRefusal> {
    let given = order.spec.options.backend.as_deref();
    let wanted = match given {
        None => None,
        Some(given) => {
            let known = KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(given.trim()));
            Some(known.ok_or_else(|| LaunchRefusal::BackendUnknown { given: given.to_owned() })?)
        }
    };
    Ok(match wanted {
        None if order.on_gpus() => (NCCL, None),
        None => (GLOO, None),
        Some(wanted) if wanted.contains(NCCL) && !order.on_gpus() => {
            let note = Text::new(
                format!("并非每个 rank 都有 GPU：{wanted} 改为 gloo"),
                format!("not every rank has a GPU: gloo instead of {wanted}"),
            );
            (GLOO, Some(note))
        }
        Some(wanted) => (wanted, None),
    })
}

/// The backend where some tensors lie on the CPU although the ranks have GPUs: nccl alone cannot move those. What the user
/// chose stays.
pub(crate) fn with_tensors_on_cpu(order: &LaunchOrder<'_>, backend: &'static str) -> (&'static str, Option<Text>) {
    if backend != NCCL {
        return (backend, None);
    }
    if order.spec.options.backend.is_none() {
        let zh = format!("参数在 CPU 上：后端为 {BOTH}");
        return (BOTH, Some(Text::new(zh, format!("parameters on the CPU: the backend is {BOTH}"))));
    }
    let zh = format!("参数在 CPU 上，nccl 无法传输；建议使用 {BOTH}");
    (NCCL, Some(Text::new(zh, format!("nccl cannot move parameters on the CPU; {BOTH} could"))))
}
