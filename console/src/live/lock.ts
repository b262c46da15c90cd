/** A tab of this browser that holds a name, until its work is done or it is closed. */
const LEASE = 5_000;
const RENEW = 1_000;

type Lease = { holder: string; until: number };
/** A tab that waits for a name, and since when. */
type Waiter = Lease & { since: number };

function read<T extends Lease = Lease>(name: string): T | null {
  try {
    const found = JSON.parse(localStorage.getItem(name) ?? 'null') as T | null;
    return found && found.until > Date.now() ? found : null;
  } catch {
    return null;
  }
}

/** Who waits longest is next: without an order a tab may find the name taken whenever it looks. */
function isNext(name: string, holder: string, since: number): boolean {
  const notes = Object.keys(localStorage).filter((key) => key.startsWith(waiting(name, '')));
  const others = notes.map((key) => read<Waiter>(key)).filter((waiter) => waiter !== null);
  return others.every((waiter) => waiter.since > since || (waiter.since === since && waiter.holder >= holder));
}

const waiting = (name: string, holder: string) => `${name} waits ${holder}`;

/** Until the name is let go of, as other tabs are told, or for a while. */
function untilFree(name: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener('storage', heard);
      resolve();
    };
    const heard = ({ key, newValue }: StorageEvent) => {
      if (key === name && newValue === null) done();
    };
    const timer = setTimeout(done, RENEW);
    window.addEventListener('storage', heard);
  });
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const myself = Math.random().toString(36).slice(2);

/**
 * Runs something while no other tab holds the name, and waits for it unless `ifFree`; false where it was not free. The
 * browser keeps such locks on secure addresses alone; on a plain one a note in its storage does, which is renewed.
 */
export async function holding(
  name: string,
  signal: AbortSignal,
  run: (held: AbortSignal) => Promise<unknown>,
  ifFree = false,
): Promise<boolean> {
  if (navigator.locks) {
    const options = ifFree ? { ifAvailable: true } : { signal };
    return navigator.locks.request(name, options, async (lock) => {
      if (!lock) return false;
      await run(signal);
      return true;
    });
  }
  return byNote(name, signal, run, ifFree);
}

async function byNote(
  name: string,
  signal: AbortSignal,
  run: (held: AbortSignal) => Promise<unknown>,
  ifFree: boolean,
): Promise<boolean> {
  const holder = `${myself} ${Math.random().toString(36).slice(2)}`;
  const isMine = () => read(name)?.holder === holder;
  const note = () => localStorage.setItem(name, JSON.stringify({ holder, until: Date.now() + LEASE }));
  const since = Date.now();
  const place = waiting(name, holder);
  try {
    for (;;) {
      if (signal.aborted) return false;
      if (read(name) === null && (ifFree || isNext(name, holder, since))) {
        note();
        // Of several that find it free at once the last to write has it.
        await wait(50 + Math.random() * 100);
        if (isMine()) break;
      }
      if (ifFree) return false;
      localStorage.setItem(place, JSON.stringify({ holder, since, until: Date.now() + LEASE }));
      await untilFree(name);
    }
  } finally {
    localStorage.removeItem(place);
  }
  const lost = new AbortController();
  const leave = () => {
    if (isMine()) localStorage.removeItem(name);
  };
  const timer = setInterval(() => (isMine() || read(name) === null ? note() : lost.abort()), RENEW);
  window.addEventListener('pagehide', leave);
  try {
    await run(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(timer);
    window.removeEventListener('pagehide', leave);
    leave();
  }
  return true;
}
