import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { environmentsQuery } from '~/api/queries';
import { firstTasksQuery } from '~/api/taskPages';
import { classes } from '~/ui/classes';
import { SearchIcon } from '~/ui/icons';
import { flipTheme } from '~/ui/theme';
import { currentLanguage, speak, useWords } from '~/words';
import { DESTINATIONS } from './navigation';

type Entry = { id: string; section: string; label: string; note?: string; run: () => void };

const MOST = 8;

function useEntries(text: string, onHelp: () => void): Entry[] {
  const { w, say } = useWords();
  const navigate = useNavigate();
  const wanted = text.trim().toLowerCase();
  const environments = useQuery(environmentsQuery());
  // A double quote would end the value within the filter.
  const filter = wanted ? `name~"${wanted.replaceAll('"', '')}"` : undefined;
  const tasks = useQuery(firstTasksQuery(filter ? { filter } : {}, MOST));
  const has = (label: string) => label.toLowerCase().includes(wanted);

  const pages = DESTINATIONS.map((page) => ({
    id: page.to,
    section: w.shell.pages,
    label: page.label(w),
    note: page.to,
    run: () => void navigate({ to: page.to }),
  })).filter((entry) => has(entry.label) || has(entry.note));
  const actions = [
    { id: 'theme', section: w.shell.actions, label: w.shell.switchTheme, run: flipTheme },
    {
      id: 'language',
      section: w.shell.actions,
      label: w.shell.switchLanguage,
      run: () => speak(currentLanguage() === 'en' ? 'zh-CN' : 'en'),
    },
    { id: 'help', section: w.shell.actions, label: w.shell.shortcuts, run: onHelp },
  ].filter((entry) => has(entry.label));
  // The answer to an earlier text may still stand here.
  const named = (tasks.data?.items ?? []).filter((task) => has(task.name));
  const found = named.map((task) => ({
    id: task.id,
    section: w.shell.tasks,
    label: task.name,
    note: say(task.statusText),
    run: () => void navigate({ to: '/training/$id', params: { id: task.id } }),
  }));
  const places = (environments.data?.items ?? [])
    .filter((environment) => has(environment.name))
    .slice(0, wanted ? MOST : 0)
    .map((environment) => ({
      id: environment.id,
      section: w.shell.environmentsList,
      label: environment.name,
      note: environment.zone ?? '',
      run: () => void navigate({ to: '/environments', search: { env: environment.id } }),
    }));
  return [...pages, ...found, ...places, ...actions];
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const { w } = useWords();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(text, onHelp);
  const chosen = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && entries.length > 0) {
      event.preventDefault();
      setAt((chosen + step + entries.length) % entries.length);
    } else if (event.key === 'Enter') run(entries[chosen]);
  };
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fade fixed inset-0 z-40 bg-overlay" />
        <Dialog.Popup
          aria-label={w.shell.palette}
          className="fade fixed top-[12vh] left-1/2 z-50 flex max-h-[70vh] w-[calc(100vw-32px)] max-w-140 -translate-x-1/2 flex-col overflow-hidden rounded-xl border border-line bg-raised shadow-pop"
        >
          <div className="flex items-center gap-3 border-b border-line px-4">
            <SearchIcon className="text-faint" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={entries[chosen] ? `palette-${chosen}` : undefined}
              aria-label={w.shell.paletteHint}
              placeholder={w.shell.paletteHint}
              value={text}
              onChange={(event) => {
                setText(event.currentTarget.value);
                setAt(0);
              }}
              onKeyDown={press}
              className="h-12 flex-1 bg-transparent text-base outline-none"
            />
          </div>
          <div id="palette-list" role="listbox" aria-label={w.shell.palette} className="min-h-0 overflow-y-auto p-2">
            {entries.length === 0 ? (
              <p className="px-3 py-6 text-center text-sm text-muted">{w.shell.paletteEmpty}</p>
            ) : null}
            {entries.map((entry, index) => (
              <div key={`${entry.section} ${entry.id}`} role="presentation">
                {entry.section !== entries[index - 1]?.section ? (
                  <p role="presentation" className="px-3 pt-2 pb-1 text-2xs font-medium text-faint">
                    {entry.section}
                  </p>
                ) : null}
                {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's */}
                <div
                  id={`palette-${index}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={index === chosen}
                  ref={index === chosen ? (element) => element?.scrollIntoView({ block: 'nearest' }) : undefined}
                  onPointerMove={() => setAt(index)}
                  onClick={() => run(entry)}
                  className={classes(
                    'flex h-9 items-center gap-3 rounded-md px-3 text-sm',
                    index === chosen && 'bg-accent-soft text-accent',
                  )}
                >
                  <span className="min-w-0 flex-1 truncate">{entry.label}</span>
                  {entry.note ? <span className="max-w-1/2 truncate text-xs text-faint">{entry.note}</span> : null}
                </div>
              </div>
            ))}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
