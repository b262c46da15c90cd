import { Dialog } from '~/ui/Dialog';
import { useWords } from '~/words';
import { DESTINATIONS } from './navigation';

function Keys({ keys, text }: { keys: string[]; text: string }) {
  return (
    <div className="flex items-center justify-between gap-4 py-1.5">
      <dt className="text-sm text-muted">{text}</dt>
      <dd className="flex gap-1">
        {keys.map((key) => (
          <kbd
            key={key}
            className="min-w-6 rounded border border-line-strong bg-sunken px-1.5 py-0.5 text-center font-sans text-xs"
          >
            {key}
          </kbd>
        ))}
      </dd>
    </div>
  );
}

export function Shortcuts({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const { w } = useWords();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={w.shell.shortcuts}>
      <dl className="divide-y divide-line">
        <Keys keys={['Ctrl', 'K']} text={w.shell.keyPalette} />
        <Keys keys={['/']} text={w.shell.keySearch} />
        <Keys keys={['?']} text={w.shell.keyHelp} />
        <Keys keys={['Esc']} text={w.shell.keyClose} />
        {DESTINATIONS.map((page) => (
          <Keys key={page.to} keys={['g', page.key]} text={w.shell.keyGo.replace('{page}', page.label(w))} />
        ))}
      </dl>
    </Dialog>
  );
}
