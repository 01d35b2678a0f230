/** The connection ended, or gave no answer in time: the statement may have taken effect or not. */
export class ConnectionLost extends Error {
  override readonly name: string = 'ConnectionLost';
}

/**
 * The statement or transaction was not sent. The caller treats this like a lost connection: earlier commits
 * of the same work stay, so an answer must not say that nothing was done.
 */
export class NoFreeConnection extends ConnectionLost {
  override readonly name = 'NoFreeConnection';
}

/**
 * Node's code of a system error such as ECONNREFUSED, of a socket that is ending or of a rejected
 * certificate; or the driver's code of a failed connection.
 */
const CONNECTION_ERROR = /^(E[A-Z]+$|CONNECT|ERR_(STREAM|TLS|SSL)_|UNABLE_TO_)|CERT/;

/**
 * Returns a failure of the connection as ConnectionLost. Other errors, such as a refusal or a parameter that
 * can't be sent, stay as they are.
 */
export function asConnectionLost(error: Error): Error {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string' || !CONNECTION_ERROR.test(code)) return error;
  return new ConnectionLost(`The connection to the database failed: ${error.message || code}`, {
    cause: error,
  });
}
