import { apiUrl, headers } from '~/api/client';
import { refusal } from '~/api/error';
import { onlyRank, type RankFilter } from './ranks';

/** Saves the bytes as ranks wrote them: of one rank, or of all, one stream behind the other. */
export async function download(taskId: string, ranks: RankFilter, attempt: number | null): Promise<void> {
  const query = new URLSearchParams();
  const rank = onlyRank(ranks);
  if (rank !== null) query.set('rank', String(rank));
  if (attempt !== null) query.set('attempt', String(attempt));
  const path = apiUrl(`/api/v1/training-tasks/${encodeURIComponent(taskId)}/logs?${query}`);
  const response = await fetch(path, { headers: headers({ Accept: 'text/plain' }) });
  if (!response.ok) throw refusal(response, await response.json().catch(() => null));
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = `${taskId}${rank === null ? '' : `-rank-${rank}`}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
