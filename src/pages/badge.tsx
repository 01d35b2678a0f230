/**
 * A small picture of a certificate, for other sites. It contains no text of strangers.
 */
import type { PageAnswer } from '../http/server/pages.ts';
import type { CertificateRecord } from './certificateRecord.ts';
import { rendered } from './layout.tsx';
import { grouped } from './text.ts';

const LABEL_WIDTH = 92;
const CHARACTER_WIDTH = 7.2;

export function badge({ tonnes, project }: CertificateRecord): PageAnswer {
  const value = `${grouped(tonnes)} t CO₂e · ${project.vintageYear}`;
  const width = Math.ceil(LABEL_WIDTH + 20 + value.length * CHARACTER_WIDTH);
  const picture = (
    <svg xmlns="http://www.w3.org/2000/svg" width={width} height="28" viewBox={`0 0 ${width} 28`} role="img">
      <title>{`Retired: ${value}`}</title>
      <rect width={width} height="28" rx="3" fill="#fff" stroke="#1f4d3a" />
      <path d={`M3 0h${LABEL_WIDTH}v28h-${LABEL_WIDTH}a3 3 0 0 1-3-3v-22a3 3 0 0 1 3-3z`} fill="#1f4d3a" />
      <g font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
        <text x="10" y="18" fill="#fff">
          CO₂ retired
        </text>
        <text x={LABEL_WIDTH + 11} y="18" fill="#17211c">
          {value}
        </text>
      </g>
    </svg>
  );
  return {
    status: 200,
    headers: {
      'content-type': 'image/svg+xml; charset=utf-8',
      // A record never changes, but a new version of this server may change its picture.
      'cache-control': 'public, max-age=86400',
      // Pages of other sites may show the picture.
      'cross-origin-resource-policy': 'cross-origin',
    },
    body: rendered(picture),
  };
}
