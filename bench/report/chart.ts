/**
 * A chart of ratios: one bar a row, with a mark at the target; logarithmic when the ratios differ much.
 */
import { showNumber, type RowResult } from '../row.ts';

const WIDTH = 860;
const LABEL_WIDTH = 330;
const VALUE_WIDTH = 110;
const BAR_HEIGHT = 18;
const ROW_HEIGHT = 34;
const TOP = 44;
const BOTTOM = 24;
/** Ratios that are further apart than this get a logarithmic scale. */
const LINEAR_UP_TO = 20;

const REACHED = '#1a7f37';
const MISSED = '#b3541e';
const INK = '#24292f';
const MARK = '#57606a';

export function chartOf(group: string, rows: readonly RowResult[]): string {
  const targetOf = ({ target }: RowResult) => target.atLeast ?? target.atMost ?? 1;
  const values = rows.flatMap((row) => [row.ratio, targetOf(row), 1]).filter((value) => value > 0);
  const scale = scaleOf(Math.min(...values), Math.max(...values));
  const height = TOP + rows.length * ROW_HEIGHT + BOTTOM;
  const bars = rows.map((row, i) => {
    const y = TOP + i * ROW_HEIGHT;
    const colour = row.isReached ? REACHED : MISSED;
    const mark = LABEL_WIDTH + scale(targetOf(row));
    return [
      text(LABEL_WIDTH - 12, y + 13, row.title, 'end'),
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${Math.max(scale(row.ratio), 1).toFixed(1)}" height="${BAR_HEIGHT}" rx="2" fill="${colour}"/>`,
      `<line x1="${mark.toFixed(1)}" x2="${mark.toFixed(1)}" y1="${y - 5}" y2="${y + BAR_HEIGHT + 5}" stroke="${MARK}" stroke-width="2" stroke-dasharray="3 2"/>`,
      text(WIDTH - VALUE_WIDTH + 12, y + 13, showNumber(row.ratio), 'start', colour),
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" role="img">`,
    `<title>${escape(group)}: ratio of product to baseline</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(12, 22, `${group}: product ÷ baseline (dashed: the target)`, 'start'),
    ...bars,
    '</svg>',
    '',
  ].join('\n');
}

function scaleOf(lowest: number, highest: number): (value: number) => number {
  const room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  if (highest / lowest <= LINEAR_UP_TO) return (value) => (value / highest) * room;
  const from = Math.log10(lowest) - 0.2;
  const span = Math.log10(highest) - from;
  return (value) => ((Math.log10(value) - from) / span) * room;
}

function text(x: number, y: number, content: string, anchor: 'start' | 'end', fill = INK): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
