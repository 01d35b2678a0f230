/**
 * Renders elements as text. No component of the pages is asynchronous: a page asks for its data before it is
 * rendered.
 */
export function rendered(element: unknown): string {
  return String(element);
}
