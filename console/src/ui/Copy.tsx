import { useState } from 'react';
import { IconButton } from './Button';
import { classes } from './classes';
import { CheckIcon, CopyIcon } from './icons';
import { useLabels } from './Labels';

/** Copies also where there is no secure context, as on a plain address of the network. */
async function copy(text: string) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'fixed opacity-0';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

export function Copy({ text, label, className }: { text: string; label?: string; className?: string }) {
  const labels = useLabels();
  const [isCopied, setCopied] = useState(false);
  const press = async () => {
    await copy(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <IconButton
      label={isCopied ? labels.copied : (label ?? labels.copy)}
      size="sm"
      className={className}
      onClick={() => void press()}
    >
      {isCopied ? <CheckIcon className="text-good" /> : <CopyIcon />}
    </IconButton>
  );
}

/** A command or a text to take along. */
export function Command({ text, className }: { text: string; className?: string }) {
  return (
    <div
      className={classes(
        'flex items-start gap-2 rounded-md border border-line bg-sunken py-1 pr-1 pl-3 text-left',
        className,
      )}
    >
      <code className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
        {text}
      </code>
      <Copy text={text} />
    </div>
  );
}
