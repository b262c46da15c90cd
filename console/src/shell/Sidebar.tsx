import { Link } from '@tanstack/react-router';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { SECTIONS } from './navigation';

const ITEM =
  'flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-muted transition-colors hover:bg-hover hover:text-text';

export function Sidebar({ onNavigate, className }: { onNavigate?: () => void; className?: string }) {
  const { w } = useWords();
  return (
    <nav aria-label={w.shell.navigation} className={classes('flex flex-col gap-4 overflow-y-auto p-3', className)}>
      {SECTIONS.map((section) => (
        <div key={section.pages[0]?.to} className="flex flex-col gap-0.5">
          {section.label ? <p className="px-2.5 pb-1 text-2xs font-medium text-faint">{section.label(w)}</p> : null}
          {section.pages.map((page) => (
            <Link
              key={page.to}
              to={page.to}
              onClick={onNavigate}
              activeOptions={{ exact: page.to === '/' || page.to === '/training', includeSearch: false }}
              className={ITEM}
              activeProps={{
                className: classes(ITEM, 'bg-accent-soft !text-accent font-medium'),
                'aria-current': 'page',
              }}
            >
              <page.icon className="shrink-0" />
              <span className="truncate">{page.label(w)}</span>
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}
