// Fetches, parses and packs the step times of a large task, so that the page goes on meanwhile.
import type { StepTimes } from './packSteps';
import { StepReader } from './readSteps';

type Asked = { url: string; headers: Record<string, string> };
const page = self as unknown as Worker;

async function read({ url, headers }: Asked): Promise<StepTimes | null> {
  const answer = await fetch(url, { headers });
  if (!answer.ok || !answer.body) return null;
  const reader = new StepReader();
  const parts = answer.body.getReader();
  for (let part = await parts.read(); !part.done; part = await parts.read()) reader.push(part.value);
  return reader.finish();
}

page.onmessage = async ({ data }: MessageEvent<Asked>) => {
  const packed = await read(data).catch(() => null);
  page.postMessage(
    packed,
    Object.values(packed ?? {}).map((part) => part.buffer),
  );
};
