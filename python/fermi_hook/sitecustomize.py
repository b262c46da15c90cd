"""What Fermi has inside a rank. Nothing here may end a training.

Python's `site` imports this file before the script, because the supervisor puts its folder first on PYTHONPATH. It takes
every trace of itself out of the environment and lets the user's own sitecustomize take its place. In a rank, which is a
direct child of its supervisor, it hears of imports until torch's, where `fermi_pulse.py` takes over; a parked process goes
to `fermi_park.py` before it goes on. It is small because it may have to be compiled at every start.
"""

import os
import sys

NOT_PARKED = 70


class Imports:
    """A finder that finds nothing: hears of every import that is not done yet."""

    def __init__(self, supervisor, page):
        self.supervisor, self.page_fd, self.is_inherited = supervisor, int(page), page.startswith("+")
        if self.is_inherited:
            os.set_inheritable(self.page_fd, False)
        self.environ = self.now = dict(os.environ._data)
        self.seen, self.changes = [], []
        self.path = list(sys.path)

    def find_spec(self, name, path=None, target=None):
        try:
            if name == "torch":
                return take_over(self).find_spec(name, path, target)
            self.seen.append(name)
            if os.environ._data != self.now:
                self.now = dict(os.environ._data)
                self.changes.append((len(self.seen) - 1, self.now))
        except Exception:
            pass


def load(name):
    """What a file beside this one defines; no module, so that none is left for the script to find."""
    path = os.path.join(FOLDER, name + ".py")
    with open(path) as file:
        space = {"__name__": name, "__file__": path}
        exec(compile(file.read(), path, "exec"), space)
    return space


def take_over(imports):
    """The pulse hears of imports from here on."""
    hook = load("fermi_pulse")["Hook"](imports)
    sys.meta_path[sys.meta_path.index(imports)] = hook
    return hook


def clear_traces():
    """Scripts, and what they start, find the environment as the user made it."""
    rest = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry != FOLDER]
    if any(rest):
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
    sys.path_importer_cache.pop(FOLDER, None)


def keep_compiled():
    """Where Python is told to write no bytecode, as in many containers, ours is kept all the same: the folder is ours, and to
    compile this file takes a millisecond at every start of every rank.
    """
    spec = __spec__
    is_wanted = sys.dont_write_bytecode and spec.cached and os.access(FOLDER, os.W_OK)
    if is_wanted and not os.path.exists(spec.cached):
        sys.dont_write_bytecode = False
        try:
            spec.loader.get_code(spec.name)
        finally:
            sys.dont_write_bytecode = True


def begin(given):
    """Watches where this process is the rank; a parked one waits here for its order.

    The page is a descriptor of the supervisor's, or, with a plus, one that was inherited. Behind the limits stands what else a
    parked one has to do.
    """
    supervisor, page, order_fd, *rest = given.split()
    limits, wanted = rest[:2], rest[2:]
    is_parked = order_fd != "-"
    if is_parked:
        parked = load("fermi_park")
        parked["lift_limits"](*limits)
    if os.getppid() == int(supervisor):
        imports = Imports(int(supervisor), page)
        sys.meta_path.insert(0, imports)
        if is_parked:
            parked["park"](take_over(imports), int(order_fd), "cuda" in wanted)
    elif is_parked:
        os._exit(NOT_PARKED)


FOLDER = os.path.dirname(__file__)
GIVEN = os.environ.pop("FERMI_HOOK", None)
clear_traces()
if GIVEN is not None:
    try:
        keep_compiled()
        begin(GIVEN)
    except BaseException:
        # A parked process runs the script by order alone; a rank runs it in any case.
        if GIVEN.split()[2:3] != ["-"]:
            os._exit(NOT_PARKED)
# The user's own takes the place of this one; where there is none, site gets the error that it expects.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402, F401
