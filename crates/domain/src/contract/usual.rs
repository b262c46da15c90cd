//! The variables that ranks get unless they inherit them: the values that torchrun's users expect.

use super::{
    FERMI_CHECKPOINT_SIGNAL, OMP_NUM_THREADS, TORCH_NCCL_ASYNC_ERROR_HANDLING, TORCHELASTIC_SIGNALS_TO_HANDLE,
};
use crate::exit::signal_name;

/// The signals that torch's own processes pass on, where no others are named.
pub const SIGNALS_TO_HANDLE: &str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

/// What ranks inherit from the process that launches them, as far as it decides something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    pub omp_num_threads: bool,
    pub nccl_async_error_handling: bool,
}

/// What the usual variables of a node's ranks depend on.
#[derive(Clone, Copy, Debug)]
pub struct Usual<'a> {
    pub inherited: Inherited,
    pub ranks_on_node: u32,
    /// How many cores a rank is bound to.
    pub cores_bound: Option<usize>,
    /// By their names, with commas between them.
    pub signals: &'a str,
    /// On which the script saves a checkpoint.
    pub checkpoint_signal: Option<i32>,
}

impl Usual<'_> {
    /// The variables, in a stable order.
    pub fn variables(&self) -> Vec<(String, String)> {
        let omp = omp_num_threads(self.inherited, self.ranks_on_node, self.cores_bound);
        let nccl = (!self.inherited.nccl_async_error_handling).then(|| "1".to_owned());
        let variables = [
            (OMP_NUM_THREADS, omp),
            (TORCH_NCCL_ASYNC_ERROR_HANDLING, nccl),
            (TORCHELASTIC_SIGNALS_TO_HANDLE, Some(self.signals.to_owned())),
            (FERMI_CHECKPOINT_SIGNAL, self.checkpoint_signal.map(signal_name)),
        ];
        variables.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The value torchrun's users expect for OMP_NUM_THREADS: their own, else 1 when several ranks share the machine.
pub fn omp_num_threads(inherited: Inherited, ranks_on_node: u32, cores_bound: Option<usize>) -> Option<String> {
    match (inherited.omp_num_threads, cores_bound) {
        (true, _) => None,
        (false, Some(cores)) => Some(cores.max(1).to_string()),
        (false, None) if ranks_on_node > 1 => Some("1".to_owned()),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omp_threads_follow_the_user_then_the_binding_then_torchrun() {
        let users = Inherited { omp_num_threads: true, ..Inherited::default() };
        let nobodys = Inherited::default();
        assert_eq!(omp_num_threads(users, 4, Some(2)), None);
        assert_eq!(omp_num_threads(nobodys, 4, Some(2)).as_deref(), Some("2"));
        assert_eq!(omp_num_threads(nobodys, 4, None).as_deref(), Some("1"));
        assert_eq!(omp_num_threads(nobodys, 1, None), None);
    }

    #[test]
    fn what_is_inherited_is_not_set_again() {
        let inherited = Inherited { omp_num_threads: true, nccl_async_error_handling: true };
        let usual =
            Usual { inherited, ranks_on_node: 2, cores_bound: None, signals: "SIGTERM", checkpoint_signal: None };
        assert_eq!(usual.variables(), [(TORCHELASTIC_SIGNALS_TO_HANDLE.to_owned(), "SIGTERM".to_owned())]);
        let signalled = Usual { checkpoint_signal: Some(10), ..usual }.variables();
        assert!(signalled.contains(&(FERMI_CHECKPOINT_SIGNAL.to_owned(), "SIGUSR1".to_owned())));
    }
}
