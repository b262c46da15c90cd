//! What an agent is told at its start, what it tells, and how it is ended.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fermi_api::client::ServerAddress;
use fermi_domain::access::{Fingerprint, RunAs};
use fermi_domain::environment::EnvironmentKind;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::task::RunKey;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::declared::Declared;
use crate::link::NoLink;

/// Everything that `fermi agent` can be told.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    pub server: ServerAddress,
    pub token: Option<String>,
    /// By what the server is known over TLS; none where the system's authorities vouch for it.
    pub fingerprint: Option<Fingerprint>,
    /// The environment's name, which its workers bear.
    pub name: String,
    pub zone: Option<String>,
    pub kind: EnvironmentKind,
    pub image: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// How many workers there are where there is no GPU.
    pub cpu_workers: u32,
    /// Everything that the agent keeps is in here.
    pub data_dir: PathBuf,
    /// Resources that somebody wrote down, instead of those that the machine has.
    pub declared: Option<Declared>,
    /// Where other nodes reach this one.
    pub address: Option<String>,
    /// Whose processes ranks are, where the agent is root.
    pub run_as: RunAs,
}

/// What happens to an agent, for whoever sits in front of it.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentNews {
    /// Under which accounts ranks will run; told where there is a choice.
    RanksRunAs {
        text: Text,
    },
    Connected {
        environment: EnvironmentId,
        cluster: String,
    },
    NoLink(NoLink),
    Launched {
        run: RunKey,
    },
    LaunchFailed {
        run: RunKey,
        reason: Text,
        hint: Text,
    },
    /// Its supervisor lives; an earlier agent started it.
    Adopted {
        run: RunKey,
    },
    /// Nothing of it is left here, and the server has all that it wrote.
    Gone {
        run: RunKey,
    },
    /// Processes whose keepers were both gone.
    Swept {
        run: String,
        killed: usize,
    },
}

/// Ends an agent; ranks go on. Raising it is safe in a signal handler.
#[derive(Clone, Debug)]
pub struct StopFlag(Arc<Flag>);

#[derive(Debug)]
struct Flag {
    is_raised: AtomicBool,
    /// Readable from the moment on at which the flag is raised; never read, so that every waiter sees it.
    bell: EventFd,
}

impl StopFlag {
    pub fn new() -> io::Result<Self> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self(Arc::new(Flag { is_raised: AtomicBool::new(false), bell })))
    }

    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::SeqCst);
        let _ = self.0.bell.write(1);
    }

    pub fn is_raised(&self) -> bool {
        self.0.is_raised.load(Ordering::SeqCst)
    }
}

impl AsFd for StopFlag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }
}
