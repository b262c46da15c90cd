import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import { classes } from './classes';

type Tab<V extends string = string> = { value: V; label: ReactNode };

type TabsProps<V extends string> = {
  value: V;
  onChange: (value: V) => void;
  tabs: readonly Tab<V>[];
  'aria-label': string;
  /** The panel of the chosen tab. */
  children?: ReactNode;
  className?: string;
};

/** Tabs whose choice lives elsewhere, as in the address. */
export function Tabs<V extends string>({ value, onChange, tabs, children, className, ...aria }: TabsProps<V>) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(next as V)} className={className}>
      <Base.List {...aria} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className={classes(
              '-mb-px inline-flex h-9 items-center border-b-2 px-3 text-sm whitespace-nowrap transition-colors outline-offset-[-2px]',
              tab.value === value
                ? 'border-accent font-medium text-text'
                : 'border-transparent text-muted hover:text-text',
            )}
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="outline-none" tabIndex={-1}>
          {tab.value === value ? children : null}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
