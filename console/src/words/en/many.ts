/** `1 task`, `2 tasks`; the number comes as it is written. */
export const many = (count: string, one: string, more = `${one}s`): string => `${count} ${count === '1' ? one : more}`;
