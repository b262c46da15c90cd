// English, in the shape of zh.ts: what is missing does not compile.
import * as areas from './en/index';
import type { Words } from './zh';

export const en: Words = areas;
