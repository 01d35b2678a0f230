/**
 * The certificate as PDF/A-3b for archives: tagged, with its fonts, and with the JSON of the same certificate
 * attached.
 *
 * The font is DejaVu Sans (free, see its package's LICENSE), which has the Latin, Greek, Cyrillic, Arabic and
 * many other letters, but no Chinese, Japanese or Korean ones. PDF/A forbids characters that the font does
 * not have, so such letters are shown as replacement characters, and the page says that the attached file has
 * the exact text.
 */
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { createConcurrencyLimit } from '../lib/concurrencyLimit.ts';
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { certificateJson, type CertificateRecord, type NetworkCheck } from './certificateRecord.ts';
import { originOf, type Inclusion } from './inclusion.ts';
import { textOf, titleOf } from './parts/networkCheck.tsx';
import { qrSquares } from './qrCode.tsx';
import { certificatePath, publicId } from './records.ts';
import { absolute, type Site } from './site.ts';
import {
  countryName,
  grouped,
  isoOf,
  MAX_NOTE,
  periodText,
  placeOf,
  reasonText,
  serialText,
  shown,
  shownName,
  timeOf,
} from './text.ts';
import { hasRightToLeft, visualLines } from './visualOrder.ts';

/**
 * Usual time of a PDF on the thread that serves everything. The reader does not pay for the longer first one.
 */
const USUAL_MS = 80;
/** One PDF at a time, so that other requests are served in between. */
const LIMIT = { maxConcurrent: 1, maxWaiting: 20, waitMs: 10_000 };

const require = createRequire(import.meta.url);
const FONT = require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
const BOLD_FONT = require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf');

const INK = '#17211c';
const DIM = '#55625b';
const ACCENT = '#1f4d3a';
const BAD = '#8c1d10';
const MARGIN = 56;
const LABEL_WIDTH = 130;
const QR_POINTS = 96;

interface Certificate {
  record: CertificateRecord;
  inclusion: Inclusion;
  check: NetworkCheck;
}

type Document = PDFKit.PDFDocument;
type Line = readonly [name: string, value: string | null];

/** @returns a function that makes the answer, for each address in turn, and charges it the computing time */
export function createCertificatePdf(
  site: Site,
): (certificate: Certificate, request: Pick<PageRequest, 'addressKey' | 'chargeCpu'>) => Promise<PageAnswer> {
  const limit = createConcurrencyLimit(LIMIT);
  return async (certificate, request) => {
    const { record } = certificate;
    const giveBack = await limit.take(request.addressKey);
    try {
      // pdfkit is half a megabyte of source, which a server without requests for PDFs does not load.
      const { default: PDFDocument } = await import('pdfkit');
      const body = await buffer(drawn(new PDFDocument(optionsFor(record)), site, certificate));
      request.chargeCpu(USUAL_MS);
      return {
        status: 200,
        headers: {
          'content-type': 'application/pdf',
          'content-disposition': `inline; filename="retirement-${publicId(record)}.pdf"`,
          'cache-control': 'no-cache',
        },
        body,
      };
    } finally {
      giveBack();
    }
  };
}

function optionsFor({ timestamp, tonnes }: CertificateRecord): PDFKit.PDFDocumentOptions {
  return {
    size: 'A4',
    margin: MARGIN,
    pdfVersion: '1.7',
    subset: 'PDF/A-3b',
    tagged: true,
    lang: 'en',
    displayTitle: true,
    font: FONT,
    info: {
      Title: `Certificate of retirement: ${tonnes} t CO2e`,
      // The record's time, so that the file is the same each time.
      CreationDate: new Date(isoOf(timestamp)),
      ModDate: new Date(isoOf(timestamp)),
    },
  };
}

function drawn(doc: Document, site: Site, { record, inclusion, check }: Certificate): Document {
  const url = absolute(site, certificatePath(record));
  const print = printable(doc);
  attachJson(doc, site, { record, inclusion });
  const root = doc.struct('Document');
  doc.addStructure(root);
  const add = (type: string, draw: () => void) => root.add(doc.struct(type, {}, draw));
  add('P', () => doc.font(FONT).fontSize(10).fillColor(ACCENT).text('Certificate of retirement'));
  add('H1', () => {
    doc
      .moveDown(0.4)
      .font(BOLD_FONT)
      .fontSize(24)
      .fillColor(INK)
      .text(`${grouped(record.tonnes)} t CO₂e`);
    writeName(doc.font(FONT).fontSize(14), print(shownName(record.beneficiary, 400)));
  });
  add('P', () => doc.moveDown(0.3).fontSize(10).fillColor(DIM).text(timeOf(record.timestamp)).moveDown(1.2));
  const warning = warningOf(check, site.network.name);
  if (warning !== null) add('P', () => doc.fillColor(BAD).text(warning).moveDown(1.2));
  for (const [name, value] of [...linesOf(site, record), ['Public log', textOfLog(inclusion)] as const]) {
    if (value !== null) add('P', () => writeLine(doc, name, print(value)));
  }
  add('Figure', () => drawQr(doc, url));
  add('P', () => {
    doc.fontSize(8).fillColor(DIM).text(url, MARGIN).moveDown(0.5);
    doc.text(
      `This sheet shows what was known when it was made. The ledger network “${site.network.name}” has the record itself: the ` +
        'address above shows what it says now, and how to check it without this registry. The same facts are attached to ' +
        'this file as certificate.json.' +
        (print.hasReplaced()
          ? ' Letters that this file’s font does not have are shown as �; the attachment has them.'
          : ''),
    );
  });
  root.end();
  doc.end();
  return doc;
}

/** A kept file shows no confirmation and no missing answer: the network may answer otherwise later. */
function warningOf(check: NetworkCheck, network: string): string | null {
  if (check.outcome === 'SAME' || check.outcome === 'NO_ANSWER') return null;
  return `${titleOf(check)}. ${textOf(check, network)} Asked at ${timeOf(check.checkedAt)}.`;
}

function linesOf(site: Site, record: CertificateRecord): Line[] {
  const { project, serialRange, period } = record;
  return [
    ['Beneficiary’s id', record.beneficiaryId],
    ['Serial numbers', serialRange && serialText(serialRange)],
    ['Project', project.assetId],
    ['Kind', `${project.projectType}, ${project.creditType}`],
    ['Vintage', String(project.vintageYear)],
    ['Place', placeText(project)],
    ['Reason', record.reason && reasonText(record.reason)],
    ['Claimed in', record.jurisdiction && countryName(record.jurisdiction)],
    ['For emissions of', period && periodText(period)],
    ['Note', record.note === '' ? null : shown(record.note, MAX_NOTE)],
    ['Ledger network', `${site.network.name} (${site.network.networkId})`],
    ['Token', record.tokenAddress],
    ['Record index', String(record.index)],
    ['Transaction', record.txHash ?? 'not known yet'],
    ['Burned from', record.retiredBy],
    ['Base units', record.amount],
  ];
}

function placeText(project: CertificateRecord['project']): string {
  const { location, country } = placeOf(project);
  return country === null ? location : `${location}, ${country}`;
}

function textOfLog(inclusion: Inclusion): string {
  switch (inclusion.outcome) {
    case 'PROVED': {
      const { leafIndex, treeSize } = inclusion.proof;
      return `leaf ${leafIndex} of ${treeSize} in ${originOf(inclusion.proof)}; the proof is in certificate.json`;
    }
    case 'NOT_YET':
      return 'not in the log yet when this file was made';
    case 'NO_ANSWER':
      return 'not known: the log could not be read when this file was made';
  }
}

function writeName(doc: Document, name: string): void {
  const lines = turnedLines(doc, name, doc.page.width - 2 * MARGIN);
  doc.text(`retired for${lines === null ? ` ${name}` : ''}`);
  // A turned name has its own lines, whose direction is the name's.
  if (lines !== null) drawTurned(doc, lines, MARGIN);
}

function writeLine(doc: Document, name: string, value: string): void {
  doc.fontSize(9);
  const lines = turnedLines(doc, value, valueWidth(doc));
  const height =
    lines === null
      ? doc.heightOfString(value, { width: valueWidth(doc) })
      : lines.length * doc.currentLineHeight(true);
  // The end of a page does not separate a value from its name.
  if (doc.y + height > doc.page.height - MARGIN) doc.addPage();
  const { y } = doc;
  doc.fillColor(DIM).text(name, MARGIN, y, { width: LABEL_WIDTH });
  doc.fillColor(INK);
  if (lines === null) doc.text(value, MARGIN + LABEL_WIDTH, y, { width: valueWidth(doc) });
  else drawTurned(Object.assign(doc, { y }), lines, MARGIN + LABEL_WIDTH);
  doc.y = Math.max(doc.y, y + height) + 4;
}

/** A letter of two code units: PDFKit may break a word between them, and would print neither half. */
const LONG_LETTER = /[\u{10000}-\u{10ffff}]/u;

/** Null for a text that PDFKit writes correctly. */
function turnedLines(doc: Document, text: string, width: number): string[][] | null {
  if (!hasRightToLeft(text) && !LONG_LETTER.test(text)) return null;
  return visualLines(text, (line) => doc.widthOfString(line) <= width);
}

function drawTurned(doc: Document, lines: readonly (readonly string[])[], x: number): void {
  for (const pieces of lines) {
    const { y } = doc;
    let at = x;
    for (const piece of pieces) {
      doc.text(piece, at, y, { lineBreak: false });
      at += doc.widthOfString(piece);
    }
    Object.assign(doc, { x, y: y + doc.currentLineHeight(true) });
  }
}

function valueWidth(doc: Document): number {
  return doc.page.width - 2 * MARGIN - LABEL_WIDTH;
}

function drawQr(doc: Document, url: string): void {
  const { size, path } = qrSquares(url);
  if (doc.y + QR_POINTS + 60 > doc.page.height - MARGIN) doc.addPage();
  const y = doc.y + 10;
  doc
    .save()
    .translate(MARGIN, y)
    .scale(QR_POINTS / size)
    .path(path)
    .fill('#000')
    .restore();
  doc.y = y + QR_POINTS + 6;
}

function attachJson(
  doc: Document,
  site: Site,
  { record, inclusion }: Pick<Certificate, 'record' | 'inclusion'>,
): void {
  const json = Buffer.from(`${JSON.stringify(certificateJson(site, record, inclusion), null, 2)}\n`);
  const made = new Date(isoOf(record.timestamp));
  // PDF/A-3 requires the relationship, which PDFKit's types lack.
  const options: PDFKit.Mixins.PDFAttachmentOptions & { relationship: string } = {
    name: 'certificate.json',
    type: 'application/json',
    description: 'The same certificate as data',
    relationship: 'Data',
    creationDate: made,
    modifiedDate: made,
  };
  doc.file(json, options);
}

/** Replaces characters that the font does not have. */
function printable(doc: Document) {
  // The current font, which PDFKit's types do not show.
  const { font } = Reflect.get(doc, '_font') as {
    font: { hasGlyphForCodePoint(codePoint: number): boolean };
  };
  let replaced = 0;
  const print = (text: string) =>
    Array.from(text)
      .map((character) => {
        if (font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0)) return character;
        replaced += 1;
        return '\u{fffd}';
      })
      .join('');
  return Object.assign(print, { hasReplaced: () => replaced > 0 });
}
