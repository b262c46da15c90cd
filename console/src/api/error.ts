/** A refusal: what the server says, in the language of the page, or that it cannot be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly id: string,
    readonly text: string,
    readonly hint: string | null,
    readonly field: string | null,
    readonly requestId: string | null,
  ) {
    super(text);
    this.name = 'ApiError';
  }

  get isUnreachable() {
    return this.status === 0;
  }
}

/** Nobody answers: the words for it are those of the page. */
export const unreachable = () => new ApiError(0, 'unreachable', '', null, null, null);

type FailureBody = { message?: string; error?: { id?: string; field?: string | null; hint?: string | null } };

/** What a proxy says of a server that is away. The server's own word comes in its envelope. */
const AWAY = [502, 503, 504];

/** Reads the refusal from an answer whose body may be anything. */
export function refusal(response: Response, body: unknown): ApiError {
  const failure: FailureBody = typeof body === 'object' && body !== null ? body : {};
  if (AWAY.includes(response.status) && failure.error === undefined) return unreachable();
  return new ApiError(
    response.status,
    failure.error?.id ?? `http_${response.status}`,
    failure.message ?? `HTTP ${response.status}`,
    failure.error?.hint ?? null,
    failure.error?.field ?? null,
    response.headers.get('x-request-id'),
  );
}

type Away = { unreachable: string; unreachableHint: string };

/** Why an act was not done, as a form says it, and what is said of a field; that nobody answers is in the words of the page. */
export function refusalOf(error: Error | null, away: Away) {
  const known = error instanceof ApiError ? error : null;
  const [text, hint] = known?.isUnreachable ? [away.unreachable, away.unreachableHint] : [known?.text, known?.hint];
  const whole = known ? [text, hint].filter(Boolean).join(' · ') : error ? String(error.message) : null;
  return {
    text: whole,
    at: (field: string) => (known?.field === field ? whole : null),
    id: known?.id ?? null,
  };
}
