// The source of all words. Each area has a file of its own in zh/ and, with the same shape, in en/.
import * as zh from './zh/index';

export { zh };
export type Words = typeof zh;
