"""What tells a rank that hangs from one that works: the ticks of its interpreter, the collectives that it has entered and
left, and its stacks, which it writes behind its page when the supervisor asks by a signal. Loaded when torch is imported.
"""

import os

TICK_S = 0.5
# After so many ticks without a change it is told which collectives have not ended.
TICKS_OF_QUIET = 2


class Watch:
    """The rank's side of the supervisor's watch over hangs."""

    def __init__(self, hook):
        self.hook, self.at = hook, hook.at
        self.counts, self.quiet = None, 0

    def arm(self):
        """The handler is C and needs no lock of the interpreter; the file is the page's, beyond its end."""
        import faulthandler
        import signal

        number = signal.SIGRTMIN + 13
        if signal.getsignal(number) == signal.SIG_DFL:
            fd = os.open(self.hook.shared(self.hook.page_fd), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            faulthandler.register(number, file=fd, all_threads=True, chain=False)
            self.hook.words[self.at.ARMED] = number

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
        hook, stop, stopped = self.hook, _thread.allocate_lock(), _thread.allocate_lock()
        for lock in (stop, stopped):
            lock.acquire()

        def ticking():
            while hook.words is not None and not stop.acquire(timeout=TICK_S):
                hook.words[self.at.TICKS] += 1
                hook.quietly(self.count_collectives)
            stopped.release()

        def end():
            # A thread that comes back from native code into an interpreter that is going away can end the process.
            if hook.words is not None:
                stop.release()
                stopped.acquire(timeout=1.0)

        _thread.start_new_thread(ticking, ())
        atexit.register(end)

    def count_collectives(self):
        """How many of all groups were begun and have ended."""
        words, counts = self.hook.words, [0, 0]
        for told in self.recorded(includeCollectives=False):
            for group in told.get("pg_status", {}).values():
                counts[0] += max(int(group.get("last_enqueued_collective", 0)), 0)
                counts[1] += max(int(group.get("last_completed_collective", 0)), 0)
        words[self.at.ENQUEUED], words[self.at.COMPLETED] = counts
        self.quiet = self.quiet + 1 if counts == self.counts else 0
        if counts != self.counts:
            words[self.at.PENDING] = 0
        self.counts = counts
        if self.quiet == TICKS_OF_QUIET and counts[0] > counts[1]:
            self.hook.quietly(self.tell_pending)

    @staticmethod
    def recorded(**what):
        """What torch's flight recorders know; there is one for each kind of process group."""
        import json

        import torch._C._distributed_c10d as c10d

        recorders = (getattr(c10d, name, None) for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json"))
        return [json.loads(recorder(**what)) for recorder in recorders if recorder is not None]

    def tell_pending(self):
        """The collectives that have not ended, oldest first."""
        import json

        rows = []
        for told in self.recorded(includeCollectives=True, onlyActive=True):
            for entry in told.get("entries", []):
                if not entry.get("retired") and not entry.get("is_p2p"):
                    name = str(entry["profiling_name"]).rpartition(":")[2]
                    group = str(entry["process_group"][0])
                    sizes = str(entry["input_sizes"])[:200]
                    rows.append({"seq": entry["collective_seq_id"], "name": name, "sizes": sizes, "group": group})
        text = json.dumps(rows[-4:]).encode()
        if len(text) <= self.at.PENDING_ROOM:
            self.hook.page[self.at.PENDING_TEXT : self.at.PENDING_TEXT + len(text)] = text
            self.hook.words[self.at.PENDING] = len(text)
