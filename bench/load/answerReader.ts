/**
 * Reads HTTP responses from a socket: responses with a declared length, and chunked ones.
 */
const END_OF_HEAD = '\r\n\r\n';
const END_OF_CHUNKS = '0\r\n\r\n';

/** @param onAnswer receives each whole body; a chunked body still contains the sizes of its chunks */
export function createAnswerReader(onAnswer: (body: string) => void): (data: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  /** Bytes of the response under way, once its head has been read, if it declares a length. */
  let neededBytes: number | undefined;
  return (data) => {
    parts.push(data);
    length += data.length;
    if (neededBytes !== undefined && length < neededBytes) return;
    const text = (parts.length === 1 ? data : Buffer.concat(parts, length)).toString('latin1');
    const headEnd = text.indexOf(END_OF_HEAD);
    if (headEnd === -1) return;
    const bodyStart = headEnd + END_OF_HEAD.length;
    const declared = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, bodyStart))?.[1];
    if (declared === undefined) {
      if (!text.endsWith(END_OF_CHUNKS)) return;
    } else {
      neededBytes = bodyStart + Number(declared);
      if (length < neededBytes) return;
    }
    parts = [];
    length = 0;
    neededBytes = undefined;
    onAnswer(text.slice(bodyStart));
  };
}
