/**
 * Maps all spellings of a text that people write to one key: letter case, white space, full-width and other
 * compatible forms, kinds of hyphens, and characters that can't be seen make no difference. Texts copied from
 * documents and typed on other keyboards differ in these.
 *
 * Keys are stored, and salts of tokens are made of them, so the key of a text must never change.
 */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
/** The minus sign counts as a hyphen. */
const HYPHEN = /[\p{Pd}\u2212]/gu;

export function spellingKey(text: string): string {
  const seen = text.normalize('NFKC').replaceAll(UNSEEN, '').replaceAll(HYPHEN, '-');
  return seen.toLowerCase().normalize('NFKC').replaceAll(/\s+/g, ' ').trim();
}
