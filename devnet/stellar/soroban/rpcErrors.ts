/**
 * Errors that a node's method answers with, instead of a result.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The answer is ready, but the connection breaks before it is sent. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
}

export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;
export const METHOD_NOT_FOUND = -32_601;
