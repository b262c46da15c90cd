/** Where the console lives, such as `/` or `/fermi/`: found from the address of its own files, never configured. */
export const BASE = import.meta.env.DEV ? '/' : new URL(/* @vite-ignore */ '../', import.meta.url).pathname;

/** The same without the slash at the end, to put paths behind. */
export const PREFIX = BASE.replace(/\/$/, '');
