/**
 * Questions to the GraphQL API with a bearer token, which is held here and nowhere else: not in storage, a cookie or an address.
 */

/** The server answers a mutation after its own wait for the network, which is under half a minute by default. */
const ANSWER_TIMEOUT_MS = 60_000;
/** What the server accepts, and what a header can carry. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** An error of the API, as it is. */
export class ApiError extends Error {
  constructor({ message, path, extensions = {} }) {
    super(message);
    this.code = extensions.code ?? 'INTERNAL_SERVER_ERROR';
    this.retryAfterSeconds = extensions.retryAfterSeconds ?? null;
    this.rootField = path?.[0] ?? null;
    this.field = path?.at(-1) ?? null;
  }
}

/** Whether the operation has run is not known. */
class NoAnswer extends Error {}

/** @returns null for a text that can't be a token */
export function readToken(text) {
  const token = text.trim().replace(/^bearer\s+/i, '');
  return TOKEN.test(token) ? token : null;
}

/** @param token kept until `close` */
export function createApi(token) {
  const closing = new AbortController();
  let held = token;
  /** The server's clock, by its answers, minus this machine's. */
  let clockOffsetMs = 0;

  async function send(path, init) {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
    try {
      const response = await fetch(path, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${held}` },
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        signal,
      });
      const date = Date.parse(response.headers.get('date') ?? '');
      if (!Number.isNaN(date)) clockOffsetMs = date - Date.now();
      return { status: response.status, text: await response.text() };
    } catch (error) {
      throw new NoAnswer(error instanceof Error ? error.message : String(error));
    }
  }

  /** @returns the data, and the errors beside it. @throws ApiError when there is no data, NoAnswer */
  async function ask(query, variables = {}) {
    const { status, text } = await send('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json, application/json',
      },
      body: JSON.stringify({ query, variables }),
    });
    const answer = parsed(text);
    // A proxy in between may answer with a page of its own.
    if (answer === null || typeof answer !== 'object')
      throw new NoAnswer(`The answer is no JSON (HTTP ${status}).`);
    const errors = (answer.errors ?? []).map((error) => new ApiError(error));
    if (answer.data == null) throw errors[0] ?? new NoAnswer(`The answer is empty (HTTP ${status}).`);
    return { data: answer.data, errors };
  }

  return {
    ask,
    /** For what has to be whole: a mutation. @throws ApiError, NoAnswer */
    async act(query, variables) {
      const { data, errors } = await ask(query, variables);
      if (errors.length > 0) throw errors[0];
      return data;
    },
    /** The text of another address of this server. @throws ApiError, NoAnswer */
    async read(path) {
      const { status, text } = await send(path, { method: 'GET' });
      if (status === 200) return text;
      throw new ApiError(parsed(text)?.errors?.[0] ?? { message: `${path} answered ${status}.` });
    },
    nowSeconds: () => Math.floor((Date.now() + clockOffsetMs) / 1000),
    /** Aborted by `close`. */
    signal: closing.signal,
    /** Forgets the token, and ends what is under way. */
    close() {
      held = '';
      closing.abort();
    },
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
