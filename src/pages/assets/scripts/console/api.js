/**
 * Sends requests to the GraphQL API with a bearer token. Only this closure keeps the token: no storage,
 * cookie or address has it.
 */

/** The server answers a mutation after it has waited for the network, by default under half a minute. */
const ANSWER_TIMEOUT_MS = 60_000;
/** The server accepts these texts, and a header can carry them. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** An error of the API, with its code and path. */
export class ApiError extends Error {
  constructor({ message, path, extensions = {} }) {
    super(message);
    this.code = extensions.code ?? 'INTERNAL_SERVER_ERROR';
    this.retryAfterSeconds = extensions.retryAfterSeconds ?? null;
    this.rootField = path?.[0] ?? null;
    this.field = path?.at(-1) ?? null;
  }
}

/** No answer came: whether the operation was executed is unknown. */
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
  /** The server's clock, from its answers, minus this machine's clock. */
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

  /** @returns the data, and the errors beside it @throws ApiError when there is no data, NoAnswer */
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
    /** For answers that must be complete, such as a mutation's. @throws ApiError, NoAnswer */
    async act(query, variables) {
      const { data, errors } = await ask(query, variables);
      if (errors.length > 0) throw errors[0];
      return data;
    },
    /** Reads the text of another address of this server. @throws ApiError, NoAnswer */
    async read(path) {
      const { status, text } = await send(path, { method: 'GET' });
      if (status === 200) return text;
      throw new ApiError(parsed(text)?.errors?.[0] ?? { message: `${path} answered ${status}.` });
    },
    nowSeconds: () => Math.floor((Date.now() + clockOffsetMs) / 1000),
    /** `close` aborts it. */
    signal: closing.signal,
    /** Forgets the token, and aborts requests under way. */
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
