import { useEffect, useState } from 'react';
import { useLogInMissing } from '~/api/session';
import { useLiveState } from '~/live/Live';
import { useWords } from '~/words';

/** A connection that comes back within this time is not worth a word. */
const PATIENCE = 4_000;

export function ConnectionBanner() {
  const { w } = useWords();
  const state = useLiveState();
  const isLogInMissing = useLogInMissing();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (state !== 'waiting') return;
    const timer = setTimeout(() => setLong(true), PATIENCE);
    return () => clearTimeout(timer);
  }, [state]);
  // Who has to log in first is asked to; that the stream is refused too says nothing more.
  if (isLogInMissing || state === 'live' || (state === 'waiting' && !isLong)) return null;
  return (
    <div role="status" className="border-b border-warn/30 bg-warn-soft px-4 py-1.5 text-center text-sm text-warn">
      {state === 'mute' ? w.shell.muteTitle : w.shell.lostTitle}
    </div>
  );
}
