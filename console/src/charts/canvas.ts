import { useLayoutEffect, useRef, useState } from 'react';
import { useColours } from './colours';

/**
 * A canvas as wide as its place, drawn again when its size, the colours or what `draw` knows change.
 * It is drawn before the browser paints, so that it is seen with what stands around it.
 */
export function useCanvas(height: number, draw: (context: CanvasRenderingContext2D, width: number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const turn = useColours();
  useLayoutEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return;
    setWidth(parent.clientWidth);
    const watcher = new ResizeObserver(() => setWidth(parent.clientWidth));
    watcher.observe(parent);
    return () => watcher.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the turn says that colours have changed
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    draw(context, width);
  }, [width, height, draw, turn]);
  return { canvas, width };
}
