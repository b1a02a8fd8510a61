// The violations that the tests find.

import { isDeepStrictEqual } from 'node:util';

import { CANARY, FORBIDDEN } from './secrets.ts';
import type { Thrown } from '../miniflare-tests/caller/steps.ts';

const KINDS = [
  'transient',
  'permanent',
  'conflict',
  'not_found',
  'resource_exhausted',
  'unsupported',
  'policy_denied',
];

/** Checks conditions, and collects violations. */
export class Violations {
  readonly list: string[] = [];
  readonly #onViolation: (violation: string) => void;

  /** Calls `onViolation` for each new violation. */
  constructor(onViolation: (violation: string) => void = () => {}) {
    this.#onViolation = onViolation;
  }

  /** Records a violation once. */
  add(text: string) {
    if (this.list.includes(text)) return;
    this.list.push(text);
    this.#onViolation(text);
  }

  /** Records a violation unless the condition is true. */
  check(condition: boolean, what: string) {
    if (!condition) this.add(what);
  }

  /** Records a violation unless the values are equal. */
  equal(actual: unknown, expected: unknown, what: string) {
    if (isDeepStrictEqual(actual, expected)) return;
    this.add(`${what}: got ${truncated(actual)}, expected ${truncated(expected)}`);
  }

  /** The errors without a log line so far, by correlation id. */
  readonly #unlogged = new Map<string, string>();
  /** The correlation ids of log lines so far. A line may be read before its error. */
  readonly #logged = new Set<string>();

  /** Checks that an error is legible and contains no secret. */
  checkError(thrown: Thrown, operation: string, transport: 'rpc' | 'http') {
    const { code = '', kind = '', message, remediation, retryable, correlationId = '' } = thrown;
    const add = (what: string) =>
      this.add(`The error ${code} of ${operation} over ${transport} ${what}: ${message}`);
    if (!/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(code)) return add('has no code');
    if (code === 'INTERNAL') add('is a defect');
    if (!KINDS.includes(kind)) add(`has the unknown kind ${kind}`);
    if (retryable !== (kind === 'transient')) add(`has retryable: ${retryable} and the kind ${kind}`);
    if (!remediation) add('has no remediation');
    if (!/^[0-9a-f]{16}$/.test(correlationId)) add('has no correlation id');
    if (transport === 'rpc' && !message.startsWith(`${code}: `)) add('does not begin with its code');
    if (!this.#logged.has(correlationId))
      this.#unlogged.set(correlationId, `${code} of ${operation} over ${transport}`);
    const text = JSON.stringify(thrown);
    for (const secret of FORBIDDEN) if (text.includes(secret)) add(`contains "${secret}"`);
  }

  /** Checks that every error so far is in the log, by its correlation id, unless lines may have been lost. */
  checkAllLogged(linesMayBeLost = false) {
    if (!linesMayBeLost)
      for (const [id, what] of this.#unlogged) this.add(`The error ${what} is not in the log: ${id}`);
    this.#unlogged.clear();
    this.#logged.clear();
  }

  /** Checks that a log line contains no secret and no defect. Lines of the SDK contain commands, by design. */
  checkLine(line: string) {
    if (/panicked at|RuntimeError|unreachable executed/.test(line))
      this.add(`The log contains a defect: ${line}`);
    const event = eventOf(line);
    if (event === undefined) return;
    const id = String(event['correlationId']);
    this.#unlogged.delete(id);
    this.#logged.add(id);
    if (line.includes(CANARY)) this.add(`The log contains a secret: ${line}`);
    if (event['code'] === 'INTERNAL') this.add(`The log contains a defect: ${line}`);
  }
}

/** Parses a log line of the snapshotter. Returns undefined for other lines. */
export function eventOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null && 'event' in parsed
      ? (parsed as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Formats a value for a message, with at most 600 characters. */
export function truncated(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
