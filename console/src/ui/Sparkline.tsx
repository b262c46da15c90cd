/** The course of a value, without axes. */
export function Sparkline({
  values,
  label,
  width = 96,
  height = 24,
}: {
  values: readonly number[];
  label: string;
  width?: number;
  height?: number;
}) {
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return <span style={{ width, height }} className="inline-block" />;
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low || 1;
  const points = finite.map((value, index) => {
    const x = (index / (finite.length - 1)) * (width - 2) + 1;
    return `${x.toFixed(1)},${(height - 2 - ((value - low) / span) * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="shrink-0 text-accent"
    >
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  );
}
