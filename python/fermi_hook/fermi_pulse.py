"""The pulse of a rank: its side of the page of `fermi_domain::pulse`. Loaded when torch is imported; every failure in here is
swallowed, and the first one noted for the supervisor to tell.
"""

import os
import sys

SIZE = 1 << 20
MAGIC, VERSION = int.from_bytes(b"FERMIPLS", "little"), 1
# Modules that join a job or take a device while they are imported: the script does that itself.
LEFT_TO_SCRIPT = {"mpi4py", "horovod", "tensorflow", "jax", "cupy", "pycuda"}
# Modules of which more is wanted than that they are imported, and what is done with them then.
AWAITED = {
    "torch": "after_torch",
    "torch.distributed.checkpoint.state_dict_saver": "after_saver",
    "deepspeed.runtime.engine": "after_engine",
}


class At:
    """Where the page has what: words first, then texts."""

    (MAGIC, VERSION, PID, PHASE, TICKS, STEPS, ENQUEUED, COMPLETED, FIRST_STEP, LAST_STEP, PHASE_SINCE, MODULES, START,
     IMPORTS, TROUBLE, LEFT_OUT, SAVING, SAVED_AT, ARMED, PENDING, ASKED, PLACE, ENDING, LIFE, DEVICE, GROUPS,
     WAITING) = range(27)
    WORDS = 32
    LIFE_LOCK, LIFE_ROOM = 256, 64
    TROUBLE_TEXT, TROUBLE_ROOM = 512, 1024
    PENDING_TEXT, PENDING_ROOM = 2048, 2048
    IMPORTS_TEXT = 4096
    GROUPS_TEXT, GROUPS_ROOM = SIZE - 16384, 8192
    PLACE_TEXT, PLACE_ROOM = SIZE - 8192, 8192


class Phase:
    """What a rank is doing."""

    IMPORT, INIT, LOAD, STEP, SAVE, PARKED, FIRST_STEP = range(1, 8)


class Hook:
    """The rank's side of its page, and a finder that finds nothing itself."""

    at, phase = At, Phase

    def __init__(self, imports):
        self.supervisor, self.page_fd, self.is_inherited = imports.supervisor, imports.page_fd, imports.is_inherited
        self.words = self.page = None
        self.environ, self.seen = imports.environ, imports.seen
        self.changes = [(at, self.environ_change(now)) for at, now in imports.changes]
        self.noted = self.environ_change(os.environ._data)
        self.looking = self.is_ticking = self.is_report_due = self.is_noted = False
        self.each_import, self.compiled = int, {}
        self.path = imports.path
        self.site = tuple(folder + os.sep for folder in self.path if self.is_of_packages(folder))

    @staticmethod
    def is_of_packages(folder):
        """Whether what is in the folder was installed, rather than written by the user."""
        library = os.path.dirname(os.__file__)
        installed = os.path.basename(folder) in ("site-packages", "dist-packages")
        return installed or folder in (library, os.path.join(library, "lib-dynload"))

    def shared(self, fd):
        if not self.is_inherited:
            return "/proc/%d/fd/%d" % (self.supervisor, fd)
        path = "/proc/self/fd/%d" % fd
        if not os.readlink(path).startswith("/memfd:fermi-pulse"):
            raise OSError("the script has taken the descriptor of the page")
        return path

    def let_go(self):
        """Scripts find no descriptor of ours, once all is open that is needed."""
        if self.is_inherited:
            os.close(self.page_fd)

    def open_page(self):
        import mmap

        fd = os.open(self.shared(self.page_fd), os.O_RDWR | os.O_CLOEXEC)
        self.page = mmap.mmap(fd, SIZE)
        os.close(fd)
        words = memoryview(self.page)[: At.WORDS * 8].cast("Q")
        words[At.PID], words[At.VERSION], words[At.MAGIC] = os.getpid(), VERSION, MAGIC
        self.words = words
        # A forked child shares the memory and is not the rank.
        os.register_at_fork(after_in_child=lambda: setattr(self, "words", None))
        self.enter(Phase.IMPORT)

    def enter(self, phase):
        import time

        if self.words is not None:
            self.words[At.PHASE], self.words[At.PHASE_SINCE] = phase, time.monotonic_ns()

    def trouble(self, error):
        """Notes the first thing that went wrong, for the supervisor to tell."""
        if self.words is not None and not self.words[At.TROUBLE]:
            text = ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace")[:At.TROUBLE_ROOM]
            self.page[At.TROUBLE_TEXT : At.TROUBLE_TEXT + len(text)] = text
            self.words[At.TROUBLE] = len(text)

    def quietly(self, function, *args):
        try:
            return function(*args)
        except Exception as error:
            try:
                self.trouble(error)
            except Exception:
                pass

    def find_spec(self, name, path=None, target=None):
        """Finds nothing itself: hears of every import that is not done yet, and stays for the end of torch's."""
        if self.looking:
            return None
        if not self.is_noted:
            self.quietly(self.note, name)
        return self.quietly(self.awaited_spec, name, path, target) if name in AWAITED else None

    def note(self, name):
        self.seen.append(name)
        if os.environ._data != self.environ:
            change = self.environ_change(os.environ._data)
            if change != self.noted:
                self.noted = change
                self.changes.append((len(self.seen) - 1, change))
        self.each_import()

    def environ_change(self, now):
        """The variables that are not as they were when the interpreter started."""
        then = self.environ
        names = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
        return {os.fsdecode(name): os.fsdecode(now[name]) if name in now else None for name in names}

    def awaited_spec(self, name, path, target):
        self.looking = True
        try:
            specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self.looking = False
        loader = spec and spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return spec

        def exec_module(module):
            del loader.exec_module
            execute(module)
            self.quietly(getattr(self, AWAITED[name]), module)

        loader.exec_module = exec_module
        return spec

    def whose(self, name):
        """True for a module that is installed, False for one of the user's; None for what has no file."""
        spec = getattr(sys.modules.get(name), "__spec__", None)
        origin = getattr(spec, "origin", None)
        if origin in ("built-in", "frozen"):
            return True
        files = [origin] if isinstance(origin, str) else list(getattr(spec, "submodule_search_locations", None) or ())
        return all(file.startswith(self.site) for file in files) if files else None

    def report(self):
        """Tells what a parked interpreter has to import: only what is installed, never what is the user's own."""
        import json

        rows, foreign, changes = [], set(), dict(self.changes)
        for at, name in enumerate(self.seen):
            row = {"environ": changes[at]} if at in changes else {}
            top = name.partition(".")[0]
            if name in sys.modules and top not in LEFT_TO_SCRIPT:
                is_installed = self.whose(name)
                if is_installed is False:
                    foreign.add(top)
                elif is_installed:
                    row["name"] = name
                    if name == top:
                        row["origin"] = sys.modules[name].__spec__.origin
            if row:
                rows.append(row)
        told = {"rows": rows, "foreign": sorted(foreign), **(self.quietly(lambda: self.watch.device()) or {})}
        text = json.dumps(told).encode()
        if len(text) <= At.GROUPS_TEXT - At.IMPORTS_TEXT:
            self.page[At.IMPORTS_TEXT : At.IMPORTS_TEXT + len(text)] = text
            self.words[At.IMPORTS] = len(text)

    def after_saver(self, saver):
        for name in ("save", "async_save"):
            self.during(saver, name, Phase.SAVE)

    def after_engine(self, engine):
        self.during(engine.DeepSpeedEngine, "save_checkpoint", Phase.SAVE)

    def after_torch(self, torch):
        if self.words is None:
            self.open_page()
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self.stepped)
        self.watch = watch = self.quietly(self.watched)
        self.quietly(self.let_go)
        self.during(torch, "save", Phase.SAVE)
        self.during(torch, "load", Phase.LOAD)
        if torch.distributed.is_available():
            ticks = watch and (lambda: watch.tick_from_now())
            self.during(torch.distributed, "init_process_group", Phase.INIT, Phase.LOAD, ticks)

    @staticmethod
    def compile(name):
        path = os.path.join(os.path.dirname(__file__), name + ".py")
        with open(path) as file:
            return compile(file.read(), path, "exec")

    def beside(self, name):
        """What a file beside this one defines; no module, so that none is left for the script to find."""
        code = self.compiled.pop(name, None) or self.compile(name)
        space = {"__name__": name, "__file__": code.co_filename}
        exec(code, space)
        return space

    def watched(self):
        watch = self.beside("fermi_watch")["Watch"](self)
        self.quietly(watch.arm)
        self.quietly(watch.await_forward)
        self.quietly(watch.hold_life)
        return watch

    def during(self, module, name, phase, after=None, then=None):
        """A function of torch's is a phase of its own while it runs."""
        import functools
        from _thread import get_ident
        from time import monotonic_ns

        function, trains = getattr(module, name), get_ident()

        @functools.wraps(function)
        def measured(*args, **kwargs):
            words = self.words
            if words is None:
                return function(*args, **kwargs)
            before, since = words[At.PHASE], monotonic_ns()
            self.quietly(self.enter, phase)
            try:
                return function(*args, **kwargs)
            finally:
                # Of saves within saves the outermost counts.
                if phase == Phase.SAVE and before != phase and get_ident() == trains:
                    words[At.SAVING] += monotonic_ns() - since
                    words[At.SAVED_AT] = words[At.STEPS]
                self.quietly(self.enter, before if after is None or before == Phase.STEP else after)
                if then is not None:
                    self.quietly(then)

        setattr(module, name, measured)

    def stepped(self, optimizer, args, kwargs):
        words = self.words
        if words is None:
            return
        try:
            from time import monotonic_ns

            words[At.STEPS] += 1
            words[At.LAST_STEP] = now = monotonic_ns()
            if words[At.PHASE] != Phase.STEP:
                words[At.PHASE], words[At.PHASE_SINCE] = Phase.STEP, now
            if words[At.STEPS] == 1:
                words[At.FIRST_STEP] = now
                self.is_noted = True
                if all(name in sys.modules for name in AWAITED) and self in sys.meta_path:
                    sys.meta_path.remove(self)
                # The next tick reports, beside the training.
                self.is_report_due = self.is_ticking
                if not self.is_ticking:
                    self.report()
        except Exception as error:
            self.quietly(self.trouble, error)
