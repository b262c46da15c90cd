import { commandLine, quoted } from '~/api/argv';

type Env = Record<string, string>;

/** A variable of a rank beside the same one of another; null where one of the two does not have it. */
export type VariableRow = { name: string; value: string | null; other: string | null; isDifferent: boolean };

/** All variables of both, by name. Without another rank nothing is different. */
export function variableRows(env: Env, other: Env | null): VariableRow[] {
  const names = new Set([...Object.keys(env), ...Object.keys(other ?? {})]);
  return [...names]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => {
      const [value, beside] = [env[name] ?? null, (other ?? env)[name] ?? null];
      return { name, value, other: beside, isDifferent: value !== beside };
    });
}

/** Those whose name or value holds the text, whatever its case. */
export function foundRows(rows: readonly VariableRow[], text: string, isDifferentOnly: boolean): VariableRow[] {
  const wanted = text.trim().toLowerCase();
  const holds = (part: string | null) => part?.toLowerCase().includes(wanted) ?? false;
  return rows.filter(
    ({ name, value, other, isDifferent }) =>
      (isDifferent || !isDifferentOnly) && (holds(name) || holds(value) || (isDifferent && holds(other))),
  );
}

/** Variables as lines that a shell takes. */
export function shellVariables(env: Env): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join('\n');
}

/** One command that starts the same again: in its folder, with its variables. */
export function wholeCommand({
  argv,
  directory,
  env,
}: {
  argv: string[];
  directory?: string | null;
  env: Env;
}): string {
  // `env` takes names that a shell does not.
  const words = ['env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...argv];
  const line = commandLine(words);
  return directory ? `cd ${quoted(directory)} && ${line}` : line;
}
