// The valid values of an option, in words.

import type { Schema } from './document.ts';

const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';

/** The patterns of the API document. The lengths are stated in addition, where the schema has them. */
const PATTERNS: Record<string, string> = {
  [`^[^\\-${CONTROL}](?:[^${CONTROL}]*[^\\-${CONTROL}])?$`]: 'no `-` at the start or end',
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$': '',
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z$': '',
  '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$':
    '1–63 letters, digits, `_`, `.` or `-`; begins with a letter, a digit or `_`',
  '^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$':
    '1–63 letters, digits, `_` or `-`; begins with a letter, a digit or `_`',
  '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$':
    '1–100 letters, digits, `_`, `.` or `-`; begins with a letter, a digit or `_`; no `..`, no `.` or `.lock` at the end',
  '^[A-Za-z0-9_-]{1,128}$': '1–128 letters, digits, `_` or `-`',
  '^[A-Za-z0-9_-]{1,64}$': '1–64 letters, digits, `_` or `-`',
  '^snap-[a-z0-9]{16}$': '`snap-` and 16 lowercase letters or digits',
  '^snap_[A-Za-z0-9_-]+\\.[a-z0-9]{16}\\.[A-Za-z0-9._-]+$': 'a short ref, unaltered',
  '^(?:/workspace|/home|/tmp|/var/tmp|/app)(?:/(?:[^/.\\u0000][^/\\u0000]*|\\.(?:[^/.\\u0000][^/\\u0000]*|\\.[^/\\u0000]+)?)?)*$':
    '`/workspace`, `/home`, `/tmp`, `/var/tmp`, `/app`, or a directory in one of them; no `..`',
  '^[^\\u0000-\\u001f\\u007f-\\u009f \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000](?:[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\u0000-\\u001f\\u007f-\\u009f \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000])?$':
    'no control characters, no space at the start or end',
  [`^[^${CONTROL}]*$`]: 'no control characters',
  '^[^\\u0000]*$': 'no NUL character',
  '^[^\\u0000\\u000a]*$': 'no NUL character, no line break',
  '^[^\\u0000]*[^\\u0000\\u0009-\\u000d\\u0085 \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000][^\\u0000]*$':
    'not only spaces; no NUL character',
  '^(?:[^/.\\u0000][^/\\u0000]*|\\.(?:[^/.\\u0000][^/\\u0000]*|\\.[^/\\u0000]+)?)?(?:/(?:[^/.\\u0000][^/\\u0000]*|\\.(?:[^/.\\u0000][^/\\u0000]*|\\.[^/\\u0000]+)?)?)*$':
    'no component `..`, no NUL character',
  '^[a-z0-9]{12}$': '12 lowercase letters or digits',
  '^[a-z0-9]{1,32}$': '1–32 lowercase letters or digits',
  '^[0-7]{4}$': 'four octal digits',
  '^[0-7]{3,4}$': 'three or four octal digits',
  '^[0-9a-f]{64}$': '64 hexadecimal digits',
  '^[A-Za-z_][A-Za-z0-9_]*$': 'letters, digits and `_`; does not begin with a digit',
  '^(?:[^/.\\u0000\\u000a][^/\\u0000\\u000a]*|\\.(?:[^/.\\u0000\\u000a][^/\\u0000\\u000a]*|\\.[^/\\u0000\\u000a]+)?)?(?:/(?:[^/.\\u0000\\u000a][^/\\u0000\\u000a]*|\\.(?:[^/.\\u0000\\u000a][^/\\u0000\\u000a]*|\\.[^/\\u0000\\u000a]+)?)?)*$':
    'a relative path; no `..`, no line break',
};

/** The patterns of values that are refused. The limits of the name of a checkpoint are with its pattern. */
const REFUSED: Record<string, string> = {
  '^(?:[wW]{3}|[aA][pP][iI]|[aA][dD][mM][iI][nN]|[rR][oO]{2}[tT]|[sS][yY][sS][tT][eE][mM]|[cC][lL][oO][uU][dD][fF][lL][aA][rR][eE]|[wW][oO][rR][kK][eE][rR][sS])$':
    'not a reserved name, such as `api`',
  '\\.\\.|\\.$|\\.[lL][oO][cC][kK]$': '',
  '^snap(?:-[a-z0-9]{16}$|_)': 'not the form of a snapshot id or a short ref',
};

/** Returns the limits of a value beyond its type. */
export function limits(schema: Schema): string[] {
  const { minLength, maxLength, minItems, maxItems, maxProperties, pattern, not, propertyNames, items } =
    schema;
  return [
    ...numbers(schema),
    ...range(minLength, maxLength, 'character'),
    ...range(minItems, maxItems, 'item'),
    ...range(undefined, maxProperties, 'entry'),
    ...words(pattern),
    ...words(not?.pattern, REFUSED),
    ...words(propertyNames?.pattern).map((text) => `names: ${text}`),
    ...words(items?.pattern).map((text) => `each: ${text}`),
  ];
}

/** Returns the default of a value as JSON; undefined if it has none. */
export function defaultOf({ default: value }: Schema): string | undefined {
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}

function numbers({ minimum, maximum, anyOf = [] }: Schema): string[] {
  const exception = anyOf.find((part: Schema) => part['const'] !== undefined)?.const;
  const least = anyOf.find((part: Schema) => part['minimum'] !== undefined)?.minimum ?? minimum;
  return range(least, maximum).map((text) => (exception === undefined ? text : `${exception}, or ${text}`));
}

function range(least: number | undefined, most: number | undefined, unit = ''): string[] {
  const plural = unit.endsWith('y') ? `${unit.slice(0, -1)}ies` : unit && `${unit}s`;
  const of = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? unit : plural}`.trim();
  if (least !== undefined && most !== undefined) return [`${least.toLocaleString('en')}–${of(most)}`];
  if (most !== undefined) return [`at most ${of(most)}`];
  return least ? [`at least ${of(least)}`] : [];
}

/** Returns a pattern in words. Throws for a pattern without words, so that no regular expression is shown. */
function words(pattern: string | undefined, known = PATTERNS): string[] {
  if (pattern === undefined) return [];
  const text = known[pattern];
  if (text === undefined) throw new Error(`reference/src/limits.ts has no words for the pattern ${pattern}`);
  return text === '' ? [] : [text];
}
