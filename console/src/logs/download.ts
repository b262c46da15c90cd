import { apiUrl, headers } from '~/api/client';
import { refusal, unreachable } from '~/api/error';
import { chosenRanks, type RankFilter } from './ranks';

export type Wanted = {
  taskId: string;
  ranks: RankFilter;
  stream: string | null;
  attempt: number | null;
  worldSize: number;
};

/** The addresses of what is wanted, to be read one behind the other: the server gives one rank or all of them. */
export function partsOf({ taskId, ranks, stream, attempt, worldSize }: Wanted): string[] {
  return (chosenRanks(ranks, worldSize) ?? [null]).map((rank) => {
    const query = new URLSearchParams();
    if (rank !== null) query.set('rank', String(rank));
    if (stream !== null) query.set('stream', stream);
    if (attempt !== null) query.set('attempt', String(attempt));
    return `/api/v1/training-tasks/${encodeURIComponent(taskId)}/logs?${query}`;
  });
}

/** What the file is called: the task and, where not all ranks are in it, those that are. */
export function fileName({ taskId, ranks }: Pick<Wanted, 'taskId' | 'ranks'>): string {
  const named = ranks?.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
  return `${taskId}${named ? `-rank-${named}` : ''}.log`;
}

async function bodyOf(path: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const response = await fetch(apiUrl(path), { headers: headers({ Accept: 'text/plain' }) });
  if (!response.ok) throw refusal(response, await response.json().catch(() => null));
  return response.body ?? new Blob([]).stream();
}

type Picker = (options: { suggestedName: string }) => Promise<{ createWritable: () => Promise<WritableStream> }>;

/** Where the browser lets a page write a file as its bytes come; null where it does not. */
async function chosenFile(name: string): Promise<WritableStream | null> {
  const pick = (window as { showSaveFilePicker?: Picker }).showSaveFilePicker;
  return pick ? (await pick({ suggestedName: name })).createWritable() : null;
}

async function write(parts: readonly string[], file: WritableStream) {
  try {
    for (const path of parts) await (await bodyOf(path)).pipeTo(file, { preventClose: true, preventAbort: true });
    await file.close();
  } catch (failed) {
    await file.abort();
    throw failed;
  }
}

/** Handed over whole: the browser keeps such parts on the disk rather than in the page. */
async function handOver(parts: readonly string[], name: string) {
  const read: Blob[] = [];
  for (const path of parts) read.push(await new Response(await bodyOf(path)).blob());
  const url = URL.createObjectURL(new Blob(read));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves the bytes as ranks wrote them, one stream behind the other. Who does not choose a file after all gets none. */
export async function download(wanted: Wanted): Promise<void> {
  const name = fileName(wanted);
  try {
    const file = await chosenFile(name);
    await (file ? write(partsOf(wanted), file) : handOver(partsOf(wanted), name));
  } catch (failed) {
    if (failed instanceof DOMException && failed.name === 'AbortError') return;
    // So a connection fails, before an answer and in the middle of one.
    throw failed instanceof TypeError ? unreachable() : failed;
  }
}
