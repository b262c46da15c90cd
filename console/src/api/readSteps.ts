import { StepPacker, type StepTimes } from './packSteps';
import type { Metrics, Series } from './types';

const LIST = '"series":[';
/** What stands between two series, and nowhere within one but in a name that nobody gives. */
const BETWEEN = ']},{';

/** Step times out of an answer as it comes: when its last byte is there, all but the last part is read. */
export class StepReader {
  private readonly decoder = new TextDecoder();
  private readonly packer = new StepPacker();
  /** What stands before the list, once that has begun. */
  private head: string | null = null;
  private text = '';

  push(part: Uint8Array) {
    this.text += this.decoder.decode(part, { stream: true });
    if (this.head === null) {
      const begin = this.text.indexOf(LIST);
      if (begin < 0) return;
      this.head = this.text.slice(0, begin + LIST.length);
      this.text = this.text.slice(begin + LIST.length);
    }
    const end = this.text.lastIndexOf(BETWEEN);
    if (end < 0) return;
    this.packer.add(JSON.parse(`[${this.text.slice(0, end + 2)}]`) as Series[]);
    this.text = this.text.slice(end + 3);
  }

  /** Reads the rest; what is not whole throws. */
  finish(): StepTimes {
    const answer = JSON.parse(`${this.head ?? ''}${this.text}${this.decoder.decode()}`) as { data: Metrics };
    this.packer.add(answer.data.series);
    return this.packer.packed();
  }
}
