/**
 * A text that was cut out of a longer one, such as an entry of a header, a parameter of a URL or a literal of
 * a document, keeps the longer one in memory: V8 refers to it instead of copying. A collection that keeps
 * such texts for longer than their request holds up to a hundred kilobytes for each, whatever its limit says.
 */

/** The same text in memory of its own. */
export function ownText(text: string): string {
  // The parser copies; methods of strings, such as replace and toLowerCase, may return what they were given.
  return JSON.parse(JSON.stringify(text)) as string;
}
