/** The connection ended, or gave no answer in time: the statement may have taken effect or not. */
export class ConnectionLost extends Error {
  override readonly name: string = 'ConnectionLost';
}

/**
 * The statement or transaction was not sent. To its caller it is as a lost connection: what was committed before it stays, so an
 * answer must not say that nothing was done.
 */
export class NoFreeConnection extends ConnectionLost {
  override readonly name = 'NoFreeConnection';
}

/**
 * Node's name of a system error, such as ECONNREFUSED, of a socket that is ending, or of a certificate that is not accepted; or the
 * driver's of a connection that failed.
 */
const CONNECTION_ERROR = /^(E[A-Z]+$|CONNECT|ERR_(STREAM|TLS|SSL)_|UNABLE_TO_)|CERT/;

/** A failure of the connection as ConnectionLost; others, such as a refusal or a parameter that can't be sent, as they are. */
export function asConnectionLost(error: Error): Error {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string' || !CONNECTION_ERROR.test(code)) return error;
  return new ConnectionLost(`The connection to the database failed: ${error.message || code}`, {
    cause: error,
  });
}
