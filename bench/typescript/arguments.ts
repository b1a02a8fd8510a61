// Strict decoding of arguments. Unknown options are rejected.

import { SnapshotterError } from './errors.ts';
import { checkedRef, type SnapshotRef } from './refs.ts';

/** The options of `snapshot`. */
export interface Capture {
  sandboxId: string;
  dir: string;
  label?: string;
  replace: boolean;
  expirationSeconds?: number;
  excludes: string[];
  gitignore: boolean;
  compression?: object;
  fresh: boolean;
  idempotencyKey?: string;
}

/** The options of `restore`. */
export interface Restoration {
  sandboxId: string;
  ref: SnapshotRef;
  idempotencyKey?: string;
}

/** The options of `list`. */
export interface Listing {
  sandboxId: string;
  cursor?: string;
  limit: number;
  labelPrefix?: string;
  check: boolean;
}

/** The options of `delete`. */
export interface Deletion {
  sandboxId: string;
  ref: SnapshotRef;
  force: boolean;
}

const RESERVED = ['www', 'api', 'admin', 'root', 'system', 'cloudflare', 'workers'];
const PARENTS = ['/workspace', '/home', '/tmp', '/var/tmp', '/app'];
const MAX_ARGUMENTS = 64 * 1024;
const MAX_EXPIRATION = 100 * 365 * 24 * 3600;

export function captureOf(options: unknown): Capture {
  const fields = new Fields(options);
  const capture = {
    sandboxId: sandboxId(fields.required('sandboxId')),
    dir: directory(fields.text('dir') ?? '/workspace'),
    ...optional('label', label(fields.text('label'))),
    replace: fields.flag('replace'),
    ...optional('expirationSeconds', fields.number('expirationSeconds', 0, MAX_EXPIRATION)),
    excludes: patterns(fields.take('excludes') ?? []),
    gitignore: fields.flag('gitignore'),
    ...optional('compression', fields.take('compression') as object | undefined),
    fresh: fields.flag('fresh'),
    ...optional('idempotencyKey', key(fields.text('idempotencyKey'))),
  };
  fields.end();
  return capture;
}

export function restorationOf(options: unknown): Restoration {
  const fields = new Fields(options);
  const ref = checkedRef(fields.take('ref'));
  const idempotencyKey = optional('idempotencyKey', key(fields.text('idempotencyKey')));
  fields.end();
  return { sandboxId: ref.ref.originId, ref, ...idempotencyKey };
}

export function listingOf(options: unknown): Listing {
  const fields = new Fields(options);
  const listing = {
    sandboxId: sandboxId(fields.required('sandboxId')),
    ...optional('cursor', fields.text('cursor')),
    limit: fields.number('limit', 1, 100) ?? 20,
    ...optional('labelPrefix', fields.text('labelPrefix')),
    check: fields.flag('check', true),
  };
  fields.end();
  return listing;
}

export function deletionOf(options: unknown): Deletion {
  const fields = new Fields(options);
  const ref = checkedRef(fields.take('ref'));
  const force = fields.flag('force');
  fields.end();
  return { sandboxId: ref.ref.originId, ref, force };
}

/** The fields of an object. Each field is read once. */
class Fields {
  #fields: Record<string, unknown>;

  constructor(options: unknown) {
    if (typeof options !== 'object' || options === null || Array.isArray(options))
      throw invalid('The arguments must be an object.');
    if (JSON.stringify(options).length > MAX_ARGUMENTS)
      throw invalid(`The arguments must be at most ${MAX_ARGUMENTS} bytes.`);
    this.#fields = { ...options };
  }

  take(name: string): unknown {
    const value = this.#fields[name];
    delete this.#fields[name];
    return value ?? undefined;
  }

  text(name: string): string | undefined {
    const value = this.take(name);
    if (value !== undefined && typeof value !== 'string') throw invalid(`\`${name}\` must be a string.`);
    return value;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw invalid(`\`${name}\` is required.`);
    return value;
  }

  flag(name: string, absent = false): boolean {
    const value = this.take(name) ?? absent;
    if (typeof value !== 'boolean') throw invalid(`\`${name}\` must be true or false.`);
    return value;
  }

  number(name: string, min: number, max: number): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      throw invalid(`\`${name}\` must be an integer of ${min}–${max}.`);
    return value as number;
  }

  end() {
    const [unknown] = Object.keys(this.#fields);
    if (unknown !== undefined) throw invalid(`There is no option ${JSON.stringify(unknown)}.`);
  }
}

function optional<K extends string, V>(name: K, value: V | undefined): { [key in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { [key in K]?: V };
}

function sandboxId(id: string): string {
  if (!/^(?!-).{1,63}(?<!-)$/.test(id) || RESERVED.includes(id.toLowerCase()))
    throw invalid('The sandbox id is invalid.');
  return id;
}

function directory(dir: string): string {
  const parts = dir.split('/').slice(1);
  const isAllowed = PARENTS.some((parent) => dir === parent || dir.startsWith(`${parent}/`));
  if (!isAllowed || parts.some((part) => part === '' || part === '.' || part === '..'))
    throw invalid('The directory cannot be captured.');
  return dir;
}

function label(text: string | undefined): string | undefined {
  if (text !== undefined && (!/^\P{Cc}{1,128}$/u.test(text) || text.trim() !== text))
    throw invalid('The label is invalid.');
  return text;
}

function key(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[\x21-\x7e]{1,128}$/.test(text))
    throw invalid('The idempotency key is invalid.');
  return text;
}

function patterns(value: unknown): string[] {
  const isPattern = (item: unknown) => typeof item === 'string' && item !== '' && !/[\0\n]/.test(item);
  if (!Array.isArray(value) || !value.every(isPattern))
    throw invalid('`excludes` must be a list of patterns.');
  return value;
}

function invalid(message: string) {
  return new SnapshotterError('INVALID_ARGUMENT', message, "Pass one object with the operation's options.");
}
