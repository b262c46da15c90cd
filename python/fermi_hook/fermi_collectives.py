"""What a rank tells of its collectives, group by group, as torch's flight recorders count them. Loaded when ranks meet."""

import json
import time

# After so many ticks without a change it is told which collectives have not ended.
TICKS_OF_QUIET = 2
# Of the collectives so many are told, those that have ended too where the supervisor asks.
PENDING_TOLD, RECENT_TOLD, LONGEST_SIZES = 4, 8, 100
# A group whose name no entry of the recorder tells is asked for so often.
NAMES_ASKED = 4
RANKS_TOLD = 9
# Torch calls groups so that nobody has named.
NAMELESS = ("", "undefined", "default_pg")
# Collectives that advance so often, of which no pause has half of the time, are a training that makes its steps by itself;
# where a model is at work already, its first step may have as many.
BEATS, BEATS_OF_FIRST_STEP = 8, 64


class Collectives:
    """Counts at every tick, and tells what has changed."""

    def __init__(self, hook):
        self.hook, self.at = hook, hook.at
        # By recorder and the number that the group has in this process.
        self.counts, self.names, self.asked_names = {}, {}, {}
        self.groups, self.own, self.default = None, {}, "0"
        self.quiet, self.asked, self.beats, self.ticked = 0, 0, [], None

    def tick(self):
        """How many of each group were begun and have ended."""
        words, counts = self.hook.words, {}
        for recorder, told in enumerate(self.recorded(includeCollectives=False)):
            for number, group in told.get("pg_status", {}).items():
                begun, ended = (int(group.get("last_%s_collective" % which, 0)) for which in ("enqueued", "completed"))
                counts[recorder, str(number)] = max(begun, 0), max(ended, 0)
        sums = [sum(count[which] for count in counts.values()) for which in (0, 1)]
        words[self.at.ENQUEUED], words[self.at.COMPLETED] = sums
        has_changed, self.counts, is_first = counts != self.counts, counts, self.ticked is None
        self.quiet = 0 if has_changed else self.quiet + 1
        self.wait(sums[0] > sums[1])
        if has_changed:
            words[self.at.PENDING] = 0
            if not is_first:
                self.hook.quietly(self.beat)
        if has_changed or is_first:
            self.hook.quietly(self.tell_groups)
        if words[self.at.ASKED] != self.asked:
            self.asked = words[self.at.ASKED]
            self.hook.quietly(self.tell, False, RECENT_TOLD)
        elif self.quiet == TICKS_OF_QUIET and sums[0] > sums[1]:
            self.hook.quietly(self.tell, True, PENDING_TOLD)

    def wait(self, is_in_one):
        """How long the rank was in a collective, as far as ticks tell: of ranks that step together the slow one waits least."""
        now, words = time.monotonic_ns(), self.hook.words
        if is_in_one and self.ticked is not None and words[self.at.PHASE] == self.hook.phase.STEP:
            words[self.at.WAITING] += now - self.ticked
        self.ticked = now

    def beat(self):
        """Scripts that make their steps without an optimizer of torch's are known by collectives that go on and on."""
        words, phase = self.hook.words, self.hook.phase
        wanted = {phase.LOAD: BEATS, phase.IMPORT: BEATS, phase.FIRST_STEP: BEATS_OF_FIRST_STEP}.get(words[self.at.PHASE])
        if words[self.at.STEPS] or wanted is None:
            self.beats = []
            return
        self.beats = [*self.beats[-BEATS_OF_FIRST_STEP:], time.monotonic_ns()]
        beats = self.beats[-wanted:]
        longest = max((beats[at + 1] - beats[at] for at in range(len(beats) - 1)), default=0)
        if len(beats) == wanted and longest * 2 <= beats[-1] - beats[0]:
            words[self.at.PHASE], words[self.at.PHASE_SINCE] = phase.STEP, beats[0]
            self.hook.is_report_due = True

    @staticmethod
    def recorded(**what):
        """What torch's flight recorders know; there is one for each kind of process group."""
        import torch._C._distributed_c10d as c10d

        recorders = (getattr(c10d, name, None) for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json"))
        return [json.loads(recorder(**what)) for recorder in recorders if recorder is not None]

    def tell_groups(self):
        """How far the rank is in each of its groups; those in which it waits first."""
        own = self.own_groups()
        unnamed = [key for key in self.counts if key not in self.names and self.asked_names.get(key, 0) < NAMES_ASKED]
        if unnamed:
            self.asked_names.update({key: self.asked_names.get(key, 0) + 1 for key in unnamed})
            for recorder, told in enumerate(self.recorded(includeCollectives=True)):
                self.learn_names(recorder, told)
        rows, seen = [], set()
        for key, count in self.counts.items():
            if key in self.names:
                name, description, has_messages = self.names[key]
                seen.add(name)
                rows.append(self.row(key[0], name, own, count, description, has_messages))
        rows.extend(self.row(0, name, own) for name in own if name not in seen)
        rows.sort(key=lambda row: row["begun"] <= row["ended"])
        while len(text := json.dumps(rows)) > self.at.GROUPS_ROOM:
            rows.pop()
        self.hook.watch.write(self.at.GROUPS, self.at.GROUPS_TEXT, self.at.GROUPS_ROOM, text)

    def row(self, recorder, name, own, count=(0, 0), description="", has_messages=False):
        ranks, size = own.get(name, ([], 0))
        row = {"group": self.identity(recorder, name, own), "name": description or name, "ranks": ranks, "size": size}
        row.update(isDefault=name == self.default, begun=count[0], ended=count[1], hasMessages=has_messages)
        return row

    @staticmethod
    def identity(recorder, name, own):
        """The same on all ranks of a group: halves of a group that was split may have the same name."""
        ranks = own.get(name, ([], 0))[0]
        return "%s/%s/%s" % (name, ranks[0] if ranks else "", recorder)

    def own_groups(self):
        """The first ranks and the size of each group to which this one belongs, by the group's name."""
        from torch.distributed.distributed_c10d import _world

        groups = dict(_world.pg_names)
        if groups != self.groups:
            ranks = {str(name): sorted(_world.pg_group_ranks.get(group, ())) for group, name in groups.items()}
            self.own = {name: (members[:RANKS_TOLD], len(members)) for name, members in ranks.items()}
            self.groups, self.default = groups, str(groups.get(_world.default_pg, "0"))
        return self.own

    def learn_names(self, recorder, told):
        """A group's number differs from rank to rank, its name does not; only entries tell both."""
        for entry in told.get("entries", []):
            name, *description = entry.get("process_group") or [""]
            key, words = (recorder, str(entry.get("pg_id"))), [word for word in description if word not in NAMELESS]
            had = self.names.get(key, (None, None, False))[2]
            # Messages between two ranks are counted too, and the other ranks of the group do not count them.
            self.names[key] = str(name), words[0] if words else "", had or bool(entry.get("is_p2p"))

    def tell(self, only_active, most):
        """The last collectives, oldest first; those that have not ended, or all: to see who has made another one."""
        rows, own = [], self.own_groups()
        for recorder, told in enumerate(self.recorded(includeCollectives=True, onlyActive=only_active)):
            self.learn_names(recorder, told)
            entries = [entry for entry in told.get("entries", []) if not entry.get("is_p2p")]
            recent = len(entries) - most
            for at, entry in enumerate(entries):
                is_done = bool(entry.get("retired"))
                if not is_done or (at >= recent and not only_active):
                    name, group = str(entry["profiling_name"]).rpartition(":")[2], str(entry["process_group"][0])
                    row = {"seq": entry["collective_seq_id"], "name": name, "sizes": str(entry["input_sizes"])}
                    row.update(sizes=row["sizes"][:LONGEST_SIZES], group=self.identity(recorder, group, own), done=is_done)
                    rows.append(row)
        rows = rows[-2 * most :]
        while len(text := json.dumps(rows)) > self.at.PENDING_ROOM:
            rows.pop(0)
        self.hook.watch.write(self.at.PENDING, self.at.PENDING_TEXT, self.at.PENDING_ROOM, text)
        self.hook.quietly(self.tell_groups)
