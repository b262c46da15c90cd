import { classes } from './classes';

/** A text of many lines, such as a file: it scrolls, with the keyboard too. */
export function LongText({ label, text, className }: { label: string; text: string; className?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by the keyboard
    <section aria-label={label} tabIndex={0} className={classes('max-h-96 overflow-auto', className)}>
      <pre className="font-mono text-xs leading-5">{text}</pre>
    </section>
  );
}
