import { client, q } from './client';
import { ApiError } from './error';
import type { BulkAnswer } from './types';

/** Processes of a task that has just ended are soon gone: so often it is asked again, and so far apart. */
const TRIES = 10;
const PAUSE = 500;
/** What the server says while they are there. */
const NOT_SWEPT = 'not_swept';
const CONFLICT = 409;

const moment = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Deletes a task, as soon as that can be done. */
export async function deleteTask(id: string): Promise<unknown> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await q(client.DELETE('/api/v1/training-tasks/{id}', { params: { path: { id } } }));
    } catch (refused) {
      if (left === 0 || !(refused instanceof ApiError && refused.id === NOT_SWEPT)) throw refused;
    }
    await moment(PAUSE);
  }
}

type Ask = (ids: string[]) => Promise<BulkAnswer>;
const askAll: Ask = (ids) => q(client.POST('/api/v1/training-tasks/bulk', { body: { action: 'delete', ids } }));

/** Deletes tasks in one call, and asks again for those that come too early for it. */
export async function deleteTasks(ids: string[], ask = askAll, pause = PAUSE): Promise<BulkAnswer> {
  const { results } = await ask(ids);
  for (let left = TRIES; left > 0; left -= 1) {
    const early = results.filter(({ code }) => code === CONFLICT).map(({ id }) => id);
    if (early.length === 0) break;
    await moment(pause);
    const again = new Map((await ask(early)).results.map((result) => [result.id, result]));
    results.forEach((result, at) => {
      results[at] = again.get(result.id) ?? result;
    });
  }
  const succeeded = results.filter(({ code }) => code === 200).length;
  return { results, succeeded, failed: results.length - succeeded };
}
