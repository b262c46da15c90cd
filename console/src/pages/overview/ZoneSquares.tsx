import { useNavigate } from '@tanstack/react-router';
import { memo } from 'react';
import { gpuText } from '~/api/environments';
import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { FILLS } from './fills';
import { environmentState } from './zones';

/** One square for each environment, where there are too many to show their workers; a press opens its details. */
export const ZoneSquares = memo(function ZoneSquares({ environments }: { environments: readonly Environment[] }) {
  const { w, say, number } = useWords();
  const navigate = useNavigate();
  const open = (target: EventTarget) => {
    const env = target instanceof HTMLElement ? target.dataset.environment : undefined;
    if (env) void navigate({ to: '/environments', search: { env } });
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the page of environments is the way for the keyboard
    // biome-ignore lint/a11y/noStaticElementInteractions: as above
    <div className="flex flex-wrap content-start gap-1" onClick={(event) => open(event.target)}>
      {environments.map((environment) => {
        const { id, name, workers, workersFree, statusText } = environment;
        const free = w.overview.freeOf(number(workersFree), number(workers.length));
        const text = [name, gpuText(environment), say(statusText), free].filter(Boolean).join(' · ');
        return (
          <span
            key={id}
            role="img"
            aria-label={text}
            title={text}
            data-environment={id}
            className={classes('size-4 cursor-pointer rounded-sm border', FILLS[environmentState(environment)])}
          />
        );
      })}
    </div>
  );
});
