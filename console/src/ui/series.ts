/** The background in the colour of the n-th series or rank; neighbours differ, and after eight it begins again. */
export const seriesClass = (at: number): string =>
  [
    'bg-(--chart-1)',
    'bg-(--chart-2)',
    'bg-(--chart-3)',
    'bg-(--chart-4)',
    'bg-(--chart-5)',
    'bg-(--chart-6)',
    'bg-(--chart-7)',
    'bg-(--chart-8)',
  ][at % 8] ?? '';
