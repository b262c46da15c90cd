import uPlot from 'uplot';

/** Shows a place of the axis on all plots of a group; null hides it. */
export function pointAt(group: string, x: number | null) {
  for (const plot of uPlot.sync(group).plots) {
    // What follows a group without being a plot has no cursor to set.
    if (!(plot instanceof uPlot)) continue;
    plot.setCursor(x === null ? { left: -10, top: -10 } : { left: plot.valToPos(x, 'x'), top: 0 }, true);
  }
}

/** Tells which place of the axis is pointed at on a plot of a group. Returns how to stop. */
export function followPointer(group: string, tell: (x: number | null) => void): () => void {
  const sync = uPlot.sync(group);
  const pub = (type: string, plot: uPlot, left: number) => {
    if (type === 'mousemove' || type === 'mouseleave') tell(left < 0 ? null : plot.posToVal(left, 'x'));
  };
  // Of those who follow, uPlot calls nothing but this.
  const follower = { pub } as unknown as uPlot;
  sync.sub(follower);
  return () => sync.unsub(follower);
}
