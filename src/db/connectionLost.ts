/** The connection ended, or gave no answer in time: the statement may have taken effect or not. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}
