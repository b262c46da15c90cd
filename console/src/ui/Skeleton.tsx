import { classes } from './classes';

/** Where something will be; give it the size of what comes. */
export function Skeleton({ className }: { className?: string }) {
  return (
    <div aria-hidden="true" className={classes('animate-pulse rounded-md bg-track/70', className ?? 'h-4 w-full')} />
  );
}

export function SkeletonRows({ count, className }: { count: number; className?: string }) {
  return (
    <div aria-busy="true" className="flex flex-col gap-2 p-4">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all are the same
        <Skeleton key={index} className={className ?? 'h-8'} />
      ))}
    </div>
  );
}
