// What is a violation: collected here, from all who look.

import { isDeepStrictEqual } from 'node:util';

import { CANARY, UNTOLD } from './secrets.ts';
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

/** Collects violations. */
export class Judge {
  readonly violations: string[] = [];
  readonly #onViolation: (violation: string) => void;

  /** `onViolation` is told each as soon as it is known. */
  constructor(onViolation: (violation: string) => void = () => {}) {
    this.#onViolation = onViolation;
  }

  violation(text: string) {
    if (this.violations.includes(text)) return;
    this.violations.push(text);
    this.#onViolation(text);
  }

  /** It is a violation where this is not so. */
  holds(condition: boolean, what: string) {
    if (!condition) this.violation(what);
  }

  /** It is a violation where the two differ. */
  same(actual: unknown, expected: unknown, what: string) {
    if (isDeepStrictEqual(actual, expected)) return;
    this.violation(`${what}: it is ${shown(actual)}, and should be ${shown(expected)}`);
  }

  /** Failures whose line in the log was not seen yet: what they were of, by their correlation ids. */
  readonly #unseen = new Map<string, string>();
  /** The correlation ids of lines that were seen: a line may come before the failure that it tells of. */
  readonly #seen = new Set<string>();

  /** Every failure is legible, and tells no secret. */
  failure(thrown: Thrown, operation: string, way: 'rpc' | 'http') {
    const { code = '', kind = '', message, remediation, retryable, correlationId = '' } = thrown;
    const wrong = (what: string) =>
      this.violation(`The failure ${code} of ${operation} over ${way} ${what}: ${message}`);
    if (!/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(code)) return wrong('has no code');
    if (code === 'INTERNAL') wrong('is a defect');
    if (!KINDS.includes(kind)) wrong(`has the kind ${kind}`);
    if (retryable !== (kind === 'transient')) wrong(`says retryable: ${retryable}, and is ${kind}`);
    if (!remediation) wrong('says nothing of what to do');
    if (!/^[0-9a-f]{16}$/.test(correlationId)) wrong('has no correlation id');
    if (way === 'rpc' && !message.startsWith(`${code}: `)) wrong('does not begin with its code');
    if (!this.#seen.has(correlationId))
      this.#unseen.set(correlationId, `${code} of ${operation} over ${way}`);
    const told = JSON.stringify(thrown);
    for (const secret of UNTOLD) if (told.includes(secret)) wrong(`tells "${secret}"`);
  }

  /** Every failure so far is in the log, by its correlation id; unless lines may have been lost. */
  allAreLogged(linesMayBeLost = false) {
    if (!linesMayBeLost)
      for (const [id, what] of this.#unseen) this.violation(`The failure ${what} is not in the log: ${id}`);
    this.#unseen.clear();
    this.#seen.clear();
  }

  /** A line of the log tells no secret, and of no defect. Lines of the SDK have the commands that ran, which is known. */
  line(line: string) {
    if (/panicked at|RuntimeError|unreachable executed/.test(line))
      this.violation(`A defect is in the log: ${line}`);
    const event = eventOf(line);
    if (event === undefined) return;
    const id = String(event['correlationId']);
    this.#unseen.delete(id);
    this.#seen.add(id);
    if (line.includes(CANARY)) this.violation(`A line of the log tells a secret: ${line}`);
    if (event['code'] === 'INTERNAL') this.violation(`A defect is in the log: ${line}`);
  }
}

/** What a line of the snapshotter says; nothing where it is another's. */
export function eventOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    const read: unknown = JSON.parse(line);
    return typeof read === 'object' && read !== null && 'event' in read
      ? (read as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A value as a violation shows it: not all of it where it is long. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
