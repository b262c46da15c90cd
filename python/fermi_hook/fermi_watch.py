"""What tells a rank that hangs from one that works: the ticks of its interpreter, where its main thread was at the last one, and
its stacks, which it writes behind its page when the supervisor asks by a signal. Loaded when torch is imported; what it tells of
collectives is in `fermi_collectives.py`.
"""

import os
import sys
import time
from _thread import get_ident, get_native_id

TICK_S = 0.5
PLACES_TOLD = 16
# Read when a device is first used, and not again; those that torch sets by itself are no wish of the script's.
STEER_DEVICES = ("CUDA", "CUBLAS", "CUDNN", "NCCL", "PYTORCH", "TORCH", "NVIDIA")
SET_BY_TORCH = ("CUDA_MODULE_LOADING", "TORCHINDUCTOR_CACHE_DIR", "TORCH_WARM_POOL")


class Watch:
    """The rank's side of the supervisor's watch over hangs."""

    def __init__(self, hook):
        self.hook, self.at = hook, hook.at
        self.main = get_ident()

    def arm(self):
        """The handler is C and needs no lock of the interpreter; the file is the page's, beyond its end."""
        import faulthandler
        import signal

        number = signal.SIGRTMIN + 13
        if signal.getsignal(number) == signal.SIG_DFL:
            fd = os.open(self.hook.shared(self.hook.page_fd), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            faulthandler.register(number, file=fd, all_threads=True, chain=False)
            self.hook.words[self.at.ARMED] = number

    def hold_life(self):
        """A lock in the page which the kernel gives back as soon as this process begins to end, before its memory is free."""
        ctypes, hook, at = sys.modules.get("ctypes"), self.hook, self.at.LIFE_LOCK
        if ctypes is None:
            return
        libc, kind = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        lock = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(hook.page, at)))
        # It is linked to other locks of the thread, and must stay where it is until the end.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(hook.page))
        failed = libc.pthread_mutexattr_init(kind) or libc.pthread_mutexattr_setpshared(kind, 1)
        failed = failed or libc.pthread_mutexattr_setrobust(kind, 1) or libc.pthread_mutex_init(lock, kind)
        if not failed and not libc.pthread_mutex_lock(lock):
            # Which of the lock's words names its holder is the C library's affair.
            words = memoryview(hook.page)[at : at + self.at.LIFE_ROOM].cast("I")
            hook.words[self.at.LIFE] = at + 4 * words.tolist().index(get_native_id())

    def device(self):
        """What a parked process may do ahead on a GPU: as much as the variables that steer it leave, and as the rank has done."""
        torch, change = sys.modules["torch"], self.hook.environ_change(os.environ._data)
        is_steered = any(name.startswith(STEER_DEVICES) for name in change if name not in SET_BY_TORCH)
        group = torch.distributed.is_available() and torch.distributed.is_initialized()
        has_nccl = group and "nccl" in torch.distributed.get_backend() and "NCCL_DEBUG" not in os.environ
        return {"device": not is_steered, "nccl": bool(has_nccl)}

    def await_forward(self):
        """From the first pass through a model on it is the first step."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        def begins(module, args):
            handle.remove()
            words, phase = self.hook.words, self.hook.phase
            if words is not None and words[self.at.PHASE] in (phase.IMPORT, phase.LOAD):
                self.hook.quietly(self.hook.enter, phase.FIRST_STEP)

        handle = register_module_forward_pre_hook(begins)

    def tick_from_now(self):
        """Ranks that have a process group have threads anyhow, so one more changes nothing for forks."""
        import _thread
        import atexit

        self.tick_from_now = lambda: None
        self.hook.is_ticking = True
        hook, stop, stopped = self.hook, _thread.allocate_lock(), _thread.allocate_lock()
        collectives = hook.beside("fermi_collectives")["Collectives"](hook)
        for lock in (stop, stopped):
            lock.acquire()

        def ticking():
            while hook.words is not None and not stop.acquire(timeout=TICK_S):
                hook.words[self.at.TICKS] += 1
                hook.quietly(self.tell_place)
                hook.quietly(collectives.tick)
                if hook.is_report_due:
                    hook.is_report_due = False
                    hook.quietly(hook.report)
            stopped.release()

        def end():
            # A thread that comes back from native code into an interpreter that is going away can end the process. Of a script
            # that an exception has ended it is told in which collective it was.
            if hook.words is not None:
                hook.words[self.at.ENDING] = time.monotonic_ns()
                stop.release()
                if stopped.acquire(timeout=1.0) and getattr(sys, "last_type", None) is not None:
                    hook.quietly(collectives.tell, False, 1)

        _thread.start_new_thread(ticking, ())
        atexit.register(end)

    def tell_place(self):
        """Where the main thread is, in the words of faulthandler: for when it cannot answer a signal, as one that is stopped."""
        frame, lines = sys._current_frames().get(self.main), []
        while frame is not None and len(lines) < PLACES_TOLD:
            code = frame.f_code
            lines.append('  File "%s", line %s in %s' % (code.co_filename[-256:], frame.f_lineno, code.co_name[:128]))
            frame = frame.f_back
        self.write(self.at.PLACE, self.at.PLACE_TEXT, self.at.PLACE_ROOM, "\n".join(lines))

    def write(self, word, offset, room, text):
        """A text and its length; while it is written there is none."""
        words, text = self.hook.words, text.encode("utf-8", "replace")[:room]
        words[word] = 0
        self.hook.page[offset : offset + len(text)] = text
        words[word] = len(text)
