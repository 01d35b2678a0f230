/**
 * QR codes as one path of squares.
 */
import qrcode from 'qrcode-generator';

/** White modules around the code, without which readers don't find it. */
const QUIET = 4;

interface QrSquares {
  /** Modules on a side, including the white ones. */
  size: number;
  /** An SVG path of the dark modules. */
  path: string;
}

export function qrSquares(text: string): QrSquares {
  // Zero: as large as the text needs. M: readable with up to a seventh of the code damaged.
  const code = qrcode(0, 'M');
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  let path = '';
  for (let y = 0; y < count; y += 1) {
    for (let x = 0; x < count; x += 1) {
      if (code.isDark(y, x)) path += `M${x + QUIET} ${y + QUIET}h1v1h-1z`;
    }
  }
  return { size: count + 2 * QUIET, path };
}

/** Dark on white in every colour scheme: many readers can't read the inverse. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = qrSquares(text);
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
