"""A parked process: an interpreter that has imported what the rank had imported, and waits to become the next one.

It was started with the words, variables and streams of the rank, and stands in Python's start-up, before the script. At
the order it sets the variables of the new attempt and lets Python go on. Until then it runs no line of the user's; what
goes wrong before the order ends it, what goes wrong after it makes it start from scratch.
"""

import importlib
import json
import os
import resource
import signal
import sys
import time
from importlib.machinery import PathFinder

RELEASED, PACKAGES_CHANGED, NOT_RESTORED, OWN_MODULE, DEVICE_TAKEN = range(1, 6)
# What became of the GPU that was asked for.
TAKEN, STEERED, NOT_TAKEN = range(1, 4)
NOT_PARKED = 70
# Meant for scripts; a batch system may send them to every process of a job.
FOR_RANKS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
# How much is worked before a rest as long as the work: half of a core at most is taken from the ranks.
WORK_S, LONGEST_REST_S = 0.005, 0.2


def lift_limits(address_space, file_size):
    """Without this, which needs the hook, the process could neither load torch nor write a file."""
    for limit, soft in ((resource.RLIMIT_AS, address_space), (resource.RLIMIT_FSIZE, file_size)):
        resource.setrlimit(limit, (int(soft), resource.getrlimit(limit)[1]))


def park(hook, order_fd, takes_device):
    """Imports, takes the rank's GPU where that is asked for, waits, and returns as the rank."""
    hook.open_page()
    if hook.is_inherited:
        os.set_inheritable(order_fd, False)
        # Starting from scratch hands the page on; the hook lets go of its own descriptor when torch is there.
        hook.kept_fd = os.dup(hook.page_fd)
    badness = set_badness("1000")
    for number in FOR_RANKS:
        signal.signal(number, signal.SIG_IGN)
    told = import_all(hook)
    # As a rank it tells anew what is to be imported, and not before it has made a step.
    hook.words[hook.at.IMPORTS] = 0
    if takes_device:
        steered = not told.get("device")
        hook.words[hook.at.DEVICE] = STEERED if steered else take_device(sys.modules.get("torch"), told.get("nccl"))
    hook.quietly(look_ahead, hook)
    before = packages(hook)
    order = await_order(hook, order_fd)
    # The supervisor waits for this: an order that is not taken is another process's.
    hook.enter(hook.phase.IMPORT)
    try:
        for number in FOR_RANKS:
            signal.signal(number, signal.SIG_DFL)
        set_badness(badness)
        apply(hook, order)
        why_not = PACKAGES_CHANGED if packages(hook) != before else None
    except Exception:
        why_not = NOT_RESTORED
    if why_not is not None:
        start_anew(hook, why_not)
    if hook.is_inherited:
        os.close(hook.kept_fd)
    hook.words[hook.at.START] = RELEASED


def import_all(hook):
    """Imports the rank's modules in its order, as long as the environment is what it was there."""
    at = hook.at
    told = json.loads(hook.page[at.IMPORTS_TEXT : at.IMPORTS_TEXT + hook.words[at.IMPORTS]])
    main, path, expected = sys.modules["__main__"], sys.path[:], {}
    has_file = not sys.argv[0].startswith("-")
    if has_file:
        # Some libraries take a program without a file for an interactive one.
        main.__file__ = sys.argv[0]
    # Modules of the user's are out of reach.
    sys.path[:] = [folder for folder in path if hook.is_of_packages(folder)]
    hook.each_import = resting()
    try:
        for row in told["rows"]:
            expected = row.get("environ", expected)
            name = row.get("name")
            if name is None or name in sys.modules:
                continue
            if hook.environ_change(os.environ._data) != expected or not is_found_at(name, row.get("origin")):
                break
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):
                continue
    finally:
        hook.each_import = int
        sys.path[:] = path
        if has_file:
            del main.__file__
    names = [row["name"] for row in told["rows"] if "name" in row]
    hook.words[at.MODULES] = imported = sum(name in sys.modules for name in names)
    hook.words[at.LEFT_OUT] = len(names) - imported
    torch = sys.modules.get("torch")
    if any(name in sys.modules for name in told["foreign"]):
        give_up(hook, OWN_MODULE)
    if torch is not None and torch.cuda.is_initialized():
        give_up(hook, DEVICE_TAKEN)
    return told


def look_ahead(hook):
    """What `init_process_group` begins with, and what leaves nothing but what was read: torch asks all packages for backends, and
    the hook compiles its part for collectives.
    """
    metadata = sys.modules.get("importlib.metadata")
    if metadata is not None and "torch.distributed" in sys.modules:
        metadata.entry_points(group="torch.distributed.backends")
    hook.compiled["fermi_collectives"] = hook.compile("fermi_collectives")


def take_device(torch, has_nccl):
    """A context on the GPU of this rank, with what its first step would load; without a GPU there is nothing to do.

    No number is drawn, no module of torch's is called and no optimizer: the rank's random numbers and its pulse stay as they are.
    """
    try:
        if torch is not None and torch.cuda.is_available():
            own = int(os.environ.get("LOCAL_RANK", "0"))
            own = own if own < torch.cuda.device_count() else 0
            with torch.cuda.device(own):
                for kind in (torch.float32, torch.bfloat16):
                    ones = torch.ones(64, 64, dtype=kind, device="cuda", requires_grad=True)
                    torch.nn.functional.linear(ones, ones).sum().backward()
                    ones.detach().add_(ones.grad, alpha=-1.0)
                if has_nccl:
                    # A group of one, which is given back at once: the library and its kernels stay loaded.
                    torch.cuda.nccl.init_rank(1, torch.cuda.nccl.unique_id(), 0)
                del ones
                torch.cuda.synchronize()
                getattr(torch._C, "_cuda_clearCublasWorkspaces", int)()
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            return TAKEN
    except Exception:
        # A GPU that is full, or not the rank's to take: what it needs of it the script will say.
        pass
    return NOT_TAKEN


def resting():
    """What each import calls, so that half of the time is the ranks'."""
    since = [time.process_time()]

    def rest():
        worked = time.process_time() - since[0]
        if worked > WORK_S:
            time.sleep(min(worked, LONGEST_REST_S))
            since[0] = time.process_time()

    return rest


def is_found_at(name, origin):
    """Whether the module would come from where the rank has it from."""
    if origin is None or origin in ("built-in", "frozen"):
        return True
    spec = PathFinder.find_spec(name)
    return spec is not None and spec.origin == origin


def packages(hook):
    """Changes when packages are installed or removed."""
    folders = (folder for folder in hook.path if hook.is_of_packages(folder) and os.path.isdir(folder))
    return [os.stat(folder).st_mtime_ns for folder in folders]


def await_order(hook, order_fd):
    """One line from the supervisor; when it dies the kernel ends this process."""
    text = b""
    with open(order_fd if hook.is_inherited else hook.shared(order_fd), "rb", buffering=0) as pipe:
        hook.enter(hook.phase.PARKED)
        while not text.endswith(b"\n"):
            piece = pipe.read(1 << 16)
            if not piece:
                os._exit(NOT_PARKED)
            text += piece
    return json.loads(text)


def apply(hook, order):
    """The variables of the attempt that begins; the hook compares with these from now on."""
    for name, value in order["environ"].items():
        os.environ[name] = value
        hook.environ[os.fsencode(name)] = os.fsencode(value)
    for name in order["unset"]:
        os.environ.pop(name, None)
        hook.environ.pop(os.fsencode(name), None)


def give_up(hook, reason):
    """Ends the process with the reason in its page; the rank starts cold then."""
    hook.words[hook.at.START] = reason
    os._exit(NOT_PARKED)


def start_anew(hook, reason):
    """Becomes a rank that starts cold: the same process, words, variables and streams."""
    hook.words[hook.at.START] = reason
    with open("/proc/self/cmdline", "rb") as file:
        argv = file.read().split(b"\0")[:-1]
    folder = os.path.dirname(__file__)
    page = str(hook.page_fd)
    if hook.is_inherited:
        os.set_inheritable(hook.kept_fd, True)
        page = "+%d" % hook.kept_fd
    os.environ["FERMI_HOOK"] = "%d %s -" % (hook.supervisor, page)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.execv(sys.executable, argv)


def set_badness(text):
    """How soon the kernel ends this process for want of memory; the answer is what it was."""
    with open("/proc/self/oom_score_adj", "r+") as file:
        before = file.read()
        file.seek(0)
        file.write(text)
    return before
