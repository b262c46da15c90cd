import { queryOptions } from '@tanstack/react-query';
import { apiUrl, client, headers, q } from './client';
import { packSteps, type StepTimes } from './packSteps';
import { keys } from './queries';

/** The worker's answer, or null where it had none: the page then asks itself, and tells what was refused. */
function byWorker(url: string, signal: AbortSignal): Promise<StepTimes | null> {
  if (typeof Worker === 'undefined') return Promise.resolve(null);
  const worker = new Worker(new URL('./stepTimes.worker.ts', import.meta.url), { type: 'module' });
  return new Promise<StepTimes | null>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    worker.onmessage = ({ data }: MessageEvent<StepTimes | null>) => resolve(data);
    worker.onerror = () => resolve(null);
    worker.postMessage({ url: new URL(url, window.location.href).href, headers: headers() });
  }).finally(() => worker.terminate());
}

/** Step times of every rank of a large task, read beside the page's own thread: they are megabytes. */
export const stepTimesQuery = (id: string, maxPoints: number) =>
  queryOptions({
    queryKey: [...keys.task(id), 'stepTimes', maxPoints],
    queryFn: async ({ signal }) => {
      const query = { series: 'stepTimeS', maxPoints };
      const path = `/api/v1/training-tasks/${encodeURIComponent(id)}/metrics?series=${query.series}&maxPoints=${maxPoints}`;
      const found = await byWorker(apiUrl(path), signal);
      if (found) return found;
      const call = client.GET('/api/v1/training-tasks/{id}/metrics', { params: { path: { id }, query }, signal });
      return packSteps((await q(call)).series);
    },
    structuralSharing: false,
  });
