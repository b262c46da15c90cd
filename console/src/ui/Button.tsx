import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { classes } from './classes';

type ButtonTone = 'primary' | 'plain' | 'ghost' | 'danger';

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  tone?: ButtonTone;
  size?: 'sm' | 'md' | 'lg';
  icon?: ReactNode;
  /** Why it cannot be pressed: it stays visible and focusable, and says so. */
  disabledReason?: string | null | undefined;
  isBusy?: boolean;
  ref?: Ref<HTMLButtonElement>;
};

const TONES: Record<ButtonTone, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent',
  plain: 'bg-surface text-text border-line-strong hover:bg-hover',
  ghost: 'bg-transparent text-muted border-transparent hover:bg-hover hover:text-text',
  danger: 'bg-surface text-bad border-line-strong hover:bg-bad-soft',
};
const SIZES = { sm: 'h-7 px-2.5 text-xs gap-1.5', md: 'h-8 px-3 text-sm gap-2', lg: 'h-10 px-4 text-base gap-2' };

/** The look of a button, for links that are one. */
export function buttonClass(tone: ButtonTone = 'plain', size: 'sm' | 'md' | 'lg' = 'md', extra?: string) {
  return classes(
    'inline-flex shrink-0 items-center justify-center rounded-md border font-medium whitespace-nowrap transition-colors select-none disabled:opacity-50 aria-disabled:opacity-50',
    TONES[tone],
    SIZES[size],
    extra,
  );
}

export function Button({
  tone = 'plain',
  size = 'md',
  icon,
  disabledReason,
  isBusy,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const isBlocked = Boolean(disabledReason) || isBusy;
  return (
    <button
      type="button"
      {...rest}
      title={disabledReason ?? rest.title}
      aria-disabled={isBlocked || undefined}
      onClick={isBlocked ? (event) => event.preventDefault() : onClick}
      className={buttonClass(tone, size, className)}
    >
      {isBusy ? <Spinner /> : icon}
      {children}
    </button>
  );
}

function Spinner() {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" className="animate-spin" aria-hidden="true">
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeDasharray="28"
        strokeDashoffset="10"
      />
    </svg>
  );
}

/** A square button with an icon; the label is read and shown on hover. */
export function IconButton({ label, children, className, ...rest }: ButtonProps & { label: string }) {
  return (
    <Button
      tone="ghost"
      {...rest}
      aria-label={label}
      title={rest.disabledReason ?? label}
      className={classes('w-8 !px-0', className)}
    >
      {children}
    </Button>
  );
}
