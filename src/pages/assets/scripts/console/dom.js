/**
 * Makes elements from texts, never from HTML, so the page shows strangers' texts and executes nothing of
 * them.
 */
import { isoOf, shown, timeOf } from '../text.js';

/** @param parts elements and texts; null is left out */
export function element(name, attributes, ...parts) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key, value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...parts.filter((part) => part !== null));
  return made;
}

/** A text that strangers wrote, or that may contain one. */
export function foreign(text, max = 600) {
  return element('bdi', { class: 'foreign' }, shown(text, max));
}

export function code(text) {
  return element('code', { class: 'hash' }, shown(text, 200));
}

/** A time, shown as its age; `showAges` updates it. */
export function age(unixSeconds) {
  return element('time', {
    datetime: isoOf(unixSeconds),
    title: timeOf(unixSeconds),
    'data-age': String(unixSeconds),
  });
}

export function showAges(root, nowSeconds) {
  for (const time of root.querySelectorAll('time[data-age]')) {
    const text = ageText(nowSeconds - Number(time.dataset.age));
    if (time.textContent !== text) time.textContent = text;
  }
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

function ageText(seconds) {
  const size = Math.abs(seconds);
  const [unit, name] = UNITS.find(([length]) => size >= length * (length === 1 ? 1 : 2)) ?? [1, 's'];
  const text = `${Math.floor(size / unit)} ${name}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** Names and values; rows with null are left out. */
export function facts(...pairs) {
  const rows = pairs
    .filter(([, value]) => value !== null)
    .map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, ...[value].flat())),
    );
  return element('dl', { class: 'facts' }, ...rows);
}

/** The item from which each element was made. */
const contents = new WeakMap();

/**
 * Shows items in `list`, each under its key. Elements of unchanged items stay, so that focus and text
 * selection are kept; the focus of a removed item moves to `list`. The element after the list may hold the
 * text for an empty list.
 */
export function showItems(list, items, keyOf, elementOf) {
  const none = list.nextElementSibling;
  if (none?.classList.contains('none')) none.hidden = items.length > 0;
  const before = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const hadFocus = list.contains(document.activeElement) && document.activeElement !== list;
  const wanted = items.map((item) => {
    const [key, content] = [keyOf(item), JSON.stringify(item)];
    const known = before.get(key);
    if (known && contents.get(known) === content) return known;
    const made = elementOf(item);
    made.dataset.key = key;
    contents.set(made, content);
    return made;
  });
  if (
    wanted.length === list.children.length &&
    wanted.every((child, place) => child === list.children[place])
  )
    return;
  list.replaceChildren(...wanted);
  if (hadFocus && !list.contains(document.activeElement)) list.focus();
}
